//! Decides whether the pods of a workload are injected, in ambient mode, or not in the mesh.

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::{Requirements, Workload};
use meshprobe_mesh::mesh::istio::injection::inject_required;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, Reason, Version};

use super::decide::{NamespaceView, SETTLE};
use crate::context::istio::install::server::{Labels, Server};
use crate::context::istio::install::view::InstallView;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::mesh::Dataplane;

/// Templates that add an agent but do not capture traffic (`files/*.yaml` of the chart istio-discovery).
const UNCAPTURED: [&str; 4] = ["gateway", "kube-gateway", "grpc-agent", "grpc-simple"];

impl<'c, 't> PodFacts<'c, 't> {
    /// Decides by the labels of the namespace and the pod, and by the control planes that serve them.
    pub(in crate::context) fn decide_by_labels(&self, view: &NamespaceView<'c>) -> Fact<Dataplane> {
        let scope = self.context.planes_in_scope(&self.workload.object);
        let labels = self.labels_in(view.object, &scope);
        match self.context.server(&labels, &scope) {
            Server::Planes {
                planes,
                hook,
                assumption,
            } => {
                let at = self.context.scope_at(&self.workload.object);
                let install = InstallView::of_candidates(planes, &self.context.control_planes, at);
                let fact = self.decide_at_injector(view, &labels, &install, hook);
                with_assumption(fact, assumption)
            }
            Server::OutsideTree { assumption } => {
                let install = self.view();
                let fact = self.decide_at_injector(view, &labels, install, None);
                // Without a Namespace, the assumption about the namespace covers the revision.
                let assumption = assumption.filter(|fact| {
                    view.object.is_some()
                        || fact.because.iter().any(|reason| reason.is_assumed_by_user)
                });
                with_assumption(fact, assumption)
            }
            Server::NotServed { because } => {
                let why = why_unserved(self.workload, view, because);
                self.not_injected(view, &labels, Some(why))
            }
            Server::NotRequested => self.not_injected(view, &labels, None),
        }
    }

    /// Decides for a pod that reaches the injector: by label, annotation, selectors and policy.
    fn decide_at_injector(
        &self,
        view: &NamespaceView<'_>,
        labels: &Labels<'_>,
        install: &InstallView<'_>,
        hook: Option<Label>,
    ) -> Fact<Dataplane> {
        let version = self.version().value;
        let required = |policy| inject_required(policy, &labels.input, version);
        if required(true) == required(false) {
            return if required(true) {
                injected(self.workload, view, install, hook)
            } else {
                let why = opt_out(self.workload, version);
                self.not_injected(view, labels, why)
            };
        }
        match policy(install, labels) {
            None => injected(self.workload, view, install, hook),
            Some(fact) if fact.value => {
                let mut injected = injected(self.workload, view, install, hook);
                injected.certainty = injected.certainty.min(fact.certainty);
                injected
            }
            Some(fact) => self.not_injected(view, labels, Some(fact.map(|_| ()))),
        }
    }

    /// Decides for a pod without a sidecar: in ambient mode, or not in the mesh. `why` is the reason,
    /// if it is not a label.
    fn not_injected(
        &self,
        view: &NamespaceView<'_>,
        labels: &Labels<'_>,
        why: Option<Fact<()>>,
    ) -> Fact<Dataplane> {
        if let Some(fact) = self.ambient_enrolment(view, labels) {
            return fact;
        }
        if let Some(why) = why {
            return why.map(|()| Dataplane::None);
        }
        let template = &self.workload.template;
        let opted_out = template
            .label(keys::INJECT)
            .or_else(|| template.annotation(keys::INJECT));
        if let Some(entry) = opted_out
            && matches!(entry.value.text(), Some("false"))
        {
            let message = "injection is switched off here";
            return Fact::known(
                Dataplane::None,
                self.workload.object.label_at(entry.value.span(), message),
            );
        }
        let namespace = labels.input.namespace;
        match (view.injection.or(view.revision), view.object) {
            (Some(label), Some(found)) => {
                let disables = match label.value.text() {
                    Some("disabled") => "disables",
                    _ => "does not enable",
                };
                let message =
                    format!("this label {disables} injection for namespace `{namespace}`");
                Fact::known(Dataplane::None, found.label_at(label.value.span(), message))
            }
            (None, Some(found)) => {
                let message = format!("namespace `{namespace}` has no injection label");
                Fact::known(Dataplane::None, found.label_at(found.name_span(), message))
            }
            (_, None) => Fact::assumed(
                Dataplane::None,
                format!("namespace `{namespace}` is not injected"),
                Some(SETTLE),
            ),
        }
    }

