//! What fields that are not followed may change, and which objects that concerns. A kustomization may list as many changes
//! as it has objects: those that concern a kind are sought once, and found by the name of an object.

use hashbrown::HashMap;

use crate::mesh::signs;

use super::super::fact_kind::FactKind;
use super::field_path::{
    Style, concerns_namespace, concerns_policy, concerns_probes, is_rewritten,
};
use super::resource::Resource;
use super::selector::Target;

/// What may be changed.
pub(super) enum Changes {
    /// Anything.
    All,
    /// What one of these says.
    Some(Vec<Change>),
}

/// Something of some objects.
pub(super) struct Change {
    /// It is copied from there, and not changed.
    pub(super) is_source: bool,
    /// Which; `None` stands for all.
    pub(super) target: Option<Target>,
    /// Of a field spec: the only kind, where it names one.
    pub(super) kind: String,
    /// Where in the object; `None` stands for anywhere.
    pub(super) path: Option<(String, Style)>,
}

impl Change {
    fn concerns(&self, purpose: Purpose, kind: &str) -> bool {
        let concerns = match purpose {
            Purpose::Probes => concerns_probes,
            Purpose::Namespace => concerns_namespace,
            Purpose::Policy => concerns_policy,
            Purpose::Copy => is_rewritten,
        };
        let is_meant = self.kind.is_empty() || self.kind == kind;
        let is_there = || {
            let path = self.path.as_ref();
            path.is_none_or(|(path, style)| concerns(path, *style, kind))
        };
        self.is_source == (purpose == Purpose::Copy) && is_meant && is_there()
    }
}

/// What a change is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    /// It changes probes.
    Probes,
    /// It changes what a Namespace decides.
    Namespace,
    /// It changes what a policy decides.
    Policy,
    /// It copies probes into another object.
    Copy,
}

/// The changes that concern objects of one kind.
#[derive(Default)]
struct OfKind<'c> {
    /// One of them is for all objects.
    is_for_all: bool,
    by_name: HashMap<&'c str, Vec<&'c Target>>,
    /// Those without a literal name.
    unnamed: Vec<&'c Target>,
}

impl<'c> OfKind<'c> {
    fn new(changes: impl Iterator<Item = &'c Change>) -> Self {
        let mut of_kind = Self::default();
        for change in changes {
            match change
                .target
                .as_ref()
                .map(|target| (target, target.literal_name()))
            {
                None => of_kind.is_for_all = true,
                Some((target, None)) => of_kind.unnamed.push(target),
                Some((target, Some(name))) => {
                    of_kind.by_name.entry(name).or_default().push(target);
                }
            }
        }
        of_kind
    }

    fn includes(&self, resource: &Resource) -> bool {
        let names = [resource.name().name, resource.original().name];
        let named = names.into_iter().filter_map(|name| self.by_name.get(name));
        let mut targets = self.unnamed.iter().chain(named.flatten());
        self.is_for_all || targets.any(|target| target.selects(resource))
    }
}

/// The objects that some changes concern.
pub(super) struct Effects<'c> {
    changes: &'c Changes,
    by_kind: HashMap<(Purpose, String), OfKind<'c>>,
}

impl<'c> Effects<'c> {
    pub(super) fn of(changes: &'c Changes) -> Self {
        Self {
            changes,
            by_kind: HashMap::new(),
        }
    }

    /// Returns whether the probes of an object may change.
    pub(super) fn may_change(&mut self, resource: &Resource) -> bool {
        match self.changes {
            Changes::All => true,
            Changes::Some(changes) => self.includes(changes, Purpose::Probes, resource),
        }
    }

    /// Returns whether an object may change that decides about the pods beside it.
    pub(super) fn may_change_fact(&mut self, resource: &Resource) -> bool {
        let Changes::Some(changes) = self.changes else {
            return false;
        };
        let (group, _) = resource.group_version();
        let purpose = match FactKind::of(group, resource.name().kind) {
            Some(FactKind::Namespace) => Purpose::Namespace,
            Some(FactKind::PeerAuthentication) => Purpose::Policy,
            Some(FactKind::OfMesh) if signs::mesh_of_group(group).is_some() => Purpose::Policy,
            _ => return false,
        };
        self.includes(changes, purpose, resource)
    }

    /// Returns whether probes of an object may be copied into another one.
    pub(super) fn may_copy(&mut self, resource: &Resource) -> bool {
        match self.changes {
            Changes::All => false,
            Changes::Some(changes) => self.includes(changes, Purpose::Copy, resource),
        }
    }

    fn includes(&mut self, changes: &'c [Change], purpose: Purpose, resource: &Resource) -> bool {
        let kind = resource.name().kind;
        let of_kind = self
            .by_kind
            .entry((purpose, kind.to_owned()))
            .or_insert_with(|| {
                let concerning = changes.iter();
                OfKind::new(concerning.filter(|change| change.concerns(purpose, kind)))
            });
        of_kind.includes(resource)
    }
}
