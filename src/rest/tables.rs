//! Query Tables, Create Table and Delete Table.

use std::convert::Infallible;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::LOCATION;
use serde::Deserialize;
use tablegate_store::model::{EdmRef, TableName};

use crate::answer::Answer;
use crate::door::Door;
use crate::edm::{Metadata, write_string};
use crate::entity::check_json;
use crate::error::{Refusal, RestResult};
use crate::filter::{Filter, Property, Values};
use crate::head::Head;
use crate::prefer::Prefer;
use crate::query::{PAGE_MAX, top};
use crate::token;

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "TableName")]
    name: Option<String>,
}

pub(crate) async fn query(door: &Door, head: &Head) -> RestResult<Answer> {
    let metadata = head.metadata()?;
    head.query.check_options()?;
    let filter = Filter::parse(head.query.get("$filter").unwrap_or_default())?;
    let (top, _) = (top(head)?.unwrap_or(PAGE_MAX), head.query.get("$select"));
    let from = head.query.get("NextTableName").map(token::decode).transpose()?;
    let mut tables = door.tables().await?;
    tables.retain(|table| {
        let is_behind = from.as_deref().is_none_or(|from| *table.folded() >= *from);
        let Ok(is_asked) = filter.as_ref().map_or(Ok(true), |filter| filter.holds(&Listed(table)));
        is_behind && is_asked
    });
    let next = tables.get(top).map(TableName::folded);
    tables.truncate(top);
    let mut body = b"{".to_vec();
    if metadata != Metadata::None {
        body.extend_from_slice(b"\"odata.metadata\":");
        write_string(&mut body, &format!("{}/$metadata#Tables", head.base));
        body.push(b',');
    }
    body.extend_from_slice(b"\"value\":[");
    for (index, table) in tables.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_table(&mut body, head, metadata, table, None);
    }
    body.extend_from_slice(b"]}");
    let answer = Answer::json(StatusCode::OK, metadata, body).with_entities(tables.len() as u64);
    Ok(match next {
        Some(next) => answer.with_name("x-ms-continuation-nexttablename", &token::encode(&next)),
        None => answer,
    })
}

pub(crate) async fn create(door: &Door, head: &Head, body: &[u8]) -> RestResult<Answer> {
    let (metadata, prefer) = (head.metadata()?, Prefer::of(head.header("prefer")));
    check_json(head.header("content-type"))?;
    let named: Named = serde_json::from_slice(body).map_err(|_| Refusal::InvalidInput)?;
    let table = TableName::parse(&named.name.ok_or(Refusal::PropertiesNeedValue)?)?;
    door.create_table(&table).await?;
    let location = format!("{}/Tables('{table}')", head.base);
    let answer = if prefer == Prefer::NoContent {
        Answer::new(StatusCode::NO_CONTENT)
    } else {
        Answer::json(StatusCode::CREATED, metadata, alone(head, metadata, &table))
    };
    Ok(prefer.applied(answer.with(LOCATION, &location)))
}

/// Whether a table is there, as older clients ask.
pub(crate) async fn get(door: &Door, head: &Head, name: &str) -> RestResult<Answer> {
    let metadata = head.metadata()?;
    let asked = TableName::parse(name)?;
    let table = door.tables().await?.into_iter().find(|table| *table == asked).ok_or(Refusal::Missing)?;
    Ok(Answer::json(StatusCode::OK, metadata, alone(head, metadata, &table)).with_entities(1))
}

pub(crate) async fn delete(door: &Door, name: &str, patience: Duration) -> RestResult<Answer> {
    door.drop_table(&TableName::parse(name)?, patience).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

/// One table as a body of its own.
fn alone(head: &Head, metadata: Metadata, table: &TableName) -> Vec<u8> {
    let mut body = Vec::new();
    let context = format!("{}/$metadata#Tables/@Element", head.base);
    write_table(&mut body, head, metadata, table, Some(&context));
    body
}

fn write_table(body: &mut Vec<u8>, head: &Head, metadata: Metadata, table: &TableName, context: Option<&str>) {
    body.push(b'{');
    let mut member = |name: &str, text: &str| {
        body.push(b'"');
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(b"\":");
        write_string(body, text);
        body.push(b',');
    };
    if metadata != Metadata::None
        && let Some(context) = context
    {
        member("odata.metadata", context);
    }
    if metadata == Metadata::Full {
        member("odata.type", &format!("{}.Tables", head.account));
        member("odata.id", &format!("{}/Tables('{table}')", head.base));
        member("odata.editLink", &format!("Tables('{table}')"));
    }
    member("TableName", table.as_str());
    body.pop();
    body.push(b'}');
}

/// A table as filters see it.
struct Listed<'a>(&'a TableName);

impl Values<Infallible> for Listed<'_> {
    fn value(&self, property: &Property) -> Result<Option<EdmRef<'_>>, Infallible> {
        Ok(match property {
            Property::Custom(name) if name == "TableName" => Some(EdmRef::String(self.0.as_str())),
            Property::Custom(_) | Property::PartitionKey | Property::RowKey | Property::Timestamp => None,
        })
    }
}
