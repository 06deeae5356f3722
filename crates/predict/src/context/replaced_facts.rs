//! Replaces objects that state facts by those of a later state, without a collection of all facts.

use std::sync::Arc;

use meshprobe_deploy::kustomize::complete::complete;
use meshprobe_mesh::kube::{Object, PeerAuthentication, Workload, may_create_pods, runs_pods};
use meshprobe_mesh::mesh::detect;
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_mesh::mesh::istio::{install, network_plugin};

use super::inventory::Inventory;
use super::namespace_index::NamespaceIndex;
use super::not_judged::generated_pods;
use super::replaced_workloads::{is_same_place, replacing};
use super::run_context::Context;

impl<'t> Context<'t> {
    /// Replaces the objects in the files at `paths` by `objects`, each of which [`is_replaceable`]. The caller predicts all
    /// workloads again.
    ///
    /// Returns `None` if another fact names a place in the files, or if it is not clear which object replaces which.
    pub fn replace_facts(&mut self, paths: &[Arc<str>], objects: &[Object<'t>]) -> Option<()> {
        let inventory = Arc::get_mut(&mut self.inventory)?;
        if paths.iter().any(|path| names_place_in(inventory, path)) {
            return None;
        }
        let lists = [
            &mut inventory.namespaces,
            &mut inventory.services,
            &mut inventory.peer_authentications,
            &mut inventory.authorization_policies,
            &mut inventory.network_policies,
            &mut inventory.sidecar_resources,
        ];
        for list in lists {
            replace_in(list, objects)?;
        }
        inventory.index();
        self.fact_cache = Arc::default();
        self.serving_planes = Arc::default();
        self.capture_cache = Arc::default();
        self.isolations = Arc::default();
        Some(())
    }
}

/// Returns whether a note about what is not judged or not taken into account is about a place in a file.
fn names_place_in(inventory: &Inventory<'_>, path: &str) -> bool {
    let mut not_judged = inventory.not_judged.iter();
    let mut unchecked = inventory.unchecked.iter();
    not_judged.any(|found| *found.place.path == *path)
        || unchecked.any(|policy| *policy.place.path == *path)
}

fn replace_in<'t>(list: &mut NamespaceIndex<'t, Object<'t>>, objects: &[Object<'t>]) -> Option<()> {
    for old in list.all_mut() {
        let mut same = objects.iter().filter(|new| is_same_place(old, new));
        let Some(new) = same.next() else { continue };
        if same.next().is_some() {
            return None;
        }
        *old = replacing(old, new);
    }
    Some(())
}

/// Returns whether [`Context::replace_facts`] replaces an object by one of another state: both have the same identity, and
/// state facts only in one of the lists that it knows, or none.
pub fn is_replaceable(old: &Object<'_>, new: &Object<'_>) -> bool {
    let identity = |object: &Object<'_>| {
        let policy = PeerAuthentication::of(object);
        // Environments are those of namespaces if a policy applies to all pods of its namespace.
        let is_selective = object.kind == "PeerAuthentication" && !policy.selector().is_empty();
        (complete(object), is_selective)
    };
    is_same_place(old, new)
        && old.api_version == new.api_version
        && [old, new].into_iter().all(states_only_listed_facts)
        && identity(old) == identity(new)
}

fn states_only_listed_facts(object: &Object<'_>) -> bool {
    let (group, kind) = (object.group(), object.kind);
    let is_listed = match FactKind::of(group, kind) {
        Some(
            FactKind::Namespace
            | FactKind::Service
            | FactKind::PeerAuthentication
            | FactKind::AuthorizationPolicy
            | FactKind::NetworkPolicy
            | FactKind::Sidecar,
        ) => true,
        Some(FactKind::Definition) | None => states_nothing(object),
        Some(_) => false,
    };
    is_listed
        && !install::concerns(object)
        && !install::states_members(object)
        && !network_plugin::concerns(object)
        && detect::of_object(object).is_none()
}

/// Returns whether nothing is read from an object of a kind without a list.
fn states_nothing(object: &Object<'_>) -> bool {
    let (group, kind) = (object.group(), object.kind);
    let is_config = group.is_empty() && matches!(kind, "ConfigMap" | "Secret");
    let deploys = group.ends_with("fluxcd.io") || group == "argoproj.io";
    !is_config
        && !deploys
        && kind != "Template"
        && !runs_pods(group, kind)
        && !may_create_pods(group, kind)
        && Workload::from_object(object).is_none()
        && generated_pods(object, false, false).is_none()
}
