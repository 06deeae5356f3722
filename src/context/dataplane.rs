//! How a workload's pods take part in the mesh.

use crate::finding::Certainty;
use crate::kube::{ContainerList, Object, Workload};
use crate::mesh::istio::injection::{
    ControlPlane, InjectionInput, inject_required, is_system_namespace, webhook,
};
use crate::mesh::istio::keys;
use crate::mesh::{Fact, Reason};
use crate::settings::{InjectionAssumption, MeshKind};
use crate::yaml::{Entry, NodeRef};

use super::Context;
use super::inventory::{are_related, nearest};

/// How a pod takes part in the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataplane {
    /// A sidecar in the pod.
    Sidecar,
    /// A gateway or a proxyless template: an agent, but no redirect.
    Uncaptured,
    /// Istio's ambient mode.
    Ambient,
    /// Not in a mesh.
    None,
    /// The tree does not say.
    Unknown,
}

impl Dataplane {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sidecar => "sidecar",
            Self::Uncaptured => "uncaptured",
            Self::Ambient => "ambient",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

const SETTLE: &str = "--assume injection=all|none";

/// The labels of a namespace, or what is taken for them.
#[derive(Clone, Debug)]
struct NamespaceView<'t> {
    injection: Option<Entry<'t>>,
    revision: Option<Entry<'t>>,
    mode: Option<Entry<'t>>,
    object: Option<&'t Object<'t>>,
}

