//! Kustomizations that cannot be read, or that an ignore file hides. Their effect on the files that they include is
//! unknown.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kube::Object;
use crate::source::{Content, Document, Fault, SourceFile, SourceSet, is_kustomization, place};

use super::super::deployment;
use super::Rendering;
use super::generated::named_by;
use super::kustomization::Kustomization;
use super::locate::{Located, folder_of, locate, strings};

/// A kustomization, or an object that deploys a folder, of which not everything can be read.
#[derive(Clone, Debug)]
pub struct UnreadOverlay {
    /// Its file, as shown to the user.
    pub path: Arc<str>,
    /// Why it cannot be read.
    pub reason: String,
    /// An ignore file hides it.
    pub is_hidden: bool,
    /// The files that it may take in.
    files: BTreeSet<Arc<str>>,
}

impl UnreadOverlay {
    /// Tells whether it may take in a file.
    #[must_use]
    pub fn may_take_in(&self, path: &str) -> bool {
        self.files.contains(path)
    }
}

/// Returns the kustomizations and deploying objects of a set that cannot be read as a whole, sorted by their files.
#[must_use]
pub fn unread_overlays(sources: &SourceSet, renderings: &[Rendering]) -> Vec<UnreadOverlay> {
    let mut unread: Vec<UnreadOverlay> = sources
        .files
        .iter()
        .filter(|file| is_kustomization(&file.path))
        .filter_map(|file| unread_kustomization(sources, renderings, file))
        .collect();
    for rendering in renderings {
        let deployed = rendering.deployed.as_ref();
        let file = deployed.and_then(|deployed| sources.file(&deployed.file));
        if let Some((file, reason)) = file.and_then(|file| Some((file, hidden_text(file)?))) {
            let used = rendering.used.iter();
            unread.push(UnreadOverlay {
                path: Arc::clone(&file.path),
                reason,
                is_hidden: false,
                files: used.map(|(path, _)| Arc::clone(path)).collect(),
            });
        }
    }
    let hidden = sources.hidden_overlays.iter();
    unread.extend(hidden.filter_map(|file| hidden_overlay(sources, renderings, file)));
    unread.sort_by(|a, b| a.path.cmp(&b.path));
    unread
}

/// Returns an overlay that an ignore file hides, if it may take in any file of the run.
fn hidden_overlay(
    sources: &SourceSet,
    renderings: &[Rendering],
    file: &SourceFile,
) -> Option<UnreadOverlay> {
    let files = if file.text.is_empty() {
        all_bases(sources, renderings, file)
    } else if is_kustomization(&file.path) {
        let copied = named_by(sources, file).into_iter();
        let mut files = may_take_in(sources, renderings, file);
        files.extend(copied.map(|(file, _)| Arc::clone(&file.path)));
        files
    } else {
        deployed(sources, file)
    };
    (!files.is_empty()).then(|| UnreadOverlay {
        path: Arc::clone(&file.path),
        reason: "an ignore file hides it".to_owned(),
        is_hidden: true,
        files,
    })
}

/// Returns the files of the folders that the objects of a file deploy and change.
fn deployed(sources: &SourceSet, file: &SourceFile) -> BTreeSet<Arc<str>> {
    let objects: Vec<Object<'_>> = file.documents.iter().flat_map(Object::all_in).collect();
    let deployments = deployment::all(sources, objects.iter());
    let changed = deployments.iter().filter(|one| one.edit.is_some());
    changed
        .flat_map(|one| {
            let built = sources.kustomization_in(&one.folder);
            let built = built.map(|file| taken_in(sources, file));
            let inside = sources
                .files_in(&one.folder)
                .map(|file| Arc::clone(&file.path));
            inside.chain(built.into_iter().flatten())
        })
        .collect()
}

fn unread_kustomization(
    sources: &SourceSet,
    renderings: &[Rendering],
    file: &SourceFile,
) -> Option<UnreadOverlay> {
    let without_text = |reason: String| (reason, all_bases(sources, renderings, file));
    let (reason, files) = match &file.fault {
        // kustomize skips a link to nothing. `unreadable-file` reports it.
        Some(Fault::DanglingLink) => return None,
        Some(Fault::Unreadable(reason)) => without_text(format!("it cannot be read: {reason}")),
        Some(Fault::TooLarge { .. }) => {
            without_text("it exceeds the memory limit of parsed files".to_owned())
        }
        Some(Fault::NotUtf8 { .. }) => without_text("it is not UTF-8".to_owned()),
        Some(Fault::Panicked(_)) => without_text("meshprobe failed on it".to_owned()),
        Some(Fault::NotRendered { .. }) | None => {
            let reason = hidden_text(file).or_else(|| unparsed(file).map(str::to_owned))?;
            (reason, may_take_in(sources, renderings, file))
        }
    };
    Some(UnreadOverlay {
        path: Arc::clone(&file.path),
        reason,
        is_hidden: false,
        files,
    })
}

