//! `pg_settings`: the session's settings as rows.

use super::Rows;
use crate::pg_catalog::cells::Cell;
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn settings(context: &FunctionContext, rows: &mut Rows) {
    for row in context.handles.settings.rows() {
        let definition = row.definition;
        let (bounds, choices) = definition.bounds();
        let (least, most) = bounds.unzip();
        rows.push([
            ("name", definition.name.into()),
            ("setting", row.setting.as_str().into()),
            ("unit", definition.kind.unit().map_or(Cell::Null, |unit| unit.name.into())),
            ("category", definition.category.into()),
            ("short_desc", definition.description.into()),
            ("extra_desc", text(definition.details)),
            ("context", definition.context.name().into()),
            ("vartype", definition.kind.name().into()),
            ("source", row.source.name().into()),
            ("min_val", least.map_or(Cell::Null, |least| least.as_str().into())),
            ("max_val", most.map_or(Cell::Null, |most| most.as_str().into())),
            ("enumvals", if choices.is_empty() { Cell::Null } else { Cell::texts(choices) }),
            ("boot_val", definition.shown_default().as_str().into()),
            ("reset_val", row.reset.as_str().into()),
            ("pending_restart", false.into()),
        ]);
    }
}

/// NULL for none.
fn text(text: &str) -> Cell {
    if text.is_empty() { Cell::Null } else { text.into() }
}
