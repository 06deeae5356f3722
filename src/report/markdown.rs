//! Markdown, for the summary of a GitHub job.

use std::fmt::Write as _;

use crate::finding::{Finding, docs_url};

use super::escape::visible;
use super::not_shown::{milder, not_shown};
use super::place::{region, told_path};
use super::results::Results;
use super::summary::counted;

/// A job may write so many bytes per step; more of it is an error and shows nothing
/// (docs.github.com, "Workflow commands for GitHub Actions", step isolation and limits).
pub const SUMMARY_LIMIT: usize = 1024 * 1024;

/// Room for the last line, and for what others count differently.
const RESERVE: usize = 1024;

/// Writes what was found as a table, the worst first, in at most `room` bytes; findings that do
/// not fit are counted. Where there is no room for as much as the counts, it writes nothing: one
/// byte too many and GitHub shows nothing of what the step has written.
#[must_use]
pub fn markdown(results: &Results<'_>, room: usize) -> String {
    let findings = results.worst_first();
    let mut out = heading(results);
    if out.len() + RESERVE > room {
        return String::new();
    }
    if !findings.is_empty() {
        out.push_str("\n| severity | rule | place | finding |\n|---|---|---|---|\n");
    }
    let mut left = findings.len();
    for finding in findings {
        let row = row(results, finding);
        if out.len() + row.len() + RESERVE > room {
            break;
        }
        out.push_str(&row);
        left -= 1;
    }
    if left > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "\n{} more, which do not fit in here: see the log.",
            counted(left, "finding")
        );
    }
    out
}

fn heading(results: &Results<'_>) -> String {
    let summary = &results.outcome.summary;
    let counts = [
        (summary.errors, "error"),
        (summary.warnings, "warning"),
        (summary.notes, "note"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun))
        .collect();
    let found = if counts.is_empty() {
        "No findings".to_owned()
    } else {
        format!("**{}**", counts.join(", "))
    };
    let not_shown = match not_shown(summary) {
        parts if parts.is_empty() => String::new(),
        parts => format!(" Not shown: {}.", parts.join(", ")),
    };
    let milder = milder(summary).into_iter();
    let milder: String = milder.map(|sentence| format!(" {sentence}")).collect();
    format!(
        "## meshprobe\n\n{found} in {} ({}, {}).{not_shown}{milder}\n",
        counted(summary.files.read, "file"),
        counted(summary.workloads, "workload"),
        counted(summary.handlers, "handler"),
    )
}

fn row(results: &Results<'_>, finding: &Finding) -> String {
    let path = results
        .root
        .path(results.set, &told_path(results.set, &finding.primary));
    let line = region(results.set, &finding.primary).map(|region| format!(":{}", region.line));
    let mut cell = prose(&finding.message);
    for assumption in &finding.assumptions {
        cell.push_str("<br>assumed: ");
        cell.push_str(&prose(assumption));
    }
    if let Some(help) = &finding.help {
        cell.push_str("<br>help: ");
        cell.push_str(&prose(help));
    }
    format!(
        "| {} | [{rule}]({url}) | {} | {cell} |\n",
        finding.severity.as_str(),
        plain(&visible(&format!("{path}{}", line.unwrap_or_default()))),
        rule = finding.rule,
        url = docs_url(finding.rule),
    )
}

/// Our messages put names between backticks; what stands there is code, all else plain text. A
/// manifest that brings backticks of its own gets no code at all.
fn prose(text: &str) -> String {
    let text = visible(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An even number of backticks leaves an odd number of parts.
    if parts.len().is_multiple_of(2) {
        return plain(&text);
    }
    let mut out = String::new();
    for (number, part) in parts.iter().enumerate() {
        match (number % 2, part.is_empty()) {
            (0, _) => out.push_str(&plain(part)),
            (_, true) => out.push_str("\\`\\`"),
            (_, false) => {
                let code = part.replace('|', "\\|");
                out.push_str(&format!("`{code}`"));
            }
        }
    }
    out
}

/// Text of which nothing is taken for Markdown, HTML, a link, a mention or a formula. A character
/// in an element of its own is what GitHub recommends for a dollar sign; it also ends what would be
/// made a link (`https://`, `www.`, `name@host`).
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '$' | '@' => out.push_str(&alone(c)),
            ':' if rest.as_str().starts_with("//") => out.push_str(&alone(c)),
            '.' if out.len() >= 3 && out.get(out.len() - 3..).is_some_and(is_www) => {
                out.push_str(&alone(c));
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' | '|' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

fn alone(c: char) -> String {
    format!("<span>{c}</span>")
}

fn is_www(text: &str) -> bool {
    text.eq_ignore_ascii_case("www")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_manifest_becomes_a_link_or_a_formula() {
        assert_eq!(prose("https://a.b"), "https<span>:</span>//a.b");
        assert_eq!(prose("WWW.a.b"), "WWW<span>.</span>a.b");
        assert_eq!(
            prose("$x$ a@b.c"),
            "<span>$</span>x<span>$</span> a<span>@</span>b.c"
        );
        assert_eq!(prose("port: 80. a/b.yaml"), "port: 80. a/b.yaml");
    }

    #[test]
    fn nothing_of_a_manifest_becomes_markup() {
        assert_eq!(prose("port `a|b` of *x*"), "port `a\\|b` of \\*x\\*");
        assert_eq!(prose("odd ` <b>"), "odd \\` &lt;b&gt;");
        assert_eq!(prose("``[x](y)"), "\\`\\`\\[x\\](y)");
    }
}