    /// Returns the ambient mode of a pod that is enrolled in it; `None` for a pod that is not.
    fn ambient_enrolment(
        &self,
        view: &NamespaceView<'_>,
        labels: &Labels<'_>,
    ) -> Option<Fact<Dataplane>> {
        let place = self
            .enrolling_selector(labels)
            .unwrap_or_else(|| enrolling_label(self.workload, view, labels))?;
        if let Some(excluded) = self.excluded_namespace() {
            return Some(excluded.map(|()| Dataplane::None));
        }
        match self.ambient_mode() {
            Some(mode) if !mode.value => Some(mode.map(|_| Dataplane::None)),
            Some(mode) if mode.certainty < Certainty::Known => {
                Some(Fact::known(Dataplane::Ambient, place).depending_on(&mode))
            }
            _ => Some(Fact::known(Dataplane::Ambient, place)),
        }
    }

    /// Decides by the selectors of the CNI plugin, if these differ from the defaults. The outer `None`
    /// means that they do not.
    /// Source: Istio 1.31, `cni/pkg/util/enablement_selector.go`.
    fn enrolling_selector(&self, labels: &Labels<'_>) -> Option<Option<Label>> {
        let install = self.view();
        let fact = install.fact("cni.ambient.enablementSelectors", |plane| {
            plane.ambient_selectors.as_ref()
        })?;
        let matches = fact.value.iter().any(|selector| {
            selector.pod.matches(|key| labels.pod(key))
                && selector.namespace.matches(|key| labels.namespace(key))
        });
        let place = fact.because.into_iter().find_map(|reason| reason.place);
        Some(place.filter(|_| matches))
    }
}

/// Returns the label that enrols a pod by the default selectors: that of the pod, or that of the
/// namespace unless the pod has the label with the value `none`.
fn enrolling_label(
    workload: &Workload<'_>,
    view: &NamespaceView<'_>,
    labels: &Labels<'_>,
) -> Option<Label> {
    let own = workload.template.label(keys::DATAPLANE_MODE);
    if let Some(own) = own
        && own.value.text() == Some("ambient")
    {
        return Some(workload.object.label_at(
            own.value.span(),
            "this label adds the pod to the ambient mesh",
        ));
    }
    let (mode, found) = (view.mode?, view.object?);
    let is_ambient = mode.value.text() == Some("ambient");
    let opts_out = own.is_some_and(|own| own.value.text() == Some("none"));
    let namespace = labels.input.namespace;
    let message = format!("namespace `{namespace}` is in the ambient mesh");
    (is_ambient && !opts_out).then(|| found.label_at(mode.value.span(), message))
}

fn with_assumption(fact: Fact<Dataplane>, assumption: Option<Fact<()>>) -> Fact<Dataplane> {
    match assumption {
        Some(assumption) if fact.value == Dataplane::Sidecar => fact.depending_on(&assumption),
        _ => fact,
    }
}

