//! The charts that objects of Flux, Argo CD and k3s, and kustomizations deploy, with their values as far as the tree
//! contains them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::delivery::{
    Chart, ChartName, ChartRepository, Release, SourceName, ValuesEntry, application, argo_sources,
    config_values, flux_chart, releases, single_values,
};
use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::mesh::istio::install::{
    ChartRelease, FILLED_IN, FoundChart, Place, PlainFile, ReleaseValues, ValuesText,
};
use meshprobe_tree::source::{SourceFile, SourceSet, paths, placeholder};
use meshprobe_yaml::{Entry, NodeRef, Span};

use crate::gitops::configs::{ConfigReference, Configs};
use crate::gitops::repositories::{Repositories, SourcePlace};
use crate::kustomize::helm_charts::{ChartEntry, chart_entries};

/// The API group of the sources of Flux.
const FLUX_SOURCE: &str = "source.toolkit.fluxcd.io";

/// Returns whether a file may belong to the environment of another one.
type MayApply<'a> = Box<dyn Fn(&str, &str) -> bool + 'a>;

/// The parts of a tree that releases of charts refer to.
pub struct ReleaseTree<'a, 't> {
    sources: &'t SourceSet,
    repositories: &'a Repositories<'t>,
    configs: &'a Configs<'t>,
    plain_files: &'a [PlainFile<'t>],
    /// Returns whether a file may belong to the environment of another one.
    may_apply: MayApply<'a>,
    /// The objects by kind and name.
    objects: HashMap<(&'t str, &'t str), Vec<&'a Object<'t>>>,
    /// The ApplicationSets, by their groups and documents.
    sets: HashMap<(&'t str, (&'t str, usize)), &'a Object<'t>>,
    /// The documents of Applications. An ApplicationSet and what it generates have the same document.
    applications: HashSet<(&'t str, usize)>,
    /// The files by name.
    files: HashMap<&'t str, Vec<&'t SourceFile>>,
}

impl fmt::Debug for ReleaseTree<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseTree").finish_non_exhaustive()
    }
}

/// A file that an object names.
enum NamedFile<'t> {
    Found(&'t SourceFile),
    /// Its source is read, and does not contain it.
    Absent,
    /// Its source is not read, or another tool fills in the name.
    Unknown,
}

/// A release of a chart.
#[derive(Debug)]
pub struct FoundRelease<'t> {
    pub release: Release<'t>,
    /// What the tree contains of it.
    pub found: ChartRelease<'t>,
    /// Why the chart is missing, if it is a folder that is not in the tree.
    pub missing_chart: Option<String>,
    /// The URL of the repository of charts, if it is known.
    pub repository: Option<&'t str>,
    /// The bytes that name the chart, in the text of the object.
    pub chart_span: Option<Span>,
    /// Why helm would not render what is deployed, in addition to unknown values.
    pub unsupported: Vec<&'static str>,
    /// Whether an ApplicationSet contains or generates it.
    is_of_set: bool,
}

