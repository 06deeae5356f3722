//! Ambiguities and their kinds.

use crate::span::Span;

/// Kind of an ambiguity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmbiguityKind {
    /// A character that ends a line in YAML 1.1 and is text in YAML 1.2, another character that is syntax for only
    /// one of the parsers, or a document that kubectl and kustomize ignore.
    HiddenSyntax,
    /// Merge keys that exceed the limits on depth or on the number of mappings.
    MergeLimit,
    /// A merge key after a key that it overrides with another value.
    MergeOrder,
    /// A tag that changes the value of a scalar for some tools.
    Tag,
}

/// A part of a document that has more than one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// The kind of the ambiguity.
    pub kind: AmbiguityKind,
    /// The span in the file to report.
    pub span: Span,
    /// The different readings, in one sentence.
    pub message: String,
    /// How to resolve the ambiguity.
    pub help: &'static str,
}
