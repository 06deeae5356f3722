//! Decides in which repository the source of a deployed folder is.
//!
//! The URLs of a repository are those of its remotes, and those from which it is deployed: the source of a Kustomization
//! or an Application in the folder that it deploys, such as that of `flux bootstrap`. A source with another URL is another
//! repository. If one of the URLs is not known, the source counts as this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::kube::delivery::{NamedSource, SourceName, named_sources};
use meshprobe_tree::source::{SourceSet, paths};
use meshprobe_yaml::NodeRef;

use crate::gitops::deployed_folder;
use crate::gitops::repository_url::{OwnUrls, Relation, RepositoryUrl};

/// The name of the objects that `flux bootstrap` writes.
const BOOTSTRAP: &str = "flux-system";

/// The repositories of a run, and the sources that objects deploy from.
#[derive(Debug, Default)]
pub struct Repositories<'t> {
    /// By displayed root; empty without a root.
    own: BTreeMap<Arc<str>, OwnUrls>,
    sources: Vec<FluxSource<'t>>,
    /// The sources by kind and name, and then by their files and the folders above these.
    places: HashMap<SourceKey<'t>, HashMap<String, SourcesBelow>>,
    /// The maximum number of leading `..` of the files.
    height: usize,
    /// The names of the sources whose folders are in the tree.
    found: BTreeSet<&'t str>,
    /// The folders of paths in this repository that were resolved, by the deploying file and the path.
    resolved: Mutex<Resolved>,
}

/// Folders by the file that names them and the path, as far as they are in the tree.
type Resolved = HashMap<(Arc<str>, String), Option<String>>;

/// Kind, name and namespace of a source.
type SourceKey<'t> = (&'t str, &'t str, Scope<'t>);

/// The namespaces in which a source is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope<'t> {
    Any,
    In(&'t str),
    Unknown,
}

/// The sources with the same name in a folder.
#[derive(Debug)]
struct SourcesBelow {
    /// Positions in the list of sources.
    members: Vec<usize>,
    /// The relation of all of them, if it is the same.
    relation: Relation,
}

/// A source of Flux in the tree.
#[derive(Debug)]
struct FluxSource<'t> {
    path: &'t Arc<str>,
    url: Option<RepositoryUrl>,
    shown: Option<String>,
    relation: Relation,
}

/// The place of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePlace {
    /// The repository of the object that names it, as far as is known.
    Here,
    /// Another repository of the run, by its displayed root.
    InRun(Arc<str>),
    /// A repository that is not part of the run.
    Elsewhere {
        /// The source, for messages.
        title: String,
        /// Its URL, if it is known.
        url: Option<String>,
        /// Whether its URL shows that it is another repository.
        is_certain: bool,
    },
}

impl<'t> Repositories<'t> {
    /// Finds the repositories and the sources among `objects`.
    pub fn of<'a>(set: &SourceSet, objects: impl Iterator<Item = &'a Object<'t>> + Clone) -> Self
    where
        't: 'a,
    {
        let mut repositories = Self {
            height: set.height(),
            ..Self::default()
        };
        for (root, urls) in set.remotes.iter() {
            let own = repositories.own.entry(Arc::clone(root)).or_default();
            let urls = urls.iter().filter_map(|url| RepositoryUrl::parse(url));
            own.remotes.extend(urls);
        }
        for object in objects.clone() {
            repositories.add_source(object);
        }
        for object in objects.clone() {
            repositories.add_self_deployed(set, object);
        }
        repositories.relate_sources(set);
        for object in objects {
            repositories.add_found(set, object);
        }
        repositories
    }

    fn add_source(&mut self, object: &Object<'t>) {
        if object.group() != "source.toolkit.fluxcd.io" {
            return;
        }
        let spec = object.node.get("spec");
        let url = spec.and_then(|spec| RepositoryUrl::of_flux(object.kind, spec));
        let shown = spec.and_then(|spec| spec.get("url").and_then(NodeRef::text));
        let position = self.sources.len();
        self.sources.push(FluxSource {
            path: object.path(),
            url,
            shown: shown.map(without_user),
            relation: Relation::Unknown,
        });
        let places: BTreeSet<String> = self.places_of(object).collect();
        let scope = object.namespace().map_or(Scope::Unknown, Scope::In);
        for scope in [Scope::Any, scope] {
            let key = (object.kind, object.name(), scope);
            let known = self.places.entry(key).or_default();
            for place in &places {
                let below = known.entry_ref(place).or_insert_with(|| SourcesBelow {
                    members: Vec::new(),
                    relation: Relation::Unknown,
                });
                below.members.push(position);
            }
        }
    }

