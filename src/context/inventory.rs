//! The objects of all documents, sorted into those that state facts and those that are judged.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::kube::{
    Object, PeerAuthentication, Workload, may_bring_pods, nearness, workload_selector,
};
use crate::mesh::Mesh;
use crate::mesh::istio::install::{self, PlainFile};
use crate::mesh::signs;
use crate::settings::Settings;
use crate::source::place::{folder, is_within};
use crate::source::{Content, Role, SourceFile, SourceSet};
use crate::yaml::Tree;

use super::deployment::{self, Deployments};
use super::envoy_filter::inbound_patch;
use super::fact_kind::FactKind;
use super::facts::{Facts, Place};
use super::port_index::PortIndex;
use super::render::Rendering;
use super::scope::Forks;
use super::service::service_selector;
use super::unrendered::{self, RenderedDocuments, Standing, UncheckedPolicy, Unrendered};

/// A workload and whether it is to be reported.
#[derive(Clone, Debug)]
pub struct Subject<'t> {
    /// The workload.
    pub workload: Workload<'t>,
    /// Findings about it are wanted: it is not only context.
    pub is_target: bool,
}

/// An object of a mesh.
#[derive(Debug)]
pub(super) struct OtherSign<'t> {
    /// Whose it is.
    pub(super) mesh: Mesh,
    /// It only defines such objects.
    pub(super) is_definition: bool,
    pub(super) object: Object<'t>,
}

/// The objects of a run.
#[derive(Debug, Default)]
pub struct Inventory<'t> {
    /// Every workload.
    pub workloads: Facts<'t, Subject<'t>>,
    /// `v1` Namespaces, by their own names.
    pub namespaces: Facts<'t, Object<'t>>,
    /// `v1` Services.
    pub services: Facts<'t, Object<'t>>,
    /// `PeerAuthentication`s of `security.istio.io`.
    pub peer_authentications: Facts<'t, Object<'t>>,
    /// `AuthorizationPolicy`s of `security.istio.io`.
    pub authorization_policies: Facts<'t, Object<'t>>,
    /// `NetworkPolicy`s of `networking.k8s.io`.
    pub network_policies: Facts<'t, Object<'t>>,
    /// Objects that show that their namespace is part of the mesh: `Sidecar`.
    pub mesh_signs: Facts<'t, Object<'t>>,
    /// `EnvoyFilter`s of `networking.istio.io`.
    pub envoy_filters: Vec<Object<'t>>,
    /// Those of them that change inbound filter chains of sidecars, sorted as if all stood in one namespace.
    pub(super) inbound_filters: Facts<'t, Object<'t>>,
    /// Objects of `authentication.istio.io`, which no release since 1.6 reads.
    pub legacy_policies: Vec<Object<'t>>,
    /// `WorkloadGroup`s of `networking.istio.io`: virtual machines of one kind.
    pub workload_groups: Vec<Object<'t>>,
    /// `WorkloadEntry`s of `networking.istio.io`: virtual machines.
    pub workload_entries: Vec<Object<'t>>,
    /// Objects of other tools, which may bring pods that are not in the tree: `HelmRelease`,
    /// `Kafka` and their like.
    pub makers: Vec<Object<'t>>,
    /// Objects of any mesh that are not kept elsewhere, and definitions of such.
    pub(super) other_signs: Facts<'t, OtherSign<'t>>,
    /// What policies and Services say of single ports.
    pub(super) ports: PortIndex<'t>,
    /// Where environments lie side by side.
    pub(super) forks: Forks,
    /// Objects that state how the mesh is installed, or that those refer to.
    pub installations: Vec<Object<'t>>,
    /// Files without Kubernetes objects: Helm values, `Chart.yaml`.
    pub plain_files: Vec<PlainFile<'t>>,
    rendered: RenderedDocuments<'t>,
    /// The documents that are checked as they are written although a kustomization names them.
    unrendered: HashMap<(&'t str, usize), Unrendered>,
    /// Policies that are not taken into account because of a kustomization.
    pub unchecked: Vec<UncheckedPolicy>,
    /// The overlays that are to be reported on, whatever files they take in.
    target_overlays: BTreeSet<&'t Arc<str>>,
}

