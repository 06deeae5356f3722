//! Compares the lines of the files of two states.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::finding::Label;
use crate::source::SourceSet;
use crate::yaml::Span;

use super::state::{below_root, shown_path};

/// The lines of the files of one state, with their numbers of occurrences.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// The folder or the file of the tree, as shown to the user.
    root: &'a str,
    set: &'a SourceSet,
    counts: HashMap<String, HashMap<&'a str, usize>>,
}

impl<'a> Lines<'a> {
    /// Prepares the search in the files of one state, with the root of its tree.
    pub(super) fn new(root: &'a str, set: &'a SourceSet) -> Self {
        Self {
            root,
            set,
            counts: HashMap::new(),
        }
    }

    /// Returns the folder or the file of the tree, as shown to the user.
    pub(super) const fn root(&self) -> &'a str {
        self.root
    }

    /// Returns the files of the state.
    pub(super) const fn set(&self) -> &'a SourceSet {
        self.set
    }

    /// Returns whether the line of a label occurs more often in its file than in the same file of the other state.
    pub(super) fn has_more(&mut self, label: &Label, other: &mut Lines<'_>) -> bool {
        let Some(file) = self.set.file(&label.path) else {
            return false;
        };
        let other_path = shown_path(other.root, below_root(&label.path, self.root));
        if let Some(same) = other.set.file(&other_path)
            && same.text == file.text
        {
            return false;
        }
        let number = file.line_of(label.span);
        let line = file.lines().line(&file.text, number);
        let Some(text) = line.and_then(|span| file.text.get(span.start..span.end)) else {
            return false;
        };
        let text = text.trim();
        self.count(&label.path, text) > other.count(&other_path, text)
    }

    /// Returns the start of a file, given relative to the tree; `None` if the other state has the file, too.
    pub(super) fn start_of_own_file(&self, relative: &str, other: &Lines<'_>) -> Option<Label> {
        if other.set.file(&shown_path(other.root, relative)).is_some() {
            return None;
        }
        let file = self.set.file(&shown_path(self.root, relative))?;
        Some(Label {
            path: Arc::clone(&file.path),
            span: Span::new(0, 0),
            message: String::new(),
        })
    }

    fn count(&mut self, path: &str, line: &str) -> usize {
        if !self.counts.contains_key(path) {
            let mut counts: HashMap<&'a str, usize> = HashMap::new();
            let text: &'a str = self.set.file(path).map_or("", |file| &file.text);
            for line in text.lines() {
                *counts.entry(line.trim()).or_default() += 1;
            }
            self.counts.insert(path.to_owned(), counts);
        }
        let counts = self.counts.get(path);
        counts
            .and_then(|counts| counts.get(line))
            .copied()
            .unwrap_or_default()
    }
}
