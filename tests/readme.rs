//! The commands of the README print what the README says.
//!
//! A line that ends in `…` stands for a longer one, a line `…` alone for any number of lines.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::path::Path;

use support::meshprobe;

fn blocks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "```console" {
            let command = lines
                .next()
                .unwrap()
                .strip_prefix("$ meshprobe ")
                .unwrap()
                .to_owned();
            let shown = lines.by_ref().take_while(|line| *line != "```");
            found.push((command, shown.map(str::to_owned).collect()));
        }
    }
    found
}

fn agrees(shown: &[String], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, _) => printed.iter().all(|line| line.is_empty()),
        (Some((first, rest)), _) if first == "…" => {
            (0..=printed.len()).any(|skip| agrees(rest, printed.get(skip..).unwrap()))
        }
        (Some((first, rest)), Some((line, left))) => {
            let same = first
                .strip_suffix('…')
                .map_or(first == line, |start| line.starts_with(start));
            same && agrees(rest, left)
        }
        (Some(_), None) => false,
    }
}

#[test]
fn the_commands_of_the_readme_print_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let blocks = blocks(&readme);
    assert!(blocks.len() >= 4, "{} blocks", blocks.len());
    for (command, shown) in blocks {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.insert(1, "--isolated");
        let run = meshprobe(root, &arguments, "");
        let printed: Vec<&str> = run.stdout.lines().collect();
        assert!(
            agrees(&shown, &printed),
            "`meshprobe {command}` prints\n{}\n{}",
            run.stdout,
            run.stderr
        );
    }
}
