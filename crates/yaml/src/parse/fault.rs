//! A fault of a document, with the repair that may make it readable.

use crate::arena::Arena;
use crate::syntax_error::SyntaxError;

/// Parse error, with the repair that may resolve it.
pub(super) struct Fault {
    pub(super) error: SyntaxError,
    /// The repair that makes the document readable, if one is known.
    pub(super) repair: Option<Repair>,
    /// The nodes before the fault. Collections that contain it are not closed.
    pub(super) arena: Arena,
    /// The end of the last token in the arena. Further tokens may precede the fault.
    pub(super) cursor: usize,
}

/// A change of white space that does not change the content of a document.
#[derive(Clone, Copy)]
pub(super) enum Repair {
    /// A quoted scalar after the cursor has lines that are not indented deeper than its mapping or sequence.
    Indent,
    /// A comment touches the token before it.
    Comment,
    /// A token is a key without a value, or the header of a block scalar that is not indented deeper than its mapping or
    /// sequence.
    Header,
    /// A line starts with a tab.
    Tabs { in_quotes: bool },
}
