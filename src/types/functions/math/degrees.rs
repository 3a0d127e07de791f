//! Angles in degrees. Exact where the angle is: `sind(30)` is 0.5, which a detour over radians would miss.
//!
//! The first quadrant is put together from pieces scaled so that their ends are exact, as PostgreSQL does it.

use std::f64::consts::PI;

use super::floats::{between, binary, finite, unary};
use crate::functions::signature::Overload;
use crate::functions::signature::Type::Float8;

pub(super) const FUNCTIONS: &[Overload] = &[
    Overload::new("sind", &[Float8], Float8, |call| unary(call, |x| finite(x).map(sin))),
    Overload::new("cosd", &[Float8], Float8, |call| unary(call, |x| finite(x).map(cos))),
    Overload::new("tand", &[Float8], Float8, |call| unary(call, |x| finite(x).map(tan))),
    Overload::new("cotd", &[Float8], Float8, |call| unary(call, |x| finite(x).map(cot))),
    Overload::new("asind", &[Float8], Float8, |call| unary(call, |x| between(x, -1.0, 1.0).map(asin))),
    Overload::new("acosd", &[Float8], Float8, |call| unary(call, |x| between(x, -1.0, 1.0).map(acos))),
    Overload::new("atand", &[Float8], Float8, |call| unary(call, |x| Ok(x.atan() / 1.0_f64.atan() * 45.0))),
    Overload::new("atan2d", &[Float8, Float8], Float8, |call| {
        binary(call, |y, x| Ok(y.atan2(x) / 1.0_f64.atan() * 45.0))
    }),
];

fn radians(degrees: f64) -> f64 {
    degrees * (PI / 180.0)
}

/// From 0 to 30 degrees.
fn sin_to_30(x: f64) -> f64 {
    radians(x).sin() / radians(30.0).sin() / 2.0
}

/// From 0 to 60 degrees.
fn cos_to_60(x: f64) -> f64 {
    let below_one = |x: f64| 1.0 - radians(x).cos();
    1.0 - below_one(x) / below_one(60.0) / 2.0
}

/// From 0 to 90 degrees.
fn sin_of_quadrant(x: f64) -> f64 {
    if x <= 30.0 { sin_to_30(x) } else { cos_to_60(90.0 - x) }
}

fn cos_of_quadrant(x: f64) -> f64 {
    if x <= 60.0 { cos_to_60(x) } else { sin_to_30(90.0 - x) }
}

fn sin(x: f64) -> f64 {
    let (mut x, mut sign) = (x % 360.0, 1.0);
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        x = 180.0 - x;
    }
    sign * sin_of_quadrant(x)
}

fn cos(x: f64) -> f64 {
    let (mut x, mut sign) = ((x % 360.0).abs(), 1.0);
    if x > 180.0 {
        x = 360.0 - x;
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    sign * cos_of_quadrant(x)
}

/// The angle within the first quadrant that has the same tangent, but for the sign.
fn tangent_angle(x: f64) -> (f64, f64) {
    let (mut x, mut sign) = (x % 360.0, 1.0);
    if x < 0.0 {
        (x, sign) = (-x, -sign);
    }
    if x > 180.0 {
        (x, sign) = (360.0 - x, -sign);
    }
    if x > 90.0 {
        (x, sign) = (180.0 - x, -sign);
    }
    (x, sign)
}

/// Without a sign on zero.
fn unsigned_zero(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x }
}

fn tan(x: f64) -> f64 {
    let (x, sign) = tangent_angle(x);
    let at_45 = sin_of_quadrant(45.0) / cos_of_quadrant(45.0);
    unsigned_zero(sign * (sin_of_quadrant(x) / cos_of_quadrant(x) / at_45))
}

fn cot(x: f64) -> f64 {
    let (x, sign) = tangent_angle(x);
    let at_45 = cos_of_quadrant(45.0) / sin_of_quadrant(45.0);
    unsigned_zero(sign * (cos_of_quadrant(x) / sin_of_quadrant(x) / at_45))
}

/// From 0 to 1.
fn asin_of_quadrant(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / 0.5_f64.asin() * 30.0 } else { 90.0 - x.acos() / 0.5_f64.acos() * 60.0 }
}

fn acos_of_quadrant(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / 0.5_f64.asin() * 30.0 } else { x.acos() / 0.5_f64.acos() * 60.0 }
}

fn asin(x: f64) -> f64 {
    if x >= 0.0 { asin_of_quadrant(x) } else { -asin_of_quadrant(-x) }
}

fn acos(x: f64) -> f64 {
    if x >= 0.0 { acos_of_quadrant(x) } else { 90.0 + asin_of_quadrant(-x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_that_are_exact_give_exact_results() {
        assert_eq!([0.0, 30.0, 90.0, 150.0, 180.0, 270.0, -30.0].map(sin), [0.0, 0.5, 1.0, 0.5, 0.0, -1.0, -0.5]);
        assert_eq!([0.0, 60.0, 90.0, 120.0, 180.0, 270.0].map(cos), [1.0, 0.5, 0.0, -0.5, -1.0, 0.0]);
        assert_eq!([0.0, 45.0, 135.0, -45.0].map(tan), [0.0, 1.0, -1.0, -1.0]);
        assert_eq!((cot(45.0), asin(0.5), acos(0.5), acos(-0.5)), (1.0, 30.0, 60.0, 120.0));
        assert!(tan(90.0).is_infinite());
    }
}
