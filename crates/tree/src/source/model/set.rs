//! The set of all files of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_yaml::Span;

use crate::source::chart::{HELM_NOT_FOUND, HELM_OUTPUT_PREFIX};
use crate::source::kustomization_name::NAMES;
use crate::source::model::context_option::ContextOption;
use crate::source::model::document::Document;
use crate::source::model::fault::Fault;
use crate::source::model::file::{Role, SourceFile};
use crate::source::model::links::Links;
use crate::source::model::origin::Source;
use crate::source::model::rendered::{ChartDeployment, RenderedChart};

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
