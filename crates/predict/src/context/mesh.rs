//! Decides which mesh a workload belongs to.
//!
//! The option decides, else the strongest evidence in the tree, pod by pod: a tree may contain
//! several meshes. Without evidence of another mesh, a pod belongs to Istio, the first mesh that
//! meshprobe supported.

use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, sentence_list};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_mesh::mesh;
use meshprobe_mesh::mesh::detect::{Evidence, EvidenceStrength, evidence, rivals_of_first};
use meshprobe_mesh::mesh::model::{Membership, MeshModel, PodInput};
use meshprobe_mesh::mesh::{Fact, Mesh, Reason};
use meshprobe_mesh::settings::{InjectionAssumption, MeshKind};

use super::fact_cache;
use super::namespace::NamespaceOf;
use super::nearest::nearest;
use super::run_context::Context;

const SETTLE: &str = "--mesh NAME";

/// A pod of a mesh other than Istio.
pub struct OtherMeshPod<'a, 't> {
    /// The model of its mesh.
    pub model: &'static dyn MeshModel,
    /// The input of the model.
    pub input: PodInput<'a, 't>,
    /// How it takes part in the mesh.
    pub membership: Fact<Membership>,
}

/// The mesh of a workload.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadMesh<'c, 't> {
    pub(in crate::context) context: &'c Context<'t>,
    pub(in crate::context) workload: &'c Workload<'t>,
}

impl<'t> Context<'t> {
    /// Returns the mesh of a workload.
    #[must_use]
    pub const fn mesh_of<'c>(&'c self, workload: &'c Workload<'t>) -> WorkloadMesh<'c, 't> {
        WorkloadMesh {
            context: self,
            workload,
        }
    }
}

impl<'c, 't> WorkloadMesh<'c, 't> {
    /// Returns the mesh of a workload; `None` if an option states that there is no mesh.
    #[must_use]
    pub fn decide(self) -> Fact<Option<Mesh>> {
        match self.context.settings.mesh {
            MeshKind::None => Fact::settled(None, "no mesh (--mesh none)"),
            MeshKind::One(mesh) => {
                let message = format!("{} (--mesh {})", mesh.title(), mesh.as_str());
                let mut fact = Fact::settled(Some(mesh), message);
                fact.because.extend(self.overridden_evidence(mesh));
                fact
            }
            MeshKind::Ambient => Fact::settled(Some(Mesh::ISTIO), "Istio (--mesh ambient)"),
            MeshKind::Auto => match self.context.mesh {
                Some(mesh) => Fact::settled(Some(mesh), format!("{} (assumed)", mesh.title())),
                None => Fact::clone(&self.detect()).map(Some),
            },
        }
    }

    /// Returns the mesh of a workload without its provenance.
    fn name(self) -> Option<Mesh> {
        match self.context.settings.mesh {
            MeshKind::None => None,
            MeshKind::One(mesh) => Some(mesh),
            MeshKind::Ambient => Some(Mesh::ISTIO),
            MeshKind::Auto => Some(self.context.mesh.unwrap_or_else(|| self.detect().value)),
        }
    }

    /// Returns the mesh with the strongest evidence in the tree. Caches the result.
    fn detect(self) -> Arc<Fact<Mesh>> {
        let namespace = self.namespace().name;
        let key = fact_cache::pod_key(self.workload, namespace);
        let work_out = || Arc::new(self.by_evidence());
        self.context.fact_cache.meshes.of(key, work_out)
    }

    /// Returns the evidence of another mesh that the option overrides.
    fn overridden_evidence(self, mesh: Mesh) -> Option<Reason> {
        let signs = evidence(self.workload, self.namespace().manifest());
        let mut other = signs
            .into_iter()
            .filter(|sign| sign.mesh != mesh)
            .find(|sign| sign.weight >= EvidenceStrength::Namespace)?;
        other.place.message = format!("{}; the option overrides it", other.place.message);
        Some(Reason::written(other.place))
    }

