//! Whether the pods of a workload are injected, and what else becomes of them.

use crate::finding::{Certainty, Label};
use crate::kube::{Requirements, Workload};
use crate::mesh::istio::injection::inject_required;
use crate::mesh::istio::keys;
use crate::mesh::{Fact, Reason, Version};

use super::super::Context;
use super::super::install::{InstallView, Labels, Server};
use super::{Dataplane, NamespaceView, SETTLE};

/// Templates that bring an agent but no redirect (`files/*.yaml` of the chart istio-discovery).
const UNCAPTURED: [&str; 4] = ["gateway", "kube-gateway", "grpc-agent", "grpc-simple"];

impl<'t> Context<'t> {
    /// Decides by the labels of namespace and pod, and by who answers to them.
    pub(super) fn judge(
        &self,
        workload: &Workload<'t>,
        view: &NamespaceView<'_>,
    ) -> Fact<Dataplane> {
        let scope = self.scope(workload.object.home());
        let labels = self.labels_seen(workload, &scope);
        match self.server(&labels, &scope) {
            Server::Planes {
                planes,
                hook,
                assumption,
            } => {
                let at = self.scope_at(workload.object.home());
                let install = InstallView::of_candidates(planes, &self.control_planes, at);
                let fact = self.asked(workload, view, &labels, &install, hook);
                rest(fact, assumption)
            }
            Server::Someone { assumption } => {
                let install = self.install(workload);
                let fact = self.asked(workload, view, &labels, &install, None);
                rest(fact, assumption.filter(|_| view.object.is_some()))
            }
            Server::Nobody { because } => {
                let why = unserved(workload, view, because);
                self.not_injected(workload, view, &labels, Some(why))
            }
            Server::NotAsked => self.not_injected(workload, view, &labels, None),
        }
    }

    /// The injector is asked: label, annotation, selectors and policy decide.
    fn asked(
        &self,
        workload: &Workload<'t>,
        view: &NamespaceView<'_>,
        labels: &Labels<'_>,
        install: &InstallView<'_>,
        hook: Option<Label>,
    ) -> Fact<Dataplane> {
        let version = self.version(workload).value;
        let required = |policy| inject_required(policy, &labels.input, version);
        if required(true) == required(false) {
            return if required(true) {
                injected(workload, view, install, hook)
            } else {
                let why = written_off(workload, version);
                self.not_injected(workload, view, labels, why)
            };
        }
        match policy(install, labels) {
            None => injected(workload, view, install, hook),
            Some(fact) if fact.value => {
                let mut injected = injected(workload, view, install, hook);
                injected.certainty = injected.certainty.min(fact.certainty);
                injected
            }
            Some(fact) => self.not_injected(workload, view, labels, Some(fact.map(|_| ()))),
        }
    }

    /// No sidecar: ambient, or not in the mesh. `why` is the reason, where it is not a label.
    fn not_injected(
        &self,
        workload: &Workload<'t>,
        view: &NamespaceView<'_>,
        labels: &Labels<'_>,
        why: Option<Fact<()>>,
    ) -> Fact<Dataplane> {
        if let Some(fact) = self.ambient_enrolment(workload, view, labels) {
            return fact;
        }
        if let Some(why) = why {
            return why.map(|()| Dataplane::None);
        }
        let template = &workload.template;
        let opted_out = template
            .label(keys::INJECT)
            .or_else(|| template.annotation(keys::INJECT));
        if let Some(entry) = opted_out
            && matches!(entry.value.text(), Some("false"))
        {
            let said = "injection is switched off here";
            return Fact::known(
                Dataplane::None,
                workload.object.label_at(entry.value.span(), said),
            );
        }
        let namespace = labels.input.namespace;
        match (view.injection.or(view.revision), view.object) {
            (Some(label), Some(found)) => {
                let said = format!("this label keeps namespace `{namespace}` from being injected");
                Fact::known(Dataplane::None, found.label_at(label.value.span(), said))
            }
            (None, Some(found)) => {
                let said = format!("namespace `{namespace}` has no injection label");
                Fact::known(Dataplane::None, found.label_at(found.name_span(), said))
            }
            (_, None) => Fact::assumed(
                Dataplane::None,
                format!("namespace `{namespace}` is not injected"),
                Some(SETTLE),
            ),
        }
    }