    /// Iterates over the files of an object and the folders above them, the nearest first.
    fn places_of(&self, object: &Object<'_>) -> impl Iterator<Item = String> {
        let files = [object.location_file, object.path()];
        let height = self.height;
        let folders = files
            .into_iter()
            .flat_map(move |file| paths::folders(file, height))
            .collect::<BTreeSet<String>>();
        let mut folders: Vec<String> = folders.into_iter().collect();
        folders.sort_by_key(|folder| std::cmp::Reverse(depth(folder)));
        let files = files.map(|file| format!("{file}/"));
        files.into_iter().chain(folders)
    }

    /// Adds the URL of an object that deploys its own folder.
    fn add_self_deployed(&mut self, set: &SourceSet, object: &Object<'t>) {
        for NamedSource { node, name } in named_sources(object) {
            let path = node.get("path").and_then(NodeRef::text);
            let is_bootstrap = object.name() == BOOTSTRAP && name.text() == BOOTSTRAP;
            let Some(parts) = deployed_folder::parts(path.unwrap_or_default()) else {
                continue;
            };
            // Every repository has a root.
            if parts.is_empty() && !is_bootstrap {
                continue;
            }
            let folder = self.resolve(set, object.path(), &parts);
            if !folder.is_some_and(|folder| paths::contains(&folder, object.path())) {
                continue;
            }
            let urls: Vec<RepositoryUrl> = match name {
                SourceName::Url(url) => RepositoryUrl::parse(url).into_iter().collect(),
                SourceName::Flux { .. } => {
                    let source = self.nearest(object, &name);
                    let url = source.and_then(|(source, _)| source.url.clone());
                    url.into_iter().collect()
                }
            };
            let own = self.own.entry(root_of(set, object)).or_default();
            // The path may also exist by chance.
            let is_likely = |url: &RepositoryUrl| {
                let mut remotes = own.remotes.iter();
                is_bootstrap
                    || own.remotes.is_empty()
                    || remotes.any(|remote| !remote.has_other_name(url))
            };
            let urls: Vec<RepositoryUrl> = urls.into_iter().filter(is_likely).collect();
            own.deployed.extend(urls);
        }
    }

    fn relate_sources(&mut self, set: &SourceSet) {
        let own = &self.own;
        for source in &mut self.sources {
            let own = own.get(&root_of_file(set, source.path));
            source.relation = match (&source.url, own) {
                (Some(url), Some(own)) => own.relation(url),
                _ => Relation::Unknown,
            };
        }
        let relation = |position: &usize| self.sources.get(*position).map(|source| source.relation);
        for below in self.places.values_mut().flat_map(HashMap::values_mut) {
            let mut relations = below.members.iter().filter_map(relation);
            let first = relations.next().unwrap_or(Relation::Unknown);
            let is_same = relations.all(|relation| relation == first);
            below.relation = if is_same { first } else { Relation::Unknown };
        }
    }

    fn add_found(&mut self, set: &SourceSet, object: &Object<'t>) {
        for NamedSource { node, name } in named_sources(object) {
            let path = node.get("path").and_then(NodeRef::text);
            let parts = path.and_then(deployed_folder::parts).unwrap_or_default();
            if !parts.is_empty() && self.folder(set, object, &name, &parts).is_some() {
                self.found.insert(name.text());
            }
        }
    }

    /// Returns the folder that an object deploys from a source; `None` if it is not in the tree. `parts` is its path in
    /// the repository.
    pub(crate) fn folder(
        &self,
        set: &SourceSet,
        object: &Object<'t>,
        name: &SourceName<'t>,
        parts: &[&str],
    ) -> Option<String> {
        match self.place(set, object, name, parts.is_empty()) {
            SourcePlace::Here => self.resolve(set, object.path(), parts),
            SourcePlace::InRun(root) => deployed_folder::below(set, &root, parts),
            SourcePlace::Elsewhere { .. } => None,
        }
    }

    /// Resolves a path in the repository of a file. Each is resolved once, because several questions depend on it.
    fn resolve(&self, set: &SourceSet, file: &Arc<str>, parts: &[&str]) -> Option<String> {
        let key = (Arc::clone(file), parts.join("/"));
        let lock = || self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        let found = lock().get(&key).cloned();
        found.unwrap_or_else(|| {
            let folder = deployed_folder::resolve(set, file, parts);
            lock().insert(key, folder.clone());
            folder
        })
    }

