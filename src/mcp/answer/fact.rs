//! A fact that decides, with its line.

use rmcp::schemars::JsonSchema;
use serde::Serialize;

use crate::report::{ReasonEntry, RelatedEntry};

use super::super::clean::clean;
use super::at;

/// The longest list of facts in an item.
const MOST: usize = 10;

/// A fact that decides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(in crate::mcp) struct Fact {
    /// The file and line that state the fact, as `file:line`. Missing for defaults and for parameters of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// The fact.
    fact: String,
}

impl From<&ReasonEntry> for Fact {
    fn from(reason: &ReasonEntry) -> Self {
        Self {
            at: reason.path.as_deref().map(|path| at(path, reason.line)),
            fact: clean(&reason.message),
        }
    }
}

impl From<&RelatedEntry> for Fact {
    fn from(related: &RelatedEntry) -> Self {
        Self {
            at: Some(at(&related.path, related.line)),
            fact: clean(&related.message),
        }
    }
}

impl Fact {
    /// Shortens the facts of a report.
    pub(super) fn all<'r, T>(reported: &'r [T]) -> Vec<Self>
    where
        Self: From<&'r T>,
    {
        let mut facts: Vec<Self> = reported.iter().take(MOST).map(Self::from).collect();
        if let Some(more) = reported.len().checked_sub(MOST).filter(|more| *more > 0) {
            facts.push(Self {
                at: None,
                fact: format!("{more} more facts"),
            });
        }
        facts
    }

    /// Returns the line and the fact as text.
    pub(super) fn text(&self) -> String {
        match &self.at {
            Some(at) => format!("{at} {}", self.fact),
            None => self.fact.clone(),
        }
    }
}
