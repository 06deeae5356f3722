//! The index and the first lines of the pages in `docs/rules`, the schema and the definition of the function follow
//! from the code. The tests fail when they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use meshprobe::finding::RuleId;
use meshprobe::rules::page_metadata;
use rayon::prelude::*;

use super::page::{metadata_of, page, releases_of};
use crate::support::rule_docs::rule_docs;

/// Held while a test compares or writes the pages, because both tests change them.
static PAGES: Mutex<()> = Mutex::new(());

/// `MESHPROBE_UPDATE_DOCS=1` updates the files.
#[test]
fn pages_agree_with_the_metadata() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
    let _pages = PAGES.lock();
    let wanted = wanted(&root);
    let present = || -> BTreeSet<String> {
        let entries = fs::read_dir(&root).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::create_dir_all(&root).unwrap();
        for (name, text) in &wanted {
            fs::write(root.join(name), text).unwrap();
        }
        for name in present().iter().filter(|name| !wanted.contains_key(*name)) {
            fs::remove_file(root.join(name)).unwrap();
        }
    }
    let how = "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it rules::docs`";
    let names: BTreeSet<String> = wanted.keys().cloned().collect();
    assert_eq!(present(), names, "docs/rules contains other pages: {how}");
    for (name, text) in &wanted {
        let page = fs::read_to_string(root.join(name)).unwrap();
        assert!(page == *text, "docs/rules/{name} is out of date: {how}");
    }
}

/// Returns the pages by name, with the sections that follow from the output of the program.
fn wanted(root: &Path) -> BTreeMap<String, String> {
    let complete = |(name, text): (String, String)| {
        if name == "README.md" {
            return (name, text);
        }
        let rule = meshprobe::rules::all()
            .iter()
            .find(|rule| Some(rule.id.as_str()) == name.strip_suffix(".md"));
        let present = fs::read_to_string(root.join(&name)).unwrap_or_default();
        let text = page(rule.copied(), &text, &present);
        (name, text)
    };
    rule_docs().into_par_iter().map(complete).collect()
}

/// The metadata of a page contains the releases of the mesh for which the rule reports its example.
#[test]
#[ignore = "runs each example for each release"]
fn the_pages_name_the_releases_of_the_mesh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
    let releases: Vec<(RuleId, String)> = meshprobe::rules::all()
        .par_iter()
        .map(|rule| (rule.id, releases_of(rule)))
        .collect();
    let _pages = PAGES.lock();
    let mut wrong = Vec::new();
    for (rule, releases) in releases {
        let file = root.join(format!("{rule}.md"));
        let text = fs::read_to_string(&file).unwrap();
        let recorded = metadata_of(page_metadata(&text));
        let (_, since) = recorded.split_once("Since meshprobe ").unwrap();
        let wanted = format!("{releases} Since meshprobe {since}");
        if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
            fs::write(&file, text.replacen(&recorded, wanted.trim_start(), 1)).unwrap();
        } else if recorded != wanted.trim_start() {
            wrong.push(format!("{rule}: {releases}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it rules::docs -- --include-ignored`\n{}",
        wrong.join("\n")
    );
}

/// The schema of the configuration and the definition of the function are generated as well.
#[test]
fn the_schemas_are_those_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = meshprobe::settings::schema(meshprobe::engine::rule_names());
    let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let definition = meshprobe::krm::definition().unwrap();
    for (name, text) in [
        ("docs/schema/meshprobe.schema.json", schema),
        ("packaging/krm-function.yaml", definition),
    ] {
        let file = root.join(name);
        if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
        }
        let published = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            published == text,
            "{name} is out of date: run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it rules::docs`"
        );
    }
}
