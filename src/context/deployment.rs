//! What brings a folder of the tree into a cluster: Flux Kustomizations and Argo CD Applications.
//!
//! Everything that one of them deploys belongs together, and lies where the deploying file lies:
//! `apps/overlays/prod` deployed from `clusters/prod` is near to what else is in `clusters/prod`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::kube::Object;
use crate::source::placeholder;
use crate::yaml::NodeRef;

/// Fields of a Flux Kustomization that change pod templates or names.
/// Source: Flux, `kustomize.toolkit.fluxcd.io/v1`.
const FLUX_CHANGES: [&str; 4] = ["patches", "components", "commonMetadata", "postBuild"];

/// A folder and the file that deploys it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deployment<'t> {
    /// The file that deploys it.
    pub(super) file: &'t Arc<str>,
    /// The namespace of what names none.
    pub(super) namespace: Option<&'t str>,
    /// The namespace counts for what names another one, too.
    pub(super) overrides: bool,
    /// A field that changes what is deployed, and that is not followed.
    pub(super) unfollowed: Option<&'static str>,
}

/// All deployments of a tree.
#[derive(Debug, Default)]
pub(super) struct Deployments<'t> {
    all: Vec<Deployment<'t>>,
    /// Positions in `all` by the folder that is deployed, with `/` at its end.
    by_folder: HashMap<String, Vec<usize>>,
}

impl<'t> Deployments<'t> {
    /// Finds what deploys folders.
    pub(super) fn of<'a>(objects: impl Iterator<Item = &'a Object<'t>>) -> Self
    where
        't: 'a,
    {
        let mut deployments = Self::default();
        for object in objects {
            deployments.add(object);
        }
        deployments
    }

    fn add(&mut self, object: &Object<'t>) {
        let spec = object.node.get("spec");
        let get = |key: &str| spec.and_then(|spec| spec.get(key));
        let (paths, namespace) = match (object.group(), object.kind) {
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
                (vec![get("path")], get("targetNamespace"))
            }
            ("argoproj.io", "Application") => {
                let sources = get("sources").into_iter().flat_map(NodeRef::items);
                let path = |source: NodeRef<'t>| source.get("path");
                let paths = get("source").into_iter().chain(sources).map(path).collect();
                (
                    paths,
                    get("destination").and_then(|place| place.get("namespace")),
                )
            }
            _ => return,
        };
        let namespace = namespace
            .and_then(NodeRef::as_str)
            .filter(|text| is_plain(text));
        let overrides = object.kind == "Kustomization";
        let own = FLUX_CHANGES.into_iter().find(|key| get(key).is_some());
        let sources = get("sources")
            .into_iter()
            .flat_map(NodeRef::items)
            .chain(get("source"));
        let of_argo = sources.filter_map(|source| source.get("kustomize")).next();
        let unfollowed = if overrides {
            own
        } else {
            of_argo.map(|_| "source.kustomize")
        };
        let file = object.path();
        for path in paths.into_iter().flatten().filter_map(NodeRef::as_str) {
            // The whole tree is no place of its own.
            let folder = folder(path);
            if !is_plain(path) || folder.is_empty() {
                continue;
            }
            // The path is written from the root of the repository, which may be any folder that
            // holds the deploying file.
            let ends = file.match_indices('/').map(|(at, _)| at + 1);
            for end in std::iter::once(0).chain(ends) {
                let root = file.get(..end).unwrap_or_default();
                self.by_folder
                    .entry(format!("{root}{folder}"))
                    .or_default()
                    .push(self.all.len());
            }
            self.all.push(Deployment {
                file,
                namespace,
                overrides,
                unfollowed,
            });
        }
    }

    /// Returns the deployments that take a file in: those of the deepest folder.
    pub(super) fn taking(&self, path: &str) -> impl Iterator<Item = &Deployment<'t>> {
        let ends = path.rmatch_indices('/').map(|(at, _)| at + 1);
        let mut folders = ends.filter_map(|end| self.by_folder.get(path.get(..end)?));
        let found = folders.next().map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(|&index| self.all.get(index))
    }

    /// Returns the first deployment of a file that deploys something.
    pub(super) fn by(&self, file: &Arc<str>) -> Option<&Deployment<'t>> {
        self.all.iter().find(|one| Arc::ptr_eq(one.file, file))
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !placeholder::contains(text)
}

/// `./apps/prod` and `/apps/prod/` are `apps/prod/`.
fn folder(path: &str) -> String {
    let trimmed = path.trim_start_matches("./").trim_matches('/');
    match trimmed {
        "" | "." => String::new(),
        folder => format!("{folder}/"),
    }
}
