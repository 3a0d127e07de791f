//! The types of a statement's parameters: as the client gave them, else as the place where each stands first asks for.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::common::metadata::{FieldMetadata, ScalarAndMetadata};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, ScalarUDF};
use tablegate_types::sql_type::SqlType;
use tablegate_types::style::{Reading, Style};

use super::catalog_functions::CatalogFunctions;

/// What is known of the parameters while a statement is planned.
pub(crate) struct Parameters<'a> {
    /// `$1` first; `Unknown` where the client left it open.
    given: &'a [SqlType],
    /// The plan is kept for later runs, so the time of the statement is not known while planning.
    is_kept: bool,
    /// The session's style, and that in which literals are read.
    style: Style,
    literal_style: Style,
    found: RefCell<BTreeMap<usize, SqlType>>,
    /// The functions of the catalogue, as the statement sees it.
    catalog: Option<&'a dyn CatalogFunctions>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn new(given: &'a [SqlType]) -> Self {
        Self {
            given,
            is_kept: false,
            style: Style::PLAIN,
            literal_style: Style::PLAIN,
            found: RefCell::new(BTreeMap::new()),
            catalog: None,
        }
    }

    /// The same, of an expression that is kept for later or is not.
    pub(crate) fn of_kept(mut self, is_kept: bool) -> Self {
        self.is_kept = is_kept;
        self
    }

    /// The same, in a statement that can ask the catalogue.
    pub(crate) fn with_catalog(mut self, catalog: &'a dyn CatalogFunctions) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// A function of the catalogue; `None` where there is no catalogue to ask.
    pub(crate) fn catalog_function(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.catalog?.function(name)
    }

    /// The same, in a session of this style, with literals in another perhaps.
    pub(crate) fn in_style(mut self, style: Style, literal_style: Style) -> Self {
        (self.style, self.literal_style) = (style, literal_style);
        self
    }

    /// The style of the session.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// What the texts of literals are read with. In a plan that is kept for later, the time is not known.
    pub(crate) fn reading(&self) -> Reading {
        Reading { style: self.literal_style, now: None }
    }

    /// Whether the expression is kept for later: words like `now` mean nothing then.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// A parameter with the type it has by now.
    pub(crate) fn typed(&self, parameter: Placeholder) -> Expr {
        let known = index(&parameter.id).and_then(|index| self.type_of(index));
        Expr::Placeholder(Placeholder {
            field: known.map(|sql_type| Arc::new(sql_type.field("", true))),
            id: parameter.id,
        })
    }

    /// The parameter stands where a value of this type is asked for.
    pub(crate) fn take_for(&self, id: String, sql_type: &SqlType) -> Expr {
        if let Some(index) = index(&id) {
            let mut found = self.found.borrow_mut();
            let known = found.entry(index).or_insert(SqlType::Unknown);
            if *known == SqlType::Unknown {
                *known = sql_type.clone();
            }
        }
        self.typed(Placeholder { id, field: None })
    }

    /// The parameter is there, wherever it stands.
    pub(crate) fn see(&self, id: &str) {
        if let Some(index) = index(id) {
            self.found.borrow_mut().entry(index).or_insert(SqlType::Unknown);
        }
    }

    /// The numbers of the parameters that were met.
    pub(crate) fn met(&self) -> Vec<usize> {
        self.found.borrow().keys().copied().collect()
    }

    fn type_of(&self, index: usize) -> Option<SqlType> {
        let known = |sql_type: &&SqlType| **sql_type != SqlType::Unknown;
        let given = self.given.get(index.checked_sub(1)?).filter(known);
        given.or(self.found.borrow().get(&index).filter(known)).cloned()
    }

    /// The type of each parameter, `$1` first; text for one that could be of any.
    pub(crate) fn types(&self) -> Vec<SqlType> {
        let last = self.found.borrow().keys().next_back().copied().unwrap_or(0);
        let count = last.max(self.given.len());
        (1..=count).map(|index| self.type_of(index).unwrap_or(SqlType::Text)).collect()
    }
}

/// The value of a parameter, which says its type where its layout does not: a json is laid out as a text is.
pub(crate) fn value_of(value: &ScalarValue, sql_type: &SqlType) -> ScalarAndMetadata {
    // A numeric has the digits of its value, whatever the parameter is declared with.
    let is_told = matches!(sql_type, SqlType::Numeric(_)) || SqlType::of_arrow(&value.data_type()) == *sql_type;
    let metadata = (!is_told).then(|| FieldMetadata::from(&sql_type.field("", true)));
    ScalarAndMetadata::new(value.clone(), metadata)
}

/// The number of `$1`.
pub(crate) fn index(id: &str) -> Option<usize> {
    id.strip_prefix('$')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_has_the_type_of_its_first_place() {
        let given = [SqlType::Unknown, SqlType::Date];
        let parameters = Parameters::new(&given);
        parameters.see("$3");
        parameters.take_for("$1".to_owned(), &SqlType::Int4);
        parameters.take_for("$1".to_owned(), &SqlType::Text);
        parameters.take_for("$2".to_owned(), &SqlType::Text);
        assert_eq!(parameters.types(), [SqlType::Int4, SqlType::Date, SqlType::Text]);
    }
}
