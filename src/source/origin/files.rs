//! From the name that a renderer gives to the file on disk.

use std::collections::VecDeque;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::source::file::{Role, SourceFile};
use crate::source::find::{Candidate, spelled};
use crate::source::kustomization::folded;
use crate::source::named::is_ordinary;
use crate::source::read::read_text;
use crate::source::rendered::Trail;
use crate::yaml::{self, NodeRef, Span};

use super::Origin;
use super::place::may_come_from;
use super::said::Said;

/// How far below the working directory a chart is looked for.
const DEPTH: usize = 3;
/// How many folders are looked into.
const FOLDERS: usize = 2_000;

/// Finds and reads files, each once.
pub(super) struct Files<'r> {
    working_directory: &'r Path,
    read: HashMap<PathBuf, Option<Arc<SourceFile>>>,
    /// The folders of the charts around, by the name of the chart; `None` for a name that
    /// several have.
    charts: Option<HashMap<String, Option<PathBuf>>>,
}

impl<'r> Files<'r> {
    pub(super) fn new(working_directory: &'r Path) -> Self {
        Self {
            working_directory,
            read: HashMap::new(),
            charts: None,
        }
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
            (said, Some(Trail::Annotations { folder, .. })) => self.at(&folder.join(said.path())),
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

    /// Reads a file, if there is one; returns where it lies.
    fn at(&mut self, place: &Path) -> Option<PathBuf> {
        let place = folded(place);
        let read = self.read.entry(place.clone()).or_insert_with(|| {
            is_ordinary(&place).then(|| {
                let shown = place.to_string_lossy();
                let candidate = Candidate::on_disk(shown.into(), Role::Context, place.clone());
                Arc::new(candidate.read())
            })
        });
        read.is_some().then_some(place)
    }

    /// The folder that was built is not known: only a file that holds the object will do.
    fn nearby(&mut self, file: &SourceFile, object: NodeRef<'_>, said: &Said) -> Option<PathBuf> {
        let path = said.path();
        let beside = file.lies_at.as_deref().and_then(Path::parent);
        let mut places: Vec<PathBuf> = beside
            .into_iter()
            .chain([self.working_directory])
            .map(|folder| folder.join(&path))
            .collect();
        // Most builds are of folders below: `../../base/web.yaml` of one is `base/web.yaml` here.
        let below = path.trim_start_matches("../");
        if below.len() < path.len() {
            places.push(self.working_directory.join(below));
        }
        places.into_iter().find_map(|place| {
            let place = self.at(&place)?;
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
        self.at(&folder.join(path))
    }

    /// The one chart of this name around.
    fn chart(&mut self, file: &SourceFile, name: &str) -> Option<PathBuf> {
        let beside = file.lies_at.as_deref().and_then(Path::parent);
        if let Some(folder) = beside.filter(|folder| chart_name(folder).as_deref() == Some(name)) {
            return Some(folder.to_path_buf());
        }
        let charts = self
            .charts
            .get_or_insert_with(|| charts_below(self.working_directory));
        charts.get(name)?.clone()
    }
}

fn charts_below(root: &Path) -> HashMap<String, Option<PathBuf>> {
    let mut found: HashMap<String, Option<PathBuf>> = HashMap::new();
    let mut left = FOLDERS;
    let mut next = VecDeque::from([(root.to_path_buf(), 0)]);
    while let Some((folder, depth)) = next.pop_front() {
        if let Some(name) = chart_name(&folder) {
            let several = found.contains_key(&name);
            found.insert(name, (!several).then_some(folder));
            continue;
        }
        if depth == DEPTH {
            continue;
        }
        let mut below: Vec<PathBuf> = std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| entry.path())
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
fn chart_name(folder: &Path) -> Option<String> {
    let file = folder.join("Chart.yaml");
    if !is_ordinary(&file) {
        return None;
    }
    let text: Arc<str> = read_text(&file).ok()?.into();
    let tree = yaml::parse(&text, Span::new(0, text.len())).ok()??;
    tree.root()?.get("name")?.text().map(str::to_owned)
}

/// Returns a path as seen from a folder, with `/`, and with `..` for what lies beside it. Both are
/// absolute.
#[must_use]
pub fn relative_path(path: &Path, folder: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(spelled(name).into_owned()),
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
