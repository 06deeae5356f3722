//! The facts behind each prediction, one handler after the other.

use crate::report::prediction::{Explanation, Noted};

use super::escape::escape_control;
use super::name_list::{in_note, name_list};
use super::wrap::wrap_with_note;
use crate::report::terminal_style::{TerminalStyle, Tone};

/// The width of the column of names.
const NAME: usize = 12;

/// Returns all explanations, separated by empty lines.
#[must_use]
pub fn explanations(all: &[Explanation], style: TerminalStyle) -> String {
    let blocks: Vec<String> = all
        .iter()
        .map(|explanation| block(explanation, style))
        .collect();
    blocks.join("\n")
}

fn block(explanation: &Explanation, style: TerminalStyle) -> String {
    let title = style.paint(Tone::Strong, &escape_control(&explanation.title));
    let place = style.paint(Tone::Faint, &escape_control(&explanation.place));
    let mut out = format!("{title}\n  --> {place}\n");
    let named = |name: &str, text: &str, note: &str| {
        let name = style.paint(Tone::Note, &format!("{name:<NAME$}"));
        text_line(text, note, &format!("  {name}"), NAME + 2, style.width)
    };
    if !explanation.environments.is_empty() {
        out.push_str(&named("in", &name_list(&explanation.environments), ""));
    }
    for line in &explanation.lines {
        let certainty = match line.certainty {
            "" => String::new(),
            word => format!(" ({word})"),
        };
        let value = format!("{}{certainty}", line.value);
        out.push_str(&named(line.name, &value, &in_note(&line.environments)));
        for reason in &line.because {
            let note = in_note(&reason.environments);
            let hang = NAME + 4;
            let first = " ".repeat(hang);
            let text = with_places(reason);
            out.push_str(&text_line(&text, &note, &first, hang, style.width));
        }
    }
    out
}

/// Returns a reason with its places, of which a long list is cut.
fn with_places(reason: &Noted) -> String {
    if reason.places.is_empty() {
        return reason.text.clone();
    }
    let places = meshprobe_mesh::finding::name_list(reason.places.iter().map(String::as_str));
    format!("{} ({places})", reason.text)
}

fn text_line(text: &str, note: &str, first: &str, hang: usize, width: usize) -> String {
    wrap_with_note(
        &escape_control(text),
        &escape_control(note),
        first,
        hang,
        width,
    ) + "\n"
}
