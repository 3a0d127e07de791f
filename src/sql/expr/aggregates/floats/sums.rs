//! What is kept of double precision values while they are aggregated, step by step as PostgreSQL does it.
//!
//! The squares are those of the distances from the average, by the algorithm of Youngs and Cramer (`float8_accum`,
//! `float8_regr_accum`): results then agree with PostgreSQL's to the last digit, and overflow is told where it tells it.

use tablegate_types::error::{ErrorKind, SqlError, SqlResult};

/// Most numbers that any of the sums here is made of.
pub(super) const PARTS: usize = 6;

/// The values of a row: of functions of two arguments the first and the second (PostgreSQL's Y and X).
pub(super) type Row = [f64; 2];

/// What is kept of the rows of a group.
pub(super) trait Sums: Copy + Default + std::fmt::Debug + Send + Sync + 'static {
    /// How many numbers it is made of.
    const WIDTH: usize;
    /// How many arguments a row has.
    const ARGUMENTS: usize;

    /// # Errors
    /// 22003 when finite values have an infinite sum.
    fn add(&mut self, row: Row) -> SqlResult<()>;

    /// Takes over the rows of another part of the group.
    ///
    /// # Errors
    /// As [`Sums::add`].
    fn combine(&mut self, other: &Self) -> SqlResult<()>;

    fn parts(&self) -> [f64; PARTS];

    fn of_parts(parts: [f64; PARTS]) -> Self;
}

fn overflow() -> Box<SqlError> {
    SqlError::new(ErrorKind::NumericOutOfRange, "value out of range: overflow")
}

fn added(a: f64, b: f64) -> SqlResult<f64> {
    let sum = a + b;
    if sum.is_infinite() && a.is_finite() && b.is_finite() { Err(overflow()) } else { Ok(sum) }
}

/// The sum alone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Total {
    pub count: f64,
    pub sum: f64,
}

impl Sums for Total {
    const WIDTH: usize = 2;
    const ARGUMENTS: usize = 1;

    fn add(&mut self, [value, _]: Row) -> SqlResult<()> {
        // The first value is the sum: 0 would take the sign off -0.
        self.sum = if self.count == 0.0 { value } else { added(self.sum, value)? };
        self.count += 1.0;
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> SqlResult<()> {
        if other.count > 0.0 {
            let count = self.count + other.count;
            self.add([other.sum, 0.0])?;
            self.count = count;
        }
        Ok(())
    }

    fn parts(&self) -> [f64; PARTS] {
        [self.count, self.sum, 0.0, 0.0, 0.0, 0.0]
    }

    fn of_parts([count, sum, ..]: [f64; PARTS]) -> Self {
        Self { count, sum }
    }
}

/// The sum of `real` values, which PostgreSQL adds up as such.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RealTotal(pub Total);

impl Sums for RealTotal {
    const WIDTH: usize = Total::WIDTH;
    const ARGUMENTS: usize = 1;

    fn add(&mut self, row: Row) -> SqlResult<()> {
        let finite = row[0].is_finite() && (self.0.count == 0.0 || self.0.sum.is_finite());
        self.0.add(row)?;
        #[expect(clippy::cast_possible_truncation, reason = "it is rounded to the type of the values")]
        let sum = self.0.sum as f32;
        if finite && sum.is_infinite() {
            return Err(overflow());
        }
        self.0.sum = sum.into();
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> SqlResult<()> {
        if other.0.count > 0.0 {
            let count = self.0.count + other.0.count;
            self.add([other.0.sum, 0.0])?;
            self.0.count = count;
        }
        Ok(())
    }

    fn parts(&self) -> [f64; PARTS] {
        self.0.parts()
    }

    fn of_parts(parts: [f64; PARTS]) -> Self {
        Self(Total::of_parts(parts))
    }
}

/// What an average is made of. PostgreSQL keeps the squares for it too, and refuses what is beyond them, though an average has
/// no use for them: so they count only once they are large enough to matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Average(Moments);

/// The squares of as many values of this magnitude as there may be do not change one that overflows, or is near it.
const MODEST: f64 = 1e140;

impl Average {
    pub(super) fn average(&self) -> Option<f64> {
        (self.0.count > 0.0).then(|| self.0.sum / self.0.count)
    }

    fn is_modest(&self) -> bool {
        self.0.sum.abs() <= MODEST
    }
}

impl Sums for Average {
    const WIDTH: usize = Moments::WIDTH;
    const ARGUMENTS: usize = 1;

