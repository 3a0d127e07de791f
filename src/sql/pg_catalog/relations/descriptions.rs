//! `pg_description` and `pg_shdescription`: what COMMENT ON said. Comments on built-in objects are recorded.

use super::Rows;
use crate::pg_catalog::comments::{comments, shared_comments};
use crate::pg_catalog::functions::FunctionContext;

pub(super) fn descriptions(context: &FunctionContext, rows: &mut Rows) {
    for comment in comments(&context.objects) {
        rows.push([
            ("objoid", comment.object.into()),
            ("classoid", comment.class.into()),
            ("objsubid", comment.part.into()),
            ("description", comment.text.into()),
        ]);
    }
}

pub(super) fn shared_descriptions(context: &FunctionContext, rows: &mut Rows) {
    for comment in shared_comments(&context.objects, &context.granted, &context.database) {
        rows.push([
            ("objoid", comment.object.into()),
            ("classoid", comment.class.into()),
            ("description", comment.text.into()),
        ]);
    }
}