impl<'a, 't> ReleaseTree<'a, 't> {
    /// Indexes the files of a set, and the objects that releases may refer to. `may_apply` returns whether a file may
    /// belong to the environment of another one.
    #[must_use]
    pub fn new(
        sources: &'t SourceSet,
        (repositories, configs): (&'a Repositories<'t>, &'a Configs<'t>),
        plain_files: &'a [PlainFile<'t>],
        objects: &'a [Object<'t>],
        may_apply: MayApply<'a>,
    ) -> Self {
        let mut tree = Self {
            sources,
            repositories,
            configs,
            plain_files,
            may_apply,
            objects: HashMap::new(),
            sets: HashMap::new(),
            applications: HashSet::new(),
            files: HashMap::new(),
        };
        for object in objects {
            let named = tree.objects.entry((object.kind, object.name()));
            named.or_default().push(object);
            match object.kind {
                "ApplicationSet" => {
                    let key = (object.group(), document_of(object));
                    tree.sets.entry(key).or_insert(object);
                }
                "Application" => drop(tree.applications.insert(document_of(object))),
                _ => {}
            }
        }
        for file in &sources.files {
            let real = file.disk_path.as_deref().and_then(|path| path.to_str());
            // Standard input is displayed with another name than its own.
            let (shown, real) = (last(&file.path), real.map_or("", last));
            tree.files.entry(shown).or_default().push(file);
            if !real.is_empty() && real != shown {
                tree.files.entry(real).or_default().push(file);
            }
        }
        tree
    }

    /// Returns the charts that an object deploys. An ApplicationSet whose Applications are known deploys none itself.
    #[must_use]
    pub fn of(&self, object: &Object<'t>) -> Vec<FoundRelease<'t>> {
        let is_set = object.kind == "ApplicationSet";
        if is_set && self.applications.contains(&document_of(object)) {
            return Vec::new();
        }
        let releases = releases(object).into_iter();
        let set = self.set_of(object);
        releases
            .filter_map(|release| self.found(object, set, release))
            .collect()
    }

    /// Returns the ApplicationSet that generates an object, or is that object.
    fn set_of(&self, object: &Object<'t>) -> Option<&'a Object<'t>> {
        let key = (object.group(), document_of(object));
        self.sets.get(&key).copied()
    }

    fn found(
        &self,
        object: &Object<'t>,
        set: Option<&Object<'t>>,
        release: Release<'t>,
    ) -> Option<FoundRelease<'t>> {
        let place = Place::of(object);
        let spec = object.node.get("spec");
        let spec_text = |key: &str| spec?.get(key).and_then(NodeRef::text);
        let target = spec_text("targetNamespace");
        let hints = [Some(object.name()), object.namespace(), target];
        let mut found = FoundRelease {
            found: ChartRelease {
                chart: FoundChart::Unnamed(""),
                version: None,
                hints: hints.into_iter().flatten().collect(),
                values: Vec::new(),
                unread: Vec::new(),
                replaced: None,
            },
            missing_chart: None,
            repository: None,
            chart_span: None,
            unsupported: release.unsupported.clone(),
            is_of_set: set.is_some(),
            release,
        };
        match found.release.chart.clone() {
            ChartName::Unnamed(why) => found.missing_chart = Some(why.to_owned()),
            ChartName::Written(chart) => {
                found.chart_span = Some(chart.node.span());
                self.find_chart(object, object, &chart, &mut found)?;
            }
            ChartName::Referenced(reference) => {
                found.chart_span = Some(reference.span());
                self.follow_reference(object, reference, &mut found);
            }
        }
        if let Some(set) = set {
            open_templates(set, object, &mut found);
        }
        let mut values = found.release.values.clone();
        if object.kind == "HelmChart" {
            let near = object.path();
            let kind = (object.group(), "HelmChartConfig");
            let config = self.object(kind, object.name(), object.namespace(), near);
            for entry in values.drain(..) {
                self.add_values(object, &place, entry, &mut found);
            }
            if let Some(config) = config {
                for entry in config_values(config) {
                    self.add_values(config, &Place::of(config), entry, &mut found);
                }
            }
            values.extend(spec.into_iter().flat_map(single_values));
        }
        for entry in values {
            self.add_values(object, &place, entry, &mut found);
        }
        Some(found)
    }

    /// Finds the chart that `owner` names. Returns `None` for a folder with manifests, or one whose absence is reported for
    /// the object.
    fn find_chart(
        &self,
        object: &Object<'t>,
        owner: &Object<'t>,
        chart: &Chart<'t>,
        found: &mut FoundRelease<'t>,
    ) -> Option<()> {
        let name = chart.node.text().unwrap_or_default();
        found.found.chart = FoundChart::Named(name);
        found.found.version = chart.version.map(|node| (node, Place::of(owner)));
        found.repository = match chart.repository {
            Some(ChartRepository::Url(url)) => Some(url),
            Some(ChartRepository::Source(kind, name)) => self.url_of(kind, name, owner),
            None => None,
        };
        let repository = chart.repository.map(|repository| match repository {
            ChartRepository::Url(text) | ChartRepository::Source(_, text) => text,
        });
        found.found.hints.extend(repository);
        let Some(source) = &chart.folder else {
            for file in &chart.files {
                let path = file.text().unwrap_or_default();
                add_file(None, (*file, Place::of(owner)), path, &mut found.found);
            }
            return Some(());
        };
        match self.chart_folder(owner, source, name) {
            Ok(file) => {
                let own = self
                    .sources
                    .file(&format!("{}values.yaml", paths::folder(file.path)));
                // The files of Flux replace that of the chart.
                let (own, replaced) = match chart.files.is_empty() {
                    true => (own, None),
                    false => (None, own),
                };
                found.found.chart = FoundChart::Folder(file, own);
                found.found.replaced = replaced;
                let mut is_replaced = replaced.is_some();
                for file in &chart.files {
                    let path = file.text().unwrap_or_default();
                    let values = match self.file_of(owner, Some(source), path) {
                        NamedFile::Found(values) => Some(values),
                        NamedFile::Absent | NamedFile::Unknown => None,
                    };
                    let is_own =
                        |file: &SourceFile| replaced.is_some_and(|own| own.path == file.path);
                    is_replaced &= !values.is_some_and(is_own);
                    add_file(values, (*file, Place::of(owner)), path, &mut found.found);
                }
                if is_replaced {
                    let why = "`valuesFiles` replaces the `values.yaml` of the chart";
                    found.unsupported.push(why);
                }
            }
            Err(_) if !chart.is_folder => {}
            Err(why) => {
                let is_argo = object.group() == "argoproj.io";
                let is_manifests = || {
                    found.release.node.get("helm").is_none()
                        || self
                            .repositories
                            .contains(self.sources, object, source, name)
                };
                if is_argo && is_manifests() {
                    return None;
                }
                found.missing_chart = Some(why);
            }
        }
        Some(())
    }

    /// Finds the chart that `chartRef` refers to.
    fn follow_reference(
        &self,
        object: &Object<'t>,
        reference: NodeRef<'t>,
        found: &mut FoundRelease<'t>,
    ) {
        let text = |key: &str| reference.get(key).and_then(NodeRef::text);
        let namespace = text("namespace").or_else(|| object.namespace());
        let (kind, name) = (
            text("kind").unwrap_or("OCIRepository"),
            text("name").unwrap_or_default(),
        );
        let source = self.object((FLUX_SOURCE, kind), name, namespace, object.path());
        let spec = source.and_then(|source| Some((source, source.node.get("spec")?)));
        let Some((source, spec)) = spec else {
            found.found.chart = FoundChart::Named(name);
            return;
        };
        if kind == "HelmChart" {
            match flux_chart(source, spec) {
                // The chart of an object of Flux is never a folder with manifests.
                Some(chart) => drop(self.find_chart(object, source, &chart, found)),
                None => found.missing_chart = Some("it names no chart".to_owned()),
            }
            return;
        }
        let url = spec.get("url").and_then(NodeRef::text);
        found.found.chart = FoundChart::Named(url.unwrap_or(name));
        found.found.hints.extend(url);
        let place = spec.get("ref");
        let version = place.and_then(|place| place.get("tag").or_else(|| place.get("semver")));
        found.found.version = version.map(|node| (node, Place::of(source)));
    }

    fn add_values(
        &self,
        object: &Object<'t>,
        place: &Place<'t>,
        entry: ValuesEntry<'t>,
        found: &mut FoundRelease<'t>,
    ) {
        let values = match entry {
            ValuesEntry::File(node, is_optional) => {
                let path = node.text().unwrap_or_default();
                let file = match self.argo_file(object, found, path) {
                    NamedFile::Found(file) => Some(file),
                    NamedFile::Absent if is_optional => return,
                    NamedFile::Absent | NamedFile::Unknown => None,
                };
                return add_file(file, (node, place.clone()), path, &mut found.found);
            }
            ValuesEntry::From(reference) => return self.add_taken(object, reference, found),
            ValuesEntry::Unread(node, why) => {
                found.found.unread.push(place.label(node.span(), why));
                return;
            }
            ValuesEntry::Text(Entry { key, value, .. }) => ReleaseValues::Text(ValuesText {
                text: Cow::Borrowed(value.text().unwrap_or_default()),
                place: place.label(key.span(), ""),
                target: None,
                copied: None,
                taken: None,
                is_of_set: found.is_of_set,
            }),
            ValuesEntry::Mapping(node) => ReleaseValues::Mapping(node, place.clone()),
            ValuesEntry::Parameter(name, node, is_text) => {
                ReleaseValues::Parameter(name, node, place.clone(), is_text)
            }
        };
        found.found.values.push(values);
    }

    /// Adds the values that a `valuesFrom` entry takes from a ConfigMap or Secret. An optional one that is not in the tree is
    /// ignored.
    fn add_taken(&self, object: &Object<'t>, reference: NodeRef<'t>, found: &mut FoundRelease<'t>) {
        let text = |key: &str| reference.get(key).and_then(NodeRef::text);
        let wanted = ConfigReference {
            kind: text("kind").unwrap_or("ConfigMap"),
            name: text("name").unwrap_or_default(),
            namespace: object.deployed_namespace(),
        };
        let source = format!("values come from {} `{}`", wanted.kind, wanted.name);
        let at = |message: String| object.label_at(reference.span(), message);
        let key = text("valuesKey").unwrap_or("values.yaml");
        let value = self
            .configs
            .value(self.sources, (wanted, key), object, &*self.may_apply);
        let value = match value {
            Ok(Some(value)) => value,
            Ok(None) if text("optional") == Some("true") => return,
            Ok(None) => {
                let why = at(format!("{source}, which is not in the tree"));
                return found.found.unread.push(why);
            }
            Err(why) => {
                let why = at(format!("values of the release are not known: {why}"));
                return found.found.unread.push(why);
            }
        };
        let target = text("targetPath");
        let is_copied = value.value.path != value.key.path;
        let copied = is_copied
            .then(|| self.sources.file(&value.value.path))
            .flatten();
        found.found.values.push(ReleaseValues::Text(ValuesText {
            text: value.text.into(),
            place: if target.is_some() {
                value.value
            } else {
                value.key
            },
            target,
            copied,
            taken: Some(at(source)),
            is_of_set: false,
        }));
    }

    /// Finds a values file of Argo CD: `$ref/…` is in the source with this name and `/…` in that of the chart, both relative
    /// to the root; all others are relative to the folder of the chart.
    fn argo_file(
        &self,
        object: &Object<'t>,
        found: &FoundRelease<'t>,
        path: &str,
    ) -> NamedFile<'t> {
        let is_remote = matches!(found.found.chart, FoundChart::Named(_));
        let folder = found.release.node.get("path").and_then(NodeRef::text);
        let (source, wanted) = match named_file(object, path) {
            Some((source, path)) => (source, Cow::Borrowed(path)),
            None if is_remote => return NamedFile::Unknown,
            None => {
                if let FoundChart::Folder(chart, _) = &found.found.chart
                    && !path.starts_with('/')
                {
                    let folder = paths::folder(chart.path).trim_end_matches('/');
                    if let Some(file) = self.sources.file(&self.sources.joined(folder, path)) {
                        return NamedFile::Found(file);
                    }
                }
                let wanted = match folder {
                    Some(folder) if !path.starts_with('/') => format!("{folder}/{path}").into(),
                    _ => Cow::Borrowed(path),
                };
                (Some(SourceName::of_argo(found.release.node)), wanted)
            }
        };
        match self.file_of(object, source.as_ref(), &wanted) {
            // A URL is not read, and neither is the source of a chart that is not in the tree.
            NamedFile::Absent
                if is_remote
                    || source.is_none()
                    || path.contains("://")
                    || placeholder::contains(path) =>
            {
                NamedFile::Unknown
            }
            file => file,
        }
    }

    /// Finds the file at `path` in a source that `object` names, or in its own repository.
    fn file_of(
        &self,
        object: &Object<'t>,
        source: Option<&SourceName<'t>>,
        path: &str,
    ) -> NamedFile<'t> {
        let place =
            source.map(|source| self.repositories.place(self.sources, object, source, false));
        let root = match place {
            Some(SourcePlace::Elsewhere { .. }) => return NamedFile::Unknown,
            Some(SourcePlace::InRun(root)) => Some(root),
            Some(SourcePlace::Here) | None => None,
        };
        let wanted = paths::normal(path);
        let files = self.files.get(last(&wanted)).into_iter().flatten().copied();
        files
            .filter(|file| is_below(&file.path, root.as_ref()))
            .filter(|file| {
                let real = file.disk_path.as_deref().and_then(|path| path.to_str());
                [Some(&*file.path), real]
                    .into_iter()
                    .flatten()
                    .any(|path| paths::ends_with(path, &wanted))
            })
            .max_by_key(|file| nearness(&file.path, object.path()))
            .map_or(NamedFile::Absent, NamedFile::Found)
    }

    /// Returns the chart in a folder that `object` names. The path is relative to the root of a repository, which may not be
    /// the working directory, so the end of the path decides, then nearness.
    fn chart_folder(
        &self,
        object: &Object<'t>,
        source: &SourceName<'t>,
        path: &str,
    ) -> Result<PlainFile<'t>, String> {
        let place = self.repositories.place(self.sources, object, source, false);
        let root = match place {
            SourcePlace::Elsewhere { title, .. } => {
                return Err(format!(
                    "the chart `{path}` is in {title}, which is another repository"
                ));
            }
            SourcePlace::InRun(root) => Some(root),
            SourcePlace::Here => None,
        };
        let wanted = paths::normal(path);
        let charts = self.plain_files.iter().filter(|file| file.is_chart());
        let found = charts
            .filter(|file| is_below(file.path, root.as_ref()))
            .filter(|file| {
                let place = file.real_path.unwrap_or(file.path);
                paths::ends_with(paths::folder(place).trim_end_matches('/'), &wanted)
            })
            .max_by_key(|file| nearness(file.path, object.path()));
        found.copied().ok_or_else(|| {
            if placeholder::contains(path) {
                return format!("another tool fills in the path of the chart, `{path}`");
            }
            let tree = self.sources.tree_noun(object.path());
            format!("`{path}` is not a folder of {tree} with a chart")
        })
    }

    fn url_of(&self, kind: &str, name: &str, near: &Object<'t>) -> Option<&'t str> {
        let source = self.object((FLUX_SOURCE, kind), name, None, near.path())?;
        source.node.get("spec")?.get("url")?.text()
    }

    /// Returns the object of that group, kind and name that is nearest to `near`; namespaces are compared if both sides have one.
    fn object(
        &self,
        (group, kind): (&str, &str),
        name: &str,
        namespace: Option<&str>,
        near: &str,
    ) -> Option<&'a Object<'t>> {
        let matches_namespace = |object: &&Object<'t>| {
            let other = object.namespace();
            other.is_none() || namespace.is_none() || other == namespace
        };
        let objects = self
            .objects
            .get(&(kind, name))
            .into_iter()
            .flatten()
            .copied();
        objects
            .filter(|object| object.group() == group && matches_namespace(object))
            .max_by_key(|object| nearness(object.path(), near))
    }

    /// Returns the charts of Istio and of network plugins that a kustomization lists, each with its name and place.
    #[must_use]
    pub fn of_kustomization(
        &self,
        file: &PlainFile<'t>,
    ) -> Vec<(&'t str, Label, ChartRelease<'t>)> {
        let entries = chart_entries(file.root).into_iter();
        entries
            .filter_map(|entry| self.of_entry(file, &entry))
            .collect()
    }

    fn of_entry(
        &self,
        file: &PlainFile<'t>,
        entry: &ChartEntry<'t>,
    ) -> Option<(&'t str, Label, ChartRelease<'t>)> {
        let node = entry.name_node()?;
        let name = node.text().unwrap_or_default();
        let place = Place::File(file.path);
        let folder = file.folder();
        // A chart in the folder of charts is not downloaded.
        let local = entry.local_charts(file.root).into_iter().find_map(|path| {
            let path = self.sources.joined(folder, &path);
            self.plain_files.iter().find(|file| **file.path == *path)
        });
        let chart = match local {
            Some(chart) => {
                let own = format!("{}values.yaml", paths::folder(chart.path));
                FoundChart::Folder(*chart, self.sources.file(&own))
            }
            None => FoundChart::Named(name),
        };
        let mut found = ChartRelease {
            chart,
            version: entry.version().map(|node| (node, place.clone())),
            hints: entry.hints().collect(),
            values: Vec::new(),
            unread: Vec::new(),
            replaced: None,
        };
        for values in entry.values() {
            match values {
                ValuesEntry::File(node, _) => {
                    let path = node.text().unwrap_or_default();
                    let values = self.sources.file(&self.sources.joined(folder, path));
                    add_file(values, (node, place.clone()), path, &mut found);
                }
                ValuesEntry::Mapping(node) => {
                    found
                        .values
                        .push(ReleaseValues::Mapping(node, place.clone()));
                }
                _ => {}
            }
        }
        let name = entry.release_name().unwrap_or(name);
        let label = place.label(node.span(), "this chart installs a part of the mesh");
        Some((name, label, found))
    }
}

