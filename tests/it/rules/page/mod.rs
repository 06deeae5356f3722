//! The pages of `docs/rules`: the text that is written by hand, with the sections that follow from the program.

mod links;
mod output;
mod releases;
mod suppress;

use std::fs;
use std::path::Path;

use meshprobe::rules::{Example, Rule, page_metadata};

use crate::support::{Run, meshprobe};

pub(super) use releases::{metadata_of, releases_of};

/// Returns the page of a rule, notice or guard. `text` contains the title, the first words of its metadata, and the written
/// sections; `present` is the page on disk, which records since when meshprobe reports it.
pub(super) fn page(rule: Option<&Rule>, text: &str, present: &str) -> String {
    let (title, rest) = text.split_once("\n\n").unwrap();
    let (line, body) = rest.split_once("\n\n").unwrap();
    let line = format!("{line} {}", metadata_of(page_metadata(present)));
    let mut sections: Vec<String> = body
        .trim_end()
        .split("\n## ")
        .map(|section| section.trim_end().to_owned())
        .collect();
    for section in &mut sections {
        if let Some(references) = section.strip_prefix("References\n") {
            *section = format!("References\n{}", links::with_links(references));
        }
    }
    if let Some(rule) = rule {
        let shown = rule.sections();
        let (bad, good) = (shown.example.unwrap(), shown.use_instead.unwrap());
        insert_after(&mut sections, "Example", output::output(rule, &bad));
        insert_after(
            &mut sections,
            "Use instead",
            output::changed_lines(&bad, &good),
        );
        insert_before(&mut sections, "References", suppress::suppress(rule, &bad));
    }
    format!("{title}\n\n{line}\n\n{}\n", sections.join("\n\n## "))
}

fn position(sections: &[String], heading: &str) -> usize {
    let found = sections
        .iter()
        .position(|section| section.lines().next() == Some(heading));
    found.unwrap_or_else(|| panic!("no section `{heading}`"))
}

fn insert_after(sections: &mut Vec<String>, heading: &str, section: String) {
    let at = position(sections, heading) + 1;
    sections.insert(at, section.trim_end().to_owned());
}

fn insert_before(sections: &mut Vec<String>, heading: &str, section: String) {
    let at = position(sections, heading);
    sections.insert(at, section.trim_end().to_owned());
}

/// Runs `check` on an example in a new folder, with only one rule. `prepare` can change the folder first.
fn check(rule: &Rule, example: &Example, options: &[&str], prepare: impl Fn(&Path)) -> Run {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &example.files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    prepare(folder.path());
    let mut arguments = vec![
        "check",
        "--isolated",
        "--threads",
        "1",
        "--select",
        rule.id.as_str(),
    ];
    arguments.extend(example.arguments.iter().map(String::as_str));
    arguments.extend(options);
    meshprobe(folder.path(), &arguments, "")
}
