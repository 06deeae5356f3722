//! The page that the rows make.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What the page says before its tables.
const HEAD: &str = "\
# Faults

What happens when something is wrong with the text, the files or the machine. Every row is a test: `tests/it/faults/` makes
the fault, runs the program and writes down what it said. **Exit** is the exit code: 0 nothing that fails the run, 1
findings, 2 the run itself failed ([all of them](reports.md)). **Left on disk** compares the whole folder before and
after the run.

What holds for all rows:

- A fault costs the file or document that has it, and no other.
- A path that the user names and that cannot be read is an error. One that is met in a folder is a note.
- A file is written beside its place and then takes it: it is the old one or the new one, whole, whatever ends the run.
  What such a run leaves is called `.meshprobe-….tmp`. No run reads it, and the next one that writes in the folder
  removes it.
- No control character, and none that turns the direction of writing, reaches a terminal, an annotation or a report
  as it is.
";

/// One fault and what came of it.
pub(crate) enum Row {
    Shown {
        fault: &'static str,
        seen: String,
        exit: String,
        left: String,
    },
    /// It could not be made here; the row of the page stands.
    Skipped(&'static str),
}

static WRITING: Mutex<()> = Mutex::new(());

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/faults.md")
}

/// Compares a section of the page with its rows; `MESHPROBE_UPDATE_DOCS=1` writes it anew.
#[track_caller]
pub(crate) fn check(title: &str, rows: &[Row]) {
    let _writing = WRITING.lock();
    let published = fs::read_to_string(page()).unwrap_or_default();
    let mut sections = sections(&published);
    let old = sections.iter().find(|(name, _)| name == title);
    let old = old.map(|(_, text)| text.clone()).unwrap_or_default();
    let mut new =
        String::from("| Fault | What the user sees | Exit | Left on disk |\n|---|---|---|---|\n");
    for row in rows {
        new.push_str(&line(row, &old));
    }
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_none() {
        assert!(
            published.starts_with(HEAD),
            "the head of docs/faults.md is out of date"
        );
        let told = "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it faults`";
        let difference = pretty(&old, &new).unwrap_or_default();
        assert!(
            old == new,
            "docs/faults.md, {title}, is out of date: {told}\n{difference}"
        );
        return;
    }
    sections.retain(|(name, _)| name != title);
    sections.push((title.to_owned(), new));
    sections.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name));
    let mut text = HEAD.to_owned();
    for (name, table) in sections {
        let _ = write!(text, "\n## {name}\n\n{table}");
    }
    fs::write(page(), text).unwrap();
}

/// The order of the page.
const ORDER: [&str; 6] = [
    "Text",
    "Names",
    "Folders",
    "Kustomizations",
    "Writing",
    "Surroundings",
];

fn pretty(old: &str, new: &str) -> Option<String> {
    let differs = |line: &&str| !old.lines().any(|other| other == *line);
    let gone = |line: &&str| !new.lines().any(|other| other == *line);
    (old != new).then(|| {
        let gone: Vec<String> = old
            .lines()
            .filter(gone)
            .map(|line| format!("- {line}"))
            .collect();
        let added: Vec<String> = new
            .lines()
            .filter(differs)
            .map(|line| format!("+ {line}"))
            .collect();
        [gone, added].concat().join("\n")
    })
}

fn sections(page: &str) -> Vec<(String, String)> {
    let parts = page.split("\n## ").skip(1);
    let both = parts.filter_map(|part| part.split_once("\n\n"));
    both.map(|(name, table)| (name.to_owned(), format!("{}\n", table.trim_end())))
        .collect()
}

fn line(row: &Row, old: &str) -> String {
    match row {
        Row::Shown {
            fault,
            seen,
            exit,
            left,
        } => format!("| {} | {} | {exit} | {left} |\n", cell(fault), code(seen)),
        Row::Skipped(fault) => {
            let start = format!("| {} |", cell(fault));
            let known = old.lines().find(|line| line.starts_with(&start));
            known.map(|line| format!("{line}\n")).unwrap_or_default()
        }
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A message as code, whatever stands in it.
fn code(seen: &str) -> String {
    let seen = cell(seen);
    match seen.as_str() {
        "" => "nothing".to_owned(),
        seen if seen.contains('`') => format!("`` {seen} ``"),
        seen => format!("`{seen}`"),
    }
}

#[test]
fn the_page_has_every_section_and_no_other() {
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        return;
    }
    let published = fs::read_to_string(page()).unwrap();
    let names: Vec<String> = sections(&published)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ORDER);
}
