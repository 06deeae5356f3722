//! Decides which mesh a workload belongs to.
//!
//! The option decides, else the strongest evidence in the tree, pod by pod: a tree may contain
//! several meshes. Without evidence of another mesh, a pod belongs to Istio, the first mesh that
//! meshprobe supported.

use std::sync::Arc;

use crate::context::dataplane::kind::Dataplane;
use crate::context::fact_cache;
use crate::context::nearest::nearest;
use crate::context::run_context::Context;
use crate::finding::Certainty;
use crate::kube::{Object, Workload};
use crate::mesh::detect::{Evidence, EvidenceStrength, evidence};
use crate::mesh::model::{Membership, MeshModel, PodInput};
use crate::mesh::{self, Fact, Mesh, Reason, Version};
use crate::settings::{InjectionAssumption, MeshKind};

const SETTLE: &str = "--mesh NAME";

/// A pod of a mesh other than Istio.
pub(crate) struct OtherMeshPod<'a, 't> {
    /// The model of its mesh.
    pub(crate) model: &'static dyn MeshModel,
    /// The input of the model.
    pub(crate) input: PodInput<'a, 't>,
    /// How it takes part in the mesh.
    pub(crate) membership: Fact<Membership>,
}

impl<'t> Context<'t> {
    /// Returns the mesh of a workload; `None` if an option states that there is no mesh.
    #[must_use]
    pub fn mesh(&self, workload: &Workload<'t>) -> Fact<Option<Mesh>> {
        match self.settings.mesh {
            MeshKind::None => Fact::settled(None, "no mesh (--mesh none)"),
            MeshKind::One(mesh) => {
                let message = format!("{} (--mesh {})", mesh.title(), mesh.as_str());
                let mut fact = Fact::settled(Some(mesh), message);
                fact.because
                    .extend(self.overridden_evidence(workload, mesh));
                fact
            }
            MeshKind::Ambient => Fact::settled(Some(Mesh::ISTIO), "Istio (--mesh ambient)"),
            MeshKind::Auto => Fact::clone(&self.detected_mesh(workload)).map(Some),
        }
    }

    /// Returns the mesh of a workload without its provenance.
    fn mesh_name(&self, workload: &Workload<'t>) -> Option<Mesh> {
        match self.settings.mesh {
            MeshKind::None => None,
            MeshKind::One(mesh) => Some(mesh),
            MeshKind::Ambient => Some(Mesh::ISTIO),
            MeshKind::Auto => Some(self.detected_mesh(workload).value),
        }
    }

    /// Returns the mesh with the strongest evidence in the tree. Caches the result.
    fn detected_mesh(&self, workload: &Workload<'t>) -> Arc<Fact<Mesh>> {
        let (namespace, _) = self.namespace_of(&workload.object);
        let key = fact_cache::pod_key(workload, namespace);
        let work_out = || Arc::new(self.mesh_by_evidence(workload));
        self.fact_cache.meshes.of(key, work_out)
    }

    /// Returns the evidence of another mesh that the option overrides.
    fn overridden_evidence(&self, workload: &Workload<'t>, mesh: Mesh) -> Option<Reason> {
        let signs = evidence(workload, self.namespace_object(&workload.object));
        let mut other = signs
            .into_iter()
            .filter(|sign| sign.mesh != mesh)
            .find(|sign| sign.weight >= EvidenceStrength::Namespace)?;
        other.place.message = format!("{}; the option overrides it", other.place.message);
        Some(Reason::written(other.place))
    }

    fn mesh_by_evidence(&self, workload: &Workload<'t>) -> Fact<Mesh> {
        let namespace = self.namespace_object(&workload.object);
        let mut all = evidence(workload, namespace);
        // Without evidence of another mesh there is nothing to compare.
        let is_open = all.iter().any(|sign| sign.mesh != Mesh::ISTIO);
        if is_open || !self.inventory.mesh_objects.is_empty() {
            all.extend(self.nearest_objects(&workload.object).iter().cloned());
            if all.is_empty() {
                let home = workload.object.location_file();
                let work_out = || self.evidence_in_cluster(home);
                all.extend(
                    self.fact_cache
                        .signs
                        .of(fact_cache::file_key(home), work_out),
                );
            }
        }
        // The sort is stable: of equal evidence, the order of the meshes and of the files decides.
        all.sort_by_key(|sign| (std::cmp::Reverse(sign.weight), mesh::rank_of(sign.mesh)));
        let Some(first) = all.first() else {
            let message = "the tree has no evidence of a mesh other than Istio";
            return Fact::default(Mesh::ISTIO, message, SETTLE);
        };
        let fact = Fact::known(first.mesh, first.place.clone());
        let rival = all
            .iter()
            .find(|sign| sign.mesh != first.mesh && sign.weight >= EvidenceStrength::Namespace);
        match rival {
            Some(rival) if first.weight >= EvidenceStrength::Namespace => with_rival(fact, rival),
            _ => fact,
        }
    }

