//! Names that columns are told apart by, which joins with USING may need: PostgreSQL's `set_using_names`,
//! `set_relation_column_names` and `set_join_column_names`.

use super::query::RelationNames;
use super::tables::numbered;
use crate::expr::ExprKind;
use crate::query::bound::{BoundQuery, JoinColumn, JoinTree, RangeEntry, RangeSource};

/// The names of an entry's columns.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryColumns {
    names: Vec<Option<String>>,
    /// Those that USING merges, of a join.
    pub using: Vec<String>,
    /// Names that the joins around it merge columns by.
    above: Vec<String>,
    /// Whether the names are listed behind the alias.
    pub are_listed: bool,
    /// Columns that `*` leaves out, and the list with it.
    hidden: Vec<usize>,
}

/// What a join's columns are: numbers of columns of its two sides.
struct Sides {
    left: usize,
    right: usize,
    columns: Vec<(Option<usize>, Option<usize>)>,
}

struct Chooser<'c> {
    query: &'c BoundQuery,
    relations: &'c dyn RelationNames,
    entries: Vec<EntryColumns>,
    /// The sides of each entry that is a join.
    sides: Vec<Option<Sides>>,
    /// Whether what USING merges has names of its own in all of the query, and those.
    is_unique: bool,
    using: Vec<String>,
}

impl EntryColumns {
    pub(super) fn name(&self, column: usize) -> &str {
        self.names.get(column).and_then(Option::as_deref).unwrap_or_default()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().flatten().map(String::as_str)
    }

    /// The names of those that are listed.
    pub(super) fn listed_names(&self) -> impl Iterator<Item = &str> {
        let shown = self.names.iter().enumerate().filter(|(column, _)| !self.hidden.contains(column));
        shown.filter_map(|(_, name)| name.as_deref())
    }

    fn set(&mut self, column: usize, name: &str) {
        if self.names.len() <= column {
            self.names.resize(column + 1, None);
        }
        self.names[column] = Some(name.to_owned());
    }
}

/// The names of the columns of each entry.
pub(super) fn columns_of(query: &BoundQuery, relations: &dyn RelationNames) -> Vec<EntryColumns> {
    let mut chooser = Chooser {
        query,
        relations,
        entries: vec![EntryColumns::default(); query.range.len()],
        sides: query.range.iter().map(|_| None).collect(),
        is_unique: false,
        using: Vec::new(),
    };
    chooser.choose_using();
    // What is joined comes before the join.
    for entry in 0..query.range.len() {
        match &query.range[entry].source {
            RangeSource::Join { .. } => chooser.choose_of_join(entry),
            _ => chooser.choose(entry),
        }
    }
    chooser.entries
}