    /// Returns whether the tree contains the folder that an object deploys from a source.
    pub fn contains(
        &self,
        set: &SourceSet,
        object: &Object<'t>,
        name: &SourceName<'t>,
        path: &str,
    ) -> bool {
        let parts = deployed_folder::parts(path);
        parts.is_some_and(|parts| self.folder(set, object, name, &parts).is_some())
    }

    /// Returns the place of a source that an object names. `is_whole` means that the object deploys the root of the
    /// repository, which exists in every repository.
    pub fn place(
        &self,
        set: &SourceSet,
        object: &Object<'t>,
        name: &SourceName<'t>,
        is_whole: bool,
    ) -> SourcePlace {
        let (relation, url, shown) = match name {
            SourceName::Url(text) => {
                let url = RepositoryUrl::parse(text);
                let own = self.own.get(&root_of(set, object));
                let relation = match (&url, own) {
                    (Some(url), Some(own)) => own.relation(url),
                    _ => Relation::Unknown,
                };
                (relation, url, Some(without_user(text)))
            }
            SourceName::Flux { .. } => {
                let nearest = self.nearest(object, name);
                let relation = nearest.map_or(Relation::Unknown, |(_, relation)| relation);
                let source = nearest.map(|(source, _)| source);
                let url = source.and_then(|source| source.url.clone());
                (
                    relation,
                    url,
                    source.and_then(|source| source.shown.clone()),
                )
            }
        };
        let is_other = match relation {
            Relation::Own => false,
            Relation::Other => true,
            Relation::Unknown => {
                let is_known = self.found.is_empty() || self.found.contains(name.text());
                is_whole && !(name.may_be_git() && is_known)
            }
        };
        if !is_other {
            return SourcePlace::Here;
        }
        let mut others = self.own.iter();
        let other = url.and_then(|url| others.find(|(_, own)| own.contains(&url)));
        match other {
            Some((root, _)) => SourcePlace::InRun(Arc::clone(root)),
            None => SourcePlace::Elsewhere {
                title: title(name, shown.as_deref()),
                url: shown,
                is_certain: relation == Relation::Other,
            },
        }
    }

    /// Returns the nearest source that an object may name, and the relation of all that are equally near.
    fn nearest(
        &self,
        object: &Object<'t>,
        name: &SourceName<'t>,
    ) -> Option<(&FluxSource<'t>, Relation)> {
        let SourceName::Flux {
            kind,
            name,
            namespace,
        } = *name
        else {
            return None;
        };
        let scopes = match namespace {
            Some(namespace) => [Scope::In(namespace), Scope::Unknown],
            None => [Scope::Any, Scope::Any],
        };
        let known = scopes.map(|scope| self.places.get(&(kind, name, scope)));
        if known.iter().all(Option::is_none) {
            return None;
        }
        let below = self.places_of(object).find_map(|place| {
            let mut known = known.iter().flatten();
            known.find_map(|known| known.get(&place))
        })?;
        let first = below.members.first()?;
        Some((self.sources.get(*first)?, below.relation))
    }
}

/// Returns how many folders a path is below the highest ones.
fn depth(folder: &str) -> usize {
    let names = folder.split('/').filter(|name| !name.is_empty());
    let (above, below): (Vec<&str>, Vec<&str>) = names.partition(|name| *name == "..");
    // Fewer leading `..` are deeper.
    (below.len() + 1_000_000).saturating_sub(above.len())
}

fn root_of(set: &SourceSet, object: &Object<'_>) -> Arc<str> {
    root_of_file(set, object.path())
}

fn root_of_file(set: &SourceSet, path: &str) -> Arc<str> {
    let root = set.file(path).and_then(|file| file.repository.clone());
    root.unwrap_or_default()
}

fn title(name: &SourceName<'_>, url: Option<&str>) -> String {
    match (name, url) {
        (SourceName::Flux { kind, name, .. }, Some(url)) => format!("{kind} `{name}` (`{url}`)"),
        (SourceName::Flux { kind, name, .. }, None) => format!("{kind} `{name}`"),
        (SourceName::Url(_), url) => format!("`{}`", url.unwrap_or_default()),
    }
}

/// Returns a URL without the user and password.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    match scheme {
        "ssh" => url.to_owned(),
        _ => format!("{scheme}://{host}{path}"),
    }
}
