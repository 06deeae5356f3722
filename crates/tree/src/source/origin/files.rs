//! Resolves the file names in the output of renderers to files on disk.
//!
//! Finds the origins of rendered objects.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_yaml as yaml;
use meshprobe_yaml::{NodeRef, Span};

use super::hint;
use super::hint::OriginHint;
use super::original::{Origin, Original, Origins, may_come_from};
use crate::filesystem::{FileSystem, Kind, without_dots};
use crate::source::discover::candidate::{Candidate, Input, Request};
use crate::source::model::file::{Role, SourceFile};
use crate::source::model::objects::objects_of;
use crate::source::model::rendered::{Rendered, Trail};
use crate::source::model::set::SourceSet;
use crate::source::shown_path::{escaped_name, relative_path};

/// Maximum depth below the working directory for the search for charts.
const DEPTH: usize = 3;

/// Maximum number of folders in the search for charts.
const FOLDERS: usize = 2_000;

/// Maximum total size of indexed templates in bytes. Only lines of indexed templates are named, and an index needs more
/// memory than the text.
const TEMPLATE_BYTES: usize = 8 << 20;

/// Cache that finds files and reads each of them once.
pub(in crate::source) struct Files<'r> {
    filesystem: &'r FileSystem,
    working_directory: &'r Path,
    /// The folders that may contain the files, by resolved path: the repository of the working
    /// directory, and that of the rendered file.
    allowed: Vec<PathBuf>,
    read: HashMap<PathBuf, Option<Arc<Original>>>,
    /// The number of bytes of templates that may still be indexed.
    template_bytes: usize,
    /// The names of the charts in visited folders.
    chart_names: HashMap<PathBuf, Option<String>>,
    /// The folders of the charts below the working directory, by the name of the chart; `None` for a name of
    /// several charts.
    charts: Option<HashMap<String, Option<PathBuf>>>,
}

impl<'r> Files<'r> {
    pub(super) fn new(working_directory: &'r Path, filesystem: &'r FileSystem) -> Self {
        Self {
            filesystem,
            working_directory,
            allowed: Vec::new(),
            read: HashMap::new(),
            template_bytes: TEMPLATE_BYTES,
            chart_names: HashMap::new(),
            charts: None,
        }
    }

    /// Starts with another rendered file. Files that it names must be in its repository or that of the working
    /// directory.
    pub(super) fn enter(&mut self, file: &SourceFile, trail: Option<&Trail>) {
        let folder = file.disk_path.as_deref().and_then(Path::parent);
        let built = trail.map(|trail| match trail {
            Trail::Annotations { built, .. } => built.as_path(),
            Trail::Chart(folder) => folder.as_path(),
        });
        let folders = [Some(self.working_directory), folder, built];
        let mut allowed: Vec<PathBuf> = folders
            .into_iter()
            .flatten()
            .map(|folder| self.filesystem.boundary(folder))
            .collect();
        allowed.dedup();
        if allowed != self.allowed {
            self.allowed = allowed;
            self.read.clear();
            self.chart_names.clear();
            self.charts = None;
        }
    }

    /// Returns the resolved path of a file that may be opened.
    fn permitted(&self, folder: &Path, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        self.allowed
            .iter()
            .find_map(|boundary| self.filesystem.resolved_within(folder, path, boundary).ok())
            .filter(|real| self.filesystem.is_regular_small_file(real))
    }

    /// Returns the origin of an object of `file`.
    pub(super) fn origin(
        &mut self,
        file: &SourceFile,
        trail: Option<&Trail>,
        object: NodeRef<'_>,
        hint: OriginHint,
    ) -> Option<Origin> {
        let found = match (&hint, trail) {
            (OriginHint::Template { chart, path }, _) => {
                self.find_in_chart(file, trail, chart, path)
            }
            (OriginHint::Remote { .. }, _) => None,
            (hint, Some(Trail::Annotations { folder, .. })) => self.at(folder, &hint.path()),
            (OriginHint::Generator { .. }, _) => None,
            (hint, _) => self.find_nearby(file, object, hint),
        };
        self.origin_at(file, found, hint)
    }

