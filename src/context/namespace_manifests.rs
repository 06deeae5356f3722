//! The Namespace manifests of an object: one, or those of several environments to which it may be deployed.

use std::sync::Arc;

use hashbrown::HashSet;

use crate::context::environment_name::{is_usual_name, last_name, short_names};
use crate::context::fact_cache::{file_key, file_namespace_key};
use crate::context::namespace::NamespaceOf;
use crate::context::namespace_scripts::ScriptLabel;
use crate::context::nearest::{are_related, nearest};
use crate::kube::{Object, nearness};
use crate::mesh::Fact;
use crate::mesh::detect::is_key_of_mesh;
use crate::mesh::istio::keys;
use crate::source::paths::{folder, is_within};
use crate::yaml::NodeRef;

/// The option that settles whether pods are injected whose Namespaces differ.
const SETTLE: &str = "--override injection=all|none";

impl<'c, 't> NamespaceOf<'c, 't> {
    /// Returns the Namespace manifest that is nearest to the object. Of several environments, a Namespace that adds
    /// pods to the mesh is preferred.
    #[must_use]
    pub fn manifest(self) -> Option<&'c Object<'t>> {
        self.manifests().next()
    }

    /// Returns the Namespace manifests that are nearest to the object: several if each is in another environment, and
    /// the object is in none of these.
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
        let home = self.object.location_file();
        let is_deployed_there = inventory.environments.deployed_may_apply(self.object);
        let joined: Vec<(usize, &Object<'t>)> = inventory
            .namespaces
            .near(self.name, &inventory.environments, home)
            .filter(|(_, candidate)| {
                (self.is_written || are_related(candidate.location_file(), home))
                    && is_deployed_there(candidate)
            })
            .collect();
        let found = nearest(joined.iter().map(|(_, namespace)| *namespace), home);
        let found = self.of_environments(found);
        let found = self.with_other_manifests(found, &joined);
        let position = |wanted: &Object<'t>| {
            let mut joined = joined.iter();
            let found = joined.find(|(_, namespace)| std::ptr::eq(*namespace, wanted));
            found.map(|(index, _)| *index)
        };
        let nearer = self.nearer_of_branches(&found);
        nearer
            .into_iter()
            .chain(found.into_iter().filter_map(position))
            .collect()
    }

    /// Returns the positions of manifests that add pods to the mesh and are in other environments, but as near as those
    /// `found` in folders that do not contain the object: a farther manifest without labels does not settle that there is
    /// no sidecar.
    fn nearer_of_branches(self, found: &[&Object<'t>]) -> Vec<usize> {
        let inventory = &self.context.inventory;
        let environments = &inventory.environments;
        let home = self.object.location_file();
        let is_settled = |namespace: &&Object<'t>| {
            mentions_mesh(namespace) || is_within(folder(home), folder(namespace.location_file()))
        };
        if environments.is_empty() || found.iter().any(is_settled) {
            return Vec::new();
        }
        let distances = found
            .iter()
            .map(|namespace| nearness(namespace.location_file(), home));
        let Some(distance) = distances.max() else {
            return Vec::new();
        };
        let is_nearer = |candidate: &&Object<'t>| {
            let place = candidate.location_file();
            adds_pods(candidate)
                && nearness(place, home) >= distance
                && (self.is_written || are_related(place, home))
                && environments.is_in_run(folder(place))
                && !folder(place).split('/').any(is_usual_name)
                && candidate.may_share_cluster(self.object)
        };
        let nearer = inventory
            .namespaces
            .in_namespace(self.name)
            .filter(is_nearer);
        nearer
            .filter_map(|wanted| {
                let mut all = inventory.namespaces.iter();
                all.position(|namespace| std::ptr::eq(namespace, wanted))
            })
            .collect()
    }

    /// Adds the other manifests of the same Namespaces: all of them are applied. Those that add pods to a mesh come first.
    fn with_other_manifests<'n>(
        self,
        mut found: Vec<&'n Object<'t>>,
        joined: &[(usize, &'n Object<'t>)],
    ) -> Vec<&'n Object<'t>> {
        if joined.len() == found.len() {
            return found;
        }
        let environments = &self.context.inventory.environments;
        let home = folder(self.object.location_file());
        let environment_of = |one: &Object<'t>| environments.innermost(one.location_file());
        let applies =
            |one: &Object<'t>| environment_of(one).is_none_or(|found| is_within(home, found));
        let is_of_one_cluster = |one: &Object<'t>, other: &Object<'t>| {
            let is_of_one_environment = environment_of(one) == environment_of(other);
            one.may_share_cluster(other)
                && (is_of_one_environment || applies(one) && applies(other))
        };
        let nearest = found.clone();
        for (_, other) in joined {
            let is_new = !nearest.iter().any(|one| std::ptr::eq(*one, *other));
            if is_new && nearest.iter().any(|one| is_of_one_cluster(one, other)) {
                found.push(other);
            }
        }
        found.sort_by_key(|namespace| (!adds_pods(namespace), !mentions_mesh(namespace)));
        found
    }

    /// Returns the first of equally near Namespaces, or the first of each environment if all are in environments. If a
    /// folder of the object has the name of one environment, it is that one.
    fn of_environments<'n>(self, found: Vec<&'n Object<'t>>) -> Vec<&'n Object<'t>> {
        let first = || found.first().copied().into_iter().collect();
        let environments = &self.context.inventory.environments;
        if found.len() < 2 || environments.is_empty() {
            return first();
        }
        let environment_of =
            |namespace: &Object<'t>| environments.innermost(namespace.location_file());
        if found
            .iter()
            .any(|namespace| environment_of(namespace).is_none())
        {
            return first();
        }
        let mut seen = HashSet::new();
        let mut distinct: Vec<&Object<'t>> = found
            .iter()
            .copied()
            .filter(|namespace| seen.insert(environment_of(namespace)))
            .collect();
        let home = folder(self.object.location_file());
        let has_name = |namespace: &&&Object<'t>| {
            let environment = environment_of(namespace).map(last_name);
            home.split('/').any(|name| Some(name) == environment)
        };
        let mut same = distinct.iter().filter(has_name);
        if let (Some(one), None) = (same.next(), same.next()) {
            return vec![*one];
        }
        distinct.sort_by_key(|namespace| !adds_pods(namespace));
        distinct
    }

    /// Returns the fact that all Namespaces agree in. If they differ, the one that `is_preferred` is assumed, and the
    /// assumption names the environments, with `word` for the value in each.
    pub(in crate::context) fn agreed<T: Copy + PartialEq>(
        self,
        facts: Vec<(&'c Object<'t>, Fact<T>)>,
        is_preferred: impl Fn(T) -> bool,
        word: impl Fn(T) -> &'static str,
    ) -> Option<Fact<T>> {
        let (_, first) = facts.first()?;
        if facts.iter().all(|(_, fact)| fact.value == first.value) {
            let facts = facts.into_iter().map(|(_, fact)| fact);
            return facts.min_by_key(|fact| fact.certainty);
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
    /// Returns the first command that adds the namespace to a mesh; `None` if a manifest of the Namespace has a label or
    /// annotation of a mesh.
    pub(in crate::context) fn script_label(self) -> Option<&'c ScriptLabel> {
        let inventory = &self.context.inventory;
        let home = self.object.location_file();
        let mut found = inventory.scripts.of_namespace(self.name, home);
        let found =
            found.find(|label| inventory.environments.may_apply(&label.place.path, home))?;
        let is_decided = self.manifests().any(mentions_mesh);
        (!is_decided).then_some(found)
    }
}

/// Returns whether a label or annotation of a Namespace belongs to a mesh.
fn mentions_mesh(namespace: &Object<'_>) -> bool {
    let entries = ["labels", "annotations"].into_iter();
    let mut entries = entries
        .filter_map(|key| namespace.metadata()?.get(key))
        .flat_map(NodeRef::entries);
    entries.any(|entry| entry.key.text().is_some_and(is_key_of_mesh))
}

/// Returns whether the labels of a Namespace add its pods to Istio's mesh.
fn adds_pods(namespace: &Object<'_>) -> bool {
    let text = |key: &str| namespace.label(key)?.value.text();
    match text(keys::NAMESPACE_INJECTION) {
        Some(value) => value == "enabled",
        None => text(keys::REVISION).is_some() || text(keys::DATAPLANE_MODE) == Some("ambient"),
    }
}