    fn by_evidence(self) -> Fact<Mesh> {
        let namespace = self.namespace().manifest();
        let mut all = evidence(self.workload, namespace);
        all.extend(self.script_evidence());
        // Without evidence of another mesh there is nothing to compare.
        let is_open = all.iter().any(|sign| sign.mesh != Mesh::ISTIO);
        if is_open || !self.context.inventory.mesh_objects.is_empty() {
            all.extend(self.nearest_objects().iter().cloned());
            if all.is_empty() {
                let object = &self.workload.object;
                let home = object.location_file();
                let key = (fact_cache::file_key(home), fact_cache::cluster_key(object));
                let work_out = || self.evidence_in_cluster(home);
                all.extend(self.context.fact_cache.signs.of(key, work_out));
            }
        }
        // The sort is stable: of equal evidence, the order of the meshes and of the files decides.
        all.sort_by_key(Evidence::rank);
        let Some(first) = all.first() else {
            let message = "the tree has no evidence of a mesh other than Istio";
            return Fact::default(Mesh::ISTIO, message, SETTLE);
        };
        let fact = Fact::known(first.mesh, first.place.clone());
        let mut rivals = rivals_of_first(&all);
        rivals.retain(|rival| self.may_be_injected_by(rival.mesh));
        match rivals.is_empty() {
            true => fact,
            false => with_rivals(fact, &rivals),
        }
    }

    /// Returns the command of a script that adds the namespace to a mesh, as evidence.
    fn script_evidence(self) -> Option<Evidence> {
        let label = self.namespace().script_label()?;
        Some(Evidence {
            mesh: label.mesh,
            weight: EvidenceStrength::Namespace,
            place: label.place.clone(),
        })
    }

    /// Returns that a script adds the namespace to a mesh, as an assumption.
    fn injection_by_script(self, mesh: Mesh) -> Option<Fact<bool>> {
        let label = self
            .namespace()
            .script_label()
            .filter(|label| label.mesh == mesh)?;
        let message = format!(
            "a command sets `{}` on namespace `{}`",
            label.key,
            self.namespace().name
        );
        let mut fact = Fact::assumed(true, message, Some("--override injection=all|none"));
        fact.because.push(Reason::written(label.place.clone()));
        Some(fact)
    }

    /// Returns the namespace of the workload.
    pub(in crate::context) fn namespace(self) -> NamespaceOf<'c, 't> {
        self.context.namespace_of(&self.workload.object)
    }

    /// Returns the nearest object of each mesh in the namespace of a workload. Caches the result.
    fn nearest_objects(self) -> Arc<[Evidence]> {
        let scope = self.namespace().key();
        let work_out = || self.find_nearest_objects().into();
        self.context
            .fact_cache
            .objects_in_namespace
            .of(scope, work_out)
    }

    fn find_nearest_objects(self) -> Vec<Evidence> {
        let inventory = &self.context.inventory;
        let namespace = self.namespace();
        let home = self.workload.object.location_file();
        let istio = namespace
            .facts(&inventory.peer_authentications)
            .chain(namespace.facts(&inventory.authorization_policies))
            .chain(namespace.facts(&inventory.sidecar_resources))
            .map(|object| (Mesh::ISTIO, object));
        let others = &inventory.mesh_objects;
        let others = others
            .near(namespace.name, &inventory.environments, home)
            .map(|(_, sign)| sign)
            .filter(|sign| !sign.is_definition && namespace.is_that_of(&sign.object))
            .filter(|sign| sign.object.may_share_cluster(namespace.object))
            .map(|sign| (sign.mesh, &sign.object));
        let all: Vec<(Mesh, &Object<'t>)> = istio.chain(others).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let nearest_of = |mesh: Mesh| {
            let mine = all.iter().filter(|(other, _)| *other == mesh);
            let found = nearest(mine.map(|(_, object)| *object), home);
            Some(evidence_of(mesh, EvidenceStrength::Object, found.first()?))
        };
        mesh::all().filter_map(nearest_of).collect()
    }

