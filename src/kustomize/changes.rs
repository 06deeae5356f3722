//! Objects that unsupported fields of a kustomization may change. A kustomization may list as many changes as it has
//! objects: the changes that affect a kind are searched once and indexed by the name of their target.

use hashbrown::HashMap;

use crate::mesh::detect;

use crate::kustomize::field_path::{
    Style, concerns_namespace, concerns_policy, concerns_probes, is_rewritten,
};
use crate::kustomize::resource::Resource;
use crate::kustomize::selector::Target;
use crate::mesh::fact_kind::FactKind;

/// Possible changes of a field.
pub(crate) enum Changes {
    /// Anything.
    All,
    /// Only these changes.
    Some(Vec<Change>),
}

/// Possible change of some objects.
pub(crate) struct Change {
    /// Whether the value is copied from these objects, and not changed.
    pub(crate) is_source: bool,
    /// The affected objects; `None` for all.
    pub(crate) target: Option<Target>,
    /// For a field spec: the affected kind; empty for all kinds.
    pub(crate) kind: String,
    /// The path in the object; `None` for any path.
    pub(crate) path: Option<(String, Style)>,
}

impl Change {
    fn concerns(&self, purpose: Purpose, kind: &str) -> bool {
        let concerns = match purpose {
            Purpose::Probes => concerns_probes,
            Purpose::Namespace => concerns_namespace,
            Purpose::Policy => concerns_policy,
            Purpose::Copy => is_rewritten,
        };
        let is_of_kind = self.kind.is_empty() || self.kind == kind;
        let is_relevant = || {
            let path = self.path.as_ref();
            path.is_none_or(|(path, style)| concerns(path, *style, kind))
        };
        self.is_source == (purpose == Purpose::Copy) && is_of_kind && is_relevant()
    }
}

/// Effect for which changes are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    /// Changes probes.
    Probes,
    /// Changes a setting of a Namespace.
    Namespace,
    /// Changes a setting of a policy.
    Policy,
    /// Copies probes into another object.
    Copy,
}

/// Changes that affect objects of one kind.
#[derive(Default)]
struct KindIndex<'c> {
    /// Whether a change affects all objects.
    is_for_all: bool,
    by_name: HashMap<&'c str, Vec<&'c Target>>,
    /// The targets without a literal name.
    unnamed: Vec<&'c Target>,
}

impl<'c> KindIndex<'c> {
    fn new(changes: impl Iterator<Item = &'c Change>) -> Self {
        let mut index = Self::default();
        for change in changes {
            match change
                .target
                .as_ref()
                .map(|target| (target, target.literal_name()))
            {
                None => index.is_for_all = true,
                Some((target, None)) => index.unnamed.push(target),
                Some((target, Some(name))) => {
                    index.by_name.entry(name).or_default().push(target);
                }
            }
        }
        index
    }

    fn includes(&self, resource: &Resource) -> bool {
        let names = [resource.name().name, resource.original().name];
        let named = names.into_iter().filter_map(|name| self.by_name.get(name));
        let mut targets = self.unnamed.iter().chain(named.flatten());
        self.is_for_all || targets.any(|target| target.selects(resource))
    }
}

/// Index of the objects that changes affect.
pub(crate) struct ChangeIndex<'c> {
    changes: &'c Changes,
    by_kind: HashMap<(Purpose, String), KindIndex<'c>>,
}

impl<'c> ChangeIndex<'c> {
    pub(crate) fn of(changes: &'c Changes) -> Self {
        Self {
            changes,
            by_kind: HashMap::new(),
        }
    }

    /// Returns whether the probes of an object may change.
    pub(crate) fn may_change(&mut self, resource: &Resource) -> bool {
        match self.changes {
            Changes::All => true,
            Changes::Some(changes) => self.includes(changes, Purpose::Probes, resource),
        }
    }

    /// Returns whether `resource` may change in a way that affects other pods of its namespace.
    pub(crate) fn may_change_fact(&mut self, resource: &Resource) -> bool {
        let Changes::Some(changes) = self.changes else {
            return false;
        };
        let (group, _) = resource.group_version();
        let purpose = match FactKind::of(group, resource.name().kind) {
            Some(FactKind::Namespace) => Purpose::Namespace,
            Some(FactKind::PeerAuthentication) => Purpose::Policy,
            Some(FactKind::OfMesh) if detect::mesh_of_group(group).is_some() => Purpose::Policy,
            _ => return false,
        };
        self.includes(changes, purpose, resource)
    }

    /// Returns whether probes of an object may be copied into another one.
    pub(crate) fn may_copy(&mut self, resource: &Resource) -> bool {
        match self.changes {
            Changes::All => false,
            Changes::Some(changes) => self.includes(changes, Purpose::Copy, resource),
        }
    }

    fn includes(&mut self, changes: &'c [Change], purpose: Purpose, resource: &Resource) -> bool {
        let kind = resource.name().kind;
        let index = self
            .by_kind
            .entry((purpose, kind.to_owned()))
            .or_insert_with(|| {
                KindIndex::new(
                    changes
                        .iter()
                        .filter(|change| change.concerns(purpose, kind)),
                )
            });
        index.includes(resource)
    }
}
