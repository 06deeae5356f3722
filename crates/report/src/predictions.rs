//! The predictions for people: a table, a block per workload where a table is too wide, or the facts behind each.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_tree::source::SourceSet;

use super::escape::escape_control;
use super::explanation::{Explanation, Noted, explain, in_file_order};
use super::table::Table;
use super::terminal_style::{
    TerminalStyle, Tone, in_note, name_list, outcome_tone, wrap_with_note,
};
use meshprobe_engine::engine::{DocumentKey, ProbeReport, WorkloadReport};

/// The rows of one workload, in all environments that deploy it.
struct WorkloadRows<'r> {
    workload: &'r str,
    /// The names of its environments that are shown; empty if only one deploys it.
    environments: Vec<Arc<str>>,
    /// The rows. Those of one handler are adjacent.
    rows: Vec<Row<'r>>,
}

/// A handler in all environments with the same prediction.
struct Row<'r> {
    workload: &'r WorkloadReport,
    probe: &'r ProbeReport,
    /// The names of the environments; empty if the workload has only one.
    environments: Vec<Arc<str>>,
}

impl Row<'_> {
    /// Returns a short description of the cause. The JSON report contains the facts behind it.
    fn why(&self) -> String {
        format!("{}{}", self.probe.why, self.workload.claims)
    }

    /// Returns whether both rows are equal except for their environments.
    fn is_equal(&self, other: &Self) -> bool {
        self.probe.is_same_probe(other.probe)
            && (self.probe.outcome, self.why()) == (other.probe.outcome, other.why())
    }
}

/// Groups the handlers and the checks of virtual machines by workload, in the order of the files. Rows that are equal in
/// several environments become one row that names them.
fn group_by_workload(reports: &[WorkloadReport]) -> Vec<WorkloadRows<'_>> {
    let mut groups: Vec<WorkloadRows<'_>> = Vec::new();
    let mut is_shared = Vec::new();
    let mut numbers: HashMap<(&DocumentKey, &str), usize> = HashMap::new();
    for workload in in_file_order(reports) {
        for probe in &workload.handlers {
            let next = groups.len();
            let key = (&workload.written_in, &*workload.title);
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                is_shared.push(workload.is_shared);
                groups.push(WorkloadRows {
                    workload: &workload.title,
                    environments: Vec::new(),
                    rows: Vec::new(),
                });
            }
            if let Some(group) = groups.get_mut(number) {
                group.add(workload, probe);
            }
        }
    }
    let groups = groups.into_iter().zip(is_shared);
    groups
        .map(|(group, is_shared)| if is_shared { group } else { group.finished() })
        .collect()
}

impl<'r> WorkloadRows<'r> {
    fn add(&mut self, workload: &'r WorkloadReport, probe: &'r ProbeReport) {
        let mut row = Row {
            workload,
            probe,
            environments: Vec::new(),
        };
        if let Some(environment) = &workload.environment {
            if !self.environments.contains(environment) {
                self.environments.push(Arc::clone(environment));
            }
            let equal = self.rows.iter_mut().find(|other| {
                other.is_equal(&row)
                    && !other.environments.is_empty()
                    && !other.environments.contains(environment)
            });
            if let Some(equal) = equal {
                return equal.environments.push(Arc::clone(environment));
            }
            row.environments.push(Arc::clone(environment));
        }
        let rows = &mut self.rows;
        let above = rows
            .iter()
            .rposition(|other| other.probe.is_same_probe(probe))
            .or_else(|| rows.iter().rposition(|other| other.probe.is_of(probe)));
        rows.insert(above.map_or(rows.len(), |at| at + 1), row);
    }

    /// Omits the name of the only environment.
    fn finished(mut self) -> Self {
        if self.environments.len() < 2 {
            self.environments.clear();
            for row in &mut self.rows {
                row.environments.clear();
            }
        }
        self
    }
}

