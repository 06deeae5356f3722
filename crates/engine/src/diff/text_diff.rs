//! The text diff of two states: the lines that only one of them has.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::Label;
use meshprobe_tree::source::{SourceFile, SourceSet};
use meshprobe_yaml::Span;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::class::Side;
use super::state::{below_root, shown_path};

/// The number of lines from which two texts are compared without their order.
const ORDERED: usize = 4_000;

/// Whether the text of a line in the diff is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// A line with the same text is moved from another place.
    Moved,
    /// Its text is less frequent on the other side of the diff.
    New,
}

/// The lines that only one of two states has.
#[derive(Debug)]
pub(super) struct TextDiff<'a> {
    before: Text<'a>,
    after: Text<'a>,
}

/// The files of one state.
#[derive(Debug)]
struct Text<'a> {
    /// The folder or the file of the tree, as shown to the user.
    root: &'a str,
    set: &'a SourceSet,
    /// The numbers of the lines in the diff, by file. Lines that state nothing are omitted, and those that an equal line next
    /// to them can replace: another program may find the other line. Of lines that change their order, all are in the diff.
    lines: BTreeMap<&'a str, BTreeMap<usize, Strength>>,
}

impl<'a> TextDiff<'a> {
    /// Compares the files of two states, each with the root of its tree.
    pub(super) fn between(
        before: (&'a str, &'a SourceSet),
        after: (&'a str, &'a SourceSet),
    ) -> Self {
        let text = |(root, set)| Text {
            root,
            set,
            lines: BTreeMap::new(),
        };
        let mut found = Self {
            before: text(before),
            after: text(after),
        };
        if std::ptr::eq(before.1, after.1) {
            return found;
        }
        for old in &before.1.files {
            let path = shown_path(after.0, below_root(&old.path, before.0));
            let new = after.1.file(&path);
            found.add(Some(old), new);
        }
        for new in &after.1.files {
            let path = shown_path(before.0, below_root(&new.path, after.0));
            if before.1.file(&path).is_none() {
                found.add(None, Some(new));
            }
        }
        found.mark_moved_lines();
        found
    }

    fn add(&mut self, old: Option<&'a SourceFile>, new: Option<&'a SourceFile>) {
        if let Some((old, new)) = old.zip(new)
            && (Arc::ptr_eq(&old.text, &new.text) || old.text == new.text)
        {
            return;
        }
        let lines = |file: Option<&'a SourceFile>| -> Vec<&'a str> {
            file.map_or_else(Vec::new, |file| file.text.lines().collect())
        };
        let (old_lines, new_lines) = (lines(old), lines(new));
        let (only_old, only_new) = only(&old_lines, &new_lines);
        for (text, file, lines, only) in [
            (&mut self.before, old, &old_lines, only_old),
            (&mut self.after, new, &new_lines, only_new),
        ] {
            let numbers = only.into_iter().filter(|index| {
                let line = lines.get(*index).copied().unwrap_or_default();
                let stated = line.trim();
                let is_comment = stated.is_empty() || stated.starts_with('#') || stated == "---";
                !is_comment
            });
            let numbers: BTreeMap<usize, Strength> =
                numbers.map(|index| (index + 1, Strength::New)).collect();
            if let Some(file) = file.filter(|_| !numbers.is_empty()) {
                text.lines.insert(&file.path, numbers);
            }
        }
    }

    /// Marks the lines whose text is on both sides, such as those of a document that is moved to another file.
    fn mark_moved_lines(&mut self) {
        let (before, after) = (self.before.counts(), self.after.counts());
        self.before.mark(&before, &after);
        self.after.mark(&after, &before);
    }

    const fn text(&self, side: Side) -> &Text<'a> {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }

    /// Returns the files of a state.
    pub(super) const fn set(&self, side: Side) -> &'a SourceSet {
        self.text(side).set
    }

    /// Returns the folder or the file of the tree of a state, as shown to the user.
    pub(super) const fn root(&self, side: Side) -> &'a str {
        self.text(side).root
    }

    /// Returns the path of a file of one state in the other one.
    pub(super) fn path_in_other(&self, side: Side, path: &str) -> String {
        let other = self.text(side.other());
        shown_path(other.root, below_root(path, self.text(side).root))
    }

    /// Returns the path of a file as shown to the user, given relative to the tree.
    pub(super) fn shown(&self, side: Side, relative: &str) -> String {
        shown_path(self.text(side).root, relative)
    }

    /// Returns the files of a state that have lines in the diff.
    pub(super) fn files(&self, side: Side) -> impl Iterator<Item = &'a SourceFile> {
        let text = self.text(side);
        text.lines.keys().filter_map(|path| text.set.file(path))
    }

    /// Returns the place of a label if its first line is in the diff, or else the first line of its span that is.
    pub(super) fn line_of(&self, side: Side, label: &Label, least: Strength) -> Option<Label> {
        let (set, lines) = (self.set(side), &self.text(side).lines);
        let file = set.file(&label.path)?;
        let is_in_diff = |path: &str, line: usize| {
            let found = lines.get(path).and_then(|numbers| numbers.get(&line));
            found.is_some_and(|found| *found >= least)
        };
        // Reports show the line of the file that people edit.
        if let Some(source) = set.source_of(&label.path, label.span)
            && let (Some(_), Some((start, _))) = (set.file(&source.path), source.place)
        {
            return is_in_diff(&source.path, start.line).then(|| label.clone());
        }
        if is_in_diff(&label.path, file.line_of(label.span)) {
            return Some(label.clone());
        }
        self.first_in(side, file, label.span, least)
    }

    /// Returns the first line of a part of a file that is in the diff.
    fn first_in(
        &self,
        side: Side,
        file: &SourceFile,
        span: Span,
        least: Strength,
    ) -> Option<Label> {
        let mut found = self.lines_in(side, file, span);
        let (number, _) = found.find(|(_, strength)| **strength >= least)?;
        line_label(file, *number)
    }

    /// Returns the only line in the diff of some parts of files; `None` if there are several. A line and the lines of the block
    /// below it count as one. If the other state has a line in its place, that of the first part is returned.
    pub(super) fn only_line<'f>(
        &self,
        parts: impl IntoIterator<Item = (Side, &'f SourceFile, Span)>,
    ) -> Option<(Label, Side)> {
        let mut found: BTreeMap<Side, (&SourceFile, BTreeSet<usize>)> = BTreeMap::new();
        let mut preferred = None;
        for (side, file, span) in parts {
            let numbers = self.lines_in(side, file, span).map(|(number, _)| *number);
            let numbers: BTreeSet<usize> = numbers.collect();
            if numbers.is_empty() {
                continue;
            }
            preferred = preferred.or(Some(side));
            let (known, lines) = found.entry(side).or_insert((file, BTreeSet::new()));
            if known.path != file.path {
                return None;
            }
            lines.extend(numbers);
        }
        if !found.values().all(|(file, lines)| is_block(file, lines)) {
            return None;
        }
        let side = preferred?;
        let (file, lines) = found.get(&side)?;
        Some((line_label(file, *lines.first()?)?, side))
    }

    /// Iterates over the lines of a part of a file that are in the diff.
    fn lines_in(
        &self,
        side: Side,
        file: &SourceFile,
        span: Span,
    ) -> impl Iterator<Item = (&usize, &Strength)> {
        let first = file.line_of(span);
        let end = span.end.saturating_sub(1).max(span.start);
        let last = file.position(end).line.max(first);
        let lines = self.text(side).lines.get(&*file.path);
        lines
            .into_iter()
            .flat_map(move |lines| lines.range(first..=last))
    }

    /// Returns the first line of the file of a state that only this state has, given relative to the tree; `None` if the
    /// other state has the file, too.
    pub(super) fn first_of_own_file(&self, side: Side, relative: &str) -> Option<Label> {
        let (own, other) = (self.text(side), self.text(side.other()));
        if other.set.file(&shown_path(other.root, relative)).is_some() {
            return None;
        }
        let file = own.set.file(&shown_path(own.root, relative))?;
        let span = Span::new(0, file.text.len());
        self.first_in(side, file, span, Strength::Moved)
    }
}

impl<'a> Text<'a> {
    /// Iterates over the lines in the diff, each with its text.
    fn texts(&self) -> impl Iterator<Item = (&'a str, usize, &'a str)> {
        self.lines.iter().flat_map(|(path, numbers)| {
            let text: &'a str = self.set.file(path).map_or("", |file| &file.text);
            let lines = text.lines().enumerate();
            lines.filter_map(|(index, line)| {
                let number = index + 1;
                let is_in_diff = numbers.contains_key(&number);
                is_in_diff.then(|| (*path, number, line.trim()))
            })
        })
    }

