//! Which mesh takes a workload in.
//!
//! The option decides, else the heaviest sign in the tree, pod by pod: a tree may hold several
//! meshes. Where nothing speaks for another one the pod is judged as one of Istio's, which was
//! there first.

use std::sync::Arc;

use crate::finding::Certainty;
use crate::kube::{Object, Workload};
use crate::mesh::other::{self, Asked, Membership, Model};
use crate::mesh::signs::{Sign, Weight, signs};
use crate::mesh::{Fact, Mesh, Reason, Version};
use crate::settings::{InjectionAssumption, MeshKind};

use super::Context;
use super::dataplane::Dataplane;
use super::inventory::nearest;
use super::memo;

const SETTLE: &str = "--mesh NAME";

/// A pod of a mesh beside Istio.
pub(crate) struct OtherPod<'a, 't> {
    /// What is known of its mesh.
    pub(crate) model: &'static dyn Model,
    /// What the mesh is told about it.
    pub(crate) asked: Asked<'a, 't>,
    /// How it takes part.
    pub(crate) membership: Fact<Membership>,
}

impl<'t> Context<'t> {
    /// Returns the mesh by which a workload is judged; `None` where an option says that there is
    /// none.
    #[must_use]
    pub fn mesh(&self, workload: &Workload<'t>) -> Fact<Option<Mesh>> {
        match self.settings.mesh {
            MeshKind::None => Fact::settled(None, "no mesh (--mesh none)"),
            MeshKind::One(mesh) => {
                let said = format!("{} (--mesh {})", mesh.title(), mesh.as_str());
                let mut fact = Fact::settled(Some(mesh), said);
                fact.because.extend(self.set_aside(workload, mesh));
                fact
            }
            MeshKind::Ambient => Fact::settled(Some(Mesh::Istio), "Istio (--mesh ambient)"),
            MeshKind::Auto => Fact::clone(&self.found_mesh(workload)).map(Some),
        }
    }

    /// The same without its reasons.
    fn mesh_name(&self, workload: &Workload<'t>) -> Option<Mesh> {
        match self.settings.mesh {
            MeshKind::None => None,
            MeshKind::One(mesh) => Some(mesh),
            MeshKind::Ambient => Some(Mesh::Istio),
            MeshKind::Auto => Some(self.found_mesh(workload).value),
        }
    }

    /// The mesh that the signs of the tree speak for.
    fn found_mesh(&self, workload: &Workload<'t>) -> Arc<Fact<Mesh>> {
        let (namespace, _) = self.namespace_of(&workload.object);
        let key = memo::pod(workload, namespace);
        let work_out = || Arc::new(self.mesh_by_signs(workload));
        self.memo.meshes.of(key, work_out)
    }

    /// What asks for another mesh than the one that the option names.
    fn set_aside(&self, workload: &Workload<'t>, mesh: Mesh) -> Option<Reason> {
        let signs = signs(workload, self.namespace_object(&workload.object));
        let mut others = signs.into_iter().filter(|sign| sign.mesh != mesh);
        let mut other = others.find(|sign| sign.weight >= Weight::Namespace)?;
        other.place.message = format!("{}; the option sets that aside", other.place.message);
        Some(Reason::written(other.place))
    }

    fn mesh_by_signs(&self, workload: &Workload<'t>) -> Fact<Mesh> {
        let namespace = self.namespace_object(&workload.object);
        let mut all = signs(workload, namespace);
        // Where no other mesh has a claim there is nothing to weigh.
        let is_open = all.iter().any(|sign| sign.mesh != Mesh::Istio);
        if is_open || !self.inventory.other_signs.is_empty() {
            all.extend(self.objects_beside(&workload.object).iter().cloned());
            if all.is_empty() {
                let home = workload.object.home();
                let work_out = || self.sign_in_reach(home);
                all.extend(self.memo.signs.of(memo::home(home), work_out));
            }
        }
        // Of equal ones the first stays: the order of the meshes, and of the text.
        all.sort_by_key(|sign| (std::cmp::Reverse(sign.weight), sign.mesh));
        let Some(first) = all.first() else {
            let said = "nothing in the tree names another mesh than Istio";
            return Fact::default(Mesh::Istio, said, SETTLE);
        };
        let fact = Fact::known(first.mesh, first.place.clone());
        let rival = all
            .iter()
            .find(|sign| sign.mesh != first.mesh && sign.weight >= Weight::Namespace);
        match rival {
            Some(rival) if first.weight >= Weight::Namespace => disputed(fact, rival),
            _ => fact,
        }
    }

