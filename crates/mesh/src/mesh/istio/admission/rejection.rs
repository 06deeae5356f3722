//! Why an object cannot be created, and who rejects it.

use meshprobe_yaml::{FieldPath, Span};

/// Why an object cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Who rejects the object.
    pub by: Authority,
    /// The position of the wrong key or value.
    pub span: Span,
    /// The route from the object.
    pub route: FieldPath,
    /// What is wrong, after the name of the field: "is a string, expected a mapping".
    pub reason: String,
}

/// The program that rejects an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The API server, with the schema of the custom resource.
    ApiServer,
    /// The validating webhook of istiod.
    Istiod,
}

impl Authority {
    /// Returns the name for messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiServer => "the API server",
            Self::Istiod => "istiod",
        }
    }
}
