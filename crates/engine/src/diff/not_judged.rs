//! What is not judged in the second state and differs from the first.

use std::collections::BTreeSet;
use std::ops::Bound;

use hashbrown::HashSet;
use meshprobe_predict::context::{NotJudged, NotJudgedReason};
use meshprobe_tree::source::{Content, SourceFile, SourceSet};

use super::findings::{Pairing, Repeated};
use super::inputs::files_named_by;
use super::state::{State, below_root, relative, shown_path};

/// Returns what is not judged in the second state, and was judged or did not exist in the first.
pub(super) fn newly_not_judged(before: &State, after: &State) -> Vec<NotJudged> {
    let (old, new) = (&before.not_judged, &after.not_judged);
    let mut pairing = Pairing::new(old.len(), new.len());
    let (old_keys, new_keys) = (with_paths(before), with_paths(after));
    pairing.by(&old_keys, &new_keys, Repeated::InOrder, |(entry, path)| {
        Some((entry.reason, path, &entry.object))
    });
    pairing.by(old, new, Repeated::InOrder, |entry| {
        Some((entry.reason, &entry.place.message))
    });
    let found = pairing.only_after().iter();
    found.filter_map(|index| new.get(*index)).cloned().collect()
}

/// Returns what is not judged, each entry with its path relative to the tree.
fn with_paths(state: &State) -> Vec<(&NotJudged, String)> {
    let entries = state.not_judged.iter();
    entries
        .map(|entry| (entry, relative(&entry.place.path, &state.root)))
        .collect()
}

/// Returns what is judged in neither state although something that it reads differs: whether its probes change is not known.
pub(super) fn changed_not_judged(
    before: (&State, &SourceSet),
    after: (&State, &SourceSet),
    others: &BTreeSet<String>,
    newly: &[NotJudged],
) -> Vec<NotJudged> {
    let mut changed = changed_files(before, after);
    changed.extend(others.iter().map(String::as_str).filter(|path| {
        let is_read = |(state, files): (&State, &SourceSet)| {
            files.file(&shown_path(&state.root, path)).is_some()
        };
        // Charts do not read documentation.
        !path.ends_with(".md") && !is_read(before) && !is_read(after)
    }));
    if changed.is_empty() {
        return Vec::new();
    }
    let is_changed = |entry: &&NotJudged| {
        let path = relative(&entry.place.path, &after.0.root);
        let inputs = after.0.inputs.of_part(entry);
        let old_inputs = inputs.and_then(|_| {
            let mut old = before.0.not_judged.iter();
            let key = |entry: &NotJudged| {
                let object = entry.object.as_ref();
                object.map(|object| (object.kind.clone(), object.name.clone()))
            };
            let is_same = |old: &&NotJudged| {
                relative(&old.place.path, &before.0.root) == path && key(old) == key(entry)
            };
            before.0.inputs.of_part(old.find(is_same)?)
        });
        if let Some((new, old)) = inputs.zip(old_inputs) {
            return !new.has_same_objects(old)
                || reads_changed(&changed, &new.paths, &after.0.root)
                || reads_changed(&changed, &old.paths, &before.0.root);
        }
        if is_chart(&path) {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            return contains(&changed, folder);
        }
        let old_path = shown_path(&before.0.root, &path);
        reads_changed(
            &changed,
            &files_named_by(after.1, &entry.place.path),
            &after.0.root,
        ) || reads_changed(
            &changed,
            &files_named_by(before.1, &old_path),
            &before.0.root,
        )
    };
    let is_new = |entry: &&NotJudged| newly.contains(entry);
    let entries = after.0.not_judged.iter();
    let mut found: Vec<NotJudged> = entries
        .filter(is_changed)
        .filter(|entry| !is_new(entry))
        .cloned()
        .collect();
    let listed: HashSet<&str> = after
        .0
        .not_judged
        .iter()
        .map(|entry| &*entry.place.path)
        .collect();
    let unread = unread_in_both(before, after, &changed);
    found.extend(unread.filter(|entry| !listed.contains(&*entry.place.path)));
    found
}

/// Returns whether a file differs that is one of these, or in one of these folders.
fn reads_changed(changed: &BTreeSet<&str>, paths: &BTreeSet<String>, root: &str) -> bool {
    let mut paths = paths.iter().map(|path| below_root(path, root));
    paths.any(|path| changed.contains(path) || !path.is_empty() && contains(changed, path))
}

/// Returns whether a file in a folder differs that is not hidden there; in the whole tree for the empty path.
fn contains(changed: &BTreeSet<&str>, folder: &str) -> bool {
    let start = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let files = changed.range::<str, _>((Bound::Included(&*start), Bound::Unbounded));
    let mut below = files.map_while(|file| file.strip_prefix(&*start));
    below.any(|path| !path.split('/').any(is_hidden))
}

/// Returns whether charts do not read a file or folder with this name. `.helmignore` decides which templates exist.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && name != ".helmignore"
}

/// Returns an entry for each changed file that neither state can read: the findings about it are equal, although its
/// objects may differ.
fn unread_in_both<'s>(
    before: (&'s State, &'s SourceSet),
    after: (&'s State, &'s SourceSet),
    changed: &BTreeSet<&'s str>,
) -> impl Iterator<Item = NotJudged> {
    let ((old_state, old_files), (state, files)) = (before, after);
    let is_changed = |file: &&SourceFile| changed.contains(below_root(&file.path, &state.root));
    let is_unread_before = |file: &&SourceFile| {
        let path = below_root(&file.path, &state.root);
        let old = old_files.file(&shown_path(&old_state.root, path));
        old.is_some_and(|old| unread_part(old).is_some())
    };
    let targets = files.targets().filter(is_changed).filter(is_unread_before);
    targets.filter_map(|file| {
        let message = format!("cannot read `{}`: {}", file.path, unread_part(file)?);
        let help = "correct the file";
        Some(NotJudged::of_file(
            NotJudgedReason::UnreadableFile,
            file,
            message,
            help,
        ))
    })
}

/// Returns what prevents meshprobe from reading the objects of a file.
fn unread_part(file: &SourceFile) -> Option<&'static str> {
    if file.fault.is_some() {
        return Some("its text is not complete");
    }
    let is_broken = |content: &Content| {
        matches!(
            content,
            Content::Broken {
                kubernetes: true,
                ..
            }
        )
    };
    let mut documents = file.documents.iter();
    documents
        .any(|document| is_broken(&document.content))
        .then_some("a document is not valid YAML")
}

/// Returns whether a file represents its whole folder: that of a chart, whose templates are in folders below it.
fn is_chart(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("Chart.yaml" | "Chart.yml"))
}

/// Returns the files that differ or that only one state has, relative to the trees.
fn changed_files<'s>(
    before: (&State, &'s SourceSet),
    after: (&State, &'s SourceSet),
) -> BTreeSet<&'s str> {
    let mut changed = BTreeSet::new();
    for ((own, files), (other, others)) in [(before, after), (after, before)] {
        for file in &files.files {
            let path = below_root(&file.path, &own.root);
            let shown = shown_path(&other.root, path);
            if !others.file(&shown).is_some_and(|same| is_equal(file, same)) {
                changed.insert(path);
            }
        }
    }
    changed
}

/// Returns whether two files have the same lines. Their ends differ if git converts them.
fn is_equal(file: &SourceFile, other: &SourceFile) -> bool {
    std::sync::Arc::ptr_eq(&file.text, &other.text)
        || file.text.lines().eq(other.text.lines()) && file.fault == other.fault
}
