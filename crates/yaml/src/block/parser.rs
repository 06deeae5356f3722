//! State of the fast parser.

use crate::arena::Arena;
use crate::tree::Kind;

/// Limit on the nesting of collections; the full parser reads deeper ones.
pub(super) const DEPTH: usize = 200;

/// Error: the text is left to the full parser.
#[derive(Debug)]
pub(super) struct Unsupported;

/// Result of reading a part of a document.
pub(super) type ParseResult<T> = Result<T, Unsupported>;

/// A block collection whose end has not been reached.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) column: usize,
    pub(super) kind: Kind,
}

/// Parser of one document.
pub(super) struct FastParser<'a> {
    pub(super) text: &'a str,
    /// The text up to the end of the document.
    pub(super) bytes: &'a [u8],
    pub(super) arena: Arena,
    pub(super) blocks: Vec<Block>,
    /// Start of the current line.
    pub(super) line: usize,
    /// Start of the next line to read.
    pub(super) at: usize,
    /// The end of the `:`, or the `-`, whose value has not been read.
    pub(super) awaiting: Option<usize>,
    /// The plain scalar that the next line may continue.
    pub(super) plain: Option<u32>,
}
