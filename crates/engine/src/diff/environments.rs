//! How the environments of a handler in two states relate: whether it stays in its environment, leaves it, or enters one.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::locate::Closure;
use meshprobe_mesh::finding::{environment_file, environment_object};
use meshprobe_tree::source::{SourceSet, is_kustomization, paths};

use super::probe_state::ProbeState;
use super::state::{State, shown_path};

/// How the environment of a handler in the second state relates to that in the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is the same, or only its name differs. A new overlay of the environment counts as the environment itself.
    Same,
    /// The environment does not deploy the handler any more. Its file, or a base of the environment, remains.
    Left,
    /// The environment does not deploy the handler any more, but another one does.
    Moved,
    /// An environment that existed before deploys the handler now. Nothing did.
    Entered,
    /// A new environment deploys the handler. Nothing did.
    New,
}

/// The environments of two states.
#[derive(Debug)]
pub(super) struct Environments<'a> {
    before: Side<'a>,
    after: Side<'a>,
}

impl<'a> Environments<'a> {
    /// Prepares the comparison of the environments of two states, each with its files.
    pub(super) fn new(
        before: (&'a State, &'a SourceSet),
        after: (&'a State, &'a SourceSet),
    ) -> Self {
        Self {
            before: Side::of(before),
            after: Side::of(after),
        }
    }

    /// Returns how the environments of two handlers relate that are otherwise the same.
    pub(super) fn relation(&mut self, old: &ProbeState, new: &ProbeState) -> Relation {
        let (from, to) = (old.id.environment.as_deref(), new.id.environment.as_deref());
        let (was_deployed_by, is_deployed_by) = (&old.deployer, &new.deployer);
        if from == to {
            return match (was_deployed_by, is_deployed_by) {
                (Some(_), None) => Relation::Left,
                _ => Relation::Same,
            };
        }
        let are_siblings = || {
            from.zip(to)
                .is_some_and(|(from, to)| are_of_one_file(from, to))
        };
        if was_deployed_by.is_some() && was_deployed_by == is_deployed_by && !are_siblings() {
            return Relation::Same;
        }
        match (from, to) {
            (None, None) => Relation::Same,
            (Some(_), None) if is_deployed_by.is_some() => Relation::Moved,
            (Some(_), None) => Relation::Left,
            (None, Some(_)) if was_deployed_by.is_some() => Relation::Moved,
            (None, Some(to)) if self.before.has(to) => Relation::Entered,
            (None, Some(_)) => Relation::New,
            (Some(from), Some(to)) => self.between((from, old), (to, new)),
        }
    }

    /// Returns how two different environments relate.
    fn between(
        &mut self,
        (from, old): (&str, &ProbeState),
        (to, new): (&str, &ProbeState),
    ) -> Relation {
        let is_gone = !self.after.has(from);
        let is_new = !self.before.has(to);
        let is_base_of_old = |this: &mut Self| this.before.includes(old, to);
        let is_base_of_new = |this: &mut Self| this.after.includes(new, from);
        let is_in_same_folder = || {
            let files = [environment_file(from), environment_file(to)];
            let [from, to] = files.map(paths::folder);
            let are_deployers = !files.into_iter().any(is_kustomization);
            are_deployers && from == to
        };
        match (is_gone, is_new) {
            (true, true) => Relation::Same,
            (false, true) if is_base_of_new(self) => Relation::Same,
            _ if is_base_of_old(self) => Relation::Left,
            _ if is_base_of_new(self) => Relation::Entered,
            // The deploying object was moved to another file.
            (false, false) if are_of_one_file(from, to) => Relation::Moved,
            _ if is_in_same_folder() => Relation::Same,
            _ => Relation::Moved,
        }
    }

    /// Returns whether a handler of the second state is only in a base of the environment that `old` had, so that nothing
    /// deploys it.
    pub(super) fn is_only_base(&mut self, old: &ProbeState, new: &ProbeState) -> bool {
        let to = new.id.environment.as_deref();
        new.deployer.is_none() && to.is_some_and(|to| self.before.includes(old, to))
    }
}

/// Returns whether different objects of one file deploy both environments.
fn are_of_one_file(from: &str, to: &str) -> bool {
    let are_named = environment_object(from).is_some() && environment_object(to).is_some();
    are_named && environment_file(from) == environment_file(to)
}

/// The environments of one state.
#[derive(Debug)]
struct Side<'a> {
    /// The folder or the file of the tree, as shown to the user.
    root: &'a str,
    set: &'a SourceSet,
    /// The environments of all handlers, relative to the tree.
    environments: HashSet<&'a str>,
    /// What kustomizations include, by their files as shown to the user.
    closures: HashMap<Arc<str>, Closure<'a>>,
}

impl<'a> Side<'a> {
    fn of((state, set): (&'a State, &'a SourceSet)) -> Self {
        let environments = state.probes.iter();
        Self {
            root: &state.root,
            set,
            environments: environments
                .filter_map(|probe| probe.id.environment.as_deref())
                .collect(),
            closures: HashMap::new(),
        }
    }

    /// Returns whether the state has an environment: a kustomization, or a file that deploys a handler.
    fn has(&self, environment: &str) -> bool {
        let path = shown_path(self.root, environment_file(environment));
        let is_file = self.set.file(&path).is_some();
        is_file && (is_kustomization(&path) || self.environments.contains(environment))
    }

    /// Returns whether the kustomization that renders a handler is `kustomization`, or includes it.
    fn includes(&mut self, probe: &ProbeState, kustomization: &str) -> bool {
        let root = probe.rendered_by.as_ref();
        let Some((path, file)) = root.and_then(|path| Some((path, self.set.file(path)?))) else {
            return false;
        };
        let set = self.set;
        let closures = self.closures.entry(Arc::clone(path));
        let closure = closures.or_insert_with(|| Closure::of(set, file));
        let wanted = shown_path(self.root, kustomization);
        closure.kustomizations.contains(&*wanted)
    }
}
