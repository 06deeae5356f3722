//! The table of faults: `docs/evidence/faults.csv`, one row per fault.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const HEADER: &str = "section,fault,exit,left on disk,what the user sees";

/// One fault and its outcome.
pub(crate) enum Row {
    Shown {
        fault: &'static str,
        seen: String,
        exit: String,
        left: String,
    },
    /// This machine cannot cause the fault: the published row is kept.
    Skipped(&'static str),
}

static WRITING: Mutex<()> = Mutex::new(());

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/evidence/faults.csv")
}

/// Compares a section of the table with its rows; writes it if `MESHPROBE_UPDATE_DOCS=1` is set.
#[track_caller]
pub(crate) fn check(section: &str, rows: &[Row]) {
    let _writing = WRITING.lock();
    let published = published();
    let of_section: Vec<&String> = rows_of(&published, section).collect();
    let new: Vec<String> = rows
        .iter()
        .filter_map(|row| line(section, row, &of_section))
        .collect();
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_none() {
        assert!(
            of_section.iter().copied().eq(&new),
            "docs/evidence/faults.csv, {section}, is out of date: \
             run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it faults`\n{}",
            difference(&of_section, &new)
        );
        return;
    }
    let mut text = format!("{HEADER}\n");
    for known in ORDER {
        let lines: Vec<&String> = if known == section {
            new.iter().collect()
        } else {
            rows_of(&published, known).collect()
        };
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
    }
    fs::write(table(), text).unwrap();
}

/// The order of the sections.
const ORDER: [&str; 7] = [
    "Text",
    "Readings",
    "Names",
    "Folders",
    "Kustomizations",
    "Writing",
    "Surroundings",
];

/// The published rows without the header. No cell contains a line break.
fn published() -> Vec<String> {
    let text = fs::read_to_string(table()).unwrap_or_default();
    text.lines().skip(1).map(str::to_owned).collect()
}

fn rows_of<'a>(lines: &'a [String], section: &str) -> impl Iterator<Item = &'a String> {
    let start = format!("{section},");
    lines.iter().filter(move |line| line.starts_with(&start))
}

fn difference(old: &[&String], new: &[String]) -> String {
    let removed = old.iter().filter(|line| !new.contains(line));
    let added = new.iter().filter(|line| !old.contains(line));
    removed
        .map(|line| format!("- {line}\n"))
        .chain(added.map(|line| format!("+ {line}\n")))
        .collect()
}

fn line(section: &str, row: &Row, old: &[&String]) -> Option<String> {
    match row {
        Row::Shown {
            fault,
            seen,
            exit,
            left,
        } => Some([section, fault, exit, left, seen].map(cell).join(",")),
        Row::Skipped(fault) => {
            let start = [section, fault].map(cell).join(",") + ",";
            let mut known = old.iter().filter(|line| line.starts_with(&start));
            known.next().map(|line| (*line).clone())
        }
    }
}

/// Formats a cell according to RFC 4180.
fn cell(text: &str) -> String {
    assert!(!text.contains('\n'), "a cell with several lines: {text}");
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[test]
fn the_table_has_exactly_the_known_sections() {
    let text = fs::read_to_string(table()).unwrap();
    assert_eq!(text.lines().next(), Some(HEADER));
    let mut names: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    names.dedup();
    assert_eq!(names, ORDER);
}
