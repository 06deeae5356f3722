//! An explanation in Markdown, for editors.

use std::fmt::Write as _;
use std::sync::Arc;

use super::explanation_lines::{Explanation, Line, Noted};
use crate::report::escape::{code_span, inline_markdown};
use crate::report::terminal_style::{in_note, name_list};

/// The name of the line with the outcome.
const OUTCOME: &str = "outcome";

/// Returns an explanation in Markdown. `link` returns the URL of a place such as `apps/web.yaml:31`, if it has one.
#[must_use]
pub fn explanation_markdown(
    explanation: &Explanation,
    link: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut out = format!("**{}**\n\n", inline_markdown(&explanation.title));
    if !explanation.environments.is_empty() {
        let environments = inline_markdown(&name_list(&explanation.environments));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- **in** {environments}");
    }
    // The outcome is first, because editors cut a long text.
    let (outcomes, facts): (Vec<&Line>, Vec<&Line>) = explanation
        .lines
        .iter()
        .partition(|line| line.name == OUTCOME);
    for line in outcomes.into_iter().chain(facts) {
        out.push_str(&item(line, link));
    }
    out
}

fn item(line: &Line, link: &dyn Fn(&str) -> Option<String>) -> String {
    let certainty = match line.certainty {
        "" => String::new(),
        word => format!(" *({word})*"),
    };
    let value = match line.name {
        OUTCOME => strong_outcome(&line.value),
        "probe" | "becomes" | "kubelet" => code_span(&line.value),
        _ => with_option(&line.value),
    };
    let note = note(&line.environments);
    let mut out = format!("- **{}** {value}{certainty}{note}\n", line.name);
    for reason in &line.because {
        let _ = writeln!(out, "  - {}", because(reason, link));
    }
    out
}

/// Returns `**fails**: plain text on …`.
fn strong_outcome(value: &str) -> String {
    match value.split_once(": ") {
        Some((outcome, cause)) => format!(
            "**{}**: {}",
            inline_markdown(outcome),
            inline_markdown(cause)
        ),
        None => inline_markdown(value),
    }
}

/// Returns a reason with links to its places.
fn because(reason: &Noted, link: &dyn Fn(&str) -> Option<String>) -> String {
    let places = reason.places.iter().map(|place| match link(place) {
        Some(url) => format!("[{}]({url})", inline_markdown(place)),
        None => inline_markdown(place),
    });
    let places: Vec<String> = places.collect();
    let note = note(&reason.environments);
    match places.as_slice() {
        [] => format!("{}{note}", with_option(&reason.text)),
        places => format!(
            "{} ({}){note}",
            with_option(&reason.text),
            places.join(", ")
        ),
    }
}

/// Returns a text whose last part may be the option that settles it, `[--assume mtls=STRICT]`, with that option as code.
fn with_option(text: &str) -> String {
    let option = |text: &'_ str| {
        let (text, option) = text.strip_suffix(']')?.rsplit_once(" [--")?;
        let option = code_span(&format!("--{option}"));
        Some(format!("{} ({option})", inline_markdown(text)))
    };
    option(text).unwrap_or_else(|| inline_markdown(text))
}

/// Returns ` (in: prod-eu)`; empty for no environments.
fn note(environments: &[Arc<str>]) -> String {
    match in_note(environments).as_str() {
        "" => String::new(),
        note => format!(" {}", inline_markdown(note)),
    }
}
