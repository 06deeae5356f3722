//! Groups control planes that differ only in where they are written. A tree may contain as many as
//! pods, so each pod considers only some of a group.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::kube::Requirements;
use crate::mesh::Fact;
use crate::mesh::istio::install::{Install, Webhook, version_of_revision};
use crate::mesh::istio::keys;
use crate::settings::Settings;
use crate::source::paths::folder;

use crate::context::inventory::Inventory;
use crate::context::istio::install::view::NAMED;

/// How many control planes of a group are considered. Messages do not name more, so nothing depends
/// on the others.
const ENOUGH: usize = 2 * NAMED + 1;

/// The group of each control plane, by position; `None` for one that is in no group.
#[derive(Clone, Debug, Default)]
pub(in crate::context) struct Alike(Arc<[Option<usize>]>);

impl Alike {
    /// Groups control planes by what they state. Revisions that neither the tree nor the settings name
    /// count as equal.
    pub(in crate::context) fn of(
        planes: &[Install],
        inventory: &Inventory<'_>,
        settings: &Settings,
    ) -> Self {
        if planes.len() <= ENOUGH {
            return Self::default();
        }
        let mut named = named_revisions(inventory, settings);
        let mut seen = HashSet::new();
        for revision in planes.iter().map(Install::revision_name) {
            if !seen.insert(revision) {
                named.insert(revision);
            }
        }
        let mut numbers = HashMap::new();
        let each = planes.iter().map(|plane| {
            let next = numbers.len();
            let key = (folder(&plane.place.path), stated_values(plane, &named)?);
            Some(*numbers.entry(key).or_insert(next))
        });
        Self(each.collect())
    }

    /// Keeps the first [`ENOUGH`] positions of each group and removes the others.
    pub(in crate::context) fn enough(&self, positions: &mut Vec<usize>) {
        if positions.len() <= ENOUGH {
            return;
        }
        let mut counts: HashMap<usize, usize> = HashMap::new();
        positions.retain(|&at| {
            let number = self.0.get(at).copied().flatten();
            number.is_none_or(|number| {
                let count = counts.entry(number).or_default();
                *count += 1;
                *count <= ENOUGH
            })
        });
    }
}

/// Returns the revisions that pods, namespaces and settings name.
fn named_revisions<'a>(inventory: &'a Inventory<'_>, settings: &'a Settings) -> HashSet<&'a str> {
    let pods = inventory
        .workloads
        .iter()
        .filter_map(|subject| subject.workload.template.label(keys::REVISION));
    let namespaces = inventory
        .namespaces
        .iter()
        .filter_map(|namespace| namespace.label(keys::REVISION));
    let labels = pods
        .chain(namespaces)
        .filter_map(|label| label.value.text());
    let scoped = settings
        .scopes
        .iter()
        .flat_map(|scope| [&scope.assume, &scope.overrides]);
    let selected = settings.selected.iter().map(|selected| &selected.overrides);
    let given = [&settings.assume, &settings.overrides]
        .into_iter()
        .chain(selected)
        .chain(scoped)
        .flat_map(|facts| facts.revisions.iter().map(String::as_str));
    labels.chain(given).collect()
}

/// Returns whether a webhook may select a pod: it does not require a revision that is not among `named`.
fn may_select(hook: &Webhook, named: &HashSet<&str>) -> bool {
    let selectors = [&hook.namespaces, &hook.objects].into_iter();
    let mut required = selectors.flat_map(Requirements::required);
    required.all(|(key, values)| {
        key != keys::REVISION || values.iter().any(|value| named.contains(value.as_str()))
    })
}

/// Returns all values of a control plane, without the places; `None` if it contains more than values. Of a revision that
/// is not in `named`, only the release that its name may contain counts.
fn stated_values(plane: &Install, named: &HashSet<&str>) -> Option<String> {
    fn value<T>(fact: &Option<Fact<T>>) -> Option<&T> {
        fact.as_ref().map(|fact| &fact.value)
    }
    fn values<T>(facts: &[Fact<T>]) -> Vec<&T> {
        facts.iter().map(|fact| &fact.value).collect()
    }
    // Without `..`, so that a new field must be compared too.
    let Install {
        carrier,
        part,
        name: _,
        place: _,
        reads: _,
        unread,
        rejected_config,
        version,
        revision,
        tags,
        more_names,
        webhooks,
        rewrite,
        rewrite_tcp,
        probe_localhost,
        root_namespace,
        mesh_status_port,
        proxy_status_port,
        include_inbound_ports,
        exclude_inbound_ports,
        interception_mode,
        inbound_traffic_policy,
        prometheus_merge,
        hold_application,
        replaces_hold,
        cni,
        native_sidecars,
        mesh_mtls,
        network_plugin: _,
        cni_exclusive: _,
        cni_excluded,
        ambient,
        ambient_selectors,
        namespaces_by_default,
        auto_inject,
        never_inject,
        always_inject,
        default_templates,
        custom_templates,
        template_aliases,
        reinvocation_policy,
        discovery_selectors,
    } = plane;
    let selects = |hook: &Webhook| may_select(hook, named);
    let is_read = unread.is_empty() && rejected_config.is_none();
    if !is_read || more_names.is_some() || webhooks.iter().any(selects) {
        return None;
    }
    let webhooks: Vec<_> = webhooks.iter().map(|hook| &hook.tag).collect();
    let revision = value(revision).map(|revision| {
        let is_named = named.contains(revision.as_str());
        (is_named.then_some(revision), version_of_revision(revision))
    });
    let installation = (
        (carrier, part, value(version), revision),
        (values(tags), webhooks),
    );
    let probes = (value(rewrite), value(rewrite_tcp), value(probe_localhost));
    let ports = (
        value(mesh_status_port),
        value(proxy_status_port),
        value(include_inbound_ports),
        value(exclude_inbound_ports),
        value(interception_mode),
        value(inbound_traffic_policy),
    );
    let mesh = (
        value(root_namespace),
        value(prometheus_merge),
        value(hold_application),
        value(replaces_hold),
        value(cni),
        value(native_sidecars),
        value(mesh_mtls),
        value(cni_excluded),
        value(ambient),
        value(ambient_selectors),
    );
    let injection = (
        value(namespaces_by_default),
        value(auto_inject),
        value(never_inject),
        value(always_inject),
        value(reinvocation_policy),
        value(discovery_selectors),
    );
    let templates = (
        value(default_templates),
        values(custom_templates),
        values(template_aliases),
    );
    let all = (installation, probes, ports, mesh, injection, templates);
    Some(format!("{all:?}"))
}