    /// Returns the origin of a document without objects.
    pub(super) fn origin_of_text(
        &mut self,
        file: &SourceFile,
        trail: Option<&Trail>,
        hint: OriginHint,
    ) -> Option<Origin> {
        let found = match &hint {
            OriginHint::Template { chart, path } => self.find_in_chart(file, trail, chart, path),
            _ => None,
        };
        self.origin_at(file, found, hint)
    }

    /// Returns the origin in a file, if it was found. Returns `None` if `file` is on disk and its source was not found,
    /// or is the file itself.
    fn origin_at(
        &self,
        file: &SourceFile,
        found: Option<PathBuf>,
        hint: OriginHint,
    ) -> Option<Origin> {
        let real = file.location.as_deref().map(without_dots);
        if real.is_some() && (found.is_none() || found == real) {
            return None;
        }
        let read = found.as_ref().and_then(|place| self.read.get(place));
        let path = match &found {
            Some(place) => relative_path(place, self.working_directory),
            None => hint.path(),
        };
        Some(Origin {
            path: path.into(),
            file: read.cloned().flatten(),
            hint,
        })
    }

    /// Reads a file and returns its path, if the file exists and may be opened.
    fn at(&mut self, folder: &Path, path: &str) -> Option<PathBuf> {
        let place = without_dots(&folder.join(path));
        if let Some(read) = self.read.get(&place) {
            return read.is_some().then_some(place);
        }
        let read = self.permitted(folder, path).map(|real| {
            let shown = escaped_name(place.as_os_str());
            let file = Candidate::on_disk(shown.into(), Role::Context, real).read(self.filesystem);
            Arc::new(Original::new(file, &mut self.template_bytes))
        });
        let exists = read.is_some();
        self.read.insert(place.clone(), read);
        exists.then_some(place)
    }

    /// Searches the file of an object if the folder of the build is not known. Accepts only files that contain the
    /// object.
    fn find_nearby(
        &mut self,
        file: &SourceFile,
        object: NodeRef<'_>,
        hint: &OriginHint,
    ) -> Option<PathBuf> {
        let path = hint.path();
        let folder = file.disk_path.as_deref().and_then(Path::parent);
        let mut places: Vec<(&Path, &str)> = folder
            .into_iter()
            .chain([self.working_directory])
            .map(|folder| (folder, path.as_str()))
            .collect();
        // Most builds are of subfolders: `../../base/web.yaml` in one of them is `base/web.yaml` here.
        let below = path.trim_start_matches("../");
        if below.len() < path.len() {
            places.push((self.working_directory, below));
        }
        places.into_iter().find_map(|(folder, path)| {
            let place = self.at(folder, path)?;
            let original = self.read.get(&place)?.as_deref()?;
            may_come_from(original, object, hint).then_some(place)
        })
    }

    fn find_in_chart(
        &mut self,
        file: &SourceFile,
        trail: Option<&Trail>,
        chart: &str,
        path: &str,
    ) -> Option<PathBuf> {
        let folder = match trail {
            Some(Trail::Chart(folder)) => folder.clone(),
            _ => self.chart(file, chart)?,
        };
        self.at(&folder, path)
    }

    /// Returns the folder of the only chart with this name: that of `file`, or one below the working directory.
    fn chart(&mut self, file: &SourceFile, name: &str) -> Option<PathBuf> {
        let folder = file.disk_path.as_deref().and_then(Path::parent);
        if let Some(folder) = folder
            && self.is_chart(folder, name)
        {
            return Some(folder.to_path_buf());
        }
        let charts = match self.charts.take() {
            Some(charts) => charts,
            None => self.charts_below(self.working_directory),
        };
        self.charts.insert(charts).get(name)?.clone()
    }

    /// Returns whether the chart in `folder` has this name. Caches the name, because all documents of a file have the
    /// same folder.
    fn is_chart(&mut self, folder: &Path, name: &str) -> bool {
        if let Some(known) = self.chart_names.get(folder) {
            return known.as_deref() == Some(name);
        }
        let found = self.chart_name(folder);
        let is_same = found.as_deref() == Some(name);
        self.chart_names.insert(folder.to_path_buf(), found);
        is_same
    }

