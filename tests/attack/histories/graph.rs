//! What depends on what, and cycles in it.

use std::collections::{HashMap, HashSet, VecDeque};

/// From how many nodes of a component a short cycle is looked for.
const STARTS: usize = 20;

/// How a transaction depends on the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Depends {
    /// `ww`: its version comes next.
    Overwrote,
    /// `wr`: it read the other's version.
    Read,
    /// `rw`: the other read the version before its own.
    Before,
}

#[derive(Debug)]
pub(super) struct Graph {
    edges: Vec<HashSet<(usize, Depends)>>,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Self {
        Self { edges: vec![HashSet::new(); nodes] }
    }

    /// Nothing depends on itself.
    pub(super) fn add(&mut self, from: usize, depends: Depends, to: usize) {
        if from != to {
            self.edges[from].insert((to, depends));
        }
    }

    /// The nodes of a short cycle of edges that are asked for, each with how it depends on the one before it.
    pub(super) fn cycle(&self, wanted: impl Fn(usize, Depends, usize) -> bool) -> Option<Vec<(usize, Depends)>> {
        let component = self.components(&wanted).into_iter().find(|component| component.len() > 1)?;
        let members: HashSet<usize> = component.iter().copied().collect();
        let inside = |from, depends, to| members.contains(&to) && wanted(from, depends, to);
        component.iter().take(STARTS).filter_map(|node| self.path(*node, *node, inside)).min_by_key(Vec::len)
    }

    /// A cycle of one `rw`, from a reader that is asked for, and otherwise `ww` and `wr`.
    pub(super) fn cycle_of_one_before(&self, is_wanted: impl Fn(usize) -> bool) -> Option<Vec<(usize, Depends)>> {
        for reader in (0..self.edges.len()).filter(|reader| is_wanted(*reader)) {
            for (writer, depends) in &self.edges[reader] {
                if *depends == Depends::Before
                    && let Some(back) = self.path(*writer, reader, |_, depends, _| depends != Depends::Before)
                {
                    return Some([vec![(*writer, Depends::Before)], back].concat());
                }
            }
        }
        None
    }

    /// A shortest way over at least one edge.
    fn path(
        &self,
        from: usize,
        to: usize,
        wanted: impl Fn(usize, Depends, usize) -> bool,
    ) -> Option<Vec<(usize, Depends)>> {
        let mut came: HashMap<usize, (usize, Depends)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for (next, depends) in &self.edges[node] {
                if !wanted(node, *depends, *next) || came.contains_key(next) {
                    continue;
                }
                came.insert(*next, (node, *depends));
                if *next == to {
                    return Some(Self::way(&came, from, to));
                }
                queue.push_back(*next);
            }
        }
        None
    }

    fn way(came: &HashMap<usize, (usize, Depends)>, from: usize, to: usize) -> Vec<(usize, Depends)> {
        let mut way = Vec::new();
        let mut node = to;
        loop {
            let (before, depends) = came[&node];
            way.push((node, depends));
            node = before;
            if node == from {
                way.reverse();
                return way;
            }
        }
    }

    /// Strongly connected components (Tarjan), without a call for each level: histories are long.
    fn components(&self, wanted: &impl Fn(usize, Depends, usize) -> bool) -> Vec<Vec<usize>> {
        let mut tarjan = Tarjan::new(self.edges.len());
        let next: Vec<Vec<usize>> = self
            .edges
            .iter()
            .enumerate()
            .map(|(from, edges)| {
                edges.iter().filter(|(to, depends)| wanted(from, *depends, *to)).map(|(to, _)| *to).collect()
            })
            .collect();
        for node in 0..self.edges.len() {
            if tarjan.index[node].is_none() {
                tarjan.visit(node, &next);
            }
        }
        tarjan.components
    }
}

struct Tarjan {
    count: usize,
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    components: Vec<Vec<usize>>,
}

impl Tarjan {
    fn new(nodes: usize) -> Self {
        let (index, low, on_stack) = (vec![None; nodes], vec![0; nodes], vec![false; nodes]);
        Self { count: 0, index, low, on_stack, stack: Vec::new(), components: Vec::new() }
    }

    fn enter(&mut self, node: usize) {
        self.index[node] = Some(self.count);
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit(&mut self, root: usize, next: &[Vec<usize>]) {
        let mut open = vec![(root, 0)];
        self.enter(root);
        while let Some((node, place)) = open.pop() {
            match next[node].get(place) {
                Some(to) => {
                    open.push((node, place + 1));
                    match self.index[*to] {
                        None => {
                            self.enter(*to);
                            open.push((*to, 0));
                        }
                        Some(index) if self.on_stack[*to] => self.low[node] = self.low[node].min(index),
                        Some(_) => {}
                    }
                }
                None => self.leave(node, open.last().map(|(parent, _)| *parent)),
            }
        }
    }

    fn leave(&mut self, node: usize, parent: Option<usize>) {
        if let Some(parent) = parent {
            self.low[parent] = self.low[parent].min(self.low[node]);
        }
        if self.index[node] == Some(self.low[node]) {
            let mut component = Vec::new();
            while let Some(member) = self.stack.pop() {
                self.on_stack[member] = false;
                component.push(member);
                if member == node {
                    break;
                }
            }
            self.components.push(component);
        }
    }
}
