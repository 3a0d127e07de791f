//! Functions that tell about objects by number: what they are called, what an index can do, what may be changed.

use tablegate_types::error::SqlResult;
use tablegate_types::quoting::quote_ident;
use tablegate_types::sql_type::SqlType;

use super::{Definition, FunctionContext, argument, boolean, int4, text};
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::objects::{Class, column_name};
use crate::pg_catalog::{built_ins, layout};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition::new("pg_describe_object", text, |c, a| Ok(object(c, a).map(|object| object.described()).into())),
    Definition::new("identified type", texts, |c, a| Ok(of_object(c, a, |object| object.kind().into()))),
    Definition::new("identified schema", texts, |c, a| Ok(of_object(c, a, |object| object.schema.clone().into()))),
    Definition::new("identified name", texts, |c, a| Ok(of_object(c, a, |object| object.name.clone().into()))),
    Definition::new("identified identity", texts, |c, a| Ok(of_object(c, a, |object| object.identity().into()))),
    Definition::new("pg_index_column_has_property", boolean, index_column_property),
    Definition::new("pg_index_has_property", boolean, index_property),
    Definition::new("pg_indexam_has_property", boolean, method_property),
    Definition::new("pg_relation_is_updatable", int4, |c, a| {
        Ok(Cell::Int(if is_table(c, argument(a, 0)) { EVERY_CHANGE } else { 0 }))
    }),
    Definition::new("pg_column_is_updatable", boolean, |c, a| {
        let is_column = argument(a, 1).as_int().is_some_and(|number| number > 0);
        Ok((is_column && is_table(c, argument(a, 0))).into())
    }),
    Definition::new("pg_relation_is_publishable", boolean, |c, a| {
        let class = super::sizes::relation(c, argument(a, 0))?.and_then(|oid| c.objects.class_by_oid(oid));
        Ok(class.map(|class| matches!(class, Class::Table(_))).into())
    }),
];

/// INSERT, UPDATE and DELETE, as `pg_relation_is_updatable` numbers them.
const EVERY_CHANGE: i64 = (1 << 2) | (1 << 3) | (1 << 4);

fn texts(_: &[arrow::datatypes::FieldRef]) -> SqlType {
    SqlType::Array(Box::new(SqlType::Text))
}

/// Something that the catalogue numbers.
struct Object {
    kind: &'static str,
    schema: Option<String>,
    name: Option<String>,
    /// With the schema, where it needs one.
    shown: String,
    visible: String,
    column: Option<String>,
}

impl Object {
    fn kind(&self) -> String {
        let column = if self.column.is_some() { " column" } else { "" };
        format!("{}{column}", self.kind)
    }

    fn identity(&self) -> String {
        match &self.column {
            Some(column) => format!("{}.{column}", self.shown),
            None => self.shown.clone(),
        }
    }

    fn described(&self) -> String {
        match &self.column {
            Some(column) => format!("column {column} of {} {}", self.kind, self.visible),
            None => format!("{} {}", self.kind, self.visible),
        }
    }
}

/// The object of a class, an OID and the number of a column.
fn object(context: &FunctionContext, arguments: &[Cell]) -> Option<Object> {
    let class = argument(arguments, 0).as_oid()?;
    let oid = argument(arguments, 1).as_oid()?;
    let number = argument(arguments, 2).as_int().and_then(|number| i32::try_from(number).ok())?;
    let relation = layout::all().iter().find(|layout| layout.oid == class)?.name;
    match relation {
        "pg_class" => relation_object(context, oid, number),
        "pg_namespace" => {
            let name = context.objects.schemas().into_iter().find(|(known, _)| *known == oid)?.1;
            let name = quote_ident(&name);
            Some(Object {
                kind: "schema",
                schema: None,
                name: Some(name.clone()),
                shown: name.clone(),
                visible: name,
                column: None,
            })
        }
        "pg_type" => {
            let row = built_ins::type_by_oid(oid)?;
            let shown = built_ins::format_type(&context.objects, oid, None);
            let name = quote_ident(row.name);
            Some(Object {
                kind: "type",
                schema: Some("pg_catalog".to_owned()),
                name: Some(name),
                shown: shown.clone(),
                visible: shown,
                column: None,
            })
        }
        _ => None,
    }
}

