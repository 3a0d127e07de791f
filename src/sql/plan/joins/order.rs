//! The cheapest tree of joins over a set of tables, by guesses of how many rows each join leaves.

/// Tables of which all trees are looked at; of more, the pair that leaves the fewest rows is joined again and again.
const TABLES_MAX: usize = 10;

/// A set of tables, a bit for each.
pub(super) type Set = u64;

/// Most tables that fit a [`Set`].
pub(super) const SET_MAX: usize = 64;

/// What is known of the tables and of what connects them.
pub(super) struct Graph {
    /// Rows of each table.
    pub rows: Vec<f64>,
    /// Conditions over several tables, with the part of the rows that satisfies them.
    pub conditions: Vec<(Set, f64)>,
}

/// A tree of joins; what is on the left has fewer rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    Table(usize),
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    pub(super) fn set(&self) -> Set {
        match self {
            Tree::Table(table) => 1 << table,
            Tree::Join(left, right) => left.set() | right.set(),
        }
    }
}

/// The best way to a set of tables.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// How many of its joins have no condition.
    products: usize,
    cost: f64,
    rows: f64,
    /// The part that is on the left; the whole set where there is nothing to join.
    left: Set,
}

impl Graph {
    pub(super) fn cheapest(&self) -> Tree {
        if self.rows.len() <= TABLES_MAX { self.best() } else { self.greedy() }
    }

    /// The rows of the join of all tables of a set.
    fn joined(&self, set: Set) -> f64 {
        let all: f64 =
            (0..self.rows.len()).filter(|table| set >> table & 1 == 1).map(|table| self.rows[table]).product();
        let within = self.conditions.iter().filter(|(tables, _)| tables & set == *tables);
        (all * within.map(|(_, part)| part).product::<f64>()).max(1.0)
    }

    fn connects(&self, left: Set, right: Set) -> bool {
        let is_between = |tables: Set| tables & (left | right) == tables && tables & left != 0 && tables & right != 0;
        self.conditions.iter().any(|(tables, _)| is_between(*tables))
    }

    /// Looks at all trees, set by set: each is made of two smaller ones. Of joins without a condition there are as few as
    /// there can be.
    fn best(&self) -> Tree {
        let all: Set = (1 << self.rows.len()) - 1;
        let mut ways: Vec<Option<Way>> = vec![None; usize::try_from(all).unwrap_or_default() + 1];
        let at = |set: Set| usize::try_from(set).unwrap_or_default();
        for set in 1..=all {
            if set.is_power_of_two() {
                ways[at(set)] = Some(Way { products: 0, cost: 0.0, rows: self.joined(set), left: set });
                continue;
            }
            let rows = self.joined(set);
            let mut best: Option<Way> = None;
            // Every part but the whole, each pair once.
            let mut left = (set - 1) & set;
            while left > 0 {
                let right = set & !left;
                if let (Some(l), Some(r)) = (ways[at(left)], ways[at(right)])
                    && (l.rows < r.rows || (l.rows == r.rows && left < right))
                {
                    let products = l.products + r.products + usize::from(!self.connects(left, right));
                    let way = Way { products, cost: l.cost + r.cost + cost(l.rows, r.rows, rows), rows, left };
                    if best.is_none_or(|best| (way.products, way.cost) < (best.products, best.cost)) {
                        best = Some(way);
                    }
                }
                left = (left - 1) & set;
            }
            ways[at(set)] = best;
        }
        tree(&ways, all)
    }

    fn greedy(&self) -> Tree {
        let mut trees: Vec<Tree> = (0..self.rows.len()).map(Tree::Table).collect();
        while trees.len() > 1 {
            let mut best: Option<(bool, f64, usize, usize)> = None;
            for a in 0..trees.len() {
                for b in a + 1..trees.len() {
                    let (left, right) = (trees[a].set(), trees[b].set());
                    let (connects, rows) = (self.connects(left, right), self.joined(left | right));
                    let is_better = best.is_none_or(|(connected, least, ..)| {
                        (connects && !connected) || (connects == connected && rows < least)
                    });
                    if is_better {
                        best = Some((connects, rows, a, b));
                    }
                }
            }
            let Some((_, _, a, b)) = best else { break };
            let (second, first) = (trees.swap_remove(b), trees.swap_remove(a));
            let (left, right) =
                if self.joined(first.set()) <= self.joined(second.set()) { (first, second) } else { (second, first) };
            trees.push(Tree::Join(Box::new(left), Box::new(right)));
        }
        trees.swap_remove(0)
    }
}

/// What a join costs: the smaller side is kept in memory, the larger one passes by, and its rows go on.
fn cost(smaller: f64, larger: f64, rows: f64) -> f64 {
    2.0 * smaller + 0.2 * larger + rows
}

fn tree(ways: &[Option<Way>], set: Set) -> Tree {
    let way = usize::try_from(set).ok().and_then(|at| ways.get(at).copied().flatten());
    match way {
        Some(way) if way.left != set => {
            Tree::Join(Box::new(tree(ways, way.left)), Box::new(tree(ways, set & !way.left)))
        }
        _ => Tree::Table(set.trailing_zeros() as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(left: Tree, right: Tree) -> Tree {
        Tree::Join(Box::new(left), Box::new(right))
    }

    /// region (1 row of 5), nation 25, supplier 1000, lineitem a million: a chain.
    fn chain() -> Graph {
        Graph {
            rows: vec![1_000_000.0, 1_000.0, 25.0, 1.0],
            conditions: vec![(0b0011, 1.0 / 1_000.0), (0b0110, 1.0 / 25.0), (0b1100, 1.0 / 5.0)],
        }
    }

    #[test]
    fn a_chain_begins_where_few_rows_are() {
        let tree = chain().cheapest();
        let small = join(join(Tree::Table(3), Tree::Table(2)), Tree::Table(1));
        assert_eq!(tree, join(small, Tree::Table(0)));
        assert_eq!(chain().greedy(), tree);
    }

    #[test]
    fn tables_without_a_condition_are_joined_last_of_all() {
        let graph = Graph { rows: vec![10.0, 1000.0, 2.0], conditions: vec![(0b011, 0.001)] };
        assert_eq!(graph.cheapest(), join(Tree::Table(2), join(Tree::Table(0), Tree::Table(1))));
    }

    #[test]
    fn many_tables_are_joined_too() {
        let rows: Vec<f64> = (0..20).map(|n| f64::from(n) + 1.0).collect();
        let conditions = (1..20).map(|n| (1 << n | 1 << (n - 1), 0.1)).collect();
        assert_eq!(Graph { rows, conditions }.cheapest().set(), (1 << 20) - 1);
    }
}
