//! A fault of a document, with the repair that may make it readable.

use crate::yaml::syntax_error::SyntaxError;

/// Parse error, with the repair that may resolve it.
pub(super) struct Fault {
    pub(super) error: SyntaxError,
    /// The repair that makes the document readable, if one is known.
    pub(super) repair: Option<Repair>,
}

/// A change of white space that does not change the content of a document.
pub(super) enum Repair {
    /// A quoted scalar has lines that are not indented deeper than its mapping or sequence. `after` is the end of the
    /// last token before it.
    Indent { after: usize },
    /// A line starts with a tab.
    Tabs { in_quotes: bool },
}

impl Repair {
    /// Returns the repair with its offset mapped by `map`.
    pub(super) fn moved(self, map: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Indent { after } => Self::Indent { after: map(after) },
            Self::Tabs { in_quotes } => Self::Tabs { in_quotes },
        }
    }
}