impl<'t> Context<'t> {
    /// Returns the namespace of an object and whether it is written.
    #[must_use]
    pub fn namespace_of<'a>(&'a self, object: &Object<'t>) -> (&'a str, bool)
    where
        't: 'a,
    {
        match (object.namespace(), &self.settings.namespace) {
            (Some(namespace), _) => (namespace, true),
            (None, Some(namespace)) => (namespace.as_str(), true),
            (None, None) => ("default", false),
        }
    }

    /// Decides how the pods of `workload` take part in the mesh.
    #[must_use]
    pub fn dataplane(&self, workload: &Workload<'t>) -> Fact<Dataplane> {
        if self.settings.mesh == MeshKind::None {
            return Fact::settled(Dataplane::None, "no mesh (--mesh none)");
        }
        if let Some(fact) = own_sidecar(workload) {
            return fact;
        }
        let object = &workload.object;
        if let Some(entry) = workload.template.host_network() {
            let place =
                object.label_at(entry.key.span(), "pods on the host network get no sidecar");
            return Fact::known(Dataplane::None, place);
        }
        let (namespace, _) = self.namespace_of(object);
        if is_system_namespace(namespace) {
            let said = format!("namespace `{namespace}` is never injected");
            return Fact::settled(Dataplane::None, said);
        }
        match self.namespace_object(object) {
            Some(found) => self.decide(workload, &NamespaceView::of(found)),
            None => self.without_namespace(workload),
        }
    }

    /// Returns the Namespace manifest that is nearest to the object.
    #[must_use]
    pub fn namespace_object(&self, object: &Object<'t>) -> Option<&Object<'t>> {
        let (name, written) = self.namespace_of(object);
        let named = self.inventory.namespaces.iter().filter(|candidate| {
            candidate.name() == name
                && (written || are_related(candidate.path(), object.path()))
                && self.inventory.forks.join(candidate.path(), object.path())
        });
        nearest(named, object.path()).first().copied()
    }

    /// The namespace's labels are written: they decide.
    fn decide(&self, workload: &Workload<'t>, view: &NamespaceView<'_>) -> Fact<Dataplane> {
        let (namespace, written) = self.namespace_of(&workload.object);
        let input = self.input(workload, namespace, view);
        let plane = self.control_plane(&input);
        let mut fact = match webhook(&plane, &input) {
            Some(_) if inject_required(plane.policy_enabled, &input, self.version()) => {
                injected(workload, view)
            }
            _ => self.not_injected(workload, view, namespace),
        };
        if view.object.is_some() && is_foreign_revision(&input) && fact.value == Dataplane::Sidecar
        {
            let said = "a control plane serves the revision named there";
            fact = fact.resting_on(&Fact::assumed((), said, Some("--assume revision=NAME")));
        }
        if !written && fact.value != Dataplane::None {
            let said = "the workload goes to namespace `default`";
            fact = fact.resting_on(&Fact::assumed((), said, Some("--namespace NAME")));
        }
        fact
    }

    fn not_injected(
        &self,
        workload: &Workload<'t>,
        view: &NamespaceView<'_>,
        namespace: &str,
    ) -> Fact<Dataplane> {
        let template = &workload.template;
        let object = &workload.object;
        let own = template.label(keys::DATAPLANE_MODE);
        if let Some(own) = own
            && own.value.text() == Some("ambient")
        {
            return Fact::known(
                Dataplane::Ambient,
                object.label_at(own.value.span(), "ambient"),
            );
        }
        if let (Some(mode), Some(found), None) = (view.mode, view.object, own)
            && mode.value.text() == Some("ambient")
        {
            let said = format!("namespace `{namespace}` is in the ambient mesh");
            return Fact::known(Dataplane::Ambient, found.label_at(mode.value.span(), said));
        }
        let opted_out = template
            .label(keys::INJECT)
            .or_else(|| template.annotation(keys::INJECT));
        if let Some(entry) = opted_out
            && matches!(entry.value.text(), Some("false"))
        {
            let place = object.label_at(entry.value.span(), "injection is switched off here");
            return Fact::known(Dataplane::None, place);
        }
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

    /// No Namespace manifest: the user's assumption or signs in the tree decide.
    fn without_namespace(&self, workload: &Workload<'t>) -> Fact<Dataplane> {
        let (namespace, _) = self.namespace_of(&workload.object);
        let given = self
            .settings
            .overrides
            .injection
            .or(self.settings.assume.injection);
        let view = NamespaceView {
            injection: None,
            revision: None,
            mode: None,
            object: None,
        };
        let assumed_label = |because: String, settle| {
            let mut input = self.input(workload, namespace, &view);
            if input.revision.is_none() {
                input.namespace_injection = Some("enabled");
            }
            let plane = self.control_plane(&input);
            let hit = webhook(&plane, &input).is_some()
                && inject_required(plane.policy_enabled, &input, self.version());
            if hit {
                let fact = injected(workload, &view);
                Fact {
                    value: fact.value,
                    certainty: Certainty::Assumed,
                    because: fact.because,
                }
                .preceded_by(Reason::said(because, settle))
            } else {
                self.not_injected(workload, &view, namespace)
            }
        };
        match given.unwrap_or_default() {
            InjectionAssumption::All => assumed_label(
                format!("namespace `{namespace}` is injected (--assume)"),
                None,
            ),
            InjectionAssumption::None => {
                let said = format!("namespace `{namespace}` is not injected (--assume)");
                Fact::assumed(Dataplane::None, said, None)
            }
            InjectionAssumption::Evidence => match self.evidence(workload) {
                Some(sign) => {
                    let said = format!(
                        "namespace `{namespace}` is injected (no Namespace manifest in scope; {sign})"
                    );
                    assumed_label(said, Some(SETTLE))
                }
                None => Fact::unknown(
                    Dataplane::Unknown,
                    format!("no Namespace manifest `{namespace}` in scope, no sign of a mesh"),
                    Some(SETTLE),
                ),
            },
        }
    }

    /// Returns a sign that the workload belongs to the mesh.
    fn evidence(&self, workload: &Workload<'t>) -> Option<String> {
        let template = &workload.template;
        let prefixes = [
            "sidecar.istio.io/",
            "traffic.sidecar.istio.io/",
            keys::PROXY_CONFIG,
        ];
        let keys_of = |node: Option<NodeRef<'t>>| node.into_iter().flat_map(NodeRef::entries);
        let own = keys_of(template.annotations()).chain(keys_of(template.labels()));
        for key in own.filter_map(|entry| entry.key.text()) {
            if prefixes.iter().any(|prefix| key.starts_with(prefix)) || key == keys::TLS_MODE {
                return Some(format!("the pod template carries `{key}`"));
            }
        }
        let inventory = &self.inventory;
        let policies = inventory.peer_authentications.iter();
        let signs = policies
            .chain(&inventory.authorization_policies)
            .chain(&inventory.mesh_signs);
        let in_namespace = signs.filter(|sign| self.shares_namespace(sign, &workload.object));
        nearest(in_namespace, workload.object.path())
            .first()
            .map(|sign| format!("{} `{}` is there", sign.kind, sign.name()))
    }

    fn input<'a>(
        &self,
        workload: &Workload<'a>,
        namespace: &'a str,
        view: &NamespaceView<'a>,
    ) -> InjectionInput<'a> {
        let template = &workload.template;
        let text = |entry: Option<Entry<'a>>| entry.and_then(|entry| entry.value.text());
        InjectionInput {
            namespace,
            namespace_injection: text(view.injection),
            namespace_revision: text(view.revision),
            label: text(template.label(keys::INJECT)),
            annotation: text(template.annotation(keys::INJECT)),
            revision: text(template.label(keys::REVISION)),
            host_network: template.host_network().is_some(),
        }
    }

    /// The control plane; a revision that is named somewhere is taken as served, because the
    /// installation is not in the tree.
    fn control_plane(&self, input: &InjectionInput<'_>) -> ControlPlane {
        let given = [
            &self.settings.overrides.revisions,
            &self.settings.assume.revisions,
        ];
        let given: Vec<String> = given.into_iter().flatten().cloned().collect();
        if !given.is_empty() {
            let is_default = given.iter().any(|name| name == "default");
            return ControlPlane {
                names: given,
                is_default,
                ..ControlPlane::default()
            };
        }
        let named = [input.namespace_revision, input.revision];
        let mut plane = ControlPlane::default();
        plane
            .names
            .extend(named.into_iter().flatten().map(str::to_owned));
        plane
    }
}

