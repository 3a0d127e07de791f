//! What bounds the depth of a statement, and the stack that it takes.
//!
//! A statement is a tree to the parser, to the passes over it and to the planner, and much of what is done with a tree is
//! done by functions that call themselves: it is copied, compared, printed and dropped so. The depth of every tree is
//! bounded before it is made, so that the stack of the threads that do this is never at its end, in a debug build either.
//!
//! | what                                                        | bound                     | where               |
//! |-------------------------------------------------------------|---------------------------|---------------------|
//! | parentheses and sub-queries within each other               | [`MAX_NESTING`]           | the parser          |
//! | rows within each other                                      | [`MAX_ROWS_WITHIN`]       | `expr/pass`         |
//! | what expressions are made of that stand in several places   | [`MAX_REPEATED`]          | `expr/pass`         |
//! | the same of what BETWEEN and IN compare several times       | `bind`, `MOST_REPEATED`   | the binder          |
//! | operators, casts, joins, set operations one after the other | [`MAX_DEPTH`]             | `syntax/depth`      |
//! | AND and OR one after the other                              | [`MAX_LINKS`]             | `syntax/depth`      |
//! | tables of a statement, those of its views among them        | [`MAX_RELATIONS`]         | `plan/lower`        |
//! | nodes of a plan on top of each other                        | [`MAX_PLAN_DEPTH`]        | `plan/size`         |
//! | nodes of a plan, views and WITH spelled out                 | [`MAX_PLAN_NODES`]        | `plan/size`         |
//! | arrays and objects of JSON within each other                | `types`, `MAX_JSON_DEPTH` | input of the values |

/// Stack of each thread that reads, plans and runs statements, in bytes. Pages that are not reached take no memory.
pub const STATEMENT_STACK: usize = 64 << 20;

/// Most parentheses, CASEs and sub-queries within each other. The parser may try each level in two ways.
pub(crate) const MAX_NESTING: usize = 50;

/// Most rows within each other, as `ROW(1, ROW(2, ..))` makes them: the text of one has twice the quotes of that inside of it.
pub(crate) const MAX_ROWS_WITHIN: usize = 16;

/// Most expressions that others are made of which stand in several places, as what rows are compared by does: with each row inside
/// of another there are twice as many.
pub(crate) const MAX_REPEATED: usize = 100_000;

/// Most operators, casts, subscripts and the like in a row, and of joins and set operations: each of them is a level of
/// the tree.
pub(crate) const MAX_DEPTH: usize = 1_000;

/// Most ANDs and ORs in a row. A long row of them becomes a balanced tree, so that it takes few levels; the engine makes a
/// flat one again of those that WHERE joins by AND.
pub(crate) const MAX_LINKS: usize = 10_000;

/// Most tables, views, functions and sub-queries in the FROM clauses of a statement and of the views that it reads, and WITH
/// queries.
pub(crate) const MAX_RELATIONS: usize = 3_000;

/// Most nodes of a plan on top of each other, as views, WITH queries, joins and set operations pile them up.
pub(crate) const MAX_PLAN_DEPTH: usize = 4_000;

/// Most nodes of a plan, with those counted again that are named again: a WITH query that reads the one before it twice
/// doubles it.
pub(crate) const MAX_PLAN_NODES: usize = 100_000;
