//! The text of a result in SARIF, with links to its related locations (SARIF 2.1.0, 3.11.6).

use meshprobe_mesh::finding::{Finding, Label, shortened};

use super::results::Results;
use super::text::{RelatedLines, finding_lines, related_lines};

/// Returns the text of a related location.
pub(super) fn related_text(label: &Label) -> &str {
    match label.message.as_str() {
        "" => "related location",
        message => message,
    }
}

/// Returns the text of a result. Links to the related locations follow the first line: code scanning shows these
/// locations only if the text links to them. Of locations with the same message, one has the message as its text.
pub(super) fn message(results: &Results<'_>, finding: &Finding) -> String {
    let lines = finding_lines(finding);
    if finding.related.is_empty() {
        return plain_text(&lines.join("\n\n"));
    }
    let mut lines: Vec<String> = lines.iter().map(|line| text_next_to_links(line)).collect();
    let related = related_lines(finding);
    let links: Vec<String> = related.iter().map(|lines| links(results, lines)).collect();
    lines.insert(lines.len().min(1), format!("because: {}", links.join("; ")));
    lines.join("\n\n")
}

/// Returns the links to related lines, such as `[STRICT for the whole mesh](1) (also [prod/mtls.yaml:6](2) and 27
/// more)`.
fn links(results: &Results<'_>, related: &RelatedLines<'_>) -> String {
    let (named, more) = shortened(&related.lines);
    let Some(((first, label), others)) = named.split_first() else {
        return String::new();
    };
    let message = link(related_text(label), first + 1);
    if others.is_empty() {
        return message;
    }
    let others = others.iter();
    let others: Vec<String> = others
        .map(|(number, label)| link(&results.place(label), number + 1))
        .collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{message} (also {}{more})", others.join(", "))
}

/// The characters that a link text contains only after a backslash.
const ESCAPED: [char; 3] = ['[', ']', '\\'];

/// Returns a link to the related location with this id.
pub(super) fn link(text: &str, id: usize) -> String {
    format!("[{}]({id})", escaped(text))
}

/// Returns text that contains no links. Its brackets are escaped only if they could be read as a part of a link, because
/// outside of links some viewers show the backslashes.
pub(super) fn plain_text(text: &str) -> String {
    if text.contains("](") {
        escaped(text)
    } else {
        text.to_owned()
    }
}

/// Returns text that contains no links, for a message that contains others: a bracket without its counterpart could be read
/// as a part of them.
pub(super) fn text_next_to_links(text: &str) -> String {
    if has_paired_brackets(text) {
        plain_text(text)
    } else {
        escaped(text)
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if ESCAPED.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns whether each `[` is followed by its `]`, before any other `[`.
fn has_paired_brackets(text: &str) -> bool {
    let mut is_open = false;
    for c in text.chars() {
        match (c, is_open) {
            ('[', false) => is_open = true,
            (']', true) => is_open = false,
            ('[' | ']', _) => return false,
            _ => {}
        }
    }
    !is_open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_link_is_escaped() {
        assert_eq!(link("a[0]\\b", 2), "[a\\[0\\]\\\\b](2)");
    }

    #[test]
    fn other_text_contains_no_links() {
        assert_eq!(plain_text("x [--assume y]"), "x [--assume y]");
        assert_eq!(plain_text("C:\\x"), "C:\\x");
        assert_eq!(plain_text("[x](1)"), "\\[x\\](1)");
        for text in ["[", "a] b"] {
            assert_eq!(plain_text(text), text);
        }
        assert_eq!(text_next_to_links("[a](b) [c]"), "\\[a\\](b) \\[c\\]");
        assert_eq!(text_next_to_links("[c]"), "[c]");
        assert_eq!(text_next_to_links("a [ b"), "a \\[ b");
        assert_eq!(text_next_to_links("a ] b"), "a \\] b");
        assert_eq!(text_next_to_links("[[x]]"), "\\[\\[x\\]\\]");
    }
}
