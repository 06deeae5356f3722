//! The predictions for people: a table, or a block per workload where a table is too wide.

use crate::report::prediction::{Row, WorkloadRows};
use crate::report::terminal_style::{TerminalStyle, Tone};

use super::escape::escape_control;
use super::name_list::in_note;
use super::outcome_tone::outcome_tone;
use super::table::Table;
use super::wrap::wrap_with_note;

/// Returns the rows of all workloads: as a table, or as blocks if the table does not fit into `width`. Without a width, as in
/// a pipe, the lines of the table are not wrapped.
#[must_use]
pub fn predictions(
    workloads: &[WorkloadRows],
    style: TerminalStyle,
    width: Option<usize>,
) -> String {
    let table = Table::new(workloads);
    match width {
        Some(width) if !table.fits(width) => {
            let blocks: Vec<String> = workloads
                .iter()
                .map(|workload| block(workload, style, width))
                .collect();
            blocks.join("\n")
        }
        width => table.text(style, width),
    }
}

/// Returns the block of a workload: for each handler, how it is written, what it becomes, and its outcomes.
fn block(workload: &WorkloadRows, style: TerminalStyle, width: usize) -> String {
    let line = |indent: usize, name: &str, text: &str, note: &str| {
        let first = format!("{}{name}", " ".repeat(indent));
        let (text, note) = (escape_control(text), escape_control(note));
        wrap_with_note(&text, &note, &first, indent + 4, width) + "\n"
    };
    let note = in_note(&workload.environments);
    let heading = line(0, "", &workload.workload, &note);
    let mut out = style.paint(Tone::Strong, heading.trim_end());
    out.push('\n');
    let mut above: Option<&Row> = None;
    for row in &workload.rows {
        if !above.is_some_and(|above| above.is_same_probe(row)) {
            out.push_str(&line(2, &format!("{}: ", row.title()), &row.probe, ""));
            if !row.rewritten_to.is_empty() {
                out.push_str(&line(4, "becomes: ", &row.rewritten_to, ""));
            }
        }
        let applies_to_all = row.environments.len() == workload.environments.len();
        let note = if applies_to_all {
            String::new()
        } else {
            in_note(&row.environments)
        };
        let outcome = style.paint(outcome_tone(row.outcome), row.outcome);
        out.push_str(&line(4, &format!("{outcome}: "), &row.why, &note));
        above = Some(row);
    }
    out
}
