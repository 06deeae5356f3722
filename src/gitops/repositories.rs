//! Decides in which repository the source of a deployed folder is.
//!
//! The URLs of a repository are those of its remotes, and those from which it is deployed: the source of a Kustomization
//! or an Application in the folder that it deploys, such as that of `flux bootstrap`. A source with another URL is another
//! repository. If one of the URLs is not known, the source counts as this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::gitops::deployed_folder;
use crate::gitops::named_source::{NamedSource, SourceName, named_sources};
use crate::gitops::repository_url::{RepositoryUrl, Storage};
use crate::kube::{Object, nearness};
use crate::source::{SourceSet, paths};
use crate::yaml::NodeRef;

/// The name of the objects that `flux bootstrap` writes.
const BOOTSTRAP: &str = "flux-system";

/// The repositories of a run, and the sources that objects deploy from.
#[derive(Debug, Default)]
pub(crate) struct Repositories<'t> {
    /// By displayed root; empty without a root.
    own: BTreeMap<Arc<str>, OwnUrls>,
    /// By kind and name.
    sources: HashMap<(&'t str, &'t str), Vec<FluxSource<'t>>>,
    /// The names of the sources whose folders are in the tree.
    found: BTreeSet<&'t str>,
}

/// The URLs of a repository.
#[derive(Debug, Default)]
struct OwnUrls {
    remotes: BTreeSet<RepositoryUrl>,
    /// Those from which objects deploy themselves.
    deployed: BTreeSet<RepositoryUrl>,
}

/// A source of Flux in the tree.
#[derive(Debug)]
struct FluxSource<'t> {
    namespace: Option<&'t str>,
    files: [&'t Arc<str>; 2],
    url: Option<RepositoryUrl>,
    shown: Option<String>,
    relation: Relation,
}

/// How a source relates to the repository of the object that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Own,
    Unknown,
    Other,
}

/// The place of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourcePlace {
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
    pub(crate) fn of<'a>(
        set: &SourceSet,
        objects: impl Iterator<Item = &'a Object<'t>> + Clone,
    ) -> Self
    where
        't: 'a,
    {
        let mut repositories = Self::default();
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
        let sources = self.sources.entry((object.kind, object.name()));
        sources.or_default().push(FluxSource {
            namespace: object.namespace(),
            files: [object.location_file, object.path()],
            url,
            shown: shown.map(without_user),
            relation: Relation::Unknown,
        });
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
            let folder = deployed_folder::resolve(set, object.path(), &parts);
            if !folder.is_some_and(|folder| paths::contains(&folder, object.path())) {
                continue;
            }
            let urls: Vec<RepositoryUrl> = match name {
                SourceName::Url(url) => RepositoryUrl::parse(url).into_iter().collect(),
                SourceName::Flux { .. } => {
                    let sources = self.candidates(object, &name).into_iter();
                    sources.filter_map(|source| source.url.clone()).collect()
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
        for source in self.sources.values_mut().flatten() {
            let [_, path] = source.files;
            let own = own.get(&root_of_file(set, path));
            source.relation = match (&source.url, own) {
                (Some(url), Some(own)) => own.relation(url),
                _ => Relation::Unknown,
            };
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
            SourcePlace::Here => deployed_folder::resolve(set, object.path(), parts),
            SourcePlace::InRun(root) => deployed_folder::below(set, &root, parts),
            SourcePlace::Elsewhere { .. } => None,
        }
    }

    /// Returns whether the tree contains the folder that an object deploys from a source.
    pub(crate) fn contains(
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
    pub(crate) fn place(
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
                let candidates = self.candidates(object, name);
                let first = candidates.first();
                let relation = first.map_or(Relation::Unknown, |first| {
                    let is_same = |source: &&FluxSource<'_>| source.relation == first.relation;
                    match candidates.iter().copied().all(|source| is_same(&source)) {
                        true => first.relation,
                        false => Relation::Unknown,
                    }
                });
                let url = first.and_then(|source| source.url.clone());
                (relation, url, first.and_then(|source| source.shown.clone()))
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

    /// Returns the sources that an object may name: the nearest in its namespace.
    fn candidates(&self, object: &Object<'t>, name: &SourceName<'t>) -> Vec<&FluxSource<'t>> {
        let SourceName::Flux {
            kind,
            name,
            namespace,
        } = *name
        else {
            return Vec::new();
        };
        let all = self.sources.get(&(kind, name)).map(Vec::as_slice);
        let mut found: Vec<&FluxSource<'t>> = all.unwrap_or_default().iter().collect();
        found.retain(|source| match (source.namespace, namespace) {
            (Some(left), Some(right)) => left == right,
            _ => true,
        });
        let is_uniform = found
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a.url == b.url && a.relation == b.relation));
        if is_uniform {
            return found;
        }
        let near = |source: &FluxSource<'_>| {
            let pairs = source.files.into_iter();
            let pairs = pairs.map(|file| {
                nearness(file, object.location_file).max(nearness(file, object.path()))
            });
            pairs.max()
        };
        let best = found.iter().map(|source| near(source)).max();
        found.retain(|source| Some(near(source)) == best);
        found
    }
}

impl OwnUrls {
    fn contains(&self, url: &RepositoryUrl) -> bool {
        self.deployed.contains(url) || self.remotes.contains(url)
    }

    fn relation(&self, url: &RepositoryUrl) -> Relation {
        if self.contains(url) {
            return Relation::Own;
        }
        let of_storage = |all: &BTreeSet<RepositoryUrl>| -> Vec<RepositoryUrl> {
            let same = all.iter().filter(|own| own.storage == url.storage);
            same.cloned().collect()
        };
        let (deployed, remotes) = (of_storage(&self.deployed), of_storage(&self.remotes));
        let is_other = if !deployed.is_empty() {
            deployed.iter().all(|own| own.differs_from(url))
        } else if !remotes.is_empty() {
            remotes.iter().all(|own| own.has_other_name(url))
        } else {
            let mut all = self.deployed.iter().chain(&self.remotes).peekable();
            let is_known = url.storage == Storage::Oci && all.peek().is_some();
            is_known && all.all(|own| url.has_other_owner(own))
        };
        match is_other {
            true => Relation::Other,
            false => Relation::Unknown,
        }
    }
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
