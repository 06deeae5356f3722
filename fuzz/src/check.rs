//! One to three files and a configuration, checked by the engine and printed in every format.

use meshprobe::engine;
use meshprobe::settings::{self, FailOn, Settings};
use meshprobe::source::{Folders, SourceFile, SourceSet};

use super::input::{LONGEST, choice, parts, text};
use super::manifest::{check_and_print, injected, verify_findings};

/// Prefix of the first line of a file, which contains its path.
const PLACE: &str = "# file: ";

/// Runs the target with one input.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST {
        return;
    }
    let mut files: Vec<SourceFile> = Vec::new();
    let mut settings = injected();
    for (index, part) in parts(data).take(4).enumerate() {
        let text = text(part);
        let path = path(&text, index);
        if path.ends_with(".meshprobe.yaml") {
            settings = read(&text).unwrap_or(settings);
        } else if files.len() < 3 && files.iter().all(|file| *file.path != *path) {
            files.push(SourceFile::new(path.as_str().into(), text.as_str().into()));
        }
    }
    let mut set = SourceSet::new(files);
    meshprobe::source::mark_patches(&mut set, &Folders::default());
    // One command for each input, because a run of the engine takes much longer than everything else.
    match choice(data) % 4 {
        0 => {
            let outcome = check_and_print(&set, &settings);
            let again = engine::check(&set, &settings);
            assert_eq!(
                outcome.findings, again.findings,
                "a second run reports other findings"
            );
        }
        1 => fixed(&set, &settings),
        2 => fixed_unsafely(&set, &settings),
        _ => rewritten(&set, &settings),
    }
}

/// Returns the path in the first line if it is a valid relative path, else a path with the index.
fn path(text: &str, index: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    let named = first.strip_prefix(PLACE).map(str::trim);
    let usual = |path: &&str| {
        (1..=80).contains(&path.len())
            && !path.starts_with('/')
            && !path.contains("//")
            && !path.contains(char::is_control)
    };
    named
        .filter(usual)
        .map_or_else(|| format!("{index}.yaml"), str::to_owned)
}

fn read(text: &str) -> Option<Settings> {
    let file = SourceFile::new(".meshprobe.yaml".into(), text.into());
    let root = file.documents.first()?.tree()?.root()?;
    let layer = settings::parse(root, engine::rule_names()).ok()?;
    Some(layer.resolved(FailOn::default()))
}

/// Checks that a second fix changes nothing.
fn fixed(set: &SourceSet, settings: &Settings) {
    let fixed = engine::fix(set, settings, false);
    verify_findings(&fixed.set, &fixed.outcome.findings);
    let again = engine::fix(&fixed.set, settings, false);
    assert_eq!(
        texts(&again.set),
        texts(&fixed.set),
        "a second fix changes the files again"
    );
}

/// Checks that a third unsafe fix changes nothing. The second may, because a fix can reveal a finding that the next
/// run fixes.
fn fixed_unsafely(set: &SourceSet, settings: &Settings) {
    let first = engine::fix(set, settings, true);
    let second = engine::fix(&first.set, settings, true);
    verify_findings(&second.set, &second.outcome.findings);
    let third = engine::fix(&second.set, settings, true);
    assert_eq!(
        texts(&third.set),
        texts(&second.set),
        "a third unsafe fix changes the files again"
    );
}

/// Checks that a second rewrite changes nothing.
fn rewritten(set: &SourceSet, settings: &Settings) {
    let rewritten = engine::rewrite(set, settings);
    verify_findings(set, &rewritten.findings);
    let again = engine::rewrite(&rewritten.set, settings);
    assert_eq!(
        texts(&again.set),
        texts(&rewritten.set),
        "a second rewrite changes the files again"
    );
}

fn texts(set: &SourceSet) -> Vec<&str> {
    set.files.iter().map(|file| &*file.text).collect()
}