impl Chooser<'_> {
    /// The names by which columns are merged, from the outermost joins inwards.
    fn choose_using(&mut self) {
        let query = self.query;
        for_each_join(&query.from, &mut |join| self.is_unique |= self.is_dangerous(join));
        let mut waiting: Vec<(&JoinTree, Vec<String>)> =
            query.from.iter().rev().map(|tree| (tree, Vec::new())).collect();
        while let Some((tree, mut above)) = waiting.pop() {
            let JoinTree::Join { entry, left, right, using, .. } = tree else { continue };
            let sides = self.sides_of(left, right, using);
            if !query.range[*entry].has_alias {
                self.push_down(*entry, &sides);
            }
            self.merge_names(*entry, using, &sides, &mut above);
            for side in [sides.left, sides.right] {
                self.entries[side].above.clone_from(&above);
            }
            self.sides[*entry] = Some(sides);
            waiting.push((right, above.clone()));
            waiting.push((left, above));
        }
    }

    /// A merged column that is no column of either side can be named by its name alone.
    fn is_dangerous(&self, join: &JoinTree) -> bool {
        let JoinTree::Join { entry, using, .. } = join else { return false };
        let entry = &self.query.range[*entry];
        let RangeSource::Join { columns } = &entry.source else { return false };
        let is_plain = |column: &JoinColumn| matches!(column.expr().kind, ExprKind::Column { .. });
        !entry.has_alias && columns.iter().take(using.len()).any(|column| !is_plain(column))
    }

    fn sides_of(&self, left: &JoinTree, right: &JoinTree, using: &[String]) -> Sides {
        let (left, right) = (left.entry(), right.entry());
        let shown = |entry: &RangeEntry| -> Vec<usize> {
            (0..entry.columns.len()).filter(|column| !entry.is_hidden(*column)).collect()
        };
        let (ours, theirs) = (&self.query.range[left], &self.query.range[right]);
        let found = |entry: &RangeEntry, name: &String| entry.columns.iter().position(|column| column.name == *name);
        let mut columns: Vec<_> = using.iter().map(|name| (found(ours, name), found(theirs, name))).collect();
        let merged = columns.clone();
        let is_left = |column: &usize| !merged.iter().any(|(left, _)| left.as_ref() == Some(column));
        let is_right = |column: &usize| !merged.iter().any(|(_, right)| right.as_ref() == Some(column));
        columns.extend(shown(ours).into_iter().filter(is_left).map(|column| (Some(column), None)));
        columns.extend(shown(theirs).into_iter().filter(is_right).map(|column| (None, Some(column))));
        Sides { left, right, columns }
    }

    /// A join without an alias cannot rename columns: what is asked of it is asked of its sides.
    fn push_down(&mut self, entry: usize, sides: &Sides) {
        for column in 0..self.entries[entry].names.len() {
            if let Some(name) = self.entries[entry].names[column].clone() {
                self.set_sides(sides, column, &name);
            }
        }
    }

    fn set_sides(&mut self, sides: &Sides, column: usize, name: &str) {
        let Some((left, right)) = sides.columns.get(column) else { return };
        if let Some(column) = left {
            self.entries[sides.left].set(*column, name);
        }
        if let Some(column) = right {
            self.entries[sides.right].set(*column, name);
        }
    }

    fn merge_names(&mut self, entry: usize, using: &[String], sides: &Sides, above: &mut Vec<String>) {
        let query = self.query;
        for (column, written) in using.iter().enumerate() {
            let name = match self.entries[entry].names.get(column).cloned().flatten() {
                Some(name) => name,
                None => {
                    let own = query.range[entry].columns.get(column).filter(|_| query.range[entry].has_alias);
                    let name = self.unique(entry, own.map_or(written, |own| &own.name));
                    if self.is_unique {
                        self.using.push(name.clone());
                    }
                    self.entries[entry].set(column, &name);
                    name
                }
            };
            self.set_sides(sides, column, &name);
            self.entries[entry].using.push(name.clone());
            above.push(name);
        }
    }

    /// The names of what is no join.
    fn choose(&mut self, entry: usize) {
        let range = &self.query.range[entry];
        let mut changed = false;
        for (column, known) in range.columns.iter().enumerate() {
            let stored = self.stored_name(range, column);
            if range.is_hidden(column) {
                self.entries[entry].hidden.push(column);
                self.entries[entry].set(column, &stored);
                continue;
            }
            let name = match self.entries[entry].names.get(column).cloned().flatten() {
                Some(name) => name,
                None => {
                    let name = self.unique(entry, if column < range.named_columns { &known.name } else { &stored });
                    self.entries[entry].set(column, &name);
                    name
                }
            };
            changed |= name != stored;
        }
        self.entries[entry].are_listed = match &range.source {
            RangeSource::Table { .. } => changed,
            RangeSource::Functions { .. } => true,
            _ => changed || range.named_columns > 0,
        };
    }

    /// The name of a column where the statement gives it none.
    fn stored_name(&self, range: &RangeEntry, column: usize) -> String {
        match &range.source {
            RangeSource::Table { relation, .. } => self.relations.column(relation, column),
            _ => range.columns[column].name.clone(),
        }
    }

    fn choose_of_join(&mut self, entry: usize) {
        let Some(sides) = self.sides[entry].take() else { return };
        let range = &self.query.range[entry];
        let mut changed = false;
        for column in self.entries[entry].using.len()..sides.columns.len() {
            let below = match sides.columns[column] {
                (Some(left), _) => self.entries[sides.left].name(left),
                (None, right) => self.entries[sides.right].name(right.unwrap_or_default()),
            }
            .to_owned();
            let name = match self.entries[entry].names.get(column).cloned().flatten() {
                _ if !range.has_alias => below.clone(),
                Some(name) => name,
                None if column < range.named_columns => self.unique(entry, &range.columns[column].name),
                None => self.unique(entry, &below),
            };
            changed |= name != below;
            self.entries[entry].set(column, &name);
        }
        self.entries[entry].are_listed = range.has_alias && changed;
    }

    fn unique(&self, entry: usize, name: &str) -> String {
        let own = &self.entries[entry];
        let is_taken = |name: &str| {
            own.names().any(|known| known == name) || self.using.iter().chain(&own.above).any(|known| known == name)
        };
        let mut made = name.to_owned();
        let mut number = 0;
        while is_taken(&made) {
            number += 1;
            made = numbered(name, number);
        }
        made
    }
}

fn for_each_join<'t>(from: &'t [JoinTree], see: &mut dyn FnMut(&'t JoinTree)) {
    // Not by calls of itself: joins may be many.
    let mut waiting: Vec<&JoinTree> = from.iter().collect();
    while let Some(tree) = waiting.pop() {
        if let JoinTree::Join { left, right, .. } = tree {
            see(tree);
            waiting.extend([&**left, &**right]);
        }
    }
}
