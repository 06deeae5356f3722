//! The set of all files of a run.
//!
//! Paths of the files of a set.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use meshprobe_yaml::Span;

use super::document::{Document, Fault};
use super::file::{Role, Source, SourceFile};
use super::objects::Links;
use super::rendered::{ChartDeployment, ContextOption, RenderedChart};
use crate::source::chart::{HELM_NOT_FOUND, HELM_OUTPUT_PREFIX};
use crate::source::classify::NAMES;
use crate::source::paths::{has_drive, height, is_absolute, is_within, split, with_slash};
use crate::source::shown_path::{escaped_name, escaped_path};

/// Set of all files of a run.
#[derive(Clone, Debug, Default)]
pub struct SourceSet {
    /// The files, sorted by path, each path once.
    pub files: Vec<SourceFile>,
    /// Symbolic links that lead to files of the set.
    pub links: Links,
    /// The displayed paths of local entries of kustomizations that do not exist on disk.
    pub absent: Arc<BTreeSet<String>>,
    /// The URLs of the remotes of each repository, by its root as in [`SourceFile::repository`].
    pub remotes: Arc<BTreeMap<Arc<str>, Vec<String>>>,
    /// The option `--context` of the commands that messages recommend.
    pub context_option: ContextOption,
}

impl SourceSet {
    /// Creates a set of files, and sorts them.
    #[must_use]
    pub fn new(mut files: Vec<SourceFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self::of_sorted(files)
    }

    /// Returns a copy of this set with other files, which must be sorted.
    #[must_use]
    pub fn with_files(&self, files: Vec<SourceFile>) -> Self {
        Self {
            links: self.links.clone(),
            absent: Arc::clone(&self.absent),
            remotes: Arc::clone(&self.remotes),
            context_option: self.context_option.clone(),
            ..Self::of_sorted(files)
        }
    }

    /// Creates a set of sorted files without options.
    fn of_sorted(files: Vec<SourceFile>) -> Self {
        Self {
            files,
            ..Self::default()
        }
    }

    /// Creates a set of one file with this text.
    #[must_use]
    pub fn from_text(path: &str, text: &str) -> Self {
        Self::new(vec![SourceFile::new(path.into(), text.into())])
    }

    /// Returns the file shown as `path`.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        let at = self.index(path)?;
        self.files.get(at)
    }

    /// Returns the file shown as `path` for modification.
    pub fn file_mut(&mut self, path: &str) -> Option<&mut SourceFile> {
        let at = self.index(path)?;
        self.files.get_mut(at)
    }

    fn index(&self, path: &str) -> Option<usize> {
        let found = self.files.binary_search_by(|file| (*file.path).cmp(path));
        found.ok()
    }

    /// Returns a document by the path of its file and its number in the file.
    #[must_use]
    pub fn document(&self, path: &str, index: usize) -> Option<&Document> {
        self.file(path)?.documents.get(index)
    }

    /// Returns the whole text that came from standard input.
    #[must_use]
    pub fn from_stdin(&self) -> Option<&str> {
        self.targets()
            .find(|file| file.location.is_none() && file.fault.is_none())
            .map(|file| &*file.text)
    }

    /// Iterates over the files that are checked.
    pub fn targets(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.role == Role::Target)
    }

    /// Returns whether a path is checked: the file shown as `path` is among the given paths, or it is not a file of the
    /// set, such as the configuration.
    #[must_use]
    pub fn is_target(&self, path: &str) -> bool {
        self.file(path).is_none_or(|file| file.role == Role::Target)
    }

    /// Returns whether the chart in a folder is rendered in this run.
    #[must_use]
    pub fn has_rendered_chart(&self, folder: &str) -> bool {
        self.charts(folder).any(|(_, is_rendered)| is_rendered)
    }

    /// Returns whether helm failed for the chart in a folder with the values that the user named, or its defaults.
    #[must_use]
    pub fn has_failed_chart(&self, folder: &str) -> bool {
        self.charts(folder)
            .any(|(chart, is_rendered)| !is_rendered && chart.releases.is_empty())
    }

    /// Returns whether the chart in a folder is not rendered because helm is not installed.
    #[must_use]
    pub fn lacks_helm(&self, folder: &str) -> bool {
        let mut outputs = self.chart_outputs(folder);
        outputs.any(|file| match &file.fault {
            Some(Fault::NotRendered { reason, .. }) => reason.ends_with(HELM_NOT_FOUND),
            _ => false,
        })
    }

    /// Returns whether the chart in a folder is rendered for the object whose name is at `span` in the file shown as
    /// `path`, where it is deployed from `location_file`: overlays share the text of their base. If the user named the
    /// chart, it is rendered for all objects. Returns `None` if helm was not run for the object.
    #[must_use]
    pub fn release_rendered(
        &self,
        folder: &str,
        (path, span): (&str, Span),
        location_file: &str,
    ) -> Option<bool> {
        let is_same = |release: &ChartDeployment| {
            (&*release.path, release.span) == (path, span)
                && *release.location_file == *location_file
        };
        let is_of_object = |chart: &RenderedChart, is_rendered: bool| {
            is_rendered && chart.releases.is_empty() || chart.releases.iter().any(is_same)
        };
        self.charts(folder)
            .filter(|(chart, is_rendered)| is_of_object(chart, *is_rendered))
            .map(|(_, is_rendered)| is_rendered)
            .max()
    }

    /// Returns what contains the folders that the objects of a file deploy: the repository, or the files that were read.
    #[must_use]
    pub fn tree_noun(&self, file: &str) -> &'static str {
        match self.file(file).and_then(|file| file.repository.as_ref()) {
            Some(_) => "this repository",
            None => "the tree",
        }
    }

    /// Iterates over the renderings of the chart in a folder, with whether they succeeded.
    fn charts(&self, folder: &str) -> impl Iterator<Item = (&RenderedChart, bool)> {
        self.chart_outputs(folder)
            .filter_map(|file| Some((file.rendered_chart.as_deref()?, file.fault.is_none())))
    }

    /// Iterates over the outputs of helm for the chart in a folder.
    fn chart_outputs(&self, folder: &str) -> impl Iterator<Item = &SourceFile> {
        let prefix = match folder {
            "." => HELM_OUTPUT_PREFIX.to_owned(),
            _ => format!("{folder}/{HELM_OUTPUT_PREFIX}"),
        };
        let first = self.files.partition_point(|file| *file.path < *prefix);
        let files = self.files.get(first..).unwrap_or_default().iter();
        files.take_while(move |file| file.path.starts_with(&prefix))
    }
}

impl SourceSet {
    /// Returns the kustomization in a folder, given by its displayed path without `/` at the end. Like kustomize, skips
    /// a dangling link.
    #[must_use]
    pub fn kustomization_in(&self, folder: &str) -> Option<&SourceFile> {
        let inside = |name: &&str| match folder {
            "" => self.file(name),
            "/" => self.file(&format!("/{name}")),
            _ => self.file(&format!("{folder}/{name}")),
        };
        NAMES
            .iter()
            .filter_map(inside)
            .find(|file| !matches!(file.fault, Some(Fault::DanglingLink)))
    }
}

impl SourceSet {
    /// Returns the source of the text at `span` in the file shown as `path`, if that is a rendered
    /// manifest that records it.
    #[must_use]
    pub fn source_of(&self, path: &str, span: Span) -> Option<Source> {
        self.file(path)?.source_of(span)
    }
}

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
