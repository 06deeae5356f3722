//! The text of a result in SARIF, with links to its related locations.

use meshprobe_mesh::finding::{Finding, Label, shortened};

use super::related::{RelatedLines, related_lines};
use super::results::Results;
use super::sarif_text::{link, plain_text, text_next_to_links};
use super::text::finding_lines;

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