impl<'t> NamespaceView<'t> {
    fn of(object: &'t Object<'t>) -> Self {
        Self {
            injection: object.label(keys::NAMESPACE_INJECTION),
            revision: object.label(keys::REVISION),
            mode: object.label(keys::DATAPLANE_MODE),
            object: Some(object),
        }
    }
}

fn is_foreign_revision(input: &InjectionInput<'_>) -> bool {
    let named = input.namespace_revision.or(input.revision);
    input.namespace_injection.is_none() && named.is_some_and(|name| name != "default")
}

/// A sidecar that the manifest brings along itself: the output of `istioctl kube-inject`, or an
/// export from a cluster. A container with `image: auto` is only a request to the injector.
fn own_sidecar(workload: &Workload<'_>) -> Option<Fact<Dataplane>> {
    let lists = [ContainerList::Main, ContainerList::Init];
    let containers = lists
        .into_iter()
        .flat_map(|list| workload.template.containers_in(list));
    let proxy = containers
        .filter(|container| container.name() == keys::PROXY_CONTAINER)
        .find(|container| container.image().is_some_and(|image| image != "auto"))?;
    let span = proxy.node.get("name").map(NodeRef::span)?;
    let place = workload
        .object
        .label_at(span, "the manifest brings its own sidecar");
    Some(Fact::known(Dataplane::Sidecar, place))
}

/// The pod is injected: the templates decide what it gets.
fn injected(workload: &Workload<'_>, view: &NamespaceView<'_>) -> Fact<Dataplane> {
    let template = &workload.template;
    let object = &workload.object;
    if let Some(entry) = template.annotation(keys::TEMPLATES) {
        let names = entry.value.text().unwrap_or_default();
        let uncaptured = ["gateway", "kube-gateway", "grpc-agent", "grpc-simple"];
        if names
            .split(',')
            .any(|name| uncaptured.contains(&name.trim()))
        {
            let place = object.label_at(entry.value.span(), "this template captures no traffic");
            return Fact::known(Dataplane::Uncaptured, place);
        }
    }
    let namespace = view.injection.or(view.revision);
    if let (Some(label), Some(found)) = (namespace, view.object) {
        let said = format!("namespace `{}` is injected", found.name());
        return Fact::known(Dataplane::Sidecar, found.label_at(label.value.span(), said));
    }
    let own = template
        .label(keys::INJECT)
        .or_else(|| template.label(keys::REVISION));
    match own {
        Some(label) => {
            let place = object.label_at(label.value.span(), "injection is asked for here");
            Fact::known(Dataplane::Sidecar, place)
        }
        None => Fact {
            value: Dataplane::Sidecar,
            certainty: Certainty::Known,
            because: Vec::new(),
        },
    }
}