    /// Returns the first mesh with an object that may belong to the cluster of a file. This is the
    /// weakest evidence, used only if there is no other.
    fn evidence_in_cluster(self, home: &str) -> Option<Evidence> {
        let inventory = &self.context.inventory;
        let environments = &inventory.environments;
        let istio = inventory
            .peer_authentications
            .all_near(environments, home)
            .chain(
                inventory
                    .authorization_policies
                    .all_near(environments, home),
            )
            .chain(inventory.sidecar_resources.all_near(environments, home))
            .filter(|object| object.may_share_cluster(&self.workload.object));
        if let Some(object) = nearest(istio, home).first() {
            return Some(evidence_of(Mesh::ISTIO, EvidenceStrength::Install, object));
        }
        let mut planes = self.context.control_planes.iter();
        if let Some(plane) = planes.find(|plane| {
            environments.may_apply(&plane.place.path, home)
                && self.context.is_in_cluster(plane, &self.workload.object)
        }) {
            return Some(Evidence {
                mesh: Mesh::ISTIO,
                weight: EvidenceStrength::Install,
                place: plane.place.clone(),
            });
        }
        mesh::all().find_map(|mesh| {
            let mine = inventory
                .mesh_objects
                .all_near(environments, home)
                .filter(|sign| sign.mesh == mesh)
                .filter(|sign| sign.object.may_share_cluster(&self.workload.object));
            let found = nearest(mine.map(|sign| &sign.object), home);
            Some(evidence_of(mesh, EvidenceStrength::Install, found.first()?))
        })
    }

    /// Returns the model of the mesh of a workload, with its input and the membership of the workload.
    /// `None` for Istio and for a mesh without a model.
    pub fn pod(self) -> Option<OtherMeshPod<'c, 't>> {
        let mesh = self.name()?;
        let model = mesh::model_of(mesh)?;
        let namespace_name = self.namespace().name;
        let input = PodInput {
            workload: self.workload,
            namespace: self.namespace().manifest(),
            namespace_name,
            objects: self.objects(mesh),
            release: self.context.mesh_release(mesh, &self.workload.object).value,
            native_sidecars: self.native_sidecars_by_option(),
            supposed: self
                .injection_by_option(model)
                .or_else(|| self.injection_by_script(mesh)),
        };
        let facts = self.namespace().manifests().map(|namespace| {
            let of_environment = PodInput {
                namespace: Some(namespace),
                ..input.clone()
            };
            (namespace, model.membership(&of_environment))
        });
        let is_preferred = |value: Membership| value == Membership::Injected;
        let agreed = self.namespace().agreed(facts.collect(), is_preferred, word);
        let membership = agreed.unwrap_or_else(|| model.membership(&input));
        Some(OtherMeshPod {
            model,
            input,
            membership,
        })
    }

    /// Returns the objects of a mesh other than Istio in the namespace of a workload.
    #[must_use]
    pub fn objects(self, mesh: Mesh) -> Vec<&'c Object<'t>> {
        let object = &self.workload.object;
        let namespace = self.context.namespace_of(object);
        let all = &self.context.inventory.mesh_objects;
        let work_out = || {
            all.near(
                namespace.name,
                &self.context.inventory.environments,
                object.location_file(),
            )
            .filter(|(_, sign)| sign.mesh == mesh && !sign.is_definition)
            .filter(|(_, sign)| namespace.is_that_of(&sign.object))
            .filter(|(_, sign)| sign.object.may_share_cluster(object))
            .map(|(index, _)| index)
            .collect()
        };
        let key = (namespace.key(), mesh);
        let found: Arc<[usize]> = self.context.fact_cache.objects_of_mesh.of(key, work_out);
        found
            .iter()
            .filter_map(|index| all.get(*index))
            .map(|sign| &sign.object)
            .collect()
    }

    /// Returns whether the manifest contains the proxy of a mesh other than Istio, because it was
    /// injected before.
    #[must_use]
    pub fn brings_proxy(self) -> bool {
        let pod = self.pod();
        pod.is_some_and(|pod| pod.membership.value == Membership::AlreadyInjected)
    }

    /// Returns whether the webhook of a mesh other than Istio rejects the pods of a workload.
    #[must_use]
    pub fn is_refused(self) -> bool {
        let pod = self.pod();
        pod.is_some_and(|pod| pod.membership.value == Membership::Refused)
    }

    /// Decides how the pods of a workload take part in a mesh that is not Istio; `None` for
    /// Istio.
    pub(super) fn dataplane(self) -> Option<Fact<Dataplane>> {
        let name = self.name();
        let name = name.filter(|mesh| *mesh != Mesh::ISTIO)?;
        let Some(pod) = self.pod() else {
            let message = format!("{} is not modelled", name.title());
            return Some(Fact::unknown(Dataplane::Unknown, message, None));
        };
        let fact = pod.membership.map(|membership| match membership {
            Membership::Injected | Membership::AlreadyInjected => Dataplane::Other,
            Membership::Outside | Membership::Refused => Dataplane::None,
            Membership::Unknown => Dataplane::Unknown,
        });
        let mesh = self.decide();
        Some(if mesh.certainty < Certainty::Default {
            fact.depending_on(&mesh)
        } else {
            fact
        })
    }
}