    /// Counts the texts of the lines in the diff.
    fn counts(&self) -> HashMap<&'a str, usize> {
        let mut counts = HashMap::new();
        for (_, _, text) in self.texts() {
            *counts.entry(text).or_default() += 1;
        }
        counts
    }

    /// Marks the lines whose text is not more frequent than on the other side.
    fn mark(&mut self, own: &HashMap<&str, usize>, other: &HashMap<&str, usize>) {
        let is_moved = |text: &str| own.get(text) <= other.get(text);
        let moved = self.texts().filter(|(_, _, text)| is_moved(text));
        let moved: Vec<(&str, usize)> = moved.map(|(path, line, _)| (path, line)).collect();
        for (path, line) in moved {
            let numbers = self.lines.get_mut(path);
            if let Some(strength) = numbers.and_then(|numbers| numbers.get_mut(&line)) {
                *strength = Strength::Moved;
            }
        }
    }
}

/// Returns the place of the text of a line.
fn line_label(file: &SourceFile, number: usize) -> Option<Label> {
    let line = file.lines().line(&file.text, number)?;
    let text = file.text.get(line.start..line.end)?;
    let start = line.start + (text.len() - text.trim_start().len());
    Some(Label {
        path: Arc::clone(&file.path),
        span: Span::new(start, line.start + text.trim_end().len()),
        message: String::new(),
    })
}

/// Returns whether lines are one line and those of the block below it.
fn is_block(file: &SourceFile, numbers: &BTreeSet<usize>) -> bool {
    let indent = |number: usize| {
        let line = file.lines().line(&file.text, number)?;
        let text = file.text.get(line.start..line.end)?;
        Some(text.len() - text.trim_start().len())
    };
    let mut lines = numbers.iter().copied();
    let Some(first) = lines.next() else {
        return false;
    };
    let above = indent(first);
    lines
        .zip(first + 1..)
        .all(|(line, next)| line == next && indent(line) > above)
}

/// Returns the indexes of the lines that only one of two texts has.
fn only(old: &[&str], new: &[&str]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    if old.len().max(new.len()) > ORDERED {
        return (unknown_in(old, new), unknown_in(new, old));
    }
    let (mut only_old, mut only_new) = only_in_order(old, new);
    let removed: HashSet<&&str> = only_old
        .iter()
        .filter_map(|index| old.get(*index))
        .collect();
    let mut added = only_new.iter().filter_map(|index| new.get(*index));
    if added.any(|line| removed.contains(line)) {
        // Of two lines that are swapped, either can be the one that is moved. From the end, it is the other one.
        let (old_end, new_end): (Vec<&str>, Vec<&str>) = (
            old.iter().rev().copied().collect(),
            new.iter().rev().copied().collect(),
        );
        let (from_old, from_new) = only_in_order(&old_end, &new_end);
        only_old.extend(from_old.into_iter().map(|index| old.len() - 1 - index));
        only_new.extend(from_new.into_iter().map(|index| new.len() - 1 - index));
    }
    (only_old, only_new)
}

/// Returns the indexes of the lines that the shortest edit removes and adds.
fn only_in_order(old: &[&str], new: &[&str]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut only_old, mut only_new) = (BTreeSet::new(), BTreeSet::new());
    for operation in capture_diff_slices(Algorithm::Myers, old, new) {
        match operation.as_tag_tuple() {
            (DiffTag::Equal, ..) => {}
            (DiffTag::Replace, removed, added) => {
                only_old.extend(removed);
                only_new.extend(added);
            }
            (DiffTag::Delete, removed, _) => only_old.extend(certain(old, removed)),
            (DiffTag::Insert, _, added) => only_new.extend(certain(new, added)),
        }
    }
    (only_old, only_new)
}

/// Returns the lines of a range that are only removed or only added, except those in whose place an equal line next to the
/// range could be.
fn certain(lines: &[&str], range: Range<usize>) -> Range<usize> {
    let (first, end) = (range.start, range.end);
    let after = lines.get(first..).into_iter().flatten();
    let down = after.zip(lines.get(end..).into_iter().flatten());
    let down = down.take_while(|(one, other)| one == other).count();
    let before = lines.get(..first).into_iter().flatten().rev();
    let up = before.zip(lines.get(..end).into_iter().flatten().rev());
    let up = up.take_while(|(one, other)| one == other).count();
    first + down..end.saturating_sub(up)
}

/// Returns the indexes of the lines of a text that another one does not contain.
fn unknown_in(own: &[&str], other: &[&str]) -> BTreeSet<usize> {
    let known: HashSet<&str> = other.iter().copied().collect();
    let lines = own.iter().enumerate();
    let unknown = lines.filter(|(_, line)| !known.contains(**line));
    unknown.map(|(index, _)| index).collect()
}
