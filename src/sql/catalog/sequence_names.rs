//! Sequences as the defaults of columns name them: beside a table of the server's own, and in the catalogue of a mounted store.

use tablegate_types::quoting::quote_ident;

use crate::place::Place;
use crate::syntax::with_sequences_renamed;

/// The DEFAULT of a column that a sequence counts, as PostgreSQL prints it.
pub(crate) fn next_call(place: Place, sequence: &str) -> String {
    format!("nextval('{}'::regclass)", called(place, sequence).replace('\'', "''"))
}

/// A sequence as the defaults of a table beside it name it. What is mounted is found under its schema alone.
pub(crate) fn called(place: Place, sequence: &str) -> String {
    match place {
        Place::Mount(schema) => format!("{schema}.{}", quote_ident(sequence)),
        Place::Public | Place::Temporary(_) => quote_ident(sequence),
    }
}

/// A default of a mounted store's table as the store's own catalogue has it, where its sequences have no schema.
pub(crate) fn default_as_kept(place: Place, text: &str) -> String {
    let schema = place.schema();
    with_sequences_renamed(text, |parts| match parts {
        [of, name] if **of == *schema => Some(quote_ident(name)),
        _ => None,
    })
}

/// The way back: `public` is what the store's own catalogue calls its schema. A default is declared with these names too, so
/// that a sequence beside its table has one name however a statement wrote it.
pub(crate) fn default_as_shown(place: Place, text: &str) -> String {
    // A temporary table may count with the sequence of `public` that a temporary one hides.
    if place.is_temporary() {
        return text.to_owned();
    }
    with_sequences_renamed(text, |parts| match parts {
        [name] => Some(called(place, name)),
        [of, name] if of == "public" => Some(called(place, name)),
        _ => None,
    })
}

/// A default beside a sequence that gets another name.
pub(crate) fn default_after_renaming(place: Place, text: &str, from: &str, to: &str) -> String {
    let schema = place.schema();
    with_sequences_renamed(text, |parts| match parts {
        [name] if name == from => Some(called(place, to)),
        [of, name] if **of == *schema && name == from => Some(called(place, to)),
        _ => None,
    })
}
