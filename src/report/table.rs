//! The table of `predict`, with one line per row.

use crate::report::prediction::{Row, WorkloadRows};
use crate::report::terminal_style::{TerminalStyle, Tone};

use super::escape::escape_control;
use super::name_list::name_list;
use super::outcome_tone::outcome_tone;
use super::wrap::wrap;

const HEADINGS: [&str; COLUMNS] = [
    "WORKLOAD",
    "CONTAINER",
    "SLOT",
    "PROBE",
    "BECOMES",
    "IN",
    "OUTCOME",
    "WHY",
];

const COLUMNS: usize = 8;

/// The column of the environments, which is omitted if no row has any.
const IN: usize = 5;

const OUTCOME: usize = 6;

/// The minimum width of the last column, which uses the rest of the line.
const LEAST_WHY: usize = 32;

/// The rows of a table, with the widths of the columns.
pub(super) struct Table {
    cells: Vec<[String; COLUMNS]>,
    widths: [usize; COLUMNS],
}

impl Table {
    pub(super) fn new(workloads: &[WorkloadRows]) -> Self {
        let rows = workloads.iter().flat_map(|workload| &workload.rows);
        let cells: Vec<[String; COLUMNS]> = rows.map(cells_of).collect();
        let mut widths = HEADINGS.map(str::len);
        for row in &cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut table = Self { cells, widths };
        if table.cells.iter().all(|row| row[IN] == "-") {
            table.widths[IN] = 0;
        }
        table
    }

    /// Returns whether the lines fit into a width, with enough room for the last column.
    pub(super) fn fits(&self, width: usize) -> bool {
        self.width_of_front() + LEAST_WHY <= width
    }

    /// Returns the table. With a width, the last column is wrapped, and a line omits the workload and the container if they
    /// are those of the line above.
    pub(super) fn text(&self, style: TerminalStyle, width: Option<usize>) -> String {
        let headings = HEADINGS.map(str::to_owned);
        let heading = self.line(&headings, style, None, None);
        let mut out = style.paint(Tone::Strong, heading.trim_end());
        out.push('\n');
        let mut above: Option<&[String; COLUMNS]> = None;
        for row in &self.cells {
            let shown = match above.filter(|_| width.is_some()) {
                Some(above) => without_repetition(row, above),
                None => row.clone(),
            };
            let line = self.line(&shown, style, Some(outcome_tone(&row[OUTCOME])), width);
            out.push_str(line.trim_end());
            out.push('\n');
            above = Some(row);
        }
        out
    }

    fn line(
        &self,
        cells: &[String; COLUMNS],
        style: TerminalStyle,
        tone: Option<Tone>,
        width: Option<usize>,
    ) -> String {
        let mut out = String::new();
        let [front @ .., why] = cells;
        for (at, (cell, width)) in front.iter().zip(self.widths).enumerate() {
            if width == 0 {
                continue;
            }
            match tone {
                Some(tone) if at == OUTCOME => out.push_str(&style.paint(tone, cell)),
                _ => out.push_str(cell),
            }
            let gap = (width + 2).saturating_sub(cell.chars().count());
            out.extend(std::iter::repeat_n(' ', gap));
        }
        match width {
            Some(width) => wrap(why, &out, self.width_of_front(), width),
            None => out + why,
        }
    }

    fn width_of_front(&self) -> usize {
        let [front @ .., _] = &self.widths;
        let shown = front.iter().filter(|width| **width > 0);
        shown.map(|width| width + 2).sum()
    }
}

/// Empties the cells of the workload and the container that are equal in the line above.
fn without_repetition(row: &[String; COLUMNS], above: &[String; COLUMNS]) -> [String; COLUMNS] {
    let mut shown = row.clone();
    for (cell, above) in shown.iter_mut().zip(above).take(2) {
        if cell != above {
            break;
        }
        cell.clear();
    }
    shown
}

fn cells_of(row: &Row) -> [String; COLUMNS] {
    [
        row.workload.as_str(),
        &row.container,
        &row.slot,
        &row.probe,
        &row.rewritten_to,
        &name_list(&row.environments),
        row.outcome,
        &row.why,
    ]
    .map(|cell| {
        if cell.is_empty() {
            "-".to_owned()
        } else {
            escape_control(cell).into_owned()
        }
    })
}