/// How the kustomizations of the tree use a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// How many render it.
    pub count: usize,
    /// One of them changes it, or drops it.
    pub changed: bool,
}

fn is_target(sources: &SourceSet, path: &str) -> bool {
    sources
        .file(path)
        .is_some_and(|file| file.role == Role::Target)
}

impl<'t> Inventory<'t> {
    /// Sorts the objects of all documents. Patches of kustomizations are not objects, unless [`Unrendered`] says so;
    /// what a kustomization takes in is seen as it comes out of it, but for what says how the
    /// mesh is installed.
    #[must_use]
    pub fn new(
        sources: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
    ) -> Self {
        // Of facts that are equally near the first may be taken: their order is that of their places.
        let files = sources.by_place();
        let mut inventory = Self {
            plain_files: plain_files(&files),
            rendered: RenderedDocuments::of(sources, renderings),
            ..Self::default()
        };
        let documents = &inventory.rendered;
        let of_file = |file: &&'t SourceFile| met_in(file, documents).collect::<Vec<_>>();
        let of_rendering = |one: &'t Rendering| {
            let is_wanted = is_target(sources, &one.root) || is_target(sources, one.home());
            let objects = one.objects().map(move |object| {
                let is_target = is_wanted || is_target(sources, object.path());
                (object, is_target)
            });
            (is_wanted.then(|| one.home()), objects.collect::<Vec<_>>())
        };
        let (met, rendered) = rayon::join(
            || files.par_iter().flat_map_iter(of_file).collect::<Vec<_>>(),
            || renderings.par_iter().map(of_rendering).collect::<Vec<_>>(),
        );
        let mut objects = Vec::with_capacity(met.len());
        for Met {
            object,
            is_target,
            standing,
        } in met
        {
            if install::concerns(&object) {
                inventory.installations.push(object.clone());
            }
            match standing {
                Standing::Manifest(why) => {
                    let key = (&**object.path(), object.document.index);
                    inventory.unrendered.extend(why.map(|why| (key, why)));
                    objects.push((object, is_target));
                }
                Standing::Unchecked(why) if is_target => {
                    let policy = unrendered::unchecked(&object, why, renderings, settings);
                    inventory.unchecked.push(policy);
                }
                Standing::Unchecked(_) | Standing::Rendered | Standing::Patch => {}
            }
        }
        for (overlay, rendered) in rendered {
            inventory.target_overlays.extend(overlay);
            objects.extend(rendered);
        }
        let objects = deployed(sources, renderings, objects);
        inventory.forks = Forks::of(objects.iter().map(|(object, _)| object));
        for (object, is_target) in objects {
            let (namespace, _) = namespace_of(&object, settings);
            let place = Place {
                namespace,
                environment: inventory.forks.environment(object.home()),
                folder: folder(object.home()),
            };
            inventory.add(place, object, is_target);
        }
        for policy in &mut inventory.unchecked {
            policy.look_at(&inventory.workloads, settings);
        }
        inventory.ports = PortIndex::of(&inventory.peer_authentications, &inventory.services);
        inventory.services.index_labels(service_selector);
        inventory.inbound_filters.index_labels(workload_selector);
        let policies = [
            &mut inventory.peer_authentications,
            &mut inventory.authorization_policies,
        ];
        for policies in policies {
            policies.index_labels(|policy| PeerAuthentication::of(policy).selector());
        }
        inventory
    }

    /// Tells whether a kustomization, or what deploys it, is to be reported on, whatever files it
    /// takes in.
    #[must_use]
    pub fn is_target_overlay(&self, path: &Arc<str>) -> bool {
        self.target_overlays.contains(path)
    }

    /// Returns how the kustomizations of the tree use a document; `None` if none does.
    #[must_use]
    pub fn uses_of(&self, path: &str, document: usize) -> Option<Uses> {
        self.rendered.uses_of((path, document))
    }

    /// Returns why a document is checked as it is written although a kustomization names it; `None` for all others.
    #[must_use]
    pub fn unrendered(&self, path: &str, document: usize) -> Option<Unrendered> {
        self.unrendered.get(&(path, document)).copied()
    }

    fn add(&mut self, place: Place<'t>, object: Object<'t>, is_target: bool) {
        let facts = match FactKind::of(object.group(), object.kind) {
            Some(FactKind::Namespace) => {
                let namespace = object.name();
                return self.namespaces.push(Place { namespace, ..place }, object);
            }
            Some(FactKind::Service) => &mut self.services,
            Some(FactKind::PeerAuthentication) => &mut self.peer_authentications,
            Some(FactKind::AuthorizationPolicy) => &mut self.authorization_policies,
            Some(FactKind::NetworkPolicy) => &mut self.network_policies,
            Some(FactKind::Sidecar) => &mut self.mesh_signs,
            Some(FactKind::EnvoyFilter) => {
                if inbound_patch(&object).is_some() {
                    let place = Place {
                        namespace: "",
                        ..place
                    };
                    self.inbound_filters.push(place, object.clone());
                }
                return self.envoy_filters.push(object);
            }
            Some(FactKind::WorkloadGroup) => return self.workload_groups.push(object),
            Some(FactKind::WorkloadEntry) => return self.workload_entries.push(object),
            Some(FactKind::LegacyPolicy) => return self.legacy_policies.push(object),
            Some(
                FactKind::OfMesh | FactKind::Definition | FactKind::Workload | FactKind::Maker,
            )
            | None => return self.add_by_content(place, object, is_target),
        };
        facts.push(place, object);
    }

    /// Takes an object whose content decides what it is, if it is anything.
    fn add_by_content(&mut self, place: Place<'t>, object: Object<'t>, is_target: bool) {
        if let Some((mesh, is_definition)) = signs::of_object(&object) {
            let sign = OtherSign {
                mesh,
                is_definition,
                object,
            };
            self.other_signs.push(place, sign);
        } else if let Some(workload) = Workload::from_object(&object) {
            let subject = Subject {
                workload,
                is_target,
            };
            self.workloads.push(place, subject);
        } else if may_bring_pods(object.group(), object.kind) {
            self.makers.push(object);
        }
    }
}

