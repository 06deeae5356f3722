//! The table of `predict`.

use crate::report::prediction::Row;

use super::escape::escape_control;
use super::wrap::wrap;
use crate::report::terminal_style::{TerminalStyle, Tone};

const HEADINGS: [&str; 7] = [
    "WORKLOAD",
    "CONTAINER",
    "SLOT",
    "PROBE",
    "BECOMES",
    "OUTCOME",
    "WHY",
];

/// The minimum width of the last column, which uses the rest of the line.
const LEAST_WHY: usize = 24;

const OUTCOME: usize = 5;

/// Returns the rows under headings. Columns are as wide as their widest cell. The last column is wrapped at the width of a
/// terminal, and not wrapped in a pipe.
#[must_use]
pub fn table(rows: &[Row], style: TerminalStyle) -> String {
    let cells: Vec<[String; 7]> = rows.iter().map(cells_of).collect();
    let mut widths = HEADINGS.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let headings = HEADINGS.map(str::to_owned);
    let mut out = style.paint(
        Tone::Strong,
        line(&headings, &widths, style, None).trim_end(),
    );
    out.push('\n');
    for row in &cells {
        out.push_str(&line(row, &widths, style, Some(tone_of(row))));
        out.push('\n');
    }
    out
}

fn line(
    cells: &[String; 7],
    widths: &[usize; 7],
    style: TerminalStyle,
    tone: Option<Tone>,
) -> String {
    let mut out = String::new();
    let [front @ .., why] = cells;
    for (at, (cell, width)) in front.iter().zip(widths).enumerate() {
        match tone {
            Some(tone) if at == OUTCOME => out.push_str(&style.paint(tone, cell)),
            _ => out.push_str(cell),
        }
        let gap = (width + 2).saturating_sub(cell.chars().count());
        out.extend(std::iter::repeat_n(' ', gap));
    }
    let used: usize = widths.iter().take(front.len()).map(|width| width + 2).sum();
    if style.terminal {
        return wrap(why, &out, used, style.width.max(used + LEAST_WHY))
            .trim_end()
            .to_owned();
    }
    out.push_str(why);
    out.trim_end().to_owned()
}

fn cells_of(row: &Row) -> [String; 7] {
    [
        row.workload.as_str(),
        &row.container,
        &row.slot,
        &row.probe,
        &row.rewritten_to,
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

fn tone_of(row: &[String; 7]) -> Tone {
    let [.., outcome, _] = row;
    match outcome.as_str() {
        "ok" => Tone::Good,
        "fails" | "always-passes" | "target-changed" | "broken-without-mesh" => Tone::Error,
        "unknown" => Tone::Warning,
        _ => Tone::Faint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_last_is_wrapped() {
        let row = Row {
            workload: "Deployment/web".into(),
            container: "web".into(),
            slot: "readinessProbe".into(),
            probe: "GET :8080/".into(),
            rewritten_to: String::new(),
            outcome: "fails",
            why: "STRICT mTLS and not rewritten, so nothing answers".into(),
        };
        let style = TerminalStyle {
            width: 96,
            terminal: true,
            ..TerminalStyle::PLAIN
        };
        insta::assert_snapshot!(table(std::slice::from_ref(&row), style));
        assert_eq!(table(&[row], TerminalStyle::PLAIN).lines().count(), 2);
    }
}