/// Returns the files that a kustomization with a text may take in.
fn may_take_in(
    sources: &SourceSet,
    renderings: &[Rendering],
    file: &SourceFile,
) -> BTreeSet<Arc<str>> {
    // An escape may write the name of a file in the text that is hidden.
    if hidden_text(file).is_some() && file.text.contains('\\') {
        return all_bases(sources, renderings, file);
    }
    taken_in(sources, file)
}

/// Returns the files that any kustomization in the place of `file` could take in: those in its folder and below, and
/// what other kustomizations take in.
fn all_bases(
    sources: &SourceSet,
    renderings: &[Rendering],
    file: &SourceFile,
) -> BTreeSet<Arc<str>> {
    let folder = place::folder(&file.path);
    let files = sources.files.iter().map(|file| &file.path);
    let near = files.filter(|path| place::is_within(place::folder(path), folder));
    let used = renderings.iter().flat_map(|one| &one.used);
    near.chain(used.map(|(path, _)| path))
        .map(Arc::clone)
        .collect()
}

/// Returns why a text is not a kustomization.
fn unparsed(file: &SourceFile) -> Option<&'static str> {
    let mut contents = file.documents.iter().map(|document| &document.content);
    contents.find_map(|content| match content {
        Content::Broken { .. } => Some("it is not YAML"),
        Content::Template => Some("it is a template"),
        _ => None,
    })
}

/// Returns what is said of text that only some tools read, if there is any.
fn hidden_text(file: &SourceFile) -> Option<String> {
    let ambiguities = file.documents.iter().flat_map(Document::hidden_syntax);
    ambiguities.map(|found| found.message.clone()).next()
}

/// Returns the files that a kustomization mentions, and those of the kustomizations that it mentions.
fn taken_in(sources: &SourceSet, file: &SourceFile) -> BTreeSet<Arc<str>> {
    let mut files = BTreeSet::new();
    let mut seen = BTreeSet::from([&file.path]);
    let mut waiting = vec![file];
    while let Some(file) = waiting.pop() {
        let folder = folder_of(&file.path);
        for entry in entries(file) {
            match locate(sources, folder, entry) {
                Located::File(file) => {
                    files.insert(Arc::clone(&file.path));
                }
                Located::Kustomization(inner) if seen.insert(&inner.path) => waiting.push(inner),
                _ => {}
            }
        }
    }
    files
}

/// Returns what a kustomization lists; of one that cannot be read every word, since each may be the name of a file.
fn entries(file: &SourceFile) -> Vec<&str> {
    let is_readable = file.fault.is_none() && hidden_text(file).is_none();
    match Kustomization::new(file).filter(|_| is_readable) {
        Some(k) => ["resources", "bases", "components"]
            .into_iter()
            .flat_map(|key| strings(k.root, key))
            .map(|(entry, _)| entry)
            .collect(),
        None => words(&file.text).collect(),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}' | '\u{feff}')
    };
    text.split(is_between).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(files: &[(&str, &str)]) -> SourceSet {
        let file = |(path, text): &(&str, &str)| SourceFile::new((*path).into(), (*text).into());
        SourceSet::new(files.iter().map(file).collect())
    }

    #[test]
    fn files_are_found_in_the_words_of_a_broken_kustomization() {
        let sources = set(&[
            ("base/a.yaml", "kind: A\n"),
            ("base/kustomization.yaml", "resources: [a.yaml, ../deep]\n"),
            ("deep/c.yaml", "kind: C\n"),
            ("deep/kustomization.yaml", "resources:\n- c.yaml\n"),
            ("other/b.yaml", "kind: B\n"),
            (
                "over/kustomization.yaml",
                "resources: [\"../base\"\npatches: {\n",
            ),
        ]);
        let found = unread_overlays(&sources, &[]);
        let [overlay] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(&*overlay.path, "over/kustomization.yaml");
        assert!(overlay.may_take_in("base/a.yaml") && overlay.may_take_in("deep/c.yaml"));
        assert!(!overlay.may_take_in("other/b.yaml"));
    }
}