/// Returns the rows of all workloads: as a table, or as blocks if the table does not fit into `width`. Without a width, as in
/// a pipe, the lines of the table are not wrapped.
#[must_use]
pub fn predictions(
    reports: &[WorkloadReport],
    style: TerminalStyle,
    width: Option<usize>,
) -> String {
    let workloads = &*group_by_workload(reports);
    let rows = workloads.iter().flat_map(|workload| &workload.rows);
    let table = Table::new(HEADINGS, rows.map(cells_of), (IN..IN + 1, "-"));
    if let Some(width) = width.filter(|width| table.width_of_front() + LEAST_WHY > *width) {
        let blocks: Vec<String> = workloads
            .iter()
            .map(|workload| block(workload, style, width))
            .collect();
        return blocks.join("\n");
    }
    let heading = style.paint(Tone::Strong, &table.heading());
    let rows = table.rows(&[OUTCOME], 2, width, style);
    std::iter::once(heading)
        .chain(rows)
        .map(|line| line + "\n")
        .collect()
}

/// Returns the block of a workload: for each handler, how it is written, what it becomes, and its outcomes.
fn block(workload: &WorkloadRows<'_>, style: TerminalStyle, width: usize) -> String {
    let line = |indent: usize, name: &str, text: &str, note: &str| {
        let first = format!("{}{name}", " ".repeat(indent));
        let (text, note) = (escape_control(text), escape_control(note));
        wrap_with_note(&text, &note, &first, indent + 4, width) + "\n"
    };
    let note = in_note(&workload.environments);
    let heading = line(0, "", workload.workload, &note);
    let mut out = style.paint(Tone::Strong, heading.trim_end());
    out.push('\n');
    let mut above: Option<&ProbeReport> = None;
    for row in &workload.rows {
        let probe = row.probe;
        if !above.is_some_and(|above| above.is_same_probe(probe)) {
            out.push_str(&line(
                2,
                &format!("{}: ", probe.title()),
                &probe.written,
                "",
            ));
            if !probe.rewritten_to.is_empty() {
                out.push_str(&line(4, "becomes: ", &probe.rewritten_to, ""));
            }
        }
        let applies_to_all = row.environments.len() == workload.environments.len();
        let note = if applies_to_all {
            String::new()
        } else {
            in_note(&row.environments)
        };
        let outcome = probe.outcome.as_str();
        let outcome = style.paint(outcome_tone(outcome), outcome);
        out.push_str(&line(4, &format!("{outcome}: "), &row.why(), &note));
        above = Some(probe);
    }
    out
}

const HEADINGS: [&str; 8] = [
    "WORKLOAD",
    "CONTAINER",
    "SLOT",
    "PROBE",
    "BECOMES",
    "IN",
    "OUTCOME",
    "WHY",
];

/// The column of the environments, which is omitted if no row has any.
const IN: usize = 5;

const OUTCOME: usize = 6;

/// The least width of the sentences.
const LEAST_WHY: usize = 32;

fn cells_of(row: &Row<'_>) -> [String; 8] {
    let probe = row.probe;
    [
        row.workload.title.as_str(),
        &probe.container,
        probe.slot,
        &probe.written,
        &probe.rewritten_to,
        &name_list(&row.environments),
        probe.outcome.as_str(),
        &row.why(),
    ]
    .map(|cell| if cell.is_empty() { "-" } else { cell }.to_owned())
}

/// The width of the column of names.
const NAME: usize = 12;

/// Returns all explanations, separated by empty lines.
#[must_use]
pub fn explanations(set: &SourceSet, reports: &[WorkloadReport], style: TerminalStyle) -> String {
    let blocks: Vec<String> = explain(set, reports)
        .iter()
        .map(|explanation| explanation_block(explanation, style))
        .collect();
    blocks.join("\n")
}

fn explanation_block(explanation: &Explanation, style: TerminalStyle) -> String {
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
        return reason.text.to_string();
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
