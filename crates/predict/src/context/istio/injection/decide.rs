//! Decides how the pods of a workload take part in the mesh.

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::{ContainerList, Object, Workload};
use meshprobe_mesh::mesh::istio::injection::is_system_namespace;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::{Fact, Mesh, Reason};
use meshprobe_mesh::settings::{DataplaneMove, InjectionAssumption, MeshKind};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use super::moved::Move;
use crate::context::istio::pod_facts::PodFacts;
use crate::context::mesh::Dataplane;
use crate::context::user_facts::UserFacts;

pub(in crate::context) const SETTLE: &str = "--assume injection=all|none";

impl<'c, 't> PodFacts<'c, 't> {
    /// Decides how the pods of `workload` take part in the mesh.
    #[must_use]
    pub fn dataplane(&self) -> Fact<Dataplane> {
        self.dataplane_after(|| self.by_webhook())
    }

    /// Decides how the pods of `workload` take part in the mesh. `injection` is the result of
    /// [`PodFacts::by_webhook`], for a caller that already has it.
    pub(crate) fn dataplane_after(
        &self,
        injection: impl FnOnce() -> Fact<Dataplane>,
    ) -> Fact<Dataplane> {
        if self.context.settings.mesh == MeshKind::None {
            return Fact::settled(Dataplane::None, "no mesh (--mesh none)");
        }
        let fact = self
            .context
            .mesh_of(self.workload)
            .dataplane()
            .unwrap_or_else(|| match own_sidecar(self.workload) {
                Some(own) if has_redirect(self.workload) => own,
                Some(own) => without_redirect(own, injection()),
                None => injection(),
            });
        match placement(self.workload) {
            Some(assumption) => fact.depending_on(&assumption),
            None => fact,
        }
    }

    /// Decides whether a webhook adds a sidecar to the pods of `workload`, whatever containers their
    /// manifest contains.
    #[must_use]
    pub fn by_webhook(&self) -> Fact<Dataplane> {
        let object = &self.workload.object;
        if self.context.settings.mesh == MeshKind::None {
            return Fact::settled(Dataplane::None, "no mesh (--mesh none)");
        }
        if let Some(other) = self.context.mesh_of(self.workload).dataplane() {
            return other;
        }
        if let Some(place) = self.placeholder()
            && !self.context.user_facts(object).overrides_injection()
        {
            return Fact {
                certainty: Certainty::Unknown,
                ..Fact::known(Dataplane::Unknown, place)
            };
        }
        if let Some(entry) = self.workload.template.host_network() {
            let place =
                object.label_at(entry.key.span(), "pods on the host network get no sidecar");
            let fact = Fact::known(Dataplane::None, place);
            return match self.host_pod_not_enrolled() {
                Some(assumption) => fact.depending_on(&assumption),
                None => fact,
            };
        }
        let namespace = self.context.namespace_of(object).name;
        if is_system_namespace(namespace) {
            let message = format!("namespace `{namespace}` is never injected");
            return Fact::settled(Dataplane::None, message);
        }
        let found = self.context.namespace_of(object).manifest();
        let is_overridden = self.context.user_facts(object).overrides_injection();
        let by_namespace = found.filter(|_| !is_overridden);
        let fact = by_namespace
            .and_then(|_| self.by_namespaces())
            .or_else(|| self.as_member())
            .unwrap_or_else(|| self.without_namespace());
        let is_outside = matches!(fact.value, Dataplane::None | Dataplane::Unknown);
        let by_script = is_outside.then(|| self.by_script());
        by_script.flatten().unwrap_or(fact)
    }

    /// Decides by a command of a script that labels the namespace, unless an option decides.
    fn by_script(&self) -> Option<Fact<Dataplane>> {
        let object = &self.workload.object;
        let given = self.context.user_facts(object);
        let is_given = given
            .overrides
            .injection
            .or(given.assume.injection)
            .is_some();
        let namespace = self.context.namespace_of(object);
        let label = namespace
            .script_label()
            .filter(|label| label.mesh == Mesh::ISTIO && !is_given)?;
        let message = format!(
            "a command sets `{}` on namespace `{}`",
            label.key, namespace.name
        );
        let reason = Reason::without_place(message, Some(SETTLE));
        let mut fact = match &*label.key {
            keys::DATAPLANE_MODE => Fact {
                value: Dataplane::Ambient,
                certainty: Certainty::Assumed,
                because: vec![reason],
            },
            _ => self.as_if_injected(reason, Certainty::Assumed),
        };
        fact.because.push(Reason::written(label.place.clone()));
        Some(fact)
    }

