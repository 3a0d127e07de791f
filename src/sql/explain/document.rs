//! What EXPLAIN says to programs: one value of JSON, XML or YAML, laid out as PostgreSQL lays it out.
//!
//! Tools read the whole of it as one document, and some of them line by line: so names, nesting and white space are
//! those they know.

use std::fmt::Write;

use serde_json::Value;

/// A named part of a document.
pub(super) type Field = (String, Part);

/// What a name stands for.
pub(super) enum Part {
    /// A number, a text or a truth.
    Value(Value),
    /// Some of them.
    Items(Vec<Value>),
    /// Further names.
    Group(Vec<Field>),
    /// Groups, each of which XML calls by the name given here.
    Groups(&'static str, Vec<Vec<Field>>),
}

/// A document: of a statement, or of one that has no plan.
pub(super) enum Document {
    Query(Vec<Field>),
    /// The kind of the statement.
    Nothing(&'static str),
}

/// Columns that each level of JSON, XML and YAML stands further to the right.
const STEP: usize = 2;

impl Document {
    pub(super) fn json(&self) -> String {
        let mut out = String::from("[\n");
        indent(&mut out, STEP);
        match self {
            Document::Query(fields) => json_group(fields, STEP, &mut out),
            Document::Nothing(kind) => out.push_str(&quoted(kind)),
        }
        out.push_str("\n]");
        out
    }

    pub(super) fn xml(&self) -> String {
        let mut out = String::from("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n");
        match self {
            Document::Query(fields) => xml_group("Query", fields, STEP, &mut out),
            Document::Nothing(kind) => {
                indent(&mut out, STEP);
                // Writing to memory does not fail, here and below.
                let _ = writeln!(out, "<{} />", tag(kind));
            }
        }
        out.push_str("</explain>");
        out
    }

    pub(super) fn yaml(&self) -> String {
        let mut out = String::from("- ");
        match self {
            Document::Query(fields) => yaml_fields(fields, STEP, &mut out),
            Document::Nothing(kind) => out.push_str(&quoted(kind)),
        }
        out
    }
}

fn indent(out: &mut String, columns: usize) {
    out.extend(std::iter::repeat_n(' ', columns));
}

/// A text as JSON and YAML have it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn json_group(fields: &[Field], column: usize, out: &mut String) {
    out.push('{');
    for (index, (name, part)) in fields.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        indent(out, column + STEP);
        let _ = write!(out, "{}: ", quoted(name));
        json_part(part, column + STEP, out);
    }
    out.push('\n');
    indent(out, column);
    out.push('}');
}

fn json_part(part: &Part, column: usize, out: &mut String) {
    match part {
        Part::Value(value) => out.push_str(&value.to_string()),
        Part::Items(items) => {
            let items: Vec<String> = items.iter().map(Value::to_string).collect();
            let _ = write!(out, "[{}]", items.join(", "));
        }
        Part::Group(fields) => json_group(fields, column, out),
        Part::Groups(_, groups) => {
            out.push('[');
            for (index, group) in groups.iter().enumerate() {
                out.push_str(if index == 0 { "\n" } else { ",\n" });
                indent(out, column + STEP);
                json_group(group, column + STEP, out);
            }
            out.push('\n');
            indent(out, column);
            out.push(']');
        }
    }
}

fn xml_group(name: &str, fields: &[Field], column: usize, out: &mut String) {
    let name = tag(name);
    indent(out, column);
    let _ = writeln!(out, "<{name}>");
    for (name, part) in fields {
        xml_part(name, part, column + STEP, out);
    }
    indent(out, column);
    let _ = writeln!(out, "</{name}>");
}

fn xml_part(name: &str, part: &Part, column: usize, out: &mut String) {
    match part {
        Part::Value(value) => xml_value(&tag(name), value, column, out),
        Part::Group(fields) => xml_group(name, fields, column, out),
        Part::Items(_) | Part::Groups(..) => {
            let name = tag(name);
            indent(out, column);
            let _ = writeln!(out, "<{name}>");
            if let Part::Items(items) = part {
                items.iter().for_each(|item| xml_value("Item", item, column + STEP, out));
            }
            if let Part::Groups(each, groups) = part {
                groups.iter().for_each(|group| xml_group(each, group, column + STEP, out));
            }
            indent(out, column);
            let _ = writeln!(out, "</{name}>");
        }
    }
}

