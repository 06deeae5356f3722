//! Paths as they are shown, compared as the places that they mean.
//!
//! A path is shown relative to the working directory, with as many `..` as it takes and none more
//! (`shown_path`). So `..` stands at the front only, and what follows it never leads back towards the
//! working directory: two paths can be compared by their words, whatever the folder of the run is
//! called. A folder is written with `/` at its end; the working directory is empty.

use std::cell::OnceCell;
use std::path::{Component, Path, PathBuf};

use super::escaped_name::{escaped_name, escaped_path};
use super::file::{SourceFile, SourceSet};

/// A path as the number of its leading `..` and what follows.
fn split(path: &str) -> (usize, &str) {
    let mut rest = path;
    let mut up = 0;
    while let Some(after) = rest.strip_prefix("../") {
        rest = after;
        up += 1;
    }
    (up, rest)
}

/// Tells whether a shown path starts at the root of a disk; on Windows that may be `C:/` or
/// `//server/share/`.
fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || has_drive(path)
}

fn has_drive(path: &str) -> bool {
    cfg!(windows)
        && matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic())
}

/// Returns how many folders above the working directory the way to a path begins.
#[must_use]
pub(crate) fn height(path: &str) -> usize {
    split(path).0
}

/// Returns the folder of a file, with `/` at its end; empty for the working directory.
#[must_use]
pub(crate) fn folder(path: &str) -> &str {
    let end = memchr::memrchr(b'/', path.as_bytes());
    end.map_or("", |at| path.get(..=at).unwrap_or_default())
}

/// Tells whether a folder is `outer` or lies in it.
#[must_use]
pub(crate) fn is_within(folder: &str, outer: &str) -> bool {
    if is_absolute(folder) != is_absolute(outer) {
        return false;
    }
    let ((up, rest), (outer_up, outer_rest)) = (split(folder), split(outer));
    if up == outer_up {
        rest.starts_with(outer_rest)
    } else {
        up < outer_up && outer_rest.is_empty()
    }
}

/// Returns whether a folder, without `/` at its end, contains a file.
#[must_use]
pub(crate) fn contains(folder: &str, path: &str) -> bool {
    is_within(path, &with_slash(folder))
}

/// Returns a folder, with or without `/` at its end, as this module writes it.
fn with_slash(folder: &str) -> String {
    if folder.is_empty() || folder.ends_with('/') {
        folder.to_owned()
    } else {
        format!("{folder}/")
    }
}

/// Returns the deepest folder that two folders lie in; nothing for one of the working directory and
/// one that shares no folder with it.
#[must_use]
pub(crate) fn common<'a>(one: &'a str, other: &'a str) -> Option<&'a str> {
    if is_absolute(one) != is_absolute(other) {
        return None;
    }
    let (higher, lower) = if height(one) < height(other) {
        (other, one)
    } else {
        (one, other)
    };
    if height(higher) > height(lower) {
        return higher.get(..height(higher) * "../".len());
    }
    let same = one.bytes().zip(other.bytes());
    let same = same.take_while(|(a, b)| a == b).count();
    let shared = one.as_bytes().get(..same).unwrap_or_default();
    let end = shared.iter().rposition(|&byte| byte == b'/');
    one.get(..end.map_or(0, |at| at + 1))
}

/// Returns the folder right below `outer` that leads to `folder`, both with `/` at their ends; of the
/// working directory the one that lies in `outer`.
#[must_use]
pub(crate) fn child<'a>(outer: &'a str, folder: &'a str) -> &'a str {
    let (up, outer_up) = (height(folder), height(outer));
    if up < outer_up {
        // Above the working directory a folder is all `..`.
        return outer.get("../".len()..).unwrap_or_default();
    }
    let rest = folder.as_bytes().get(outer.len()..).unwrap_or_default();
    let end = memchr::memchr(b'/', rest).map_or(rest.len(), |at| at + 1);
    folder.get(..outer.len() + end).unwrap_or(folder)
}

/// Returns how near two files are to each other: the more, the deeper the folder that holds both.
#[must_use]
pub(crate) fn nearness(one: &str, other: &str) -> usize {
    /// Deeper than any working directory.
    const LEVEL: usize = 1 << 20;
    if one == other {
        return usize::MAX;
    }
    if is_absolute(one) != is_absolute(other) {
        return 0;
    }
    let (up, other_up) = (height(one), height(other));
    let down = if up == other_up {
        let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
        same.filter(|(byte, _)| *byte == b'/').count() - up
    } else {
        0
    };
    LEVEL.saturating_sub(up.max(other_up)) + down
}

