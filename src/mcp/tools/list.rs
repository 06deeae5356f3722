//! The list of tools.

use super::tool::Tool;
use super::{check, explain_rule, explain_symptom, predict, propose_fix, what_if};

/// All tools, in the order in which clients list them.
pub(in crate::mcp) const TOOLS: [&Tool; 6] = [
    &check::TOOL,
    &predict::TOOL,
    &explain_rule::TOOL,
    &explain_symptom::TOOL,
    &what_if::TOOL,
    &propose_fix::TOOL,
];

/// Returns the tool with a name.
pub(in crate::mcp) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}
