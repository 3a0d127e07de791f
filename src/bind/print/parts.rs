//! The forms of an expression: PostgreSQL's `get_rule_expr`.

use tablegate_types::quoting::quote_ident;
use tablegate_types::stack::deeper;

use super::constant::{Label, constant};
use super::lines::Printer;
use super::simple::{Around, binds_within, is_simple};
use crate::catalogue::collations;
use crate::expr::{
    BoundExpr, CallForm, CastMethod, ExprKind, ExprType, Index, Link, SubQueryUse, Test, ValueWord, Written,
};

/// Columns by which what is inside of a CASE is moved to the right.
const INDENT: isize = 4;

impl Printer<'_> {
    /// An expression; casts around it that nobody asked for are shown where it would be another one without them.
    pub(super) fn expr(&mut self, expr: &BoundExpr, shows_casts: bool) {
        deeper(|| self.form(expr, shows_casts));
    }

    /// A part of an expression, in parentheses where the pretty form needs them.
    pub(super) fn part(&mut self, part: &BoundExpr, shows_casts: bool, around: Around<'_>) {
        let in_parentheses = self.settings.pretty && !is_simple(part, around);
        if in_parentheses {
            self.push("(");
        }
        self.expr(part, shows_casts);
        if in_parentheses {
            self.push(")");
        }
    }

    pub(super) fn list(&mut self, parts: &[BoundExpr]) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.expr(part, true);
        }
    }

    /// Values of which one that is a table's row says its type, or it would be read as all of its columns.
    pub(super) fn whole_list(&mut self, parts: &[BoundExpr], separator: &str, shows_casts: bool) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.push(separator);
            }
            self.whole(part, shows_casts);
        }
    }

    pub(super) fn whole(&mut self, part: &BoundExpr, shows_casts: bool) {
        self.expr(part, shows_casts);
        if let ExprKind::WholeRow { level, entry } = part.kind {
            let known = self.settings.names.row_type(level, entry);
            let label = known.unwrap_or_else(|| self.settings.lookup.type_with_modifier(part.ty.oid, part.ty.typmod));
            self.push(&format!("::{label}"));
        }
    }

    /// Parentheses that the full form always has.
    fn enclosed(&mut self, print: impl FnOnce(&mut Self)) {
        let in_full = !self.settings.pretty;
        if in_full {
            self.push("(");
        }
        print(self);
        if in_full {
            self.push(")");
        }
    }

    fn form(&mut self, expr: &BoundExpr, shows_casts: bool) {
        match &expr.kind {
            ExprKind::Column { level, entry, column } => {
                let name = self.settings.names.column(*level, *entry, *column);
                self.push(&name);
            }
            ExprKind::WholeRow { level, entry } => {
                let name = self.settings.names.row(*level, *entry);
                self.push(&name);
            }
            ExprKind::Parameter(number) => self.push(&format!("${number}")),
            ExprKind::Constant(literal) => {
                let text = constant(self.settings.lookup, literal, expr.ty, Label::IfNeeded);
                self.push(&text);
            }
            ExprKind::Operation { first, links } => self.operation(first, links),
            ExprKind::Prefix { operator, operand } => self.enclosed(|printer| {
                printer.push(operator.name);
                printer.push(" ");
                printer.part(operand, true, Around::Other);
            }),
            ExprKind::Call { function, arguments, names, variadic, form } => {
                if *form == CallForm::Words && self.words(function, arguments) {
                    return;
                }
                self.called(&function.name, &function.schema);
                self.arguments(arguments, names, *variadic);
                self.push(")");
            }
            ExprKind::Grouping { arguments, .. } => self.call_of("GROUPING(", arguments),
            ExprKind::Aggregate { function, arguments, variadic, rows, .. } => {
                self.called(&function.name, &function.schema);
                self.over_rows(arguments, *variadic, rows);
            }
            ExprKind::WindowCall { function, arguments, rows } => {
                self.called(&function.name, &function.schema);
                self.over_rows(arguments, false, rows);
            }
            ExprKind::Cast { value, method, written, .. } => self.cast(value, method, *written, expr.ty, shows_casts),
            ExprKind::And(parts) => self.joined(parts, " AND ", Around::And),
            ExprKind::Or(parts) => self.joined(parts, " OR ", Around::Or),
            ExprKind::InList { any: true, comparisons } => self.joined_from_left(comparisons, " OR ", Around::Or),
            ExprKind::InList { any: false, comparisons } => self.joined_from_left(comparisons, " AND ", Around::And),
            ExprKind::Not(value) => self.enclosed(|printer| {
                printer.push("NOT ");
                printer.part(value, false, Around::Not);
            }),
            ExprKind::Test { value, test, negated } => self.test(value, *test, *negated),
            ExprKind::Distinct { left, right, .. } => self.enclosed(|printer| {
                printer.part(left, true, Around::Other);
                printer.push(" IS DISTINCT FROM ");
                printer.part(right, true, Around::Other);
            }),
            ExprKind::NullIf { left, right, .. } => {
                self.push("NULLIF(");
                self.expr(left, true);
                self.push(", ");
                self.expr(right, true);
                self.push(")");
            }
            ExprKind::OfItems { operator, any, value, array } => self.enclosed(|printer| {
                printer.part(value, true, Around::Other);
                printer.push(&format!(" {} {} (", operator.name, if *any { "ANY" } else { "ALL" }));
                printer.part(array, true, Around::Other);
                if let ExprKind::SubQuery { used: SubQueryUse::Value, .. } = array.kind {
                    // Or it would be read as the query whose rows are compared.
                    let label = printer.settings.lookup.type_with_modifier(array.ty.oid, array.ty.typmod);
                    printer.push(&format!("::{label}"));
                }
                printer.push(")");
            }),
            ExprKind::RowComparison { operators, left, right } => {
                self.push("(ROW(");
                self.list(left);
                self.push(&format!(") {} ROW(", operators.first().map_or("", |operator| operator.name)));
                self.list(right);
                self.push("))");
            }
            ExprKind::Array { items, .. } => {
                self.push("ARRAY[");
                self.list(items);
                self.push("]");
                if items.is_empty() {
                    let label = self.settings.lookup.type_with_modifier(expr.ty.oid, -1);
                    self.push(&format!("::{label}"));
                }
            }
            ExprKind::Row(items) => {
                self.push("ROW(");
                self.whole_list(items, ", ", true);
                self.push(")");
            }
            ExprKind::Case { operand, branches, otherwise } => self.case(operand.as_deref(), branches, otherwise),
            ExprKind::CaseOperand => self.push("CASE_TEST_EXPR"),
            ExprKind::Item => {}
            ExprKind::SubQueryColumn(number) => self.push(&format!("${number}")),
            ExprKind::Coalesce(parts) => self.call_of("COALESCE(", parts),
            ExprKind::Greatest(parts) => self.call_of("GREATEST(", parts),
            ExprKind::Least(parts) => self.call_of("LEAST(", parts),
            ExprKind::Subscript { value, indexes } => self.subscript(value, indexes),
            ExprKind::Field { row, name, .. } => {
                let is_plain = matches!(row.kind, ExprKind::Subscript { .. } | ExprKind::Field { .. });
                self.push(if is_plain { "" } else { "(" });
                self.expr(row, true);
                self.push(if is_plain { "." } else { ")." });
                self.push(&quote_ident(name));
            }
            ExprKind::Collate { value, collation, .. } => self.enclosed(|printer| {
                printer.part(value, shows_casts, Around::Other);
                let name = collations::name(*collation).unwrap_or_default();
                printer.push(&format!(" COLLATE {}", quote_ident(name)));
            }),
            ExprKind::Word(word) => {
                let typmod = expr.ty.typmod;
                self.push(value_word(*word));
                if typmod >= 0 {
                    self.push(&format!("({typmod})"));
                }
            }
            ExprKind::SubQuery { query, used } => self.sub_query(*query, used),
            ExprKind::Default => self.push("DEFAULT"),
        }
    }

    /// Operands joined from left to right: each operator has parentheses around what is before it and itself.
    pub(super) fn operation(&mut self, first: &BoundExpr, links: &[Link]) {
        let pretty = self.settings.pretty;
        let closes = |at: usize| match (links.get(at), links.get(at + 1)) {
            (Some(own), Some(next)) if pretty => !binds_within(own.operator.name, next.operator.name, true),
            (_, None) if pretty => false,
            _ => true,
        };
        let opened = (0..links.len()).filter(|at| closes(*at)).count();
        self.text.extend(std::iter::repeat_n('(', opened));
        let name = links.first().map_or("", |link| link.operator.name);
        self.part(first, true, Around::Operator { name, is_first: true });
        for (at, link) in links.iter().enumerate() {
            let name = link.operator.name;
            self.push(&format!(" {name} "));
            self.part(&link.operand, true, Around::Operator { name, is_first: false });
            if closes(at) {
                self.push(")");
            }
        }
    }

    pub(super) fn called(&mut self, name: &str, schema: &str) {
        if schema == "information_schema" {
            self.push("information_schema.");
        }
        self.push(&quote_ident(name));
        self.push("(");
    }

    pub(super) fn arguments(&mut self, arguments: &[BoundExpr], names: &[(usize, String)], variadic: bool) {
        for (at, argument) in arguments.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            if variadic && at + 1 == arguments.len() {
                self.push("VARIADIC ");
            }
            if let Some((_, name)) = names.iter().find(|(of, _)| *of == at) {
                self.push(&format!("{} => ", quote_ident(name)));
            }
            self.expr(argument, true);
        }
    }

    fn call_of(&mut self, begin: &str, parts: &[BoundExpr]) {
        self.push(begin);
        self.list(parts);
        self.push(")");
    }

    fn cast(&mut self, value: &BoundExpr, method: &CastMethod, written: Written, ty: ExprType, shows_casts: bool) {
        let around = if let CastMethod::Function(_) = method { Around::CastCall } else { Around::Other };
        if written == Written::Implicitly && !shows_casts {
            self.part(value, false, around);
            return;
        }
        match &value.kind {
            // What cuts it to its length is part of one cast.
            ExprKind::Constant(literal) if value.ty.oid == ty.oid && value.ty.typmod == -1 => {
                let text = constant(self.settings.lookup, literal, value.ty, Label::Never);
                self.push(&text);
            }
            _ => self.enclosed(|printer| printer.part(value, false, around)),
        }
        let label = self.settings.lookup.type_with_modifier(ty.oid, ty.typmod);
        self.push(&format!("::{label}"));
    }

    fn joined(&mut self, parts: &[BoundExpr], word: &str, around: Around<'_>) {
        self.enclosed(|printer| {
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    printer.push(word);
                }
                printer.part(part, false, around);
            }
        });
    }

    /// As PostgreSQL prints what it joined two by two.
    fn joined_from_left(&mut self, parts: &[BoundExpr], word: &str, around: Around<'_>) {
        let in_full = !self.settings.pretty;
        if in_full {
            self.text.extend(std::iter::repeat_n('(', parts.len().saturating_sub(1)));
        }
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.push(word);
            }
            self.part(part, false, around);
            if at > 0 && in_full {
                self.push(")");
            }
        }
    }

    fn test(&mut self, value: &BoundExpr, test: Test, negated: bool) {
        self.enclosed(|printer| {
            printer.part(value, test == Test::Null, Around::Other);
            printer.push(match (test, negated) {
                (Test::Null, false) => " IS NULL",
                (Test::Null, true) => " IS NOT NULL",
                (Test::True, false) => " IS TRUE",
                (Test::True, true) => " IS NOT TRUE",
                (Test::False, false) => " IS FALSE",
                (Test::False, true) => " IS NOT FALSE",
                (Test::Unknown, false) => " IS UNKNOWN",
                (Test::Unknown, true) => " IS NOT UNKNOWN",
            });
        });
    }

    fn subscript(&mut self, value: &BoundExpr, indexes: &[Index]) {
        let is_plain = matches!(value.kind, ExprKind::Column { .. } | ExprKind::Field { .. });
        self.push(if is_plain { "" } else { "(" });
        self.expr(value, true);
        self.push(if is_plain { "" } else { ")" });
        for index in indexes {
            self.push("[");
            match index {
                Index::One(index) => self.expr(index, false),
                Index::Slice(low, high) => {
                    low.iter().for_each(|low| self.expr(low, false));
                    self.push(":");
                    high.iter().for_each(|high| self.expr(high, false));
                }
            }
            self.push("]");
        }
    }

    fn case(&mut self, operand: Option<&BoundExpr>, branches: &[(BoundExpr, BoundExpr)], otherwise: &BoundExpr) {
        self.line("CASE");
        self.indent += INDENT;
        if let Some(operand) = operand {
            self.push(" ");
            self.expr(operand, true);
        }
        for (condition, value) in branches {
            self.line("WHEN ");
            match (operand, compared_with(condition)) {
                (Some(_), Some(other)) => self.expr(other, false),
                _ => self.expr(condition, false),
            }
            self.push(" THEN ");
            self.expr(value, true);
        }
        self.line("ELSE ");
        self.expr(otherwise, true);
        self.indent -= INDENT;
        self.line("END");
    }
}

/// What the operand of a CASE is compared with.
fn compared_with(condition: &BoundExpr) -> Option<&BoundExpr> {
    match &condition.kind {
        ExprKind::Operation { first, links } => match (&first.without_implicit_casts().kind, links.as_slice()) {
            (ExprKind::CaseOperand, [only]) => Some(&only.operand),
            _ => None,
        },
        _ => None,
    }
}

fn value_word(word: ValueWord) -> &'static str {
    match word {
        ValueWord::CurrentDate => "CURRENT_DATE",
        ValueWord::CurrentTime => "CURRENT_TIME",
        ValueWord::CurrentTimestamp => "CURRENT_TIMESTAMP",
        ValueWord::LocalTime => "LOCALTIME",
        ValueWord::LocalTimestamp => "LOCALTIMESTAMP",
        ValueWord::CurrentRole => "CURRENT_ROLE",
        ValueWord::CurrentUser => "CURRENT_USER",
        ValueWord::User => "USER",
        ValueWord::SessionUser => "SESSION_USER",
        ValueWord::CurrentCatalog => "CURRENT_CATALOG",
        ValueWord::CurrentSchema => "CURRENT_SCHEMA",
    }
}
