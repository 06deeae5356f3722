//! What brings a folder of the tree into a cluster: Flux Kustomizations and Argo CD Applications.
//!
//! Everything that one of them deploys belongs together, and lies where the deploying file lies:
//! `apps/overlays/prod` deployed from `clusters/prod` is near to what else is in `clusters/prod`.

use std::sync::Arc;

use crate::kube::Object;
use crate::source::placeholder;
use crate::yaml::NodeRef;

/// A folder and the file that deploys it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deployment<'t> {
    /// The folder, with `/` at its end; empty for the whole tree.
    folder: String,
    /// The file that deploys it.
    pub(super) file: &'t Arc<str>,
    /// The namespace of what names none.
    pub(super) namespace: Option<&'t str>,
}

impl<'t> Deployment<'t> {
    /// Returns the folders that an object deploys; none if it is no such object.
    pub(super) fn of(object: &Object<'t>) -> Vec<Self> {
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
            _ => return Vec::new(),
        };
        let namespace = namespace
            .and_then(NodeRef::as_str)
            .filter(|text| is_plain(text));
        let paths = paths.into_iter().flatten().filter_map(NodeRef::as_str);
        // The whole tree is no place of its own.
        let folders = paths
            .filter(|path| is_plain(path))
            .map(folder)
            .filter(|folder| !folder.is_empty());
        folders
            .map(|folder| Self {
                folder,
                file: object.path(),
                namespace,
            })
            .collect()
    }

    /// The path is written from the root of the repository, which may be any folder that holds
    /// the deploying file.
    fn takes(&self, path: &str) -> bool {
        let ends = self.file.match_indices('/').map(|(at, _)| at + 1);
        let mut roots = std::iter::once(0).chain(ends);
        roots.any(|end| {
            let root = self.file.get(..end).unwrap_or_default();
            let rest = path.strip_prefix(root);
            rest.is_some_and(|rest| rest.starts_with(&self.folder))
        })
    }
}

/// Returns the deployments that take a file in: those of the deepest folder.
pub(super) fn deploying<'d, 't>(
    deployments: &'d [Deployment<'t>],
    path: &str,
) -> impl Iterator<Item = &'d Deployment<'t>> {
    let taking = |one: &&Deployment<'t>| one.takes(path);
    let deepest = deployments
        .iter()
        .filter(taking)
        .map(|one| one.folder.len())
        .max();
    let taking: Vec<_> = deployments.iter().filter(taking).collect();
    taking
        .into_iter()
        .filter(move |one| Some(one.folder.len()) == deepest)
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
