//! From the name that a renderer gives to the file on disk.

use std::collections::VecDeque;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::filesystem::{self, Kind};
use crate::source::boundary::{boundary, resolved_within};
use crate::source::escaped_name::escaped_name;
use crate::source::file::{Role, SourceFile};
use crate::source::find::Candidate;
use crate::source::kustomization::{folded, identity};
use crate::source::read::{is_ordinary, read_resolved_text};
use crate::source::rendered::Trail;
use crate::yaml::{self, NodeRef, Span};

use super::Origin;
use super::original::Original;
use super::place::may_come_from;
use super::said::Said;

/// How far below the working directory a chart is looked for.
const DEPTH: usize = 3;
/// How many folders are looked into.
const FOLDERS: usize = 2_000;
/// How much text of templates is indexed, to name lines in them: bytes. An index takes more memory than the text.
const TEMPLATE_BYTES: usize = 8 << 20;

/// Finds and reads files, each once.
pub(super) struct Files<'r> {
    working_directory: &'r Path,
    /// The folders that files may be in, by their resolved paths: the repository of the working
    /// directory, and that of the rendered file.
    allowed: Vec<PathBuf>,
    read: HashMap<PathBuf, Option<Arc<Original>>>,
    /// How much more text of templates may be indexed: bytes.
    template_bytes: usize,
    /// The names of the charts in folders that were looked into.
    chart_names: HashMap<PathBuf, Option<String>>,
    /// The folders of the charts around, by the name of the chart; `None` for a name that
    /// several have.
    charts: Option<HashMap<String, Option<PathBuf>>>,
}

impl<'r> Files<'r> {
    pub(super) fn new(working_directory: &'r Path) -> Self {
        Self {
            working_directory,
            allowed: Vec::new(),
            read: HashMap::new(),
            template_bytes: TEMPLATE_BYTES,
            chart_names: HashMap::new(),
            charts: None,
        }
    }

    /// Starts with another file: what it names may be in its repository only.
    pub(super) fn enter(&mut self, file: &SourceFile, trail: Option<&Trail>) {
        let beside = file.lies_at.as_deref().and_then(Path::parent);
        let built = trail.map(|trail| match trail {
            Trail::Annotations { built, .. } => built.as_path(),
            Trail::Chart(folder) => folder.as_path(),
        });
        let folders = [Some(self.working_directory), beside, built];
        let mut allowed: Vec<PathBuf> = folders.into_iter().flatten().map(boundary).collect();
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
        let mut allowed = self.allowed.iter();
        let real = allowed.find_map(|boundary| resolved_within(folder, path, boundary).ok());
        real.filter(|real| is_ordinary(real))
    }

    /// The origin of one object of `file`.
    pub(super) fn origin(
        &mut self,
        file: &SourceFile,
        trail: Option<&Trail>,
        object: NodeRef<'_>,
        said: Said,
    ) -> Option<Origin> {
        let found = match (&said, trail) {
            (Said::Template { chart, path }, _) => self.of_chart(file, trail, chart, path),
            (Said::Remote { .. }, _) => None,
            (said, Some(Trail::Annotations { folder, .. })) => self.at(folder, &said.path()),
            (Said::Generator { .. }, _) => None,
            (said, _) => self.nearby(file, object, said),
        };
        self.origin_at(file, found, said)
    }

    /// The origin of a document that holds no object.
    pub(super) fn origin_of_text(
        &mut self,
        file: &SourceFile,
        trail: Option<&Trail>,
        said: Said,
    ) -> Option<Origin> {
        let found = match &said {
            Said::Template { chart, path } => self.of_chart(file, trail, chart, path),
            _ => None,
        };
        self.origin_at(file, found, said)
    }

    /// A real file is not passed over for one that is not there, and is not made from itself.
    fn origin_at(&self, file: &SourceFile, found: Option<PathBuf>, said: Said) -> Option<Origin> {
        let real = file.location.as_deref().map(folded);
        if real.is_some() && (found.is_none() || found == real) {
            return None;
        }
        let read = found.as_ref().and_then(|place| self.read.get(place));
        let path = match &found {
            Some(place) => relative_path(place, self.working_directory),
            None => said.path(),
        };
        Some(Origin {
            path: path.into(),
            file: read.cloned().flatten(),
            said,
        })
    }

