//! What statements mean, as the binder finds it: the tables they name are its catalogue.

mod catalogue;
mod statement;

pub(crate) use self::statement::Meaning;