    /// Decides by the Namespaces of all environments to which the workload may be deployed. If they differ, the pods
    /// are assumed to have a sidecar.
    fn by_namespaces(&self) -> Option<Fact<Dataplane>> {
        let namespace = self.context.namespace_of(&self.workload.object);
        let facts = namespace
            .manifests()
            .map(|found| (found, self.decide_in_namespace(&NamespaceView::of(found))));
        let is_preferred = |value: Dataplane| value == Dataplane::Sidecar;
        namespace.agreed(facts.collect(), is_preferred, Dataplane::as_str)
    }

    /// Decides for a namespace that is not in the tree, but is a member of a mesh of OpenShift Service Mesh, unless an
    /// option decides.
    fn as_member(&self) -> Option<Fact<Dataplane>> {
        let given = self.context.user_facts(&self.workload.object);
        let is_given = given
            .overrides
            .injection
            .or(given.assume.injection)
            .is_some();
        let member_of = self.member_of().filter(|_| !is_given);
        member_of.map(|_| self.decide_by_labels(&NamespaceView::unknown()))
    }

    /// Returns the place of a deciding value that another tool fills in.
    pub(in crate::context) fn placeholder(&self) -> Option<Label> {
        const NAMESPACE: [&str; 3] = [
            keys::NAMESPACE_INJECTION,
            keys::REVISION,
            keys::DATAPLANE_MODE,
        ];
        let template = &self.workload.template;
        let own = [
            template.spec.entry("hostNetwork"),
            template.label(keys::INJECT),
            template.annotation(keys::INJECT),
            template.label(keys::REVISION),
        ];
        let own = own
            .into_iter()
            .flatten()
            .map(|entry| (&self.workload.object, entry));
        let namespace = self.context.namespace_of(&self.workload.object).manifest();
        let labels = namespace.into_iter().flat_map(|found| {
            NAMESPACE
                .iter()
                .filter_map(move |key| Some((found, found.label(key)?)))
        });
        let mut deciding = own.chain(labels);
        let (object, entry) =
            deciding.find(|(_, entry)| entry.value.text().is_some_and(placeholder::contains))?;
        let message = "fills in this value, which decides about injection";
        Some(object.placeholder_at(entry.value.span(), message))
    }

    /// Decides by the labels of a Namespace in the tree.
    fn decide_in_namespace(&self, view: &NamespaceView<'c>) -> Fact<Dataplane> {
        let written = self.context.namespace_of(&self.workload.object).is_written;
        let fact = self.after_move(self.decide_by_labels(view));
        if written || fact.value == Dataplane::None {
            return fact;
        }
        let message = "the pod is deployed to namespace `default`";
        fact.depending_on(&Fact::assumed((), message, Some("--namespace NAME")))
    }

