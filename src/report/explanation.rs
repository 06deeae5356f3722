//! The facts behind each prediction, one handler after the other.

use crate::report::prediction::Explanation;

use super::escape::escape_control;
use super::wrap::wrap;
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
    for line in &explanation.lines {
        let name = style.paint(Tone::Note, &format!("{:<NAME$}", line.name));
        let certainty = match line.certainty {
            "" => String::new(),
            word => format!(" ({word})"),
        };
        let value = format!("{}{certainty}", line.value);
        out.push_str(&wrap(
            &escape_control(&value),
            &format!("  {name}"),
            NAME + 2,
            style.width,
        ));
        out.push('\n');
        for reason in &line.because {
            let first = " ".repeat(NAME + 4);
            out.push_str(&wrap(
                &escape_control(reason),
                &first,
                NAME + 4,
                style.width,
            ));
            out.push('\n');
        }
    }
    out
}