/// Returns the folders that a file lies in, the deepest first, without `/` at their ends, up to the
/// one `top` folders above the working directory.
pub(crate) fn folders(path: &str, top: usize) -> impl Iterator<Item = String> {
    let (up, rest) = split(path);
    let inner = rest
        .rmatch_indices('/')
        .filter_map(move |(at, _)| path.get(..path.len() - rest.len() + at));
    let end = if is_absolute(path) { up } else { top + 1 };
    let outer = (up..end).map(|up| vec![".."; up].join("/"));
    inner.map(str::to_owned).chain(outer)
}

impl SourceSet {
    /// The working directory.
    fn directory(&self) -> Option<&Path> {
        self.files.iter().find_map(|file| file.directory.as_deref())
    }

    /// Returns the one way to write a path that is relative to the working directory, or absolute:
    /// `.` is left out, `..` folded, and `../here` is nothing in a folder `here`. Then links are followed to the name that
    /// the files were read by: kustomize, too, folds a path first (`filesys.ConfirmedDir.Join`).
    #[must_use]
    pub fn folded(&self, path: &str) -> String {
        let folded = self.folded_by_words(path);
        if self.links.is_empty() {
            return folded;
        }
        let mut names = self.links.names(folded);
        let target = names.pop().unwrap_or_default();
        if names.is_empty() {
            return target;
        }
        // The files are not always named by the end of the links: the user may have named a link.
        let is_read =
            |name: &&String| self.file(name).is_some() || self.kustomization_in(name).is_some();
        let holds_files = |name: &&String| self.files_in(name).next().is_some();
        let ends_first = || std::iter::once(&target).chain(names.iter().rev());
        let found = ends_first().find(is_read);
        let found = found.or_else(|| ends_first().find(holds_files)).cloned();
        found.unwrap_or(target)
    }

    /// Returns the path that a relative `entry` of a file in `folder` means, folded.
    #[must_use]
    pub fn joined(&self, folder: &str, entry: &str) -> String {
        self.folded(&format!("{}{}", with_slash(folder), escaped_path(entry)))
    }

    fn folded_by_words(&self, path: &str) -> String {
        let absolute = is_absolute(path);
        // Few paths lead above the working directory.
        let names = OnceCell::new();
        let mut up = 0;
        let mut down = String::with_capacity(path.len());
        for part in path.split('/') {
            match part {
                "" | "." => continue,
                ".." if down.is_empty() => up += usize::from(!absolute),
                ".." => down.truncate(down.rfind('/').unwrap_or(0)),
                _ if down.is_empty() => down.push_str(part),
                _ => down.extend(["/", part]),
            }
            // What goes up and comes down again by the same name has gone nowhere.
            if up > 0 && !down.is_empty() && !down.contains('/') {
                let names = names.get_or_init(|| self.names());
                let back = names.len().checked_sub(up).and_then(|at| names.get(at));
                if back == Some(&down) {
                    down.clear();
                    up -= 1;
                }
            }
        }
        match (absolute, up) {
            (true, _) if has_drive(path) => down,
            (true, _) => format!("/{down}"),
            (false, 0) => down,
            (false, _) => ("../".repeat(up) + &down).trim_end_matches('/').to_owned(),
        }
    }

    /// Returns the files in an order that does not depend on the working directory.
    #[must_use]
    pub fn by_place(&self) -> Vec<&SourceFile> {
        let mut files: Vec<&SourceFile> = self.files.iter().collect();
        // What lies below the working directory is in that order already.
        let first_absolute = self.files.get(self.first_from("/"));
        let is_absolute = first_absolute.is_some_and(|file| is_absolute(&file.path));
        if is_absolute || self.height() > 0 {
            files.sort_by_cached_key(|file| self.place(&file.path));
        }
        files
    }

    /// Returns a path from the root of the disk, to sort by.
    #[must_use]
    pub fn place(&self, path: &str) -> String {
        let place = self.directory().map(|directory| directory.join(path));
        place.map_or_else(
            || path.to_owned(),
            |place| {
                super::kustomization::folded(&place)
                    .to_string_lossy()
                    .into_owned()
            },
        )
    }

    /// The names of the folders that lead to the working directory.
    fn names(&self) -> Vec<String> {
        let parts = self.directory().into_iter().flat_map(Path::components);
        let names = parts.filter_map(|part| match part {
            Component::Normal(name) => Some(escaped_name(name).into_owned()),
            _ => None,
        });
        names.collect()
    }

    /// Returns a path as seen from a folder that holds it, written with `/` at its end.
    #[must_use]
    pub fn seen_from(&self, folder: &str, path: &str) -> Option<String> {
        if !is_within(path, folder) {
            return None;
        }
        let down = height(folder) - height(path);
        if down == 0 {
            return path.get(folder.len()..).map(str::to_owned);
        }
        let names = self.names();
        let from = names.len().checked_sub(height(folder))?;
        let between = names.iter().skip(from).take(down).map(String::as_str);
        let parts: Vec<&str> = between.chain([split(path).1]).collect();
        Some(parts.join("/"))
    }