    fn add(&mut self, [value, second]: Row) -> SqlResult<()> {
        if value.abs() <= MODEST && self.is_modest() {
            self.0.count += 1.0;
            self.0.sum += value;
            return Ok(());
        }
        self.0.add([value, second])
    }

    fn combine(&mut self, other: &Self) -> SqlResult<()> {
        self.0.combine(&other.0)
    }

    fn parts(&self) -> [f64; PARTS] {
        self.0.parts()
    }

    fn of_parts(parts: [f64; PARTS]) -> Self {
        Self(Moments::of_parts(parts))
    }
}

/// The sum, and the sum of the squares of the distances from the average.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub count: f64,
    pub sum: f64,
    pub squares: f64,
}

impl Sums for Moments {
    const WIDTH: usize = 3;
    const ARGUMENTS: usize = 1;

    fn add(&mut self, [value, _]: Row) -> SqlResult<()> {
        let before = *self;
        self.count += 1.0;
        self.sum += value;
        if before.count == 0.0 {
            if !value.is_finite() {
                self.squares = f64::NAN;
            }
            return Ok(());
        }
        let distance = value * self.count - self.sum;
        self.squares += distance * distance / (self.count * before.count);
        if self.sum.is_infinite() || self.squares.is_infinite() {
            if !before.sum.is_infinite() && !value.is_infinite() {
                return Err(overflow());
            }
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> SqlResult<()> {
        if self.count == 0.0 || other.count == 0.0 {
            if other.count != 0.0 {
                *self = *other;
            }
            return Ok(());
        }
        let count = self.count + other.count;
        let distance = self.sum / self.count - other.sum / other.count;
        let squares = combined(self.squares, other.squares, self.count * other.count * distance * distance / count)?;
        *self = Self { count, sum: added(self.sum, other.sum)?, squares };
        Ok(())
    }

    fn parts(&self) -> [f64; PARTS] {
        [self.count, self.sum, self.squares, 0.0, 0.0, 0.0]
    }

    fn of_parts([count, sum, squares, ..]: [f64; PARTS]) -> Self {
        Self { count, sum, squares }
    }
}

fn combined(a: f64, b: f64, between: f64) -> SqlResult<f64> {
    let sum = a + b + between;
    if sum.is_infinite() && !a.is_infinite() && !b.is_infinite() { Err(overflow()) } else { Ok(sum) }
}

/// The same of two values each, and the sum of the products of their distances.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Regression {
    pub count: f64,
    pub sum_x: f64,
    pub squares_x: f64,
    pub sum_y: f64,
    pub squares_y: f64,
    pub products: f64,
}

impl Sums for Regression {
    const WIDTH: usize = 6;
    const ARGUMENTS: usize = 2;

    fn add(&mut self, [y, x]: Row) -> SqlResult<()> {
        let before = *self;
        self.count += 1.0;
        self.sum_x += x;
        self.sum_y += y;
        if before.count == 0.0 {
            if !x.is_finite() {
                (self.squares_x, self.products) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.squares_y, self.products) = (f64::NAN, f64::NAN);
            }
            return Ok(());
        }
        let (from_x, from_y) = (x * self.count - self.sum_x, y * self.count - self.sum_y);
        let scale = 1.0 / (self.count * before.count);
        self.squares_x += from_x * from_x * scale;
        self.squares_y += from_y * from_y * scale;
        self.products += from_x * from_y * scale;
        let finite_x = !before.sum_x.is_infinite() && !x.is_infinite();
        let finite_y = !before.sum_y.is_infinite() && !y.is_infinite();
        if (self.sum_x.is_infinite() || self.squares_x.is_infinite()) && finite_x
            || (self.sum_y.is_infinite() || self.squares_y.is_infinite()) && finite_y
            || self.products.is_infinite() && finite_x && finite_y
        {
            return Err(overflow());
        }
        for part in [&mut self.squares_x, &mut self.squares_y, &mut self.products] {
            if part.is_infinite() {
                *part = f64::NAN;
            }
        }
        Ok(())
    }