/// Decides by the selectors and the policy of the injector, if neither label nor annotation decides.
/// `None` means that nothing is written, so the pod is injected.
fn policy(install: &InstallView<'_>, labels: &Labels<'_>) -> Option<Fact<bool>> {
    const SETTLE: &str = "--override injection=all|none";
    let selects = |fact: &Fact<Vec<Requirements>>| {
        fact.value
            .iter()
            .filter(|selector| !selector.is_empty())
            .any(|selector| selector.matches(|key| labels.pod(key)))
    };
    let never = install.fact(SETTLE, |plane| plane.never_inject.as_ref());
    if let Some(never) = never.filter(selects) {
        return Some(never.map(|_| false));
    }
    let always = install.fact(SETTLE, |plane| plane.always_inject.as_ref());
    if let Some(always) = always.filter(selects) {
        return Some(always.map(|_| true));
    }
    install.fact(SETTLE, |plane| plane.auto_inject.as_ref())
}

/// Returns the opt-out of the pod: the label, which Istio reads since 1.12, before the annotation.
fn opt_out(workload: &Workload<'_>, version: Option<Version>) -> Option<Fact<()>> {
    let template = &workload.template;
    let entry = template
        .label(keys::INJECT)
        .filter(|_| version.is_none_or(|version| version >= Version::new(1, 12)))
        .or_else(|| template.annotation(keys::INJECT))?;
    let message = "injection is switched off here";
    let place = workload.object.label_at(entry.value.span(), message);
    Some(Fact::known((), place))
}

/// Returns why a pod is not injected whose labels name a revision that no control plane serves.
fn why_unserved(
    workload: &Workload<'_>,
    view: &NamespaceView<'_>,
    because: Vec<Reason>,
) -> Fact<()> {
    let message = "no control plane in the tree serves the revision that this label selects";
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
        None => Fact::settled((), "no control plane in the tree injects this namespace"),
    };
    let is_assumed = |reason: &Reason| reason.is_assumed_by_user || reason.settle.is_some();
    if because.iter().any(is_assumed) {
        fact.certainty = Certainty::Assumed;
    }
    fact.because.extend(because);
    if view.object.is_some() {
        return fact;
    }
    let message = "the namespace does not name a revision that is served";
    fact.depending_on(&Fact::assumed((), message, Some(SETTLE)))
}

/// Decides for a pod that is injected: the templates decide whether its traffic is captured.
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
        let message = format!("namespace `{}` is injected", found.name());
        because.insert(
            0,
            Reason::written(found.label_at(label.value.span(), message)),
        );
    } else if let Some(label) = own {
        let message = "injection is requested here";
        because.insert(
            0,
            Reason::written(object.label_at(label.value.span(), message)),
        );
    }
    Fact {
        value: Dataplane::Sidecar,
        certainty: Certainty::Known,
        because,
    }
}

/// Returns the template without capture that the pod, or the default of the installation, selects.
fn uncaptured(workload: &Workload<'_>, install: &InstallView<'_>) -> Option<Fact<Dataplane>> {
    let is_uncaptured =
        |name: &str| UNCAPTURED.contains(&name) || is_uncaptured_alias(install, name);
    let message = "this template does not capture traffic";
    if let Some(entry) = workload.template.annotation(keys::TEMPLATES) {
        let names = entry.value.text().unwrap_or_default();
        let place = workload.object.label_at(entry.value.span(), message);
        let hit = names.split(',').any(|name| is_uncaptured(name.trim()));
        return hit.then(|| Fact::known(Dataplane::Uncaptured, place));
    }
    let settle = "inject.istio.io/templates";
    let defaults = install.fact(settle, |plane| plane.default_templates.as_ref())?;
    let hit = defaults.value.iter().any(|name| is_uncaptured(name));
    hit.then(|| defaults.map(|_| Dataplane::Uncaptured))
}

/// Returns whether `name` is an alias of a template without capture (`Config.Aliases` of the
/// injector, not recursive).
fn is_uncaptured_alias(install: &InstallView<'_>, name: &str) -> bool {
    install
        .candidates
        .iter()
        .flat_map(|plane| &plane.template_aliases)
        .filter(|alias| alias.value.0 == name)
        .any(|alias| {
            alias
                .value
                .1
                .iter()
                .any(|template| UNCAPTURED.contains(&template.as_str()))
        })
}
