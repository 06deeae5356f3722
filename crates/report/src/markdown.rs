//! Markdown, for the summary of a GitHub job.

use std::fmt::Write as _;

use meshprobe_mesh::finding::{Finding, docs_url};

use super::escape::escape_control;
use super::not_judged::{COMMANDS_ABOVE, not_judged_lines, nothing_judged};
use super::results::Results;
use super::summary::{counted_files, left_out_sentences, severity_counts};
use super::text::{counted, fix_text};

/// The maximum size in bytes of the summary of a step. GitHub shows nothing of a larger summary
/// (docs.github.com, "Workflow commands for GitHub Actions", step isolation and limits).
pub const SUMMARY_LIMIT: usize = 1024 * 1024;

/// Bytes that are reserved for the last line, and for differences in how GitHub counts.
const RESERVE: usize = 1024;

/// Returns a table of the findings by severity, in at most `room` bytes. Findings that do not fit are counted. If the counts
/// do not fit either, the result is empty, because GitHub shows nothing if the summary of the step is too large.
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
    let mut remaining = findings.len();
    for finding in findings {
        let row = row(results, finding);
        if out.len() + row.len() + RESERVE > room {
            break;
        }
        out.push_str(&row);
        remaining -= 1;
    }
    if remaining > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "\n{} not shown here; see the log.",
            counted(remaining, "more finding")
        );
    }
    out
}

fn heading(results: &Results<'_>) -> String {
    let summary = &results.outcome.summary;
    let counts = severity_counts(summary).into_iter().map(|(_, text)| text);
    let counts: Vec<String> = counts.collect();
    let found = if counts.is_empty() && summary.judges_nothing() {
        "**Nothing was judged**".to_owned()
    } else if counts.is_empty() {
        "No findings".to_owned()
    } else {
        format!("**{}**", counts.join(", "))
    };
    let left_out: String = left_out_sentences(results.set, summary)
        .into_iter()
        .map(|sentence| format!(" {sentence}"))
        .collect();
    let lines: String = not_judged_lines(results.set, &results.outcome.not_judged)
        .into_iter()
        .chain(nothing_judged(results.outcome, COMMANDS_ABOVE))
        .map(|line| format!("\n- {}", prose(&line)))
        .collect();
    let lines = match lines.as_str() {
        "" => String::new(),
        lines => format!("{lines}\n"),
    };
    format!(
        "## meshprobe\n\n{found} in {}.{left_out}\n{lines}",
        counted_files(results.set, results.outcome),
    )
}

fn row(results: &Results<'_>, finding: &Finding) -> String {
    let mut cell = prose(&finding.message);
    if let Some(environments) = finding.environments_line() {
        cell.push_str("<br>in: ");
        cell.push_str(&prose(&environments));
    }
    for assumption in &finding.assumptions {
        cell.push_str("<br>assumed: ");
        cell.push_str(&prose(&assumption.to_string()));
    }
    if let Some(help) = &finding.help {
        cell.push_str("<br>help: ");
        cell.push_str(&prose(help));
    }
    if let Some(fix) = &finding.fix {
        cell.push_str("<br>fix: ");
        cell.push_str(&prose(&fix_text(fix)));
    }
    format!(
        "| {} | [{rule}]({url}) | {} | {cell} |\n",
        finding.severity.as_str(),
        plain(&escape_control(&results.place(&finding.primary))),
        rule = finding.rule,
        url = docs_url(finding.rule),
    )
}

/// Converts a message to Markdown. Text between backticks is code, and all other text is plain. If the number of backticks
/// is odd because of a value from a manifest, the whole message is plain.
pub(super) fn prose(text: &str) -> String {
    let text = escape_control(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An even number of backticks yields an odd number of parts.
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

/// Escapes a text so that it contains no Markdown, HTML, links, mentions or formulas. GitHub recommends an element around a
/// dollar sign; such an element also prevents links (`https://`, `www.`, `name@host`).
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '$' | '@' => out.push_str(&in_element(c)),
            ':' if rest.as_str().starts_with("//") => out.push_str(&in_element(c)),
            '.' if out.len() >= 3 && out.get(out.len() - 3..).is_some_and(is_www) => {
                out.push_str(&in_element(c));
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

fn in_element(c: char) -> String {
    format!("<span>{c}</span>")
}

fn is_www(text: &str) -> bool {
    text.eq_ignore_ascii_case("www")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_manifest_contains_no_links_and_formulas() {
        assert_eq!(prose("https://a.b"), "https<span>:</span>//a.b");
        assert_eq!(prose("WWW.a.b"), "WWW<span>.</span>a.b");
        assert_eq!(
            prose("$x$ a@b.c"),
            "<span>$</span>x<span>$</span> a<span>@</span>b.c"
        );
        assert_eq!(prose("port: 80. a/b.yaml"), "port: 80. a/b.yaml");
    }

    #[test]
    fn text_of_a_manifest_contains_no_markup() {
        assert_eq!(prose("port `a|b` of *x*"), "port `a\\|b` of \\*x\\*");
        assert_eq!(prose("odd ` <b>"), "odd \\` &lt;b&gt;");
        assert_eq!(prose("``[x](y)"), "\\`\\`\\[x\\](y)");
    }
}
