//! The error for text that is not YAML, or exceeds a limit of the parser.

/// Message for a document that has more nodes than allowed.
const TOO_MANY_NODES: &str = "it has too many values";

/// Message for a document whose aliases expand to more nodes than allowed.
pub(super) const EXPANDS_TOO_FAR: &str = "its aliases expand to more than 250,000 values and ten times \
                                    the values written, or several aliases are inside the values \
                                    that they refer to";

/// Message for a document whose merge keys are not followed to their end.
pub(super) const MERGES_TOO_FAR: &str =
    "a merge key in this mapping leads through more than 16 levels or 10,000 mappings";

/// Reason why a document could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Offset of the fault in the file, in bytes.
    pub offset: usize,
    /// Message for the user: what is wrong.
    pub message: String,
}

impl SyntaxError {
    /// Returns whether the document has more nodes than [`parse_within`](super::parse_within) allows.
    #[must_use]
    pub fn is_over_limit(&self) -> bool {
        self.message == TOO_MANY_NODES
    }

    /// Returns a message that names `what`, such as "the document", and what is wrong with it.
    #[must_use]
    pub fn describe(&self, what: &str) -> String {
        let message = &self.message;
        if [EXPANDS_TOO_FAR, MERGES_TOO_FAR, TOO_MANY_NODES].contains(&&**message) {
            format!("{what} is too large: {message}")
        } else {
            format!("{what} is not YAML: {message}")
        }
    }
}

/// Returns the error for a document that has more nodes than allowed.
pub(super) fn too_many_nodes(offset: usize) -> SyntaxError {
    SyntaxError {
        offset,
        message: TOO_MANY_NODES.into(),
    }
}
