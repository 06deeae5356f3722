//! The faults that a `WorkloadGroup` can have.

use meshprobe_yaml::{FieldPath, Span};

use super::probe::Method;

/// A fault of a `WorkloadGroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The position of the wrong key or value.
    pub span: Span,
    /// The route from the object.
    pub within: FieldPath,
}

/// The kinds of faults of a `WorkloadGroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no `spec.template`.
    NoTemplate,
    /// The probe has no method.
    NoMethod,
    /// The probe has several methods.
    SeveralMethods {
        /// The method that is used.
        kept: Method,
        /// The methods that are dropped.
        dropped: Vec<Method>,
    },
    /// The method that is used is `grpc`.
    Grpc,
    /// A number below 0.
    Negative,
    /// A port that is missing or out of range.
    PortOutOfRange(Option<i64>),
    /// A port that is a string.
    PortName {
        /// The string.
        name: String,
        /// The number that it may mean.
        number: Option<i64>,
    },
    /// A scheme other than `HTTP` and `HTTPS`.
    Scheme,
    /// A header name that istiod rejects.
    HeaderName,
    /// A header value that the tools of Kubernetes do not read as a string.
    HeaderValue(&'static str),
    /// `exec` without a command.
    NoCommand,
    /// A field that the API does not have; contains the fields that it has there.
    UnknownField(Vec<&'static str>),
    /// A value of a wrong type.
    WrongType(String),
}

impl FaultKind {
    /// Describes the fault in a few words.
    #[must_use]
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::NoTemplate => "the template is missing",
            Self::NoMethod => "the probe checks nothing",
            Self::SeveralMethods { .. } => "the probe has several handlers",
            Self::Grpc => "a gRPC probe is not accepted",
            Self::Negative => "the number is negative",
            Self::PortOutOfRange(_) => "the port is missing or out of range",
            Self::PortName { .. } => "the port is not a number",
            Self::Scheme => "the scheme is neither HTTP nor HTTPS",
            Self::HeaderName => "the header has no valid name",
            Self::HeaderValue(_) => "the header value is not a string",
            Self::NoCommand => "the command is missing",
            Self::UnknownField(_) => "the API does not have this field",
            Self::WrongType(_) => "the value has another type than the API expects",
        }
    }
}
