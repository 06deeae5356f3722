//! One to three files and a configuration, judged by the whole engine and shown in every way.

use meshprobe::engine;
use meshprobe::settings::{self, FailOn, Settings};
use meshprobe::source::{Folders, SourceFile, SourceSet};

use super::input::{LONGEST, choice, parts, text};
use super::manifest::{injected, shown, told};

/// A file says where it lies in its first line.
const PLACE: &str = "# file: ";

/// Runs the target over one input.
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
    // One question for each input: a run of the engine takes far longer than all else.
    match choice(data) % 4 {
        0 => {
            let outcome = shown(&set, &settings);
            let again = engine::check(&set, &settings);
            assert_eq!(
                outcome.findings, again.findings,
                "told otherwise when asked again"
            );
        }
        1 => fixed(&set, &settings),
        2 => fixed_unsafely(&set, &settings),
        _ => rewritten(&set, &settings),
    }
}

/// Returns the path in the first line, as long as it is one that a tree could show.
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
    let layer = settings::read(root, &engine::rule_ids(), &engine::check_ids()).ok()?;
    Some(layer.resolved(FailOn::default()))
}

/// Fixing once is enough.
fn fixed(set: &SourceSet, settings: &Settings) {
    let fixed = engine::fix(set, settings, false);
    told(&fixed.set, &fixed.outcome.findings);
    let again = engine::fix(&fixed.set, settings, false);
    assert_eq!(texts(&again.set), texts(&fixed.set), "fixing twice goes on");
}

/// What a fix uncovers waits for the next run: there an unsafe fix may change it again, once.
fn fixed_unsafely(set: &SourceSet, settings: &Settings) {
    let first = engine::fix(set, settings, true);
    let second = engine::fix(&first.set, settings, true);
    told(&second.set, &second.outcome.findings);
    let third = engine::fix(&second.set, settings, true);
    assert_eq!(texts(&third.set), texts(&second.set), "unsafe fixes go on");
}

/// Rewriting once is enough.
fn rewritten(set: &SourceSet, settings: &Settings) {
    let rewritten = engine::rewrite(set, settings);
    told(set, &rewritten.findings);
    let again = engine::rewrite(&rewritten.set, settings);
    assert_eq!(
        texts(&again.set),
        texts(&rewritten.set),
        "rewriting twice goes on"
    );
}

fn texts(set: &SourceSet) -> Vec<&str> {
    set.files.iter().map(|file| &*file.text).collect()
}
