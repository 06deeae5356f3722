//! Excerpts of the source for messages.

use crate::tree::NodeRef;

/// Returns the start of the source of a node, on one line, for a message.
pub(super) fn excerpt(node: NodeRef<'_>) -> String {
    let source = node.resolved().source();
    let line = source.lines().next().unwrap_or_default().trim_end();
    let short: String = line.chars().take(60).collect();
    if short.len() == source.len() {
        format!("`{short}`")
    } else {
        format!("`{short}…`")
    }
}