    /// Returns the files in a folder, written without `/` at its end, and below it.
    pub fn files_in(&self, folder: &str) -> impl Iterator<Item = &SourceFile> {
        let outer = with_slash(folder);
        // Only what lies above the working directory holds files that are not written below it.
        let is_above = split(&outer).1.is_empty();
        let first = if is_above { 0 } else { self.first_from(&outer) };
        let files = self.files.get(first..).unwrap_or_default().iter();
        let prefix = outer.clone();
        files
            .take_while(move |file| is_above || file.path.starts_with(&prefix))
            .filter(move |file| is_within(&file.path, &outer))
    }

    /// The number of the first file whose path is `start`, or comes after it.
    fn first_from(&self, start: &str) -> usize {
        self.files.partition_point(|file| *file.path < *start)
    }

    /// Returns how far above the working directory files of the set begin.
    #[must_use]
    pub fn height(&self) -> usize {
        let mut up = "../".to_owned();
        // Sorted by path: those that begin alike stand together.
        while let Some(first) = self.files.get(self.first_from(&up))
            && first.path.starts_with(&up)
        {
            up.push_str("../");
        }
        height(&up) - 1
    }
}

/// Returns a path without `..`, which on disk means the folder above the one that a link leads to.
pub(super) fn without_detours(path: &Path) -> PathBuf {
    let has_detours = path.components().any(|part| part == Component::ParentDir);
    if !has_detours {
        return path.to_path_buf();
    }
    if path.is_dir() {
        return super::kustomization::identity(path);
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => super::kustomization::identity(folder).join(name),
        _ => super::kustomization::folded(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_compared_as_places() {
        assert!(is_within("", "../"));
        assert!(is_within("a/", ""));
        assert!(is_within("../b/c/", "../"));
        assert!(!is_within("../b/", ""));
        assert!(!is_within("", "../b/"));
        assert!(!is_within("/tmp/", ""));
        assert_eq!(common("../b/", "a/"), Some("../"));
        assert_eq!(common("../../", "../b/"), Some("../../"));
        assert_eq!(common("a/b/", "a/c/"), Some("a/"));
        assert_eq!(common("/a/", "a/"), None);
        assert_eq!(child("../../", "a/b/"), "../");
        assert_eq!(child("../", "a/b/"), "");
        assert_eq!(child("../", "../b/c/"), "../b/");
        assert_eq!(child("", "a/b/"), "a/");
    }

    #[test]
    fn nearness_does_not_depend_on_the_working_directory() {
        // As seen from `r`, from `r/stage` and from `r/stage/app`.
        let seen = [
            ["stage/app/w", "stage/app/x", "stage/x", "x", "prod/x"],
            ["app/w", "app/x", "x", "../x", "../prod/x"],
            ["w", "x", "../x", "../../x", "../../prod/x"],
        ];
        for [workload, others @ ..] in seen {
            let scores: Vec<usize> = others.iter().map(|one| nearness(one, workload)).collect();
            let drops: Vec<bool> = scores.windows(2).map(|two| two[0] > two[1]).collect();
            assert_eq!(drops, [true, true, false], "{workload}: {scores:?}");
        }
    }

    #[test]
    fn a_file_lies_in_its_folders() {
        let around = |path, top| folders(path, top).collect::<Vec<_>>();
        assert_eq!(around("a/b/c.yaml", 0), ["a/b", "a", ""]);
        assert_eq!(around("a/c.yaml", 2), ["a", "", "..", "../.."]);
        assert_eq!(around("../b/c.yaml", 1), ["../b", ".."]);
        assert_eq!(around("/a/c.yaml", 1), ["/a", ""]);
    }

    #[test]
    fn one_place_is_written_in_one_way() {
        let mut set = SourceSet::from_text("x.yaml", "");
        for file in &mut set.files {
            file.directory = Some(Path::new("/r/stage/app").into());
        }
        for (path, folded) in [
            ("../app/x", "x"),
            ("../../stage/app/x", "x"),
            ("../../stage/y", "../y"),
            ("a/../b/./c", "b/c"),
            ("../../prod/x", "../../prod/x"),
            ("/a/../b", "/b"),
            ("..", ".."),
        ] {
            assert_eq!(set.folded(path), folded, "{path}");
        }
        let seen = |folder, path| set.seen_from(folder, path);
        assert_eq!(seen("../../", "x").as_deref(), Some("stage/app/x"));
        assert_eq!(seen("../../", "../y").as_deref(), Some("stage/y"));
        assert_eq!(seen("", "a/x").as_deref(), Some("a/x"));
        assert_eq!(seen("", "../x"), None);
    }
}