/// Returns the word for the membership of a pod in an environment.
const fn word(membership: Membership) -> &'static str {
    match membership {
        Membership::Injected | Membership::AlreadyInjected => "sidecar",
        Membership::Outside => "none",
        Membership::Refused => "rejected",
        Membership::Unknown => "unknown",
    }
}

fn evidence_of(mesh: Mesh, weight: EvidenceStrength, object: &Object<'_>) -> Evidence {
    let message = format!(
        "{} `{}` belongs to {}",
        object.kind,
        object.name(),
        mesh.title()
    );
    let place = object.label_at(object.name_span(), message);
    Evidence {
        mesh,
        weight,
        place,
    }
}

/// Lowers the certainty of the mesh of a pod that other meshes claim, too.
fn with_rivals(fact: Fact<Mesh>, rivals: &[&Evidence]) -> Fact<Mesh> {
    let rivals = rivals.iter();
    let others = rivals.clone().map(|rival| rival.mesh.title());
    let titles: Vec<&str> = std::iter::once(fact.value.title()).chain(others).collect();
    let both = if titles.len() == 2 { "both " } else { "" };
    let message = format!(
        "{both}{} claim the pod; the first is assumed",
        sentence_list(&titles)
    );
    let mut fact = fact.depending_on(&Fact::assumed((), message, Some(SETTLE)));
    let places = rivals.map(|rival| Reason::written(rival.place.clone()));
    fact.because.extend(places);
    fact
}

/// How a pod takes part in the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataplane {
    /// Istio's sidecar in the pod.
    Sidecar,
    /// A gateway or a proxyless template: an agent, but no capture.
    Uncaptured,
    /// Istio's ambient mode.
    Ambient,
    /// The sidecar of a mesh that is not Istio.
    Other,
    /// Not in a mesh.
    None,
    /// The tree does not say.
    Unknown,
}

impl Dataplane {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sidecar | Self::Other => "sidecar",
            Self::Uncaptured => "uncaptured",
            Self::Ambient => "ambient",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether an agent answers rewritten probes.
    #[must_use]
    pub const fn has_agent(self) -> bool {
        matches!(self, Self::Sidecar | Self::Uncaptured)
    }
}

impl WorkloadMesh<'_, '_> {
    /// Returns what an option states about native sidecars.
    pub(super) fn native_sidecars_by_option(self) -> Option<Fact<bool>> {
        let given = self.context.user_facts(&self.workload.object);
        let overriding = given.overrides.native_sidecars;
        let native = overriding.or(given.assume.native_sidecars)?;
        let is_override = overriding.is_some();
        let option = if is_override {
            "--override"
        } else {
            "--assume"
        };
        let not = if native { "" } else { "not " };
        let message = format!("the sidecar is {not}native ({option})");
        Some(Fact::set_by_user(native, message, is_override))
    }

    /// Returns what an option states about injection. `--override` always applies. `--assume` applies
    /// if the tree does not contain the Namespace, or if the mesh does not read it.
    pub(super) fn injection_by_option(self, model: &dyn MeshModel) -> Option<Fact<bool>> {
        let object = &self.workload.object;
        let given = self.context.user_facts(object);
        let name = self.context.namespace_of(object).name;
        let (option, by) = match (given.overrides.injection, given.assume.injection) {
            (Some(option), _) => (option, "--override"),
            (None, Some(option))
                if !model.namespace_decides()
                    || self.context.namespace_of(object).manifest().is_none() =>
            {
                (option, "--assume")
            }
            _ => return None,
        };
        let (injected, not) = match option {
            InjectionAssumption::All => (true, ""),
            InjectionAssumption::None => (false, "not "),
            InjectionAssumption::Evidence => return None,
        };
        let message = format!("namespace `{name}` is {not}injected ({by})");
        Some(Fact::set_by_user(injected, message, by == "--override"))
    }
}
