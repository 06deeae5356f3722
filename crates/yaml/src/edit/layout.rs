//! The layout of a document, inferred from its text.

use std::collections::BTreeMap;

use super::lines::Lines;
use crate::tree::{Kind, NodeRef, Style, Tree};

/// Layout for text that has no sibling to take its layout from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns from a key to the keys below it.
    pub(super) step: usize,
    /// Columns from a key to the dashes below it.
    pub(super) offset: usize,
    /// Columns from a dash to its item.
    pub(super) dash: usize,
}

impl Layout {
    /// Returns the most frequent layout of `tree`. The default is two columns, with sequences that are not indented.
    pub(super) fn of(tree: &Tree, lines: Lines<'_>) -> Self {
        let mut steps = BTreeMap::new();
        let mut offsets = BTreeMap::new();
        let mut dashes = BTreeMap::new();
        for node in tree.all() {
            let Some(parent) = node.parent().filter(|p| p.style() == Style::Block) else {
                continue;
            };
            match (parent.kind(), node.kind(), node.style()) {
                (Kind::Mapping, Kind::Mapping, Style::Block) => {
                    let step = column(lines, node).saturating_sub(column(lines, parent));
                    count(&mut steps, step);
                }
                (Kind::Mapping, Kind::Sequence, Style::Block) => {
                    let offset = column(lines, node).saturating_sub(column(lines, parent));
                    count(&mut offsets, offset);
                }
                (Kind::Sequence, ..) => {
                    if let Some(width) = dash_width(lines, node) {
                        count(&mut dashes, width);
                    }
                }
                _ => {}
            }
        }
        steps.remove(&0);
        Self {
            step: most(&steps).unwrap_or(2),
            offset: most(&offsets).unwrap_or(0),
            dash: most(&dashes).unwrap_or(2),
        }
    }
}

/// Returns the column of the keys of a block mapping, or of the dashes of a block sequence.
pub(super) fn column(lines: Lines<'_>, collection: NodeRef<'_>) -> usize {
    let start = collection.span().start;
    let first = collection
        .entries()
        .next()
        .map_or(start, |entry| entry.key.outer_span().start.min(start));
    lines.column(first)
}

/// Returns the columns from the dash of an item to its text, if both are on the same line.
pub(super) fn dash_width(lines: Lines<'_>, item: NodeRef<'_>) -> Option<usize> {
    let dash = item.indicator()?;
    let start = item.outer_span().start;
    let inline = item.style() != Style::Empty && lines.start(start) <= dash;
    inline.then(|| lines.slice(dash, start).chars().count())
}

fn count(counts: &mut BTreeMap<usize, usize>, key: usize) {
    *counts.entry(key).or_insert(0) += 1;
}

/// Returns the number that occurs most often, and the smallest of several.
fn most(counts: &BTreeMap<usize, usize>) -> Option<usize> {
    let best = counts
        .iter()
        .max_by_key(|&(&key, &count)| (count, std::cmp::Reverse(key)));
    best.map(|(&key, _)| key)
}