    /// Returns the nearest object of each mesh in the namespace of a workload. Caches the result.
    fn nearest_objects(&self, workload: &Object<'t>) -> Arc<[Evidence]> {
        let scope = self
            .fact_cache
            .namespace_key(workload, self.namespace_of(workload));
        let work_out = || self.find_nearest_objects(workload).into();
        self.fact_cache.objects_in_namespace.of(scope, work_out)
    }

    fn find_nearest_objects(&self, workload: &Object<'t>) -> Vec<Evidence> {
        let inventory = &self.inventory;
        let istio = self
            .in_namespace_of(&inventory.peer_authentications, workload)
            .chain(self.in_namespace_of(&inventory.authorization_policies, workload))
            .chain(self.in_namespace_of(&inventory.sidecar_resources, workload))
            .map(|object| (Mesh::ISTIO, object));
        let (namespace, _) = self.namespace_of(workload);
        let others = &inventory.mesh_objects;
        let others = others
            .near(namespace, &inventory.environments, workload.location_file())
            .map(|(_, sign)| sign)
            .filter(|sign| !sign.is_definition && self.has_same_namespace(&sign.object, workload))
            .map(|sign| (sign.mesh, &sign.object));
        let all: Vec<(Mesh, &Object<'t>)> = istio.chain(others).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let nearest_of = |mesh: Mesh| {
            let mine = all.iter().filter(|(other, _)| *other == mesh);
            let found = nearest(mine.map(|(_, object)| *object), workload.location_file());
            Some(evidence_of(mesh, EvidenceStrength::Object, found.first()?))
        };
        mesh::all().filter_map(nearest_of).collect()
    }