fn relation_object(context: &FunctionContext, oid: u32, number: i32) -> Option<Object> {
    let class = context.objects.class_by_oid(oid)?;
    let kind = match &class {
        Class::Table(_) => "table",
        Class::Index(_) => "index",
        Class::Sequence(_) => "sequence",
        Class::View(_) => "view",
        Class::System(layout) if layout.kind == "v" => "view",
        Class::System(_) => "table",
    };
    let column = match (&class, number) {
        (_, 0) => None,
        (Class::Table(table), number) => Some(column_name(table, number)?),
        (Class::System(layout), number) => {
            let at = usize::try_from(number).ok()?.checked_sub(1)?;
            Some(quote_ident(layout.columns.get(at)?.name))
        }
        _ => return None,
    };
    let (schema, name) = (quote_ident(&class.schema()), quote_ident(&class.name()));
    Some(Object {
        kind,
        shown: format!("{schema}.{name}"),
        visible: context.objects.printed(&class),
        schema: Some(schema),
        name: Some(name),
        column,
    })
}

/// One column of `pg_identify_object`, which has one row.
fn of_object(context: &FunctionContext, arguments: &[Cell], column: impl Fn(&Object) -> Cell) -> Cell {
    match object(context, arguments) {
        Some(object) => Cell::List(vec![column(&object)]),
        None => Cell::List(vec![Cell::Null]),
    }
}

fn is_table(context: &FunctionContext, given: &Cell) -> bool {
    let class = given.as_oid().and_then(|oid| context.objects.class_by_oid(oid));
    match class {
        Some(Class::Table(_)) => true,
        Some(Class::System(layout)) => layout.kind == "r",
        _ => false,
    }
}

/// What a column of an index can do. Those of a primary key are ascending, with NULL behind.
fn index_column_property(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let class = argument(arguments, 0).as_oid().and_then(|oid| context.objects.class_by_oid(oid));
    let Some(Class::Index(index)) = class else { return Ok(Cell::Null) };
    let place = argument(arguments, 1).as_int().and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    let Some(place) = place.filter(|place| *place < index.columns().len()) else { return Ok(Cell::Null) };
    let shape = index.shape();
    let column = shape.as_ref().and_then(|shape| shape.columns.get(place));
    // A column behind the key is only stored with it.
    let is_ordered = index.method() == "btree" && (shape.is_none() || column.is_some());
    let (descending, nulls_first) = column.map_or((false, false), |column| column.order());
    let property = argument(arguments, 2).as_text().unwrap_or_default().to_lowercase();
    Ok(match property.as_str() {
        "asc" => (is_ordered && !descending).into(),
        "desc" => (is_ordered && descending).into(),
        "nulls_first" => (is_ordered && nulls_first).into(),
        "nulls_last" => (is_ordered && !nulls_first).into(),
        "orderable" | "search_nulls" | "search_array" => is_ordered.into(),
        "returnable" => (index.method() == "btree").into(),
        "distance_orderable" => false.into(),
        _ => Cell::Null,
    })
}

fn index_property(context: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    let class = argument(arguments, 0).as_oid().and_then(|oid| context.objects.class_by_oid(oid));
    let Some(Class::Index(index)) = class else { return Ok(Cell::Null) };
    let is_ordered = index.method() == "btree";
    Ok(match argument(arguments, 1).as_text().unwrap_or_default().to_lowercase().as_str() {
        "clusterable" | "index_scan" | "bitmap_scan" | "backward_scan" => is_ordered.into(),
        _ => Cell::Null,
    })
}

/// What access methods can do, as PostgreSQL's do.
fn method_property(_: &FunctionContext, arguments: &[Cell]) -> SqlResult<Cell> {
    const BTREE: u32 = 403;
    const HASH: u32 = 405;
    const GIST: u32 = 783;
    const GIN: u32 = 2742;
    const SPGIST: u32 = 4000;
    const BRIN: u32 = 3580;
    let Some(method) = argument(arguments, 0).as_oid() else { return Ok(Cell::Null) };
    if ![BTREE, HASH, GIST, GIN, SPGIST, BRIN].contains(&method) {
        return Ok(Cell::Null);
    }
    Ok(match argument(arguments, 1).as_text().unwrap_or_default().to_lowercase().as_str() {
        "can_order" | "can_unique" => (method == BTREE).into(),
        "can_multi_col" => (![HASH, SPGIST].contains(&method)).into(),
        "can_exclude" => ([BTREE, HASH, GIST, SPGIST].contains(&method)).into(),
        "can_include" => ([BTREE, GIST, SPGIST].contains(&method)).into(),
        _ => Cell::Null,
    })
}
