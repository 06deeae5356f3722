//! Kustomizations that cannot be read. Their effect on the files that they include is unknown.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_tree::source::{
    Content, Fault, SourceFile, SourceSet, is_kustomization, listed, paths,
};

use crate::kustomize::Rendering;
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::locate::{Located, folder_of, locate};

/// Kustomization or object that deploys a folder, not all of which can be read.
#[derive(Clone, Debug)]
pub struct UnreadOverlay {
    /// Its file, as shown to the user.
    pub path: Arc<str>,
    /// The reason why it cannot be read.
    pub reason: String,
    /// The files that it may include.
    files: BTreeSet<Arc<str>>,
}

impl UnreadOverlay {
    /// Returns whether it may include a file.
    #[must_use]
    pub fn may_take_in(&self, path: &str) -> bool {
        self.files.contains(path)
    }
}

/// Returns the kustomizations and deploying objects of a set that cannot be read completely, sorted by file.
#[must_use]
pub fn unread_overlays(sources: &SourceSet, renderings: &[Rendering]) -> Vec<UnreadOverlay> {
    let mut unread: Vec<UnreadOverlay> = sources
        .files
        .iter()
        .filter(|file| is_kustomization(&file.path))
        .filter_map(|file| unread_kustomization(sources, renderings, file))
        .collect();
    unread.sort_by(|a, b| a.path.cmp(&b.path));
    unread
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
        Some(Fault::TooLarge { .. }) => without_text("it is too large".to_owned()),
        Some(Fault::NotUtf8 { .. }) => without_text("it is not UTF-8".to_owned()),
        Some(Fault::Panicked(_)) => without_text("meshprobe failed on it".to_owned()),
        Some(Fault::NotRendered { .. } | Fault::UnlistedIndex(_)) | None => {
            let reason = unparsed(file)?.to_owned();
            (reason, included_files(sources, file))
        }
    };
    Some(UnreadOverlay {
        path: Arc::clone(&file.path),
        reason,
        files,
    })
}

/// Returns the files that any kustomization at the path of `file` could include: those in its folder and below, and
/// those that other kustomizations include.
fn all_bases(
    sources: &SourceSet,
    renderings: &[Rendering],
    file: &SourceFile,
) -> BTreeSet<Arc<str>> {
    let folder = paths::folder(&file.path);
    let used = renderings
        .iter()
        .flat_map(|rendering| rendering.used.iter());
    sources
        .files
        .iter()
        .map(|file| &file.path)
        .filter(|path| paths::is_within(paths::folder(path), folder))
        .chain(used.map(|(path, _)| path))
        .map(Arc::clone)
        .collect()
}

/// Returns the reason why a text is not a kustomization, if there is one.
fn unparsed(file: &SourceFile) -> Option<&'static str> {
    file.documents
        .iter()
        .find_map(|document| match document.content {
            Content::Broken { .. } => Some("it is not YAML"),
            Content::Template => Some("it is a template"),
            _ => None,
        })
}

/// Returns the files that a kustomization lists, and those of the kustomizations that it lists.
fn included_files(sources: &SourceSet, file: &SourceFile) -> BTreeSet<Arc<str>> {
    let mut files = BTreeSet::new();
    let mut seen = BTreeSet::from([&file.path]);
    let mut pending = vec![file];
    while let Some(file) = pending.pop() {
        let folder = folder_of(&file.path);
        for entry in entries(file) {
            match locate(sources, folder, entry) {
                Located::File(file) => {
                    files.insert(Arc::clone(&file.path));
                }
                Located::Kustomization(inner) if seen.insert(&inner.path) => pending.push(inner),
                _ => {}
            }
        }
    }
    files
}

/// Returns the entries of a kustomization. If it cannot be parsed, returns all of its words, because each may be the
/// name of a file.
fn entries(file: &SourceFile) -> Vec<&str> {
    match Kustomization::new(file).filter(|_| file.fault.is_none()) {
        Some(k) => listed(k.root)
            .filter(|entry| entry.role.is_included())
            .map(|entry| entry.text)
            .collect(),
        None => words(&file.text).collect(),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']' | '{' | '}' | '\u{feff}')
    };
    text.split(is_separator).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use crate::gitops::unread_overlays::*;

    fn set(files: &[(&str, &str)]) -> SourceSet {
        let file = |(path, text): &(&str, &str)| SourceFile::new((*path).into(), (*text).into());
        SourceSet::new(files.iter().map(file).collect())
    }

    #[test]
    fn files_are_found_in_the_words_of_a_kustomization_with_a_syntax_error() {
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