    /// The pod is enrolled in ambient mode, or would be if it were on.
    fn ambient_enrolment(
        &self,
        workload: &Workload<'t>,
        view: &NamespaceView<'_>,
        labels: &Labels<'_>,
    ) -> Option<Fact<Dataplane>> {
        let place = self
            .selectors_enrol(workload, labels)
            .unwrap_or_else(|| label_enrols(workload, view, labels))?;
        match self.ambient(workload) {
            Some(mode) if !mode.value => Some(mode.map(|_| Dataplane::None)),
            Some(mode) if mode.certainty < Certainty::Known => {
                Some(Fact::known(Dataplane::Ambient, place).resting_on(&mode))
            }
            _ => Some(Fact::known(Dataplane::Ambient, place)),
        }
    }

    /// Selectors of the CNI plugin that differ from its defaults decide by themselves.
    /// Source: Istio 1.31, `cni/pkg/util/enablement_selector.go`.
    fn selectors_enrol(
        &self,
        workload: &Workload<'t>,
        labels: &Labels<'_>,
    ) -> Option<Option<Label>> {
        let install = self.install(workload);
        let fact = install.fact("cni.ambient.enablementSelectors", |one| {
            one.ambient_selectors.as_ref()
        })?;
        let matches = fact.value.iter().any(|selector| {
            selector.pod.matches(|key| labels.pod(key))
                && selector.namespace.matches(|key| labels.namespace(key))
        });
        let place = fact.because.into_iter().find_map(|reason| reason.place);
        Some(place.filter(|_| matches))
    }
}

/// The default selectors: the label of the pod, or that of the namespace unless the pod says no.
fn label_enrols(
    workload: &Workload<'_>,
    view: &NamespaceView<'_>,
    labels: &Labels<'_>,
) -> Option<Label> {
    let own = workload.template.label(keys::DATAPLANE_MODE);
    if let Some(own) = own
        && own.value.text() == Some("ambient")
    {
        return Some(workload.object.label_at(own.value.span(), "ambient"));
    }
    let (mode, found) = (view.mode?, view.object?);
    let is_ambient = mode.value.text() == Some("ambient");
    let namespace = labels.input.namespace;
    let said = format!("namespace `{namespace}` is in the ambient mesh");
    (is_ambient && own.is_none()).then(|| found.label_at(mode.value.span(), said))
}

fn rest(fact: Fact<Dataplane>, assumption: Option<Fact<()>>) -> Fact<Dataplane> {
    match assumption {
        Some(assumption) if fact.value == Dataplane::Sidecar => fact.resting_on(&assumption),
        _ => fact,
    }
}

/// What decides where neither label nor annotation does; `None` where nothing is written, which
/// stands for yes.
fn policy(install: &InstallView<'_>, labels: &Labels<'_>) -> Option<Fact<bool>> {
    const SETTLE: &str = "--override injection=all|none";
    let selects = |fact: &Fact<Vec<Requirements>>| {
        let mut selectors = fact.value.iter().filter(|selector| !selector.is_empty());
        selectors.any(|selector| selector.matches(|key| labels.pod(key)))
    };
    let never = install.fact(SETTLE, |one| one.never_inject.as_ref());
    if let Some(never) = never.filter(selects) {
        return Some(never.map(|_| false));
    }
    let always = install.fact(SETTLE, |one| one.always_inject.as_ref());
    if let Some(always) = always.filter(selects) {
        return Some(always.map(|_| true));
    }
    install.fact(SETTLE, |one| one.auto_inject.as_ref())
}

