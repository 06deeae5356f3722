//! The mode of mutual TLS of workloads that belong to no environment, such as those of a chart, in a tree whose
//! environments have policies of their own.

use std::cmp::Reverse;

use hashbrown::HashSet;
use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_tree::source::paths::{folder, is_within};

use crate::context::environment_name::{last_name, short_names};
use crate::context::environments::ParentFolder;
use crate::context::istio::pod_facts::PodFacts;

/// The mode of a port in an environment, given by its folder.
pub(super) type EnvironmentMode<'c> = (&'c str, Fact<MtlsMode>);

/// The modes that may apply to a port.
pub(super) enum Modes<'c> {
    /// Those of the policies near the workload: several if policies conflict.
    OfOnePlace(Vec<Fact<MtlsMode>>),
    /// Those of several environments to which the workload may be deployed.
    OfEnvironments(Vec<EnvironmentMode<'c>>),
}

impl<'c, 't> PodFacts<'c, 't> {
    /// Returns the environments with policies to which the workload may be deployed, sorted; none if the workload is in an
    /// environment itself. Caches them for all ports of the pods.
    ///
    /// Policies of environments below another folder, such as `clusters/prod/` for a workload in `apps/`, count if they are
    /// the nearest. Those of environments next to a folder that contains the workload, such as `prod/`, count if all of
    /// these environments have policies: otherwise, the folders may be unrelated.
    pub(super) fn environments_with_policies(&self) -> Vec<&'c str> {
        let environments = &self.context.inventory.environments;
        if environments.is_empty() {
            return Vec::new();
        }
        let found = &self.environments_with_policies;
        found
            .get_or_init(|| self.find_environments_with_policies())
            .clone()
    }

    fn find_environments_with_policies(&self) -> Vec<&'c str> {
        let object = &self.workload.object;
        let environments = &self.context.inventory.environments;
        let home = folder(object.location_file());
        let environment_of = |policy: &&Object<'t>| environments.innermost(policy.location_file());
        let nearest = self.nearest_policies(object.location_file());
        let nearest = nearest.iter().flat_map(|nearest| nearest.first.iter());
        let nearest: HashSet<Option<ParentFolder<'_>>> = nearest
            .filter_map(environment_of)
            .map(ParentFolder::of)
            .collect();
        let with_policies = self.policy_environments_of_workload();
        let mut found: Vec<&'c str> = Vec::new();
        for siblings in environments.sibling_groups_without(&with_policies, home) {
            let outer = siblings.first().and_then(|folder| ParentFolder::of(folder));
            let is_beside = outer.is_some_and(|outer| outer.contains(home));
            if nearest.contains(&outer)
                || is_beside && siblings.iter().all(|folder| with_policies.contains(folder))
            {
                found.extend(
                    siblings
                        .iter()
                        .copied()
                        .filter(|folder| with_policies.contains(folder)),
                );
            }
        }
        found.sort_unstable();
        let mut found = innermost(found);
        found.retain(|environment| environments.is_in_run(environment));
        // The object that deploys the workload may be outside of the environment whose folder it deploys.
        let rendered_by = object.rendered_by.map(|rendering| &*rendering.root);
        let folders = [rendered_by, Some(&**object.path())].into_iter().flatten();
        let mut deployed = folders.flat_map(|path| {
            found
                .iter()
                .filter(move |outer| is_within(folder(path), outer))
        });
        let of_workload = deployed.next().copied();
        of_workload
            .or_else(|| of_same_name(&found, home))
            .map_or(found, |one| vec![one])
    }

    /// Returns the innermost environments with a policy of the whole mesh or of the namespace.
    fn policy_environments_of_workload(&self) -> HashSet<&'c str> {
        let object = &self.workload.object;
        let inventory = &self.context.inventory;
        let namespace = self.context.namespace_of(object);
        let root = self.root_namespace().value;
        let own = namespace.written_name().filter(|name| **name != *root);
        [&*root]
            .into_iter()
            .chain(own)
            .flat_map(|name| inventory.peer_authentications.in_namespace(name))
            .filter(|policy| self.context.namespace_of(policy).is_written)
            .filter(|policy| policy.may_share_cluster(object))
            .filter_map(|policy| inventory.environments.innermost(policy.location_file()))
            .collect()
    }
}

/// Returns the folders that contain none of the others; all are sorted.
fn innermost<'c>(folders: Vec<&'c str>) -> Vec<&'c str> {
    // The folders within a folder follow it.
    let mut next = folders
        .iter()
        .skip(1)
        .copied()
        .collect::<Vec<_>>()
        .into_iter();
    let is_innermost = |folder: &&'c str| !next.next().is_some_and(|next| is_within(next, folder));
    folders.into_iter().filter(is_innermost).collect()
}

/// Returns the environment with the name of a folder of the path `home`, such as `clusters/prod/` for `apps/prod/`; `None` if
/// none or several have such a name.
fn of_same_name<'c>(environments: &[&'c str], home: &str) -> Option<&'c str> {
    let has_name =
        |environment: &&&'c str| home.split('/').any(|name| name == last_name(environment));
    let mut same = environments.iter().filter(has_name);
    same.next().filter(|_| same.next().is_none()).copied()
}

/// Returns the mode in all environments if they agree; otherwise the strictest, with the modes of all as an assumption.
pub(super) fn of_environments(modes: Vec<EnvironmentMode<'_>>) -> Fact<MtlsMode> {
    let modes = strictest_first(modes);
    let differ = modes.windows(2).any(|pair| match pair {
        [(_, one), (_, other)] => one.value != other.value,
        _ => false,
    });
    let message = differ.then(|| described(&modes));
    let mut modes = modes.into_iter().map(|(_, mode)| mode);
    let first = modes
        .next()
        .unwrap_or_else(|| Fact::settled(MtlsMode::Permissive, ""));
    let Some(message) = message else {
        return first;
    };
    let open = Fact::assumed((), message, Some("--override mtls=MODE"));
    let other =
        modes.find(|other| other.value != first.value && other.certainty == Certainty::Known);
    let mode = match &other {
        Some(other) => first.depending_on(other),
        None => first,
    };
    mode.depending_on(&open)
}

/// Sorts modes: STRICT first, and by environment.
pub(super) fn strictest_first(mut modes: Vec<EnvironmentMode<'_>>) -> Vec<EnvironmentMode<'_>> {
    modes.sort_by_key(|(_, mode)| Reverse(mode.value == MtlsMode::Strict));
    modes
}

/// Describes the modes: "mutual TLS differs between environments (prod: STRICT, staging: PERMISSIVE)".
fn described(modes: &[EnvironmentMode<'_>]) -> String {
    let names = short_names(modes.iter().map(|(environment, _)| *environment));
    let modes: Vec<String> = names
        .iter()
        .zip(modes)
        .map(|(name, (_, mode))| format!("{name}: {}", mode.value.as_str()))
        .collect();
    format!(
        "mutual TLS differs between environments ({})",
        modes.join(", ")
    )
}