    /// Decides without a Namespace manifest: by options, or by evidence in the tree.
    fn without_namespace(&self) -> Fact<Dataplane> {
        let namespace = self.context.namespace_of(&self.workload.object).name;
        let by_user = self.context.user_facts(&self.workload.object);
        let given = by_user.overrides.injection.or(by_user.assume.injection);
        let option = if by_user.overrides_injection() {
            "--override"
        } else {
            "--assume"
        };
        if let Some(supposed) = self.move_of_unknown_namespace()
            && given.is_none()
        {
            return self.as_if_moved(supposed);
        }
        match given.unwrap_or_default() {
            InjectionAssumption::All => {
                let message = format!("namespace `{namespace}` is injected ({option})");
                self.as_if_injected(
                    reason_of_option(by_user, message),
                    certainty_of_option(by_user),
                )
            }
            InjectionAssumption::None => {
                let message = format!("namespace `{namespace}` is not injected ({option})");
                Fact {
                    value: Dataplane::None,
                    certainty: certainty_of_option(by_user),
                    because: vec![reason_of_option(by_user, message)],
                }
            }
            InjectionAssumption::Evidence => match self.evidence() {
                Some(evidence) => {
                    let message = format!(
                        "namespace `{namespace}` is injected (no Namespace manifest in scope; {})",
                        evidence.message
                    );
                    let reason = Reason {
                        evidence: Some(evidence),
                        ..Reason::without_place(message, Some(SETTLE))
                    };
                    self.as_if_injected(reason, certainty_of_option(by_user))
                }
                None => match self
                    .context
                    .namespace_of(&self.workload.object)
                    .placeholder()
                {
                    Some(place) => Fact {
                        certainty: Certainty::Unknown,
                        ..Fact::known(Dataplane::Unknown, place)
                    },
                    None => {
                        let why = match self.workload.template.label(keys::REVISION) {
                            Some(label) => format!(
                                "the pod selects revision `{}`, which no control plane in scope serves",
                                label.value.text().unwrap_or_default()
                            ),
                            None => "no evidence of a mesh".to_owned(),
                        };
                        let message =
                            format!("no Namespace manifest for `{namespace}` in scope, {why}");
                        Fact::unknown(Dataplane::Unknown, message, Some(SETTLE))
                    }
                },
            },
        }
    }

    /// Decides as if the namespace took part in the mesh as the user supposes. Pods may still opt out or request a
    /// sidecar.
    fn as_if_moved(&self, supposed: Move) -> Fact<Dataplane> {
        let namespace = self.context.namespace_of(&self.workload.object).name;
        if supposed.to == DataplaneMove::Sidecar {
            return self.as_if_injected(supposed.reason(namespace), supposed.certainty());
        }
        if supposed.to == DataplaneMove::None {
            return Fact {
                value: Dataplane::None,
                certainty: supposed.certainty(),
                because: vec![supposed.reason(namespace)],
            };
        }
        if let Some(mode) = self.ambient_mode().filter(|mode| !mode.value) {
            return mode.map(|_| Dataplane::None);
        }
        if let Some(opted_out) = self.opted_out_of_ambient() {
            return opted_out;
        }
        if self.requests_sidecar() {
            let message =
                format!("namespace `{namespace}` is not in the tree; the pod requests a sidecar");
            let reason = Reason::without_place(message, Some(SETTLE));
            return self.as_if_injected(reason, Certainty::Assumed);
        }
        Fact {
            value: Dataplane::Ambient,
            certainty: supposed.certainty(),
            because: vec![supposed.reason(namespace)],
        }
    }

    /// Decides as if the namespace were injected, because of `reason`. Pods may still opt out.
    pub(super) fn as_if_injected(&self, reason: Reason, certainty: Certainty) -> Fact<Dataplane> {
        let fact = self.decide_by_labels(&NamespaceView::unknown());
        if !matches!(fact.value, Dataplane::Sidecar | Dataplane::Uncaptured) {
            return fact;
        }
        let certainty = fact.certainty.min(certainty);
        Fact { certainty, ..fact }.preceded_by(reason)
    }
}

/// Returns the certainty of a fact that an option sets: `--override` counts as known, anything else
/// is an assumption.
pub(in crate::context) fn certainty_of_option(given: &UserFacts) -> Certainty {
    if given.overrides_injection() {
        Certainty::Known
    } else {
        Certainty::Assumed
    }
}

/// Returns a fact about injection that an option sets, as a reason.
fn reason_of_option(given: &UserFacts, message: String) -> Reason {
    if given.overrides_injection() {
        Reason::without_place(message, None)
    } else {
        Reason::assumed_by_user(message)
    }
}

/// Returns the assumption that pods are created from the template of `workload`; `None` if that is known.
#[must_use]
pub fn placement(workload: &Workload<'_>) -> Option<Fact<()>> {
    let template = &workload.template;
    template.placement.is_assumed().then(|| {
        let (title, within) = (workload.title(), &template.within);
        let message = format!("{title} creates pods from `{within}` in its own namespace");
        let settle = "kubectl get pods -A -o yaml | meshprobe check --context . -";
        Fact::assumed((), message, Some(settle))
    })
}

