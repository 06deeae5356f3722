//! A fact that decides, with its line.

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::clean::clean;
use super::at;

/// The longest list of facts in an item.
const MOST: usize = 10;

/// A fact of a report.
#[derive(Debug, Deserialize)]
pub(in crate::mcp) struct ReportedFact {
    path: Option<String>,
    line: Option<u64>,
    message: String,
}

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

impl Fact {
    /// Shortens the facts of a report.
    pub(super) fn all(reported: &[ReportedFact]) -> Vec<Self> {
        let mut facts: Vec<Self> = reported
            .iter()
            .take(MOST)
            .map(|fact| Self {
                at: fact.path.as_deref().map(|path| at(path, fact.line)),
                fact: clean(&fact.message),
            })
            .collect();
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