    /// Of each mesh the nearest object in the namespace of a workload.
    fn objects_beside(&self, workload: &Object<'t>) -> Arc<[Sign]> {
        let scope = self.memo.scope(workload, self.namespace_of(workload));
        let work_out = || self.find_objects_beside(workload).into();
        self.memo.objects_beside.of(scope, work_out)
    }

    fn find_objects_beside(&self, workload: &Object<'t>) -> Vec<Sign> {
        let inventory = &self.inventory;
        let istio = self
            .beside(&inventory.peer_authentications, workload)
            .chain(self.beside(&inventory.authorization_policies, workload))
            .chain(self.beside(&inventory.mesh_signs, workload))
            .map(|object| (Mesh::Istio, object));
        let (namespace, _) = self.namespace_of(workload);
        let others = &inventory.other_signs;
        let others = others
            .near(namespace, &inventory.forks, workload.home())
            .map(|(_, one)| one)
            .filter(|one| !one.is_definition && self.is_one_namespace(&one.object, workload))
            .map(|one| (one.mesh, &one.object));
        let all: Vec<(Mesh, &Object<'t>)> = istio.chain(others).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let nearest_of = |mesh: Mesh| {
            let mine = all.iter().filter(|(one, _)| *one == mesh);
            let found = nearest(mine.map(|(_, object)| *object), workload.home());
            Some(sign_of(mesh, Weight::Object, found.first()?))
        };
        Mesh::ALL.into_iter().filter_map(nearest_of).collect()
    }

    /// The first mesh of which there is anything that may belong to the cluster of a file: it
    /// counts only where nothing weighs more.
    fn sign_in_reach(&self, home: &str) -> Option<Sign> {
        let inventory = &self.inventory;
        let forks = &inventory.forks;
        let istio = inventory.peer_authentications.all_near(forks, home);
        let istio = istio
            .chain(inventory.authorization_policies.all_near(forks, home))
            .chain(inventory.mesh_signs.all_near(forks, home));
        if let Some(object) = nearest(istio, home).first() {
            return Some(sign_of(Mesh::Istio, Weight::Install, object));
        }
        if let Some(plane) = self.control_planes.first() {
            return Some(Sign {
                mesh: Mesh::Istio,
                weight: Weight::Install,
                place: plane.place.clone(),
            });
        }
        Mesh::ALL.into_iter().find_map(|mesh| {
            let mine = inventory.other_signs.all_near(forks, home);
            let mine = mine.filter(|one| one.mesh == mesh);
            let found = nearest(mine.map(|one| &one.object), home);
            Some(sign_of(mesh, Weight::Install, found.first()?))
        })
    }

