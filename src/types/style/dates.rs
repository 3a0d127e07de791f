//! DateStyle: how dates are written, and which of the numbers of an ambiguous one is read as the day.

use std::fmt;

/// How dates and timestamps are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateForm {
    /// `1997-12-17 07:37:16-08`
    Iso,
    /// `12/17/1997 07:37:16.00 PST`
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`
    Postgres,
    /// `17.12.1997 07:37:16.00 PST`
    German,
    /// `1997-12-17T07:37:16-08:00`: what JSON has. No setting says it.
    Xsd,
}

/// The order of the numbers of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    Ymd,
    Dmy,
    Mdy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateStyle {
    pub form: DateForm,
    pub order: DateOrder,
}

impl DateStyle {
    /// Reads a list of words; what it does not say stays as it is in `current`, and DEFAULT is `reset`.
    ///
    /// # Errors
    /// PostgreSQL's DETAIL for a list that says two things, or something else.
    pub fn parse(text: &str, current: Self, reset: Self) -> Result<Self, String> {
        let (mut form, mut order) = (None, None);
        let mut german = false;
        let mut conflict = false;
        let words = text.split(',').map(str::trim);
        let is_empty = text.trim().is_empty();
        for word in words.filter(|_| !is_empty) {
            let lower = word.trim_matches('"').to_ascii_lowercase();
            let mut say_form = |said| conflict |= form.replace(said).is_some_and(|before| before != said);
            match lower.as_str() {
                "iso" => say_form(DateForm::Iso),
                "sql" => say_form(DateForm::Sql),
                "german" => {
                    say_form(DateForm::German);
                    german |= order.is_none();
                }
                "ymd" => conflict |= order.replace(DateOrder::Ymd).is_some_and(|before| before != DateOrder::Ymd),
                "mdy" | "us" => {
                    conflict |= order.replace(DateOrder::Mdy).is_some_and(|before| before != DateOrder::Mdy);
                }
                "default" => {
                    form.get_or_insert(reset.form);
                    order.get_or_insert(reset.order);
                }
                word if word.starts_with("postgres") => say_form(DateForm::Postgres),
                word if word == "dmy" || word.starts_with("euro") => {
                    conflict |= order.replace(DateOrder::Dmy).is_some_and(|before| before != DateOrder::Dmy);
                }
                word if word.starts_with("noneuro") => {
                    conflict |= order.replace(DateOrder::Mdy).is_some_and(|before| before != DateOrder::Mdy);
                }
                "" => return Err("List syntax is invalid.".to_owned()),
                _ => return Err(format!("Unrecognized key word: \"{lower}\".")),
            }
        }
        if conflict {
            return Err("Conflicting \"datestyle\" specifications.".to_owned());
        }
        let order = order.unwrap_or(if german { DateOrder::Dmy } else { current.order });
        Ok(Self { form: form.unwrap_or(current.form), order })
    }
}

impl fmt::Display for DateStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.form {
            DateForm::Iso | DateForm::Xsd => "ISO",
            DateForm::Sql => "SQL",
            DateForm::Postgres => "Postgres",
            DateForm::German => "German",
        })?;
        f.write_str(match self.order {
            DateOrder::Ymd => ", YMD",
            DateOrder::Dmy => ", DMY",
            DateOrder::Mdy => ", MDY",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISO: DateStyle = DateStyle { form: DateForm::Iso, order: DateOrder::Mdy };

    fn shown(text: &str) -> String {
        DateStyle::parse(text, DateStyle { form: DateForm::Postgres, order: DateOrder::Dmy }, ISO)
            .map_or_else(|detail| detail, |style| style.to_string())
    }

    #[test]
    fn words_say_form_and_order() {
        for (text, expected) in [
            ("ISO, MDY", "ISO, MDY"),
            ("german", "German, DMY"),
            ("ymd, german", "German, YMD"),
            ("Postgresql,US", "Postgres, MDY"),
            ("european", "Postgres, DMY"),
            ("iso,iso,us", "ISO, MDY"),
            ("sql, default", "SQL, MDY"),
            ("", "Postgres, DMY"),
            ("iso, sql", "Conflicting \"datestyle\" specifications."),
            ("dmy, us", "Conflicting \"datestyle\" specifications."),
            ("xx", "Unrecognized key word: \"xx\"."),
            ("iso,", "List syntax is invalid."),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
