//! Builds the tree of a document whose nodes come from several files.
//!
//! Such a tree has no text. Like the source map of a compiler, it numbers the bytes of its files one after another, so that
//! the span of a node states its file, too.

use std::sync::Arc;

use super::arena::Arena;
use super::span::Span;
use super::tree::{Kind, NodeRef, Origins, Style, Tree};

/// Limit on the nesting of collections, as in the full parser.
const MAX_DEPTH: usize = 255;

impl Tree {
    /// Returns whether the nodes come from several files, so that the document has no text of its own.
    #[must_use]
    pub const fn is_composed(&self) -> bool {
        self.origins.is_some()
    }

    /// Returns the file and its bytes for the span of a node or an entry. `path` is the file of a parsed document.
    #[must_use]
    pub fn source_location(&self, span: Span, path: &Arc<str>) -> (Arc<str>, Span) {
        let Some(origins) = &self.origins else {
            return (Arc::clone(path), span);
        };
        match origins.files.get(origins.file(span.start)) {
            Some((first, path)) => (
                Arc::clone(path),
                Span::new(span.start - first, span.end - first),
            ),
            None => (Arc::clone(path), span),
        }
    }

    /// Returns whether the value of a key was set over another one, which would be left without it.
    #[must_use]
    pub fn is_override(&self, key: NodeRef<'_>) -> bool {
        let origins = self.origins.as_ref();
        origins.is_some_and(|origins| origins.overrides.contains(&key.id()))
    }
}

/// Builder of a composed document. Nodes are added in order; in a mapping, each value follows its key.
#[derive(Debug)]
pub struct Composer {
    arena: Arena,
    /// The files, each with the largest end of a span.
    files: Vec<(Arc<str>, usize)>,
    overrides: Vec<u32>,
    /// Whether the document exceeds the limit on nesting.
    is_refused: bool,
}

impl Default for Composer {
    fn default() -> Self {
        Self {
            arena: Arena::new(&Arc::from(""), Span::default()),
            files: Vec::new(),
            overrides: Vec::new(),
            is_refused: false,
        }
    }
}

impl Composer {
    /// Returns the tree; `None` if values are nested deeper than 255, or the files have more than 4 GiB.
    #[must_use]
    pub fn finish(self) -> Option<Tree> {
        let mut first = 0_usize;
        let mut files = Vec::with_capacity(self.files.len());
        for (path, end) in self.files {
            files.push((first, path));
            first = first.saturating_add(end).saturating_add(1);
        }
        let fits = u32::try_from(first).is_ok() && !self.arena.overflows();
        let origins = Origins {
            files: files.into(),
            overrides: self.overrides.into(),
        };
        let of_file = |file: usize| origins.files.get(file).map_or(0, |(first, _)| *first);
        let mut arena = self.arena;
        (fits && !self.is_refused).then(|| arena.compose(of_file))?;
        Some(Tree {
            origins: Some(Box::new(origins)),
            ..arena.finish()?
        })
    }

    /// Adds a key, with the file and its bytes that it comes from. `is_override` if its value replaced another one.
    pub fn key(&mut self, key: &str, place: (&Arc<str>, Span), is_override: bool) {
        self.scalar(key, Style::DoubleQuoted, place);
        if is_override {
            self.overrides.push(self.arena.newest());
        }
    }

    /// Adds a string.
    pub fn string(&mut self, value: &str, place: (&Arc<str>, Span)) {
        self.scalar(value, Style::DoubleQuoted, place);
    }

    /// Adds a number, a boolean or null.
    pub fn plain(&mut self, value: &str, place: (&Arc<str>, Span)) {
        self.scalar(value, Style::Plain, place);
    }

    /// Begins a mapping or a list. The next calls add its members.
    pub fn begin(&mut self, kind: Kind, place: (&Arc<str>, Span)) {
        self.is_refused |= self.arena.depth() >= MAX_DEPTH;
        let id = self.push(kind, Style::Block, place);
        self.arena.open(id, kind);
    }

    /// Ends the mapping or list that was begun last.
    pub fn end(&mut self) {
        self.arena.close(self.arena.open_end());
    }

    fn scalar(&mut self, value: &str, style: Style, place: (&Arc<str>, Span)) {
        let id = self.push(Kind::Scalar, style, place);
        let from = self.arena.decoded().len();
        self.arena.decoded().push_str(value);
        self.arena.set_decoded(id, from);
        // Separates the values in the text of a collection.
        self.arena.decoded().push('\n');
    }

    fn push(&mut self, kind: Kind, style: Style, (path, span): (&Arc<str>, Span)) -> u32 {
        let is_same = |(file, _): &(Arc<str>, usize)| Arc::ptr_eq(file, path);
        let file = self.files.iter().rposition(is_same).unwrap_or_else(|| {
            self.files.push((Arc::clone(path), 0));
            self.files.len() - 1
        });
        if let Some((_, end)) = self.files.get_mut(file) {
            *end = (*end).max(span.end);
        }
        self.arena.push(kind, style, span, Some(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_knows_its_file() {
        let (base, patch) = (Arc::from("base.yaml"), Arc::from("patch.yaml"));
        let mut out = Composer::default();
        out.begin(Kind::Mapping, (&base, Span::new(0, 90)));
        out.key("path", (&base, Span::new(5, 9)), false);
        out.string("/ready", (&base, Span::new(11, 17)));
        out.key("port", (&base, Span::new(20, 24)), true);
        out.plain("80", (&patch, Span::new(3, 5)));
        out.key("none", (&base, Span::new(40, 44)), false);
        out.begin(Kind::Sequence, (&base, Span::new(46, 48)));
        out.end();
        out.end();
        let tree = out.finish().unwrap();
        let root = tree.root().unwrap();
        let at = |span| {
            let (path, span) = tree.source_location(span, &base);
            (path.to_string(), span.start, span.end)
        };
        let (path, port) = (root.entry("path").unwrap(), root.entry("port").unwrap());
        assert_eq!(at(root.span()), ("base.yaml".to_owned(), 0, 90));
        assert_eq!(at(path.span()), ("base.yaml".to_owned(), 5, 17));
        assert_eq!(at(port.key.span()), ("base.yaml".to_owned(), 20, 24));
        assert_eq!(at(port.span()), ("patch.yaml".to_owned(), 3, 5));
        assert!(tree.is_override(port.key) && !tree.is_override(path.key));
        assert_eq!(root.source(), "path\n/ready\nport\n80\nnone");
        assert_eq!((port.value.source(), port.value.as_str()), ("80", None));
        assert_eq!(root.get("none").map(NodeRef::source), Some(""));
    }

    #[test]
    fn documents_beyond_the_limit_of_parsers_are_refused() {
        let path = Arc::from("a.yaml");
        let nested = |depth: usize| {
            let mut out = Composer::default();
            for _ in 0..depth {
                out.begin(Kind::Sequence, (&path, Span::default()));
            }
            out.string("x", (&path, Span::default()));
            for _ in 0..depth {
                out.end();
            }
            out.finish().is_some()
        };
        assert!(nested(255) && !nested(256));
    }
}