/// The labels of a namespace; empty if its Namespace is not in the tree.
#[derive(Clone, Debug)]
pub(in crate::context) struct NamespaceView<'t> {
    pub(in crate::context) injection: Option<Entry<'t>>,
    pub(in crate::context) revision: Option<Entry<'t>>,
    pub(in crate::context) mode: Option<Entry<'t>>,
    pub(in crate::context) object: Option<&'t Object<'t>>,
}

impl<'t> NamespaceView<'t> {
    pub(in crate::context) fn of(object: &'t Object<'t>) -> Self {
        Self {
            injection: object.label(keys::NAMESPACE_INJECTION),
            revision: object.label(keys::REVISION),
            mode: object.label(keys::DATAPLANE_MODE),
            object: Some(object),
        }
    }

    /// Returns the view of a Namespace that is not in the tree.
    pub(in crate::context) const fn unknown() -> Self {
        Self {
            injection: None,
            revision: None,
            mode: None,
            object: None,
        }
    }
}

/// Returns the sidecar that the manifest contains: the output of `istioctl kube-inject`, or an export
/// from a cluster. A container with `image: auto` is only a request to the injector.
pub(in crate::context) fn own_sidecar(workload: &Workload<'_>) -> Option<Fact<Dataplane>> {
    let mut containers = [ContainerList::Main, ContainerList::Init]
        .into_iter()
        .flat_map(|list| workload.template.names_in(list));
    let (_, proxy) = containers.find(|(name, container)| {
        let image = || container.get("image").and_then(NodeRef::text);
        *name == keys::PROXY_CONTAINER && image().is_some_and(|image| image != "auto")
    })?;
    let span = proxy.get("name").map(NodeRef::span)?;
    let place = workload
        .object
        .label_at(span, "the manifest contains its own sidecar");
    Some(Fact::known(Dataplane::Sidecar, place))
}

/// Returns whether the inbound traffic of a pod with its own sidecar may be redirected to that sidecar: by an init
/// container, or by the CNI plugin, which only concerns pods with the annotation that the injector writes.
///
/// Source: Istio 1.31, `cni/pkg/plugin/plugin.go` (`doAddRun`), and `injection-template.yaml` (`istio-init`,
/// `istio-validation`).
pub(super) fn has_redirect(workload: &Workload<'_>) -> bool {
    let template = &workload.template;
    let mut containers = template.names_in(ContainerList::Init);
    let texts = |container: NodeRef<'_>, key: &str| -> bool {
        let items = container.get(key).into_iter().flat_map(NodeRef::items);
        let mut texts = items.filter_map(NodeRef::text);
        texts.any(|text| text.contains("iptables"))
    };
    template.annotation(keys::STATUS).is_some()
        || containers.any(|(name, container)| {
            let image = container.get("image").and_then(NodeRef::text);
            let is_proxy_image = image.is_some_and(|image| image.contains("proxy_init"));
            matches!(name, keys::INIT_CONTAINER | keys::VALIDATION_CONTAINER)
                || is_proxy_image
                || texts(container, "args")
                || texts(container, "command")
        })
}

/// Returns the dataplane of a pod whose own sidecar `own` nothing in the manifest redirects traffic to. `injection`
/// is what the webhook does with the pod: it adds the redirect to a sidecar of the manifest.
pub(super) fn without_redirect(
    own: Fact<Dataplane>,
    injection: Fact<Dataplane>,
) -> Fact<Dataplane> {
    if injection.value.has_agent() {
        return own;
    }
    let because = own.because.into_iter().map(|mut reason| {
        reason
            .message
            .push_str(", to which it does not redirect traffic");
        if let Some(place) = &mut reason.place {
            place.message.clone_from(&reason.message);
        }
        reason
    });
    let uncaptured = Fact {
        value: Dataplane::Uncaptured,
        certainty: Certainty::Known,
        because: because.collect(),
    };
    match injection.value {
        Dataplane::Unknown => Fact {
            certainty: Certainty::Assumed,
            ..uncaptured.depending_on(&injection)
        },
        _ => uncaptured.depending_on(&injection),
    }
}