/// An object as it is written.
struct Met<'t> {
    object: Object<'t>,
    is_target: bool,
    standing: Standing,
}

/// Iterates over the objects of a file that are more than parts of others.
fn met_in<'t>(
    file: &'t SourceFile,
    documents: &RenderedDocuments<'t>,
) -> impl Iterator<Item = Met<'t>> {
    let is_target = file.role == Role::Target;
    let objects = file.documents.iter().flat_map(Object::all_in);
    objects
        .map(move |object| Met {
            standing: documents.standing(&object),
            object,
            is_target,
        })
        .filter(|met| met.standing != Standing::Patch)
}

/// Returns the namespace of an object and whether it is written, or given by an option.
pub(super) fn namespace_of<'t>(object: &Object<'t>, settings: &'t Settings) -> (&'t str, bool) {
    let given = settings.namespace.as_deref();
    let deployed = || Some(object.destination.as_ref()?.namespace);
    match object.namespace().or(given).or_else(deployed) {
        Some(namespace) => (namespace, true),
        None => ("default", false),
    }
}

/// Moves objects to the file that deploys them as they stand; one that several clusters deploy is
/// there in each of them.
fn deployed<'t>(
    sources: &SourceSet,
    renderings: &[Rendering],
    objects: Vec<(Object<'t>, bool)>,
) -> Vec<(Object<'t>, bool)> {
    let folders = |is_wanted: fn(&Rendering) -> bool| -> BTreeSet<&str> {
        let wanted = renderings.iter().filter(|one| is_wanted(one));
        let deployed = wanted.filter_map(|one| one.deployed.as_ref());
        deployed.map(|deployed| deployed.folder.as_str()).collect()
    };
    let rendered = folders(|_| true);
    let left_out = folders(|one| one.left_out.is_some() && one.used.is_empty());
    let all = deployment::all(sources, objects.iter().map(|(object, _)| object));
    let deployments = Deployments::new(all, &rendered, &left_out);
    let homes: BTreeSet<&str> = renderings
        .iter()
        .filter_map(|one| Some(&*one.deployed.as_ref()?.file))
        .collect();
    let mut placed = Vec::with_capacity(objects.len());
    // Objects of one folder mostly come one after the other.
    let (mut last, mut taking, mut is_shared) = (None, Vec::new(), false);
    for (object, is_target) in objects {
        let is_placed = object.rendered_by.is_some() && homes.contains(object.home());
        let here = Some(folder(object.home()));
        if here != last {
            last = here;
            taking = deployments.taking(object.home()).collect();
            is_shared = taking.len() > 1;
            let mut targets = HashSet::new();
            taking.retain(|(_, deployment)| targets.insert(deployment.target()));
        }
        if is_placed || taking.is_empty() {
            placed.push((0, object, is_target));
            continue;
        }
        for &(number, deployment) in &taking {
            let home = deployment.object.path();
            let moved = Object {
                home,
                overlay: if is_shared {
                    Some(home)
                } else {
                    object.overlay
                },
                destination: deployment.destination.clone(),
                ..object.clone()
            };
            placed.push((number, moved, is_target));
        }
    }
    // What one file deploys, and what one kustomization renders, stays together.
    let mut places: HashMap<&str, String> = HashMap::new();
    for (_, object, _) in &placed {
        for path in object.rendered_by.into_iter().chain(object.overlay) {
            places.entry(path).or_insert_with(|| sources.place(path));
        }
    }
    let place = |path: Option<&'t Arc<str>>| path.and_then(|path| places.get(&**path));
    placed.sort_by_cached_key(|(number, object, _)| {
        (place(object.rendered_by), place(object.overlay), *number)
    });
    let placed = placed.into_iter();
    placed
        .map(|(_, object, is_target)| (object, is_target))
        .collect()
}

