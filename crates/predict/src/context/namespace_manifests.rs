//! The Namespace manifests of an object: one, or those of several environments to which it may be deployed.

use std::cmp::Reverse;
use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_mesh::kube::{Object, nearness};
use meshprobe_mesh::mesh::detect::{enabled_mesh, is_key_of_mesh};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, Mesh};
use meshprobe_tree::source::paths::{folder, is_within};
use meshprobe_yaml::NodeRef;

use crate::context::environment_name::{last_name, short_names};
use crate::context::fact_cache::{file_key, file_namespace_key};
use crate::context::namespace::NamespaceOf;
use crate::context::namespace_scripts::ScriptLabel;
use crate::context::nearest::are_related;

/// The option that settles whether pods are injected whose Namespaces differ.
const SETTLE: &str = "--override injection=all|none";

impl<'c, 't> NamespaceOf<'c, 't> {
    /// Returns the first manifest of the Namespace: the one that adds pods to the mesh, if any does.
    #[must_use]
    pub fn manifest(self) -> Option<&'c Object<'t>> {
        self.manifests().next()
    }

    /// Returns the manifests of the Namespace, which are all applied; the first one adds pods to the mesh if any does.
    ///
    /// Manifests of other environments are included only if neither the environment of the object nor a folder above the
    /// object contains one, and no shared manifest has a label or annotation of a mesh.
    pub(in crate::context) fn manifests(
        self,
    ) -> impl Iterator<Item = &'c Object<'t>> + use<'c, 't> {
        let inventory = &self.context.inventory;
        let deployed_from = inventory.environments.deployed_from(self.object);
        let key = (
            file_namespace_key(self.object, self.name),
            deployed_from.map(file_key),
        );
        let cache = &self.context.fact_cache.namespaces;
        let found: Arc<[usize]> = cache.of(key, || self.find_manifests().into());
        let all = &inventory.namespaces;
        (0..found.len()).filter_map(move |at| all.get(*found.get(at)?))
    }

    /// Returns the positions of the manifests in the inventory.
    fn find_manifests(self) -> Vec<usize> {
        let inventory = &self.context.inventory;
        let environments = &inventory.environments;
        let home = self.object.location_file();
        let deployed_from = environments.deployed_from(self.object);
        let contains_object = |outer: &str| {
            let mut folders = [Some(folder(home)), deployed_from].into_iter().flatten();
            folders.any(|folder| is_within(folder, outer))
        };
        let environment_of = |one: &Object<'t>| environments.innermost(one.location_file());
        let is_own = |one: &Object<'t>| {
            contains_object(folder(one.location_file()))
                || environment_of(one).is_some_and(contains_object)
        };
        let may_apply = self.may_apply();
        let all = inventory.namespaces.in_namespace(self.name);
        let (mut found, others): (Vec<_>, Vec<_>) = all
            .filter(|one| self.is_written || are_related(one.location_file(), home))
            .partition(|one| may_apply(one));
        if !found.iter().any(|one| is_own(one) || mentions_mesh(one)) {
            found.extend(others.into_iter().filter(|one| {
                environments.is_in_run(folder(one.location_file()))
                    && one.may_share_cluster(self.object)
            }));
        }
        // A folder of the object may have the name of an environment, such as `apps/prod/`.
        let name_of = |one: &Object<'t>| environment_of(one).map(last_name);
        let is_foreign = |one: &Object<'t>| name_of(one).is_some() && !is_own(one);
        let named: HashSet<&str> = found
            .iter()
            .filter(|one| is_foreign(one))
            .filter_map(|one| name_of(one))
            .filter(|name| folder(home).split('/').any(|part| part == *name))
            .collect();
        if named.len() == 1 {
            found.retain(|one| {
                !is_foreign(one) || name_of(one).is_some_and(|name| named.contains(name))
            });
        }
        found.sort_by_key(|one| {
            let near = nearness(one.location_file(), home);
            (!adds_pods(one), !mentions_mesh(one), Reverse(near))
        });
        let positions = found.into_iter();
        positions
            .filter_map(|one| inventory.namespaces.element_offset(one))
            .collect()
    }

    /// Returns the assumption that the manifests apply to the object although all of them are in other environments;
    /// `None` if one of them is not.
    pub(in crate::context) fn elsewhere(self) -> Option<Fact<()>> {
        let first = self.manifest()?;
        if self.manifests().any(self.may_apply()) {
            return None;
        }
        let name = self.name;
        let message = format!(
            "Namespace `{name}` has manifests in other environments only (`{}`)",
            first.path()
        );
        Some(Fact::assumed((), message, Some(SETTLE)))
    }

    /// Returns a predicate: whether a manifest may apply to the object, as far as this depends on environments and
    /// clusters.
    fn may_apply(self) -> impl Fn(&Object<'t>) -> bool {
        let environments = &self.context.inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(self.object);
        let home = self.object.location_file();
        move |one| environments.may_apply(one.location_file(), home) && is_deployed_there(one)
    }

    /// Returns the fact that all Namespaces agree in. If they differ, the one that `is_preferred` is assumed, and the
    /// assumption names the environments, with `word` for the value in each. A fact of other environments is assumed, too.
    pub(in crate::context) fn agreed<T: Copy + PartialEq>(
        self,
        facts: Vec<(&'c Object<'t>, Fact<T>)>,
        is_preferred: impl Fn(T) -> bool,
        word: impl Fn(T) -> &'static str,
    ) -> Option<Fact<T>> {
        let (_, first) = facts.first()?;
        if facts.iter().all(|(_, fact)| fact.value == first.value) {
            // What the pod itself decides does not rest on the manifests.
            let rests_on = |(namespace, fact): &(&Object<'t>, Fact<T>)| {
                let mut places = fact
                    .because
                    .iter()
                    .filter_map(|reason| reason.place.as_ref());
                places.any(|place| place.path == *namespace.path())
            };
            let assumption = match facts.iter().any(rests_on) {
                true => self.elsewhere(),
                false => None,
            };
            let facts = facts.into_iter().map(|(_, fact)| fact);
            let fact = facts.min_by_key(|fact| fact.certainty)?;
            return Some(match assumption {
                Some(assumption) => fact.depending_on(&assumption),
                None => fact,
            });
        }
        let environments = &self.context.inventory.environments;
        let innermost = |namespace: &Object<'t>| environments.innermost(namespace.location_file());
        let mut found: HashSet<&str> = HashSet::new();
        let are_environments = facts.iter().all(|(namespace, _)| {
            let environment = innermost(namespace);
            environment.is_some_and(|environment| found.insert(environment))
        });
        let names: Vec<&str> = match are_environments {
            true => short_names(
                facts
                    .iter()
                    .filter_map(|(namespace, _)| innermost(namespace)),
            ),
            false => facts
                .iter()
                .map(|(namespace, _)| &**namespace.path())
                .collect(),
        };
        let differs = match are_environments {
            true => "differs between environments",
            false => "has several manifests, which are all applied",
        };
        let values: Vec<String> = names
            .iter()
            .zip(&facts)
            .map(|(name, (_, fact))| format!("{name}: {}", word(fact.value)))
            .collect();
        let message = format!(
            "Namespace `{}` {differs} ({})",
            self.name,
            values.join(", ")
        );
        let preferred = facts.iter().position(|(_, fact)| is_preferred(fact.value));
        let (_, fact) = facts.into_iter().nth(preferred.unwrap_or_default())?;
        Some(fact.depending_on(&Fact::assumed((), message, Some(SETTLE))))
    }
}

