//! The commands of the README, and of the pages that continue it, print the output that is shown there.
//! Those in `sh` blocks need more than the binary: `tests/e2e/readme.sh` runs them.
//!
//! A line that ends in `…` represents a longer one, a line `…` any number of lines.

use std::path::Path;

use crate::support::{Run, meshprobe};

/// Runs the commands that need more than the binary.
const SCRIPT: &str = "tests/e2e/readme.sh";

fn text_of(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn readme() -> String {
    text_of("README.md")
}

/// Returns the blocks of a language, line by line.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<Vec<&'a str>> {
    let fence = format!("```{language}");
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == fence {
            found.push(lines.by_ref().take_while(|line| *line != "```").collect());
        }
    }
    found
}

/// Returns the commands of a block, each with the output below it.
fn commands<'a>(block: &[&'a str]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for &line in block {
        match line.strip_prefix("$ ") {
            Some(command) => found.push((command, Vec::new())),
            None => found.last_mut().unwrap().1.push(line),
        }
    }
    found
}

fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, _) => printed.iter().all(|line| line.is_empty()),
        (Some((&"…", rest)), _) => {
            (0..=printed.len()).any(|skip| matches(rest, printed.get(skip..).unwrap()))
        }
        (Some((first, rest)), Some((line, left))) => {
            let same = first
                .strip_suffix('…')
                .map_or(first == line, |start| line.starts_with(start));
            same && matches(rest, left)
        }
        (Some(_), None) => false,
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs a pipe of meshprobe commands; returns the highest exit code.
fn run(folder: &Path, command: &str) -> Run {
    let mut last: Option<Run> = None;
    for stage in command.split(" | ") {
        let arguments = stage
            .strip_prefix("meshprobe ")
            .unwrap_or_else(|| panic!("`{stage}` is not a meshprobe command"));
        let mut arguments: Vec<&str> = arguments.split(' ').collect();
        if arguments.first().is_some_and(|name| *name != "rule") {
            arguments.insert(1, "--isolated");
        }
        let stdin = last.as_ref().map_or("", |run| run.stdout.as_str());
        let mut next = meshprobe(folder, &arguments, stdin);
        next.code = next.code.max(last.map_or(0, |run| run.code));
        last = Some(next);
    }
    last.unwrap()
}

#[test]
fn the_commands_of_the_readme_print_the_shown_output() {
    let pages = [
        ("README.md", 4),
        ("docs/prediction.md", 1),
        ("docs/rewrite.md", 1),
    ];
    for (page, least) in pages {
        let text = text_of(page);
        let blocks = blocks(&text, "console");
        assert!(blocks.len() >= least, "{page}: {} blocks", blocks.len());
        run_all(blocks);
    }
}

fn run_all(blocks: Vec<Vec<&str>>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for block in blocks {
        // Some commands write files, so each block has its own copy.
        let folder = tempfile::tempdir().unwrap();
        copy(
            &root.join("fixtures/demo"),
            &folder.path().join("fixtures/demo"),
        );
        for (command, shown) in commands(&block) {
            let run = run(folder.path(), command);
            let printed: Vec<&str> = run.stdout.lines().collect();
            assert!(
                run.code < 2 && matches(&shown, &printed),
                "`{command}` ends with {} and prints\n{}\n{}",
                run.code,
                run.stdout,
                run.stderr
            );
        }
    }
}

/// The script stops at an unknown line, but it is not part of `cargo test`.
#[test]
fn every_other_command_of_the_readme_is_run_by_a_script() {
    let (text, script) = (readme(), text_of(SCRIPT));
    let shown: Vec<&str> = blocks(&text, "sh").concat();
    let known = script.lines().filter_map(|line| {
        let case = line.strip_prefix("    '")?;
        case.strip_suffix("')")
    });
    assert_eq!(known.collect::<Vec<_>>(), shown, "{SCRIPT}");
}

/// Longer text belongs into docs/.
#[test]
fn the_readme_has_a_limited_length() {
    let lines = readme().lines().count();
    assert!((150..=250).contains(&lines), "{lines} lines");
}

/// The number is rounded down, so that a new rule does not change the README.
#[test]
fn the_readme_contains_the_number_of_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = meshprobe(root, &["rule"], "").stdout;
    let (rules, _) = list.split_once("\n\nGuards of rewrite:\n").unwrap();
    let count = rules.lines().count();
    let readme = readme();
    let (_, rest) = readme.split_once("**Over ").unwrap();
    let (number, _) = rest.split_once(" rules and notices**").unwrap();
    let number: usize = number.parse().unwrap();
    assert!(
        (number..number + 50).contains(&count),
        "the README says over {number}, and there are {count}"
    );
}
