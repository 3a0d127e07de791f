//! Functions that give rows: each column of them is a list that another function gives of the same arguments.

/// A function that gives rows.
pub(crate) struct SetFunction {
    name: &'static str,
    columns: &'static [SetColumn],
}

/// A column of such a function.
#[derive(Clone, Copy)]
pub(crate) struct SetColumn {
    /// `None` when the column is called as the function or its alias is.
    pub name: Option<&'static str>,
    /// The function that gives the column's values as a list.
    pub list: &'static str,
    /// The function that says again what type they are, where a list's items do not.
    pub typed: Option<&'static str>,
}

const fn column(name: Option<&'static str>, list: &'static str, typed: Option<&'static str>) -> SetColumn {
    SetColumn { name, list, typed }
}

const fn set(name: &'static str, columns: &'static [SetColumn]) -> SetFunction {
    SetFunction { name, columns }
}

const JSON: Option<&str> = Some("typed_json");
const JSONB: Option<&str> = Some("typed_jsonb");

const SET_FUNCTIONS: &[SetFunction] = &[
    set("unnest", &[column(None, "unnest_items", None)]),
    set("generate_series", &[column(None, "generate_series", None)]),
    set("generate_subscripts", &[column(None, "generate_subscripts", None)]),
    set("pg_listening_channels", &[column(None, "listening_channels", None)]),
    set("regexp_matches", &[column(None, "regexp_matches", None)]),
    set("regexp_split_to_table", &[column(None, "regexp_split_to_table", None)]),
    set("string_to_table", &[column(None, "string_to_table", None)]),
    set("json_array_elements", &[column(Some("value"), "json_array_elements", JSON)]),
    set("jsonb_array_elements", &[column(Some("value"), "jsonb_array_elements", JSONB)]),
    set("json_array_elements_text", &[column(Some("value"), "json_array_elements_text", None)]),
    set("jsonb_array_elements_text", &[column(Some("value"), "jsonb_array_elements_text", None)]),
    set("json_object_keys", &[column(None, "json_object_keys", None)]),
    set("jsonb_object_keys", &[column(None, "jsonb_object_keys", None)]),
    set("json_each", &[column(Some("key"), "json_each_key", None), column(Some("value"), "json_each", JSON)]),
    set("jsonb_each", &[column(Some("key"), "jsonb_each_key", None), column(Some("value"), "jsonb_each", JSONB)]),
    set("json_each_text", &[column(Some("key"), "json_each_key", None), column(Some("value"), "json_each_text", None)]),
    set(
        "jsonb_each_text",
        &[column(Some("key"), "jsonb_each_text_key", None), column(Some("value"), "jsonb_each_text", None)],
    ),
    // Of the catalogue.
    set(
        "pg_get_keywords",
        &[
            column(Some("word"), "keyword words", None),
            column(Some("catcode"), "keyword codes", Some("catalog_char")),
            column(Some("barelabel"), "keyword labels", None),
            column(Some("catdesc"), "keyword kinds", None),
            column(Some("baredesc"), "keyword label kinds", None),
        ],
    ),
    set(
        "pg_options_to_table",
        &[column(Some("option_name"), "option names", None), column(Some("option_value"), "option values", None)],
    ),
    set(
        "pg_identify_object",
        &[
            column(Some("type"), "identified type", None),
            column(Some("schema"), "identified schema", None),
            column(Some("name"), "identified name", None),
            column(Some("identity"), "identified identity", None),
        ],
    ),
    set(
        "aclexplode",
        &[
            column(Some("grantor"), "acl grantors", None),
            column(Some("grantee"), "acl grantees", None),
            column(Some("privilege_type"), "acl privileges", None),
            column(Some("is_grantable"), "acl grant options", None),
        ],
    ),
    set(
        "ts_token_type",
        &[
            column(Some("tokid"), "token numbers", None),
            column(Some("alias"), "token aliases", None),
            column(Some("description"), "token descriptions", None),
        ],
    ),
    set(
        "pg_partition_tree",
        &[
            column(Some("relid"), "no relations", None),
            column(Some("parentrelid"), "no relations", None),
            column(Some("isleaf"), "no truths", None),
            column(Some("level"), "no numbers", None),
        ],
    ),
    set("pg_partition_ancestors", &[column(Some("relid"), "no relations", None)]),
    set("_pg_expandarray", &[column(Some("x"), "unnest_items", None), column(Some("n"), "item numbers", None)]),
];

/// The columns of a function that gives rows; `None` for any other.
pub(crate) fn columns_of(name: &str) -> Option<&'static [SetColumn]> {
    SET_FUNCTIONS.iter().find(|set| set.name == name).map(|set| set.columns)
}
