//! Calls in the SQL standard's words: PostgreSQL's `get_func_sql_syntax`.

use super::lines::Printer;
use super::simple::Around;
use crate::catalogue::{Function, oids};
use crate::constant::printed;
use crate::expr::{BoundExpr, ExprKind};

impl Printer<'_> {
    /// Prints the call in words; false where it has none.
    pub(super) fn words(&mut self, function: &Function, arguments: &[BoundExpr]) -> bool {
        match (&*function.name, arguments) {
            ("timezone", [zone, value]) => {
                self.push("(");
                self.part(value, false, Around::Words);
                self.push(" AT TIME ZONE ");
                self.part(zone, false, Around::Words);
                self.push(")");
            }
            ("overlaps", [a, b, c, d]) => {
                self.spelled(&[("((", a), (", ", b), (") OVERLAPS (", c), (", ", d)], "))");
            }
            ("extract", [field, value]) => {
                let field = literal(field);
                self.push(&format!("EXTRACT({field}"));
                self.spelled(&[(" FROM ", value)], ")");
            }
            ("is_normalized", [value, form @ ..]) => {
                self.push("(");
                self.part(value, false, Around::Words);
                self.push(" IS");
                if let [form] = form {
                    self.push(&format!(" {}", literal(form)));
                }
                self.push(" NORMALIZED)");
            }
            ("normalize", [value, form @ ..]) => {
                self.spelled(&[("NORMALIZE(", value)], "");
                if let [form] = form {
                    self.push(&format!(", {}", literal(form)));
                }
                self.push(")");
            }
            ("overlay", [text, new, from, rest @ ..]) => {
                self.spelled(&[("OVERLAY(", text), (" PLACING ", new), (" FROM ", from)], "");
                if let [length] = rest {
                    self.spelled(&[(" FOR ", length)], "");
                }
                self.push(")");
            }
            ("position", [text, wanted]) => self.spelled(&[("POSITION((", wanted), (") IN (", text)], "))"),
            ("substring", [text, pattern, escape]) if function.arguments.get(1) == Some(&oids::TEXT) => {
                self.spelled(&[("SUBSTRING(", text), (" SIMILAR ", pattern), (" ESCAPE ", escape)], ")");
            }
            ("substring", [text, from, rest @ ..]) if function.arguments.get(1) == Some(&oids::INT4) => {
                self.spelled(&[("SUBSTRING(", text), (" FROM ", from)], "");
                if let [length] = rest {
                    self.spelled(&[(" FOR ", length)], "");
                }
                self.push(")");
            }
            ("btrim" | "ltrim" | "rtrim", [text, rest @ ..]) => {
                self.push(match &*function.name {
                    "ltrim" => "TRIM(LEADING",
                    "rtrim" => "TRIM(TRAILING",
                    _ => "TRIM(BOTH",
                });
                if let [what] = rest {
                    self.spelled(&[(" ", what)], "");
                }
                self.spelled(&[(" FROM ", text)], ")");
            }
            _ => return false,
        }
        true
    }

    fn spelled(&mut self, pieces: &[(&str, &BoundExpr)], end: &str) {
        for (words, part) in pieces {
            self.push(words);
            self.expr(part, false);
        }
        self.push(end);
    }
}

fn literal(expr: &BoundExpr) -> String {
    match &expr.kind {
        ExprKind::Constant(literal) => printed(literal, expr.ty.oid).unwrap_or_default(),
        _ => String::new(),
    }
}
