//! Writes numbers with their nouns.

/// Returns a number with its noun: `1 file` or `2 files`.
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