    /// Returns how a workload stands to its mesh, where that is another than Istio and modelled.
    pub(crate) fn other_pod<'a>(&'a self, workload: &'a Workload<'t>) -> Option<OtherPod<'a, 't>> {
        let mesh = self.mesh_name(workload)?;
        let model = other::model(mesh)?;
        let (namespace_name, _) = self.namespace_of(&workload.object);
        let asked = Asked {
            workload,
            namespace: self.namespace_object(&workload.object),
            namespace_name,
            objects: self.objects_of_mesh(workload, mesh),
            release: model.release(self.other_release(Some(mesh))).value,
            native_sidecars: self.given_native_sidecars(workload),
            supposed: self.supposed_injection(workload, model),
        };
        let membership = model.membership(&asked);
        Some(OtherPod {
            model,
            asked,
            membership,
        })
    }

    /// Returns the objects of a mesh beside Istio in the namespace of a workload.
    #[must_use]
    pub fn objects_of_mesh<'a>(
        &'a self,
        workload: &Workload<'t>,
        mesh: Mesh,
    ) -> Vec<&'a Object<'t>> {
        let object = &workload.object;
        let (namespace, is_written) = self.namespace_of(object);
        let all = &self.inventory.other_signs;
        let work_out = || {
            let near = all.near(namespace, &self.inventory.forks, object.home());
            let mine = near.filter(|(_, one)| one.mesh == mesh && !one.is_definition);
            let mine = mine.filter(|(_, one)| self.is_one_namespace(&one.object, object));
            mine.map(|(index, _)| index).collect()
        };
        let key = (self.memo.scope(object, (namespace, is_written)), mesh);
        let found: Arc<[usize]> = self.memo.objects_of_mesh.of(key, work_out);
        let found = found.iter().filter_map(|index| all.get(*index));
        found.map(|one| &one.object).collect()
    }

    /// Tells whether the manifest carries the proxy of a mesh beside Istio: it was injected.
    #[must_use]
    pub fn brings_proxy(&self, workload: &Workload<'t>) -> bool {
        let pod = self.other_pod(workload);
        pod.is_some_and(|pod| pod.membership.value == Membership::Brought)
    }

    /// Tells whether the webhook of a mesh beside Istio refuses the pods of a workload.
    #[must_use]
    pub fn is_refused(&self, workload: &Workload<'t>) -> bool {
        let pod = self.other_pod(workload);
        pod.is_some_and(|pod| pod.membership.value == Membership::Refused)
    }

    /// Returns the release that the user names for a mesh: what `--mesh-version` says is about
    /// the mesh that `--mesh` names, else about Istio.
    #[must_use]
    pub fn other_release(&self, mesh: Option<Mesh>) -> Option<Version> {
        let named = match self.settings.mesh {
            MeshKind::One(one) => Some(one),
            _ => Some(Mesh::Istio),
        };
        self.settings.mesh_version.filter(|_| mesh == named)
    }

    fn given_native_sidecars(&self, workload: &Workload<'t>) -> Option<bool> {
        let given = self.given(&workload.object);
        let facts = [&given.overrides, &given.assume];
        facts.iter().find_map(|facts| facts.native_sidecars)
    }

    /// What an option says about injection: `--override` always, `--assume` where the tree does
    /// not hold the Namespace, or it would say nothing about injection.
    fn supposed_injection(&self, workload: &Workload<'t>, model: &dyn Model) -> Option<Fact<bool>> {
        let object = &workload.object;
        let given = self.given(object);
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
        let said = format!("namespace `{name}` is {not}injected ({by})");
        Some(Fact {
            certainty,
            ..Fact::settled(injected, said)
        })
    }

    /// Decides how the pods of a workload take part in a mesh that is not Istio; `None` for
    /// Istio.
    pub(super) fn other_dataplane(&self, workload: &Workload<'t>) -> Option<Fact<Dataplane>> {
        let name = self.mesh_name(workload);
        let name = name.filter(|mesh| *mesh != Mesh::Istio)?;
        let Some(pod) = self.other_pod(workload) else {
            let said = format!("{} is not modelled", name.title());
            return Some(Fact::unknown(Dataplane::Unknown, said, None));
        };
        let fact = pod.membership.map(|membership| match membership {
            Membership::Injected | Membership::Brought => Dataplane::Other,
            Membership::Outside | Membership::Refused => Dataplane::None,
            Membership::Unknown => Dataplane::Unknown,
        });
        let mesh = self.mesh(workload);
        Some(if mesh.certainty < Certainty::Default {
            fact.resting_on(&mesh)
        } else {
            fact
        })
    }
}

fn sign_of(mesh: Mesh, weight: Weight, object: &Object<'_>) -> Sign {
    let said = format!("{} `{}` is of {}", object.kind, object.name(), mesh.title());
    let place = object.label_at(object.name_span(), said);
    Sign {
        mesh,
        weight,
        place,
    }
}

/// Two meshes ask for the pod.
fn disputed(fact: Fact<Mesh>, rival: &Sign) -> Fact<Mesh> {
    let said = format!(
        "{} and {} both ask for the pod; the first was taken",
        fact.value.title(),
        rival.mesh.title()
    );
    let mut fact = fact.resting_on(&Fact::assumed((), said, Some(SETTLE)));
    fact.because.push(Reason::written(rival.place.clone()));
    fact
}