fn xml_value(name: &str, value: &Value, column: usize, out: &mut String) {
    indent(out, column);
    let _ = writeln!(out, "<{name}>{}</{name}>", escaped(&bare(value)));
}

/// A name as XML allows it.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            other => out.push(other),
        }
    }
    out
}

fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Fields below each other; the first one stands where the text is.
fn yaml_fields(fields: &[Field], column: usize, out: &mut String) {
    for (index, (name, part)) in fields.iter().enumerate() {
        if index > 0 {
            yaml_line(out, column);
        }
        let _ = write!(out, "{name}: ");
        match part {
            Part::Value(value) => out.push_str(&value.to_string()),
            Part::Items(items) => {
                for item in items {
                    yaml_line(out, column + STEP);
                    let _ = write!(out, "- {item}");
                }
            }
            Part::Group(fields) => {
                yaml_line(out, column + STEP);
                yaml_fields(fields, column + STEP, out);
            }
            Part::Groups(_, groups) => {
                for group in groups {
                    yaml_line(out, column + STEP);
                    out.push_str("- ");
                    yaml_fields(group, column + 2 * STEP, out);
                }
            }
        }
    }
}

fn yaml_line(out: &mut String, column: usize) {
    out.push('\n');
    indent(out, column);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Document {
        let field = |name: &str, value: Value| (name.to_owned(), Part::Value(value));
        let scan = vec![
            field("Node Type", json!("Seq Scan")),
            ("Output".to_owned(), Part::Items(vec![json!("a.a"), json!("a.\"<b>\"")])),
        ];
        let sort = vec![
            field("Node Type", json!("Sort")),
            field("Parallel Aware", json!(false)),
            ("Plans".to_owned(), Part::Groups("Plan", vec![scan])),
        ];
        Document::Query(vec![("Plan".to_owned(), Part::Group(sort)), field("Execution Time", json!(0.5))])
    }

    /// White space and all as PostgreSQL 15 writes it.
    #[test]
    fn documents_are_laid_out_as_tools_know_them() {
        let json = r#"[
  {
    "Plan": {
      "Node Type": "Sort",
      "Parallel Aware": false,
      "Plans": [
        {
          "Node Type": "Seq Scan",
          "Output": ["a.a", "a.\"<b>\""]
        }
      ]
    },
    "Execution Time": 0.5
  }
]"#;
        assert_eq!(document().json(), json);
        let xml = r#"<explain xmlns="http://www.postgresql.org/2009/explain">
  <Query>
    <Plan>
      <Node-Type>Sort</Node-Type>
      <Parallel-Aware>false</Parallel-Aware>
      <Plans>
        <Plan>
          <Node-Type>Seq Scan</Node-Type>
          <Output>
            <Item>a.a</Item>
            <Item>a."&lt;b&gt;"</Item>
          </Output>
        </Plan>
      </Plans>
    </Plan>
    <Execution-Time>0.5</Execution-Time>
  </Query>
</explain>"#;
        assert_eq!(document().xml(), xml);
        let yaml = concat!(
            "- Plan: \n    Node Type: \"Sort\"\n    Parallel Aware: false\n    Plans: \n",
            "      - Node Type: \"Seq Scan\"\n        Output: \n          - \"a.a\"\n          - \"a.\\\"<b>\\\"\"\n",
            "  Execution Time: 0.5"
        );
        assert_eq!(document().yaml(), yaml);
    }

    #[test]
    fn a_statement_without_a_plan_is_named() {
        let nothing = Document::Nothing("CREATE TABLE AS");
        assert_eq!(nothing.json(), "[\n  \"CREATE TABLE AS\"\n]");
        assert!(nothing.xml().contains("\n  <CREATE-TABLE-AS />\n"));
        assert_eq!(nothing.yaml(), "- \"CREATE TABLE AS\"");
    }
}