    fn charts_below(&self, root: &Path) -> HashMap<String, Option<PathBuf>> {
        let mut found: HashMap<String, Option<PathBuf>> = HashMap::new();
        let mut left = FOLDERS;
        let mut next = VecDeque::from([(self.filesystem.resolved_or_folded(root), 0)]);
        while let Some((folder, depth)) = next.pop_front() {
            if let Some(name) = self.chart_name(&folder) {
                let is_ambiguous = found.contains_key(&name);
                found.insert(name, (!is_ambiguous).then_some(folder));
                continue;
            }
            if depth == DEPTH {
                continue;
            }
            let mut below: Vec<PathBuf> = self
                .filesystem
                .entries(&folder)
                .into_iter()
                .flatten()
                .filter_map(Result::ok)
                .filter(|entry| entry.kind == Kind::Folder)
                .filter(|entry| !entry.name.to_string_lossy().starts_with('.'))
                .map(|entry| folder.join(entry.name))
                .take(left)
                .collect();
            left -= below.len();
            // The order of directory entries is arbitrary.
            below.sort();
            next.extend(below.into_iter().map(|folder| (folder, depth + 1)));
        }
        found
    }

    /// Returns the name in the `Chart.yaml` of `folder`.
    fn chart_name(&self, folder: &Path) -> Option<String> {
        let file = self.permitted(folder, "Chart.yaml")?;
        let text: Arc<str> = self.filesystem.read_resolved_text(&file).ok()?.into();
        let tree = yaml::parse_embedded(&text, Span::new(0, text.len())).ok()??;
        tree.root()?.get("name")?.text().map(str::to_owned)
    }
}

/// Finds the origins of rendered objects, in all files of a set that contain origin annotations or comments.
pub fn mark_origins(set: &mut SourceSet, request: &Request) {
    let rendered: HashMap<&str, &Rendered> = request
        .targets
        .iter()
        .chain(&request.context)
        .filter_map(|input| match input {
            Input::Rendered(rendered) => Some((&*rendered.name, &**rendered)),
            _ => None,
        })
        .collect();
    let mut files = Files::new(&request.working_directory, &request.filesystem);
    for file in &mut set.files {
        let trail = rendered.get(&*file.path).map(|rendered| &rendered.trail);
        if trail.is_some() || hint::may_have_origin(&file.text) {
            files.enter(file, trail);
            if let Some(origins) = Origins::new(origins(file, trail, &mut files)) {
                file.set_origins(origins);
            }
        }
    }
}

/// Returns whether an object of a file that no renderer of this run has written records an origin that can be found.
pub(in crate::source) fn finds_origin(file: &SourceFile, filesystem: &FileSystem) -> bool {
    if !hint::may_have_origin(&file.text) {
        return false;
    }
    let Some(working_directory) = file.directory.as_deref() else {
        return true;
    };
    let mut files = Files::new(working_directory, filesystem);
    files.enter(file, None);
    Origins::new(origins(file, None, &mut files)).is_some()
}

pub(in crate::source) fn origins(
    file: &SourceFile,
    trail: Option<&Trail>,
    files: &mut Files<'_>,
) -> BTreeMap<(usize, usize), Origin> {
    let second_build = hints_of_second_build(trail);
    let mut found = BTreeMap::new();
    for document in &file.documents {
        let comment = hint::in_comment(document.segment.slice(&file.text));
        let objects = objects_of(document);
        for (number, object) in objects.iter().enumerate() {
            let named = hint::name_of(*object);
            let origin = second_build
                .get(&named)
                .cloned()
                .or_else(|| hint::in_object(*object))
                .or_else(|| comment.clone())
                .and_then(|hint| files.origin(file, trail, *object, hint));
            found.extend(origin.map(|origin| ((document.index, number), origin)));
        }
        // A document that is not YAML can still have a comment.
        if let (true, Some(hint)) = (objects.is_empty(), comment) {
            let origin = files.origin_of_text(file, trail, hint);
            found.extend(origin.map(|origin| ((document.index, 0), origin)));
        }
    }
    found
}

/// Returns the origin annotations of the second build, by the names of its objects.
fn hints_of_second_build(trail: Option<&Trail>) -> HashMap<hint::Name, OriginHint> {
    let Some(Trail::Annotations {
        output: Some(output),
        ..
    }) = trail
    else {
        return HashMap::new();
    };
    let text = String::from_utf8_lossy(output);
    let build = SourceFile::new("".into(), text.into());
    build
        .documents
        .iter()
        .flat_map(objects_of)
        .filter_map(|object| Some((hint::name_of(object), hint::in_object(object)?)))
        .collect()
}