impl<'c> NamespaceOf<'c, '_> {
    /// Returns the first command that adds the namespace to a mesh; `None` if a manifest of the Namespace does, or has
    /// another label or annotation of a mesh that the command does not replace.
    pub(in crate::context) fn script_label(self) -> Option<&'c ScriptLabel> {
        let inventory = &self.context.inventory;
        let home = self.object.location_file();
        let mut found = inventory.scripts.of_namespace(self.name, home);
        let found =
            found.find(|label| inventory.environments.may_apply(&label.place.path, home))?;
        let is_decided = |namespace: &Object<'_>| match found.overwrites {
            true => is_in_mesh(namespace, found.mesh),
            false => mentions_mesh(namespace),
        };
        (!self.manifests().any(is_decided)).then_some(found)
    }
}

/// Returns whether a label or annotation of a Namespace belongs to a mesh.
fn mentions_mesh(namespace: &Object<'_>) -> bool {
    metadata(namespace).any(|(key, _)| is_key_of_mesh(key))
}

/// Returns whether a label or annotation of a Namespace adds its pods to this mesh.
fn is_in_mesh(namespace: &Object<'_>, mesh: Mesh) -> bool {
    metadata(namespace).any(|(key, value)| enabled_mesh(key, value) == Some(mesh))
}

/// Iterates over the labels and annotations of an object.
fn metadata<'t>(object: &Object<'t>) -> impl Iterator<Item = (&'t str, &'t str)> + use<'t> {
    let metadata = object.metadata().into_iter();
    let maps = metadata.flat_map(|metadata| ["labels", "annotations"].map(|map| metadata.get(map)));
    let entries = maps.flatten().flat_map(NodeRef::entries);
    entries.filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
}

/// Returns whether the labels of a Namespace add its pods to Istio's mesh.
fn adds_pods(namespace: &Object<'_>) -> bool {
    let text = |key: &str| namespace.label(key)?.value.text();
    match text(keys::NAMESPACE_INJECTION) {
        Some(value) => value == "enabled",
        None => text(keys::REVISION).is_some() || text(keys::DATAPLANE_MODE) == Some("ambient"),
    }
}
