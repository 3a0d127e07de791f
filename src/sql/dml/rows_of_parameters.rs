//! Many rows of parameters of several types: each column may have some types, and a statement of one row is planned for the first
//! type of each, one for the second, and so on. A row then takes of each plan what that says of its types.

use tablegate_types::sql_type::SqlType;

/// Plans that are made for one statement; where there are more types of a column, each row is planned on its own.
const VARIANTS_MAX: usize = 6;

/// The types of the parameters, row by row.
#[derive(Debug)]
pub(crate) struct RowsOfParameters<'d> {
    /// As they were declared, as far as they were.
    declared: &'d [SqlType],
    rows: usize,
    width: usize,
    /// Those that the parameters at each place of a row have.
    types: Vec<Vec<&'d SqlType>>,
}

impl<'d> RowsOfParameters<'d> {
    /// So many rows of so many parameters; `None` where a column has too many types, or more parameters are declared.
    pub(crate) fn new(declared: &'d [SqlType], rows: usize, width: usize) -> Option<Self> {
        let mut types: Vec<Vec<&SqlType>> = vec![Vec::new(); width];
        let mut given = Self { declared, rows, width, types: Vec::new() };
        for index in 0..rows * width {
            let (known, sql_type) = (&mut types[index % width], given.declared_type(index));
            if !known.contains(&sql_type) {
                known.push(sql_type);
            }
        }
        given.types = types;
        (given.plans() <= VARIANTS_MAX && declared.len() <= rows * width).then_some(given)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many plans of a row there are to be.
    pub(crate) fn plans(&self) -> usize {
        self.types.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The types of a row that a plan is made for.
    pub(crate) fn types_of_plan(&self, plan: usize) -> Vec<SqlType> {
        let of_place =
            |known: &Vec<&SqlType>| known.get(plan).or(known.last()).map_or(SqlType::Unknown, |t| (*t).clone());
        self.types.iter().map(of_place).collect()
    }

    /// Which plan is made for the type of the parameter at a place of a row.
    pub(super) fn variant(&self, row: usize, place: usize) -> usize {
        let sql_type = self.declared_type(row * self.width + place);
        self.types[place].iter().position(|known| *known == sql_type).unwrap_or_default()
    }

    /// All parameters, each with that plan.
    pub(super) fn variants(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.rows * self.width).map(|index| (index, self.variant(index / self.width, index % self.width)))
    }

    fn declared_type(&self, index: usize) -> &'d SqlType {
        self.declared.get(index).unwrap_or(&SqlType::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use SqlType as T;

    use super::*;

    #[test]
    fn each_type_of_a_column_has_a_plan() {
        let declared = [T::Int2, T::Unknown, T::Int4, T::Text, T::Int2];
        let rows = RowsOfParameters::new(&declared, 3, 2).unwrap();
        assert_eq!((rows.len(), rows.width(), rows.plans()), (3, 2, 2));
        assert_eq!(rows.types_of_plan(0), [T::Int2, T::Unknown]);
        assert_eq!(rows.types_of_plan(1), [T::Int4, T::Text]);
        assert_eq!(rows.variants().collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 0), (5, 0)]);
    }

    #[test]
    fn many_types_are_planned_one_by_one() {
        let declared = [T::Int2, T::Int4, T::Int8, T::Text, T::Bool, T::Date, T::Uuid];
        assert!(RowsOfParameters::new(&declared[..6], 6, 1).is_some());
        assert!(RowsOfParameters::new(&declared, 7, 1).is_none());
        assert!(RowsOfParameters::new(&declared, 3, 2).is_none(), "one is not in the text");
    }
}
