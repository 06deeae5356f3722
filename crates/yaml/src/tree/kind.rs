//! Kinds and notations of nodes.

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A single value.
    Scalar,
    /// Keys with values.
    Mapping,
    /// A list.
    Sequence,
    /// A reference to an anchored node.
    Alias,
}

/// Notation of a node in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// A scalar in `'`.
    SingleQuoted,
    /// A scalar in `"`.
    DoubleQuoted,
    /// A block scalar after `|`.
    Literal,
    /// A block scalar after `>`.
    Folded,
    /// A scalar without text (`key:`).
    Empty,
    /// A collection written by indentation.
    Block,
    /// A collection in brackets.
    Flow,
}
