//! Paths of the files of a set.

use std::cell::OnceCell;
use std::path::{Component, Path};

use crate::source::escaped_name::{escaped_name, escaped_path};
use crate::source::model::file::SourceFile;
use crate::source::model::set::SourceSet;
use crate::source::paths::{has_drive, height, is_absolute, is_within, split, with_slash};

impl SourceSet {
    /// Returns the working directory, if files were read from disk.
    fn directory(&self) -> Option<&Path> {
        self.files.iter().find_map(|file| file.directory.as_deref())
    }

    /// Returns the unique form of a path that is absolute or relative to the working directory: without `.` and
    /// unnecessary `..`; in a folder `here`, `../here` is empty. Then follows links to the name under which the files
    /// were read. kustomize also resolves `..` before links (`filesys.ConfirmedDir.Join`).
    #[must_use]
    pub fn normalized(&self, path: &str) -> String {
        let folded = self.without_dots(path);
        if self.links.is_empty() {
            return folded;
        }
        let mut names = self.links.names(folded);
        let target = names.pop().unwrap_or_default();
        if names.is_empty() {
            return target;
        }
        // The files do not always have the name of the last target: the user may have named a link.
        let is_read =
            |name: &&String| self.file(name).is_some() || self.kustomization_in(name).is_some();
        let holds_files = |name: &&String| self.files_in(name).next().is_some();
        let targets_first = || std::iter::once(&target).chain(names.iter().rev());
        targets_first()
            .find(is_read)
            .or_else(|| targets_first().find(holds_files))
            .cloned()
            .unwrap_or(target)
    }

    /// Returns the path of a relative `entry` of a file in `folder`, in its unique form.
    #[must_use]
    pub fn joined(&self, folder: &str, entry: &str) -> String {
        self.normalized(&format!("{}{}", with_slash(folder), escaped_path(entry)))
    }

    /// Resolves `.` and `..` in the text of a path.
    fn without_dots(&self, path: &str) -> String {
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
            // `../name` is the current folder if that has this name.
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
        // Files below the working directory are already in that order.
        let first_absolute = self.files.get(self.first_from("/"));
        let is_absolute = first_absolute.is_some_and(|file| is_absolute(&file.path));
        if is_absolute || self.height() > 0 {
            files.sort_by_cached_key(|file| self.place(&file.path));
        }
        files
    }

    /// Returns the absolute form of a path as a sort key.
    #[must_use]
    pub fn place(&self, path: &str) -> String {
        match self.directory() {
            Some(directory) => crate::filesystem::without_dots(&directory.join(path))
                .to_string_lossy()
                .into_owned(),
            None => path.to_owned(),
        }
    }

    /// Returns the names of the folders on the path of the working directory.
    fn names(&self) -> Vec<String> {
        self.directory()
            .into_iter()
            .flat_map(Path::components)
            .filter_map(|part| match part {
                Component::Normal(name) => Some(escaped_name(name).into_owned()),
                _ => None,
            })
            .collect()
    }

    /// Returns a path relative to a folder, given with `/` at its end; `None` if the folder does not contain it.
    #[must_use]
    pub fn relative_to(&self, folder: &str, path: &str) -> Option<String> {
        if !is_within(path, folder) {
            return None;
        }
        let down = height(folder) - height(path);
        if down == 0 {
            return path.get(folder.len()..).map(str::to_owned);
        }
        let names = self.names();
        let from = names.len().checked_sub(height(folder))?;
        let parts: Vec<&str> = names
            .iter()
            .skip(from)
            .take(down)
            .map(String::as_str)
            .chain([split(path).1])
            .collect();
        Some(parts.join("/"))
    }

    /// Returns the files in a folder, given without `/` at its end, and in its subfolders.
    pub fn files_in(&self, folder: &str) -> impl Iterator<Item = &SourceFile> {
        let outer = with_slash(folder);
        // Only paths of files in folders above the working directory need not start with the folder.
        let is_above = split(&outer).1.is_empty();
        let first = if is_above { 0 } else { self.first_from(&outer) };
        let files = self.files.get(first..).unwrap_or_default().iter();
        let prefix = outer.clone();
        files
            .take_while(move |file| is_above || file.path.starts_with(&prefix))
            .filter(move |file| is_within(&file.path, &outer))
    }

    /// Returns the position of the first file whose path is not before `start`.
    fn first_from(&self, start: &str) -> usize {
        self.files.partition_point(|file| *file.path < *start)
    }

    /// Returns the maximum number of leading `..` of the files.
    #[must_use]
    pub fn height(&self) -> usize {
        let mut up = "../".to_owned();
        // Files are sorted by path: those with the same prefix are adjacent.
        while let Some(first) = self.files.get(self.first_from(&up))
            && first.path.starts_with(&up)
        {
            up.push_str("../");
        }
        height(&up) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_has_one_unique_path() {
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
            assert_eq!(set.normalized(path), folded, "{path}");
        }
        let seen = |folder, path| set.relative_to(folder, path);
        assert_eq!(seen("../../", "x").as_deref(), Some("stage/app/x"));
        assert_eq!(seen("../../", "../y").as_deref(), Some("stage/y"));
        assert_eq!(seen("", "a/x").as_deref(), Some("a/x"));
        assert_eq!(seen("", "../x"), None);
    }
}