/// The pod's own word against a sidecar: the label, which counts since 1.12, before the annotation.
fn written_off(workload: &Workload<'_>, version: Option<Version>) -> Option<Fact<()>> {
    let template = &workload.template;
    let label = template
        .label(keys::INJECT)
        .filter(|_| version.is_none_or(|version| version >= Version::new(1, 12)));
    let entry = label.or_else(|| template.annotation(keys::INJECT))?;
    let said = "injection is switched off here";
    let place = workload.object.label_at(entry.value.span(), said);
    Some(Fact::known((), place))
}

/// The labels name a revision, and nobody answers to it.
fn unserved(workload: &Workload<'_>, view: &NamespaceView<'_>, because: Vec<Reason>) -> Fact<()> {
    let message = "no control plane of the tree answers to this";
    let of_namespace = view.injection.or(view.revision);
    let place = match (of_namespace, view.object) {
        (Some(label), Some(found)) => Some(found.label_at(label.value.span(), message)),
        _ => {
            let template = &workload.template;
            let own = template
                .label(keys::REVISION)
                .or_else(|| template.label(keys::INJECT));
            own.map(|entry| workload.object.label_at(entry.value.span(), message))
        }
    };
    let mut fact = match place {
        Some(place) => Fact::known((), place),
        None => Fact::settled((), "no control plane of the tree injects this namespace"),
    };
    fact.because.extend(because);
    if view.object.is_some() {
        return fact;
    }
    let said = "no label of the namespace names a revision that is served";
    fact.resting_on(&Fact::assumed((), said, Some(SETTLE)))
}

/// The pod is injected: the templates decide what it gets.
fn injected(
    workload: &Workload<'_>,
    view: &NamespaceView<'_>,
    install: &InstallView<'_>,
    hook: Option<Label>,
) -> Fact<Dataplane> {
    if let Some(fact) = uncaptured(workload, install) {
        return fact;
    }
    let object = &workload.object;
    let template = &workload.template;
    let namespace = view.injection.or(view.revision);
    let own = template
        .label(keys::INJECT)
        .or_else(|| template.label(keys::REVISION));
    let mut because: Vec<Reason> = hook.map(Reason::written).into_iter().collect();
    if let (Some(label), Some(found)) = (namespace, view.object) {
        let said = format!("namespace `{}` is injected", found.name());
        because.insert(0, Reason::written(found.label_at(label.value.span(), said)));
    } else if let Some(label) = own {
        let said = "injection is asked for here";
        because.insert(
            0,
            Reason::written(object.label_at(label.value.span(), said)),
        );
    }
    Fact {
        value: Dataplane::Sidecar,
        certainty: Certainty::Known,
        because,
    }
}

/// A template without redirect is asked for, by the pod or as the default of the installation.
fn uncaptured(workload: &Workload<'_>, install: &InstallView<'_>) -> Option<Fact<Dataplane>> {
    let is_uncaptured = |name: &str| UNCAPTURED.contains(&name) || expands(install, name);
    let said = "this template captures no traffic";
    if let Some(entry) = workload.template.annotation(keys::TEMPLATES) {
        let names = entry.value.text().unwrap_or_default();
        let place = workload.object.label_at(entry.value.span(), said);
        let hit = names.split(',').any(|name| is_uncaptured(name.trim()));
        return hit.then(|| Fact::known(Dataplane::Uncaptured, place));
    }
    let settle = "inject.istio.io/templates";
    let defaults = install.fact(settle, |one| one.default_templates.as_ref())?;
    let hit = defaults.value.iter().any(|name| is_uncaptured(name));
    hit.then(|| defaults.map(|_| Dataplane::Uncaptured))
}

/// An alias stands for several templates (`Config.Aliases` of the injector, not recursive).
fn expands(install: &InstallView<'_>, name: &str) -> bool {
    let aliases = install
        .candidates
        .iter()
        .flat_map(|one| &one.template_aliases);
    let mut targets = aliases.filter(|alias| alias.value.0 == name);
    targets.any(|alias| {
        alias
            .value
            .1
            .iter()
            .any(|one| UNCAPTURED.contains(&one.as_str()))
    })
}