    /// Returns the first mesh with an object that may belong to the cluster of a file. This is the
    /// weakest evidence, used only if there is no other.
    fn evidence_in_cluster(&self, home: &str) -> Option<Evidence> {
        let inventory = &self.inventory;
        let environments = &inventory.environments;
        let istio = inventory
            .peer_authentications
            .all_near(environments, home)
            .chain(
                inventory
                    .authorization_policies
                    .all_near(environments, home),
            )
            .chain(inventory.sidecar_resources.all_near(environments, home));
        if let Some(object) = nearest(istio, home).first() {
            return Some(evidence_of(Mesh::ISTIO, EvidenceStrength::Install, object));
        }
        if let Some(plane) = self.control_planes.first() {
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
                .filter(|sign| sign.mesh == mesh);
            let found = nearest(mine.map(|sign| &sign.object), home);
            Some(evidence_of(mesh, EvidenceStrength::Install, found.first()?))
        })
    }

    /// Returns the model of the mesh of a workload, with its input and the membership of the workload.
    /// `None` for Istio and for a mesh without a model.
    pub(crate) fn other_pod<'a>(
        &'a self,
        workload: &'a Workload<'t>,
    ) -> Option<OtherMeshPod<'a, 't>> {
        let mesh = self.mesh_name(workload)?;
        let model = mesh::model_of(mesh)?;
        let (namespace_name, _) = self.namespace_of(&workload.object);
        let input = PodInput {
            workload,
            namespace: self.namespace_object(&workload.object),
            namespace_name,
            objects: self.objects_of_mesh(workload, mesh),
            release: model.release(self.other_release(Some(mesh))).value,
            native_sidecars: self.given_native_sidecars(workload),
            supposed: self.injection_by_option(workload, model),
        };
        let membership = model.membership(&input);
        Some(OtherMeshPod {
            model,
            input,
            membership,
        })
    }

    /// Returns the objects of a mesh other than Istio in the namespace of a workload.
    #[must_use]
    pub fn objects_of_mesh<'a>(
        &'a self,
        workload: &Workload<'t>,
        mesh: Mesh,
    ) -> Vec<&'a Object<'t>> {
        let object = &workload.object;
        let (namespace, is_written) = self.namespace_of(object);
        let all = &self.inventory.mesh_objects;
        let work_out = || {
            all.near(
                namespace,
                &self.inventory.environments,
                object.location_file(),
            )
            .filter(|(_, sign)| sign.mesh == mesh && !sign.is_definition)
            .filter(|(_, sign)| self.has_same_namespace(&sign.object, object))
            .map(|(index, _)| index)
            .collect()
        };
        let key = (
            self.fact_cache
                .namespace_key(object, (namespace, is_written)),
            mesh,
        );
        let found: Arc<[usize]> = self.fact_cache.objects_of_mesh.of(key, work_out);
        found
            .iter()
            .filter_map(|index| all.get(*index))
            .map(|sign| &sign.object)
            .collect()
    }

    /// Returns whether the manifest contains the proxy of a mesh other than Istio, because it was
    /// injected before.
    #[must_use]
    pub fn brings_proxy(&self, workload: &Workload<'t>) -> bool {
        let pod = self.other_pod(workload);
        pod.is_some_and(|pod| pod.membership.value == Membership::AlreadyInjected)
    }

    /// Returns whether the webhook of a mesh other than Istio rejects the pods of a workload.
    #[must_use]
    pub fn is_refused(&self, workload: &Workload<'t>) -> bool {
        let pod = self.other_pod(workload);
        pod.is_some_and(|pod| pod.membership.value == Membership::Refused)
    }

    /// Returns the release that the user sets for a mesh. `--mesh-version` applies to the mesh that
    /// `--mesh` names, else to Istio.
    #[must_use]
    pub fn other_release(&self, mesh: Option<Mesh>) -> Option<Version> {
        let named = match self.settings.mesh {
            MeshKind::One(named) => Some(named),
            _ => Some(Mesh::ISTIO),
        };
        self.settings.mesh_version.filter(|_| mesh == named)
    }

    fn given_native_sidecars(&self, workload: &Workload<'t>) -> Option<bool> {
        let given = self.user_facts(&workload.object);
        let facts = [&given.overrides, &given.assume];
        facts.iter().find_map(|facts| facts.native_sidecars)
    }

    /// Returns what an option states about injection. `--override` always applies. `--assume` applies
    /// if the tree does not contain the Namespace, or if the mesh does not read it.
    fn injection_by_option(
        &self,
        workload: &Workload<'t>,
        model: &dyn MeshModel,
    ) -> Option<Fact<bool>> {
        let object = &workload.object;
        let given = self.user_facts(object);
        let (name, _) = self.namespace_of(object);
        let (option, by, certainty) = match (given.overrides.injection, given.assume.injection) {
            (Some(option), _) => (option, "--override", Certainty::Known),
            (None, Some(option))
                if !model.namespace_decides() || self.namespace_object(object).is_none() =>
            {
                (option, "--assume", Certainty::Assumed)
            }
            _ => return None,
        };
        let (injected, not) = match option {
            InjectionAssumption::All => (true, ""),
            InjectionAssumption::None => (false, "not "),
            InjectionAssumption::Evidence => return None,
        };
        let message = format!("namespace `{name}` is {not}injected ({by})");
        Some(Fact {
            certainty,
            ..Fact::settled(injected, message)
        })
    }

    /// Decides how the pods of a workload take part in a mesh that is not Istio; `None` for
    /// Istio.
    pub(super) fn other_dataplane(&self, workload: &Workload<'t>) -> Option<Fact<Dataplane>> {
        let name = self.mesh_name(workload);
        let name = name.filter(|mesh| *mesh != Mesh::ISTIO)?;
        let Some(pod) = self.other_pod(workload) else {
            let message = format!("{} is not modelled", name.title());
            return Some(Fact::unknown(Dataplane::Unknown, message, None));
        };
        let fact = pod.membership.map(|membership| match membership {
            Membership::Injected | Membership::AlreadyInjected => Dataplane::Other,
            Membership::Outside | Membership::Refused => Dataplane::None,
            Membership::Unknown => Dataplane::Unknown,
        });
        let mesh = self.mesh(workload);
        Some(if mesh.certainty < Certainty::Default {
            fact.depending_on(&mesh)
        } else {
            fact
        })
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

/// Lowers the certainty of the mesh of a pod that two meshes claim.
fn with_rival(fact: Fact<Mesh>, rival: &Evidence) -> Fact<Mesh> {
    let message = format!(
        "both {} and {} claim the pod; the first is assumed",
        fact.value.title(),
        rival.mesh.title()
    );
    let mut fact = fact.depending_on(&Fact::assumed((), message, Some(SETTLE)));
    fact.because.push(Reason::written(rival.place.clone()));
    fact
}
