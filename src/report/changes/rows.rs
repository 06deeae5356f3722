//! The table of the probes that change: the outcome before and after, next to each other.

use crate::diff::Change;
use crate::report::escape::escape_control;
use crate::report::outcome_tone::outcome_tone;
use crate::report::terminal_style::TerminalStyle;

use super::Changes;

/// The headings of the table.
pub(super) const HEADINGS: [&str; COLUMNS] = [
    "WORKLOAD",
    "CONTAINER",
    "SLOT",
    "IN",
    "BEFORE",
    "AFTER",
    "WHY",
];

/// The number of columns.
pub(super) const COLUMNS: usize = 7;

const BEFORE: usize = 4;
const AFTER: usize = 5;

/// One line of the table.
pub(super) type Cells = [String; COLUMNS];

/// Returns the cells of a handler; `None` for a finding.
pub(super) fn cells(changes: &Changes<'_>, change: &Change) -> Option<Cells> {
    let probe = change.probe()?;
    let (before, after) = change.probe_states();
    let outcome = |state: Option<&crate::diff::ProbeState>| {
        state.map_or_else(|| "-".to_owned(), |state| state.outcome.as_str().to_owned())
    };
    let environment = probe.environment_name.as_deref().unwrap_or_default();
    Some([
        probe.id.workload(),
        probe.id.container.clone(),
        probe.id.slot.to_owned(),
        environment.to_owned(),
        outcome(before),
        outcome(after),
        format!("{} ({})", changes.why(change, probe), changes.place(change)),
    ])
}

/// Returns the lines of a table with aligned columns, each after `indent` spaces. Omits empty columns.
pub(super) fn aligned(rows: &[Cells], indent: usize, style: TerminalStyle) -> String {
    let shown: Vec<usize> = (0..COLUMNS)
        .filter(|&at| {
            rows.iter()
                .any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()))
        })
        .collect();
    let headings = HEADINGS.map(str::to_owned);
    let widths: Vec<usize> = shown
        .iter()
        .map(|&at| {
            let cells = std::iter::once(&headings).chain(rows);
            let widths = cells.filter_map(|row| row.get(at)).map(|cell| width(cell));
            widths.max().unwrap_or_default()
        })
        .collect();
    let mut out = String::new();
    for (number, row) in std::iter::once(&headings).chain(rows).enumerate() {
        let mut line = " ".repeat(indent);
        for (&at, width_of_column) in shown.iter().zip(&widths) {
            let cell = row.get(at).map_or("", String::as_str);
            let text = escape_control(cell);
            let is_outcome = number > 0 && matches!(at, BEFORE | AFTER);
            match is_outcome {
                true => line.push_str(&style.paint(outcome_tone(cell), &text)),
                false => line.push_str(&text),
            }
            let gap = (width_of_column + 2).saturating_sub(width(cell));
            line.extend(std::iter::repeat_n(' ', gap));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn width(cell: &str) -> usize {
    escape_control(cell).chars().count()
}