    fn combine(&mut self, other: &Self) -> SqlResult<()> {
        if self.count == 0.0 || other.count == 0.0 {
            if other.count != 0.0 {
                *self = *other;
            }
            return Ok(());
        }
        let count = self.count + other.count;
        let from_x = self.sum_x / self.count - other.sum_x / other.count;
        let from_y = self.sum_y / self.count - other.sum_y / other.count;
        let between = |a: f64, b: f64| self.count * other.count * a * b / count;
        *self = Self {
            count,
            sum_x: added(self.sum_x, other.sum_x)?,
            squares_x: combined(self.squares_x, other.squares_x, between(from_x, from_x))?,
            sum_y: added(self.sum_y, other.sum_y)?,
            squares_y: combined(self.squares_y, other.squares_y, between(from_y, from_y))?,
            products: combined(self.products, other.products, between(from_x, from_y))?,
        };
        Ok(())
    }

    fn parts(&self) -> [f64; PARTS] {
        [self.count, self.sum_x, self.squares_x, self.sum_y, self.squares_y, self.products]
    }

    fn of_parts([count, sum_x, squares_x, sum_y, squares_y, products]: [f64; PARTS]) -> Self {
        Self { count, sum_x, squares_x, sum_y, squares_y, products }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regression(rows: &[Row]) -> SqlResult<Regression> {
        let mut sums = Regression::default();
        rows.iter().try_for_each(|row| sums.add(*row))?;
        Ok(sums)
    }

    /// Each was asked of PostgreSQL 15: `covar_samp(0.1, 0.1)` of nine rows.
    #[test]
    fn the_last_digits_are_postgresqls() {
        let sums = regression(&[[0.1, 0.1]; 9]).unwrap();
        assert_eq!(sums.products / (sums.count - 1.0), 1.369_550_182_675_367_6e-34);
    }

    #[test]
    fn infinite_values_have_no_deviation_and_finite_ones_overflow() {
        let sums = regression(&[[1.0, f64::INFINITY], [2.0, 1.0]]).unwrap();
        assert_eq!((sums.sum_x, sums.squares_y), (f64::INFINITY, 0.5));
        assert!(sums.squares_x.is_nan() && sums.products.is_nan());
        assert!(regression(&[[1e308, 1.0], [-1e308, 2.0]]).is_err());
        let mut moments = Moments::default();
        moments.add([1e308, 0.0]).unwrap();
        assert!(moments.add([1e308, 0.0]).is_err());
        let mut total = Total::default();
        total.add([f64::INFINITY, 0.0]).unwrap();
        total.add([1.0, 0.0]).unwrap();
        assert_eq!(total.sum, f64::INFINITY);
    }

    #[test]
    fn an_average_overflows_where_the_squares_do() {
        let mut average = Average::default();
        for value in [1.0, -3.5, 1e100, 1e140] {
            average.add([value, 0.0]).unwrap();
        }
        assert_eq!((average.average(), average.0.squares), (Some(1e140 / 4.0), 0.0));
        average.add([1e150, 0.0]).unwrap();
        assert!(average.0.squares > 1e299);
        assert!(average.add([1e160, 0.0]).is_err());
        let mut not_finite = Average::default();
        for value in [2.0, f64::INFINITY, 1.0] {
            not_finite.add([value, 0.0]).unwrap();
        }
        assert_eq!(not_finite.average(), Some(f64::INFINITY));
    }

    #[test]
    fn parts_of_a_group_are_combined() {
        let rows: Vec<Row> = (0..7_u8).map(|n| [f64::from(n) * 3.0, f64::from(n * n)]).collect();
        let whole = regression(&rows).unwrap();
        let mut combined = regression(&rows[..3]).unwrap();
        combined.combine(&regression(&rows[3..]).unwrap()).unwrap();
        combined.combine(&Regression::default()).unwrap();
        for (a, b) in whole.parts().into_iter().zip(combined.parts()) {
            assert!((a - b).abs() <= a.abs() * 1e-12, "{a} {b}");
        }
        let mut empty = Regression::default();
        empty.combine(&whole).unwrap();
        assert_eq!(empty.parts(), whole.parts());
    }

    #[test]
    fn reals_are_added_as_reals() {
        let mut sum = RealTotal::default();
        for value in [16_777_216.0, 1.0, 1.0] {
            sum.add([value, 0.0]).unwrap();
        }
        assert_eq!(sum.0.sum, 16_777_216.0);
        assert!(sum.add([f32::MAX.into(), 0.0]).and_then(|()| sum.add([f32::MAX.into(), 0.0])).is_err());
    }
}