    /// Reads a file, if there is one; returns its path.
    fn at(&mut self, folder: &Path, path: &str) -> Option<PathBuf> {
        let place = folded(&folder.join(path));
        if let Some(read) = self.read.get(&place) {
            return read.is_some().then_some(place);
        }
        let read = self.permitted(folder, path).map(|real| {
            let shown = escaped_name(place.as_os_str());
            Candidate::on_disk(shown.into(), Role::Context, real).read()
        });
        let read = read.map(|file| Arc::new(Original::new(file, &mut self.template_bytes)));
        let is_there = read.is_some();
        self.read.insert(place.clone(), read);
        is_there.then_some(place)
    }

    /// The folder that was built is not known: only a file that holds the object will do.
    fn nearby(&mut self, file: &SourceFile, object: NodeRef<'_>, said: &Said) -> Option<PathBuf> {
        let path = said.path();
        let beside = file.lies_at.as_deref().and_then(Path::parent);
        let mut places: Vec<(&Path, &str)> = beside
            .into_iter()
            .chain([self.working_directory])
            .map(|folder| (folder, path.as_str()))
            .collect();
        // Most builds are of folders below: `../../base/web.yaml` of one is `base/web.yaml` here.
        let below = path.trim_start_matches("../");
        if below.len() < path.len() {
            places.push((self.working_directory, below));
        }
        places.into_iter().find_map(|(folder, path)| {
            let place = self.at(folder, path)?;
            let there = self.read.get(&place)?.as_deref()?;
            may_come_from(there, object, said).then_some(place)
        })
    }

    fn of_chart(
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

    /// The one chart of this name around.
    fn chart(&mut self, file: &SourceFile, name: &str) -> Option<PathBuf> {
        let beside = file.lies_at.as_deref().and_then(Path::parent);
        if let Some(folder) = beside
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

    /// Reports whether the chart in `folder` has this name. All documents of a file ask for the same folder.
    fn is_chart(&mut self, folder: &Path, name: &str) -> bool {
        if let Some(known) = self.chart_names.get(folder) {
            return known.as_deref() == Some(name);
        }
        let found = self.chart_name(folder);
        let is_it = found.as_deref() == Some(name);
        self.chart_names.insert(folder.to_path_buf(), found);
        is_it
    }

    fn charts_below(&self, root: &Path) -> HashMap<String, Option<PathBuf>> {
        let mut found: HashMap<String, Option<PathBuf>> = HashMap::new();
        let mut left = FOLDERS;
        let mut next = VecDeque::from([(identity(root), 0)]);
        while let Some((folder, depth)) = next.pop_front() {
            if let Some(name) = self.chart_name(&folder) {
                let several = found.contains_key(&name);
                found.insert(name, (!several).then_some(folder));
                continue;
            }
            if depth == DEPTH {
                continue;
            }
            let mut below: Vec<PathBuf> = filesystem::entries(&folder)
                .into_iter()
                .flatten()
                .filter_map(Result::ok)
                .filter(|entry| entry.kind == Kind::Folder)
                .filter(|entry| !entry.name.to_string_lossy().starts_with('.'))
                .map(|entry| folder.join(entry.name))
                .take(left)
                .collect();
            left -= below.len();
            // The order of a directory is chance.
            below.sort();
            next.extend(below.into_iter().map(|folder| (folder, depth + 1)));
        }
        found
    }

    /// The name that the chart in `folder` has in its `Chart.yaml`.
    fn chart_name(&self, folder: &Path) -> Option<String> {
        let file = self.permitted(folder, "Chart.yaml")?;
        let text: Arc<str> = read_resolved_text(&file).ok()?.into();
        let tree = yaml::parse_embedded(&text, Span::new(0, text.len())).ok()??;
        tree.root()?.get("name")?.text().map(str::to_owned)
    }
}

/// Returns a path as seen from a folder, with `/`, and with `..` for what lies beside it. Both are
/// absolute.
#[must_use]
pub fn relative_path(path: &Path, folder: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(escaped_name(name).into_owned()),
            _ => None,
        });
        names.collect()
    };
    let (path, folder) = (parts(path), parts(folder));
    let common = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    let up = folder.iter().skip(common).map(|_| "..");
    let down = path.iter().skip(common).map(String::as_str);
    let all: Vec<&str> = up.chain(down).collect();
    if all.is_empty() {
        ".".to_owned()
    } else {
        all.join("/")
    }
}
