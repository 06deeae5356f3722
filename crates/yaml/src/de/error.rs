//! Errors of the deserializer.

use std::fmt;

use serde::de;

use crate::field_path::{FieldPath, Step};
use crate::merge::BudgetExceeded;
use crate::span::Span;
use crate::tree::NodeRef;

/// Reason why a node cannot be deserialized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeError {
    /// The span of the faulty node.
    pub span: Span,
    /// The path from the given node to the faulty one.
    pub route: FieldPath,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for DeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.route.steps().is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.route, self.message)
        }
    }
}

impl std::error::Error for DeError {}

/// An error while it is returned: the innermost reader sets the position, and all others add their step.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) span: Option<Span>,
    /// Steps from the inside out.
    pub(super) steps: Vec<Step>,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn at(mut self, node: NodeRef<'_>) -> Self {
        self.span.get_or_insert(node.span());
        self
    }

    pub(super) fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            span: None,
            steps: Vec::new(),
            message: message.to_string(),
        }
    }
}

/// Returns an error without a position.
pub(super) fn fault(message: &str) -> Fault {
    de::Error::custom(message)
}

impl From<BudgetExceeded> for Fault {
    fn from(_: BudgetExceeded) -> Self {
        fault("aliases repeat too many nodes")
    }
}
