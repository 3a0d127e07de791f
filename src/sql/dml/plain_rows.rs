//! Rows of constants and parameters as entities, without columns in between.
//!
//! Most INSERTs are these: a row or a hundred, of values that have their columns' types, with nothing to compute and no
//! clause that reads the rows (such as RETURNING). Any other INSERT goes through columns, where it is done or refused.

use std::borrow::Cow;

use datafusion::common::ScalarValue;
use tablegate_store::model::{Entity, EntityKey, Properties, PropertyName};
use tablegate_types::edm;
use tablegate_types::error::SqlResult;
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::Style;

use super::Changed;
use super::checks::is_required;
use super::generated_keys::generated_key;
use super::listed_columns::{ListedColumns, ROWS_PER_BATCH};
use super::new_rows::NewRows;
use super::rows::stored_as;
use super::target::TargetColumn;
use super::values::{Cell, CellValues, ValuesList};
use super::writes::Writes;
use crate::plan::Planner;
use crate::relation::Relation;

/// A VALUES list that is such rows.
pub(super) struct PlainRows {
    rows: Vec<Vec<PlainCell>>,
    key: PlainKey,
    properties: Vec<PlainProperty>,
    /// The types that values are given as, by their place in a row.
    types: Vec<SqlType>,
    /// The style that constants were read in.
    style: Style,
}

enum PlainKey {
    /// Where the values of the key columns stand in a row, in key order.
    Given(Vec<usize>),
    /// The partition in which each row gets a key of the gateway's making.
    Generated(String),
}

enum PlainCell {
    Constant(ScalarValue),
    /// Parameter by index, from 0.
    Parameter(usize),
    /// A parameter that is cast to a type.
    Cast(usize, SqlType),
}

struct PlainProperty {
    /// Where its value stands in a row.
    place: usize,
    name: PropertyName,
    sql_type: SqlType,
    is_required: bool,
}

impl PlainRows {
    /// `None` where the list has other rows, or they need more than being written.
    pub(super) fn prepare(
        planner: &Planner<'_>,
        relation: &Relation,
        targets: &[TargetColumn],
        listed: &ListedColumns,
        values: &ValuesList,
        rows: &NewRows,
    ) -> Option<Self> {
        if !rows.is_plain() || values.rows().len() > ROWS_PER_BATCH {
            return None;
        }
        let place_of = |index: usize| targets.iter().position(|target| *target == TargetColumn::Known(index));
        let mut required = relation.columns.iter().enumerate().filter(|(_, column)| is_required(column));
        if required.any(|(index, _)| place_of(index).is_none()) {
            return None;
        }
        let key = match &relation.generated_partition {
            Some(partition) => PlainKey::Generated(partition.clone()),
            None => PlainKey::Given(relation.key_columns().into_iter().map(place_of).collect::<Option<Vec<_>>>()?),
        };
        let types: Vec<SqlType> = listed.types().cloned().collect();
        let property = |(place, target): (usize, &TargetColumn)| {
            let (name, sql_type) = stored_as(relation, target, || types[place].clone())?;
            let is_required = target.column(relation).is_some_and(is_required);
            Some(PlainProperty { place, name, sql_type, is_required })
        };
        let properties = targets.iter().enumerate().filter_map(property).collect();
        let meaning = CellValues::of_constants(planner.reading());
        let cell = |(cell, sql_type): (&Cell, &SqlType)| match cell {
            Cell::Parameter(index) => Some(PlainCell::Parameter(*index)),
            Cell::Cast(index, to) => Some(PlainCell::Cast(*index, to.clone())),
            Cell::Default | Cell::Computed(_) => None,
            constant => meaning.value(constant, sql_type).ok().map(PlainCell::Constant),
        };
        let row = |row: &Vec<Cell>| row.iter().zip(&types).map(cell).collect::<Option<Vec<_>>>();
        let rows = values.rows().iter().map(row).collect::<Option<Vec<_>>>()?;
        Some(Self { rows, key, properties, types, style: meaning.reading.style })
    }

    /// The entities; `None` where one of the rows takes the other way with these parameters.
    pub(super) fn entities(&self, relation: &Relation, meaning: &CellValues<'_>) -> Option<Vec<Entity>> {
        if self.style != meaning.reading.style {
            return None;
        }
        let mut values = Vec::with_capacity(self.types.len());
        let mut entities = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            values.clear();
            for (cell, sql_type) in row.iter().zip(&self.types) {
                values.push(cell.value(sql_type, meaning)?);
            }
            entities.push(self.entity(relation, &values)?);
        }
        Some(entities)
    }

    fn entity(&self, relation: &Relation, values: &[Cow<'_, ScalarValue>]) -> Option<Entity> {
        let key: EntityKey = match &self.key {
            PlainKey::Given(places) => relation.codec.key_of(|column| Some(&**values.get(*places.get(column)?)?))?,
            PlainKey::Generated(partition) => generated_key(partition).ok()?,
        };
        let mut properties = Properties::with_capacity(self.properties.len());
        for PlainProperty { place, name, sql_type, is_required } in &self.properties {
            match edm::value_to_edm(values.get(*place)?, sql_type).ok()? {
                // A statement gives each column once.
                Some(value) => properties.add(name.clone(), value),
                None if *is_required => return None,
                None => {}
            }
        }
        Some(Entity::new(key, properties))
    }
}

/// Inserts the rows of a statement that does nothing else.
///
/// # Errors
/// As [`Writes::insert`] and [`Writes::finish`].
pub(crate) async fn insert_all(rows: Vec<Entity>, writes: &mut Writes<'_>) -> SqlResult<Changed> {
    let count = rows.len() as u64;
    for entity in rows {
        entity.check()?;
        writes.insert(entity).await?;
    }
    writes.finish().await?;
    Ok(Changed { rows: count, returned: None })
}

impl PlainCell {
    /// Its value as a value of the type.
    fn value<'v>(&'v self, sql_type: &SqlType, meaning: &CellValues<'v>) -> Option<Cow<'v, ScalarValue>> {
        match self {
            PlainCell::Constant(value) => Some(Cow::Borrowed(value)),
            PlainCell::Parameter(index) => meaning.parameter(*index, sql_type).ok(),
            PlainCell::Cast(index, to) => meaning.cast(*index, to, sql_type).ok(),
        }
    }
}