/// Returns the file and the number of the document of an object.
fn document_of<'t>(object: &Object<'t>) -> (&'t str, usize) {
    (object.path(), object.document.index)
}

/// Returns the source that `$ref/…` of Argo CD names, if the object has it, and the path in it; `None` for other paths.
fn named_file<'t, 'p>(
    object: &Object<'t>,
    path: &'p str,
) -> Option<(Option<SourceName<'t>>, &'p str)> {
    let rest = path.strip_prefix('$')?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_named = |node: &NodeRef<'t>| node.get("ref").and_then(NodeRef::text) == Some(name);
    let mut sources = application(object).into_iter().flat_map(argo_sources);
    let source = sources.find(is_named).map(SourceName::of_argo);
    Some((source, path))
}

fn add_file<'t>(
    file: Option<&'t SourceFile>,
    (node, place): (NodeRef<'t>, Place<'t>),
    path: &str,
    found: &mut ChartRelease<'t>,
) {
    match file {
        Some(file) => found.values.push(ReleaseValues::File(file)),
        None => {
            let message = format!("values come from `{path}`, which is not in the tree");
            found.unread.push(place.label(node.span(), message));
        }
    }
}

/// Records the parts of an ApplicationSet that change values in a way that is not evaluated: its `templatePatch`, and the
/// first template among the keys of `valuesObject`; and other placeholders that its generators do not fill in.
fn open_templates<'t>(set: &Object<'t>, object: &Object<'t>, found: &mut FoundRelease<'t>) {
    let patch = set
        .node
        .get("spec")
        .and_then(|spec| spec.entry("templatePatch"));
    let patch = patch.filter(|entry| entry.value.text().is_some_and(|text| !text.is_empty()));
    if let Some(entry) = patch {
        let why = set.label_at(entry.key.span(), "`templatePatch` may change the values");
        found.found.unread.push(why);
    }
    let helm = found.release.node.get("helm");
    let values = helm.and_then(|helm| helm.get("valuesObject"));
    let is_open = |entry: &Entry<'_>| entry.key.text().is_some_and(|key| key.contains("{{"));
    let mut nodes = values.into_iter().flat_map(NodeRef::all);
    let open = nodes.find_map(|node| node.entries().find(is_open));
    if let Some(entry) = open {
        found
            .found
            .unread
            .push(object.label_at(entry.key.span(), FILLED_IN));
    }
    let texts = [
        object.name(),
        found.release.namespace.unwrap_or_default(),
        found.release.node.source(),
    ];
    if texts.iter().any(|text| text.contains("{{")) {
        found
            .unsupported
            .push("the template of the ApplicationSet is not expanded");
    }
}

/// Returns whether a file is below the root of a repository; always `true` without one.
fn is_below(path: &str, root: Option<&Arc<str>>) -> bool {
    root.is_none_or(|root| paths::is_within(paths::folder(path), root))
}

/// Returns the name of a file without its folders.
fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