/// Returns the files that hold no Kubernetes objects: a values file states facts too.
/// A file counts by its first document.
fn plain_files<'t>(files: &[&'t SourceFile]) -> Vec<PlainFile<'t>> {
    let files = files.iter().filter_map(|file| {
        let Content::Plain(tree) = &file.documents.first()?.content else {
            return None;
        };
        let root = Tree::root(tree)?;
        Some(PlainFile {
            path: &file.path,
            place: file.lies_at.as_deref().and_then(Path::to_str),
            root,
        })
    });
    files.collect()
}

/// Returns those of `candidates` whose file shares the longest folder path with `path`; a file's
/// own documents are nearest of all.
pub(super) fn nearest<'a, 't>(
    candidates: impl Iterator<Item = &'a Object<'t>>,
    path: &str,
) -> Vec<&'a Object<'t>>
where
    't: 'a,
{
    let mut best = Vec::new();
    let mut best_score = None;
    let mut candidates = candidates.peekable();
    while let Some(candidate) = candidates.next() {
        // Mostly there is no other.
        if best.is_empty() && candidates.peek().is_none() {
            return vec![candidate];
        }
        let score = Some(nearness(candidate.home(), path));
        if score > best_score {
            best.clear();
            best_score = score;
        }
        if score == best_score {
            best.push(candidate);
        }
    }
    best
}

/// Tells whether one of two files lies in the folder of the other, or below it: only such files
/// are taken to mean the same namespace when they name none.
pub(super) fn are_related(one: &str, other: &str) -> bool {
    let (one, other) = (folder(one), folder(other));
    is_within(one, other) || is_within(other, one)
}

#[cfg(test)]
mod tests {
    use super::are_related;

    #[test]
    fn files_are_related_along_one_line_of_folders() {
        assert!(are_related("a/b/x.yaml", "a/b/y.yaml"));
        assert!(are_related("a/b/x.yaml", "a/ns.yaml"));
        assert!(are_related("x.yaml", "a/ns.yaml"));
        assert!(!are_related("a/b/x.yaml", "a/c/y.yaml"));
        assert!(!are_related("a/bc/x.yaml", "a/b/y.yaml"));
    }
}
