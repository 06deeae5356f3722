//! Tables for people.

use super::escape::escape_control;
use super::terminal_style::{TerminalStyle, outcome_tone, wrap};

/// A table, of which the last column contains sentences.
pub(super) struct Table<const N: usize> {
    headings: [&'static str; N],
    rows: Vec<[String; N]>,
    /// The width of each column; 0 for a hidden one.
    widths: [usize; N],
}

impl<const N: usize> Table<N> {
    /// Creates a table. Columns of `optional` of which all cells are `empty` are hidden.
    pub(super) fn new(
        headings: [&'static str; N],
        rows: impl Iterator<Item = [String; N]>,
        (optional, empty): (std::ops::Range<usize>, &str),
    ) -> Self {
        let mut table = Self {
            headings,
            rows: rows
                .map(|row| row.map(|cell| escape_control(&cell).into_owned()))
                .collect(),
            widths: [0; N],
        };
        for (at, (width, heading)) in table.widths.iter_mut().zip(headings).enumerate() {
            let cells = || table.rows.iter().filter_map(|row| row.get(at));
            if !optional.contains(&at) || cells().any(|cell| cell != empty) {
                let widest = cells().map(|cell| cell.chars().count()).max();
                *width = heading.len().max(widest.unwrap_or_default());
            }
        }
        table
    }

    /// Returns the column in which the sentences start.
    pub(super) fn width_of_front(&self) -> usize {
        let [front @ .., _] = self.widths.as_slice() else {
            return 0;
        };
        let shown = front.iter().filter(|width| **width > 0);
        shown.map(|width| width + 2).sum()
    }

    /// Returns the heading.
    pub(super) fn heading(&self) -> String {
        self.line(
            &self.headings.map(str::to_owned),
            &[],
            None,
            TerminalStyle::PLAIN,
        )
    }

    /// Returns the rows, with outcomes in the columns `outcomes`. With a width, sentences are wrapped, and the first
    /// `repeated` columns are empty where they repeat the row above.
    pub(super) fn rows(
        &self,
        outcomes: &[usize],
        repeated: usize,
        width: Option<usize>,
        style: TerminalStyle,
    ) -> Vec<String> {
        let above = std::iter::once(None).chain(self.rows.iter().map(Some));
        let lines = self.rows.iter().zip(above).map(|(row, above)| {
            let mut shown = row.clone();
            let above = above.filter(|_| width.is_some());
            for (cell, above) in shown
                .iter_mut()
                .zip(above.into_iter().flatten())
                .take(repeated)
            {
                if cell != above {
                    break;
                }
                cell.clear();
            }
            self.line(&shown, outcomes, width, style)
        });
        lines.collect()
    }

    fn line(
        &self,
        cells: &[String; N],
        outcomes: &[usize],
        width: Option<usize>,
        style: TerminalStyle,
    ) -> String {
        let mut out = String::new();
        for (at, (cell, own)) in cells.iter().zip(self.widths).enumerate() {
            if own == 0 {
                continue;
            }
            let is_last = at + 1 == N;
            match width.filter(|_| is_last) {
                Some(width) => out = wrap(cell, &out, self.width_of_front(), width),
                None if outcomes.contains(&at) => {
                    out.push_str(&style.paint(outcome_tone(cell), cell))
                }
                None => out.push_str(cell),
            }
            let gap = if is_last {
                0
            } else {
                (own + 2).saturating_sub(cell.chars().count())
            };
            out.extend(std::iter::repeat_n(' ', gap));
        }
        out.trim_end().to_owned()
    }
}
