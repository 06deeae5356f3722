//! How a workload's pods take part in the mesh.

mod gap;
mod injection;

use std::sync::Arc;

use crate::finding::{Certainty, Label};
use crate::kube::{ContainerList, Object, Workload};
use crate::mesh::istio::injection::is_system_namespace;
use crate::mesh::istio::keys;
use crate::mesh::{Fact, Reason};
use crate::settings::{InjectionAssumption, MeshKind};
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

use super::inventory::{are_related, namespace_of, nearest};
use super::memo::spot;
use super::{Context, Given};

pub use gap::NamespaceGap;

/// How a pod takes part in the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataplane {
    /// Istio's sidecar in the pod.
    Sidecar,
    /// A gateway or a proxyless template: an agent, but no redirect.
    Uncaptured,
    /// Istio's ambient mode.
    Ambient,
    /// The sidecar of a mesh that is not Istio.
    Other,
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
            Self::Sidecar | Self::Other => "sidecar",
            Self::Uncaptured => "uncaptured",
            Self::Ambient => "ambient",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    /// Tells whether an agent answers for rewritten probes.
    #[must_use]
    pub const fn has_agent(self) -> bool {
        matches!(self, Self::Sidecar | Self::Uncaptured)
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
    pub fn namespace_of(&self, object: &Object<'t>) -> (&'t str, bool) {
        namespace_of(object, self.settings)
    }

    /// Returns the line with the namespace of an object where that is a placeholder: nobody knows
    /// which namespace it is.
    fn open_namespace(&self, object: &Object<'t>) -> Option<Label> {
        let (namespace, _) = self.namespace_of(object);
        if !placeholder::contains(namespace) {
            return None;
        }
        let said = format!("the namespace is `{namespace}`, which another tool fills in");
        let own = object.metadata().and_then(|all| all.get("namespace"));
        match (
            own.filter(|_| object.namespace().is_some()),
            &object.destination,
        ) {
            (Some(node), _) => Some(object.label_at(node.span(), said)),
            (None, Some(destination)) => Some(Label {
                path: Arc::clone(&destination.path),
                span: destination.span,
                message: said,
            }),
            (None, None) => None,
        }
    }

    /// Decides how the pods of `workload` take part in the mesh.
    #[must_use]
    pub fn dataplane(&self, workload: &Workload<'t>) -> Fact<Dataplane> {
        self.dataplane_after(workload, || self.injection(workload))
    }

    /// The same, for a caller that has asked for [`Context::injection`] already.
    pub(crate) fn dataplane_after(
        &self,
        workload: &Workload<'t>,
        injection: impl FnOnce() -> Fact<Dataplane>,
    ) -> Fact<Dataplane> {
        if self.settings.mesh == MeshKind::None {
            return Fact::settled(Dataplane::None, "no mesh (--mesh none)");
        }
        if let Some(other) = self.other_dataplane(workload) {
            return other;
        }
        own_sidecar(workload).unwrap_or_else(injection)
    }

    /// Tells whether a webhook adds a sidecar to the pods of `workload`, whatever containers they
    /// bring along.
    #[must_use]
    pub fn injection(&self, workload: &Workload<'t>) -> Fact<Dataplane> {
        let object = &workload.object;
        if self.settings.mesh == MeshKind::None {
            return Fact::settled(Dataplane::None, "no mesh (--mesh none)");
        }
        if let Some(other) = self.other_dataplane(workload) {
            return other;
        }
        if let Some(place) = self.undecided(workload)
            && !self.given(object).overrides_injection()
        {
            return Fact {
                certainty: Certainty::Unknown,
                ..Fact::known(Dataplane::Unknown, place)
            };
        }
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
        let found = self.namespace_object(object);
        match found.filter(|_| !self.given(object).overrides_injection()) {
            Some(found) => self.decide(workload, &NamespaceView::of(found)),
            None => self.without_namespace(workload),
        }
    }

    /// Returns the place of a deciding value that another tool fills in.
    fn undecided(&self, workload: &Workload<'t>) -> Option<Label> {
        const NAMESPACE: [&str; 3] = [
            keys::NAMESPACE_INJECTION,
            keys::REVISION,
            keys::DATAPLANE_MODE,
        ];
        let template = &workload.template;
        let own = [
            template.spec.entry("hostNetwork"),
            template.label(keys::INJECT),
            template.annotation(keys::INJECT),
            template.label(keys::REVISION),
        ];
        let own = own
            .into_iter()
            .flatten()
            .map(|entry| (&workload.object, entry));
        let namespace = self.namespace_object(&workload.object);
        let labels = namespace.into_iter().flat_map(|found| {
            NAMESPACE
                .iter()
                .filter_map(move |key| Some((found, found.label(key)?)))
        });
        let mut deciding = own.chain(labels);
        let (object, entry) =
            deciding.find(|(_, entry)| entry.value.text().is_some_and(placeholder::contains))?;
        let said = "this decides about injection, and another tool fills it in";
        Some(object.label_at(entry.value.span(), said))
    }

    /// Returns the Namespace manifest that is nearest to the object.
    #[must_use]
    pub fn namespace_object(&self, object: &Object<'t>) -> Option<&Object<'t>> {
        let (name, written) = self.namespace_of(object);
        let all = &self.inventory.namespaces;
        let home = object.home();
        let work_out = || {
            let joined = all
                .near(name, &self.inventory.forks, home)
                .filter(|(_, candidate)| written || are_related(candidate.home(), home));
            let joined: Vec<(usize, &Object<'t>)> = joined.collect();
            // Of equally near ones the first is taken.
            let found = nearest(joined.iter().map(|(_, one)| *one), home);
            let mut joined = joined.into_iter();
            let first = found.first()?;
            let (index, _) = joined.find(|(_, one)| std::ptr::eq(*one, *first))?;
            Some(index)
        };
        let found = self.memo.namespaces.of(spot(object, name), work_out)?;
        all.get(found)
    }

    /// The namespace's labels are written: they decide.
    fn decide(&self, workload: &Workload<'t>, view: &NamespaceView<'_>) -> Fact<Dataplane> {
        let (_, written) = self.namespace_of(&workload.object);
        let fact = self.judge(workload, view);
        if written || fact.value == Dataplane::None {
            return fact;
        }
        let said = "the workload goes to namespace `default`";
        fact.resting_on(&Fact::assumed((), said, Some("--namespace NAME")))
    }

    /// No Namespace manifest: the user's word or signs in the tree decide.
    fn without_namespace(&self, workload: &Workload<'t>) -> Fact<Dataplane> {
        let (namespace, _) = self.namespace_of(&workload.object);
        let by_user = self.given(&workload.object);
        let given = by_user.overrides.injection.or(by_user.assume.injection);
        let option = if by_user.overrides_injection() {
            "--override"
        } else {
            "--assume"
        };
        if self.settings.mesh == MeshKind::Ambient && given.is_none() {
            return self.as_if_ambient(workload);
        }
        match given.unwrap_or_default() {
            InjectionAssumption::All => {
                let said = format!("namespace `{namespace}` is injected ({option})");
                self.as_if_injected(workload, said, None)
            }
            InjectionAssumption::None => {
                let said = format!("namespace `{namespace}` is not injected ({option})");
                Fact {
                    certainty: certainty_of_option(by_user),
                    ..Fact::settled(Dataplane::None, said)
                }
            }
            InjectionAssumption::Evidence => match self.evidence(workload) {
                Some(sign) => {
                    let said = format!(
                        "namespace `{namespace}` is injected (no Namespace manifest in scope; {sign})"
                    );
                    self.as_if_injected(workload, said, Some(SETTLE))
                }
                None => match self.open_namespace(&workload.object) {
                    Some(place) => Fact {
                        certainty: Certainty::Unknown,
                        ..Fact::known(Dataplane::Unknown, place)
                    },
                    None => {
                        let why = match workload.template.label(keys::REVISION) {
                            Some(label) => format!(
                                "the pod asks for revision `{}`, which nothing in scope serves",
                                label.value.text().unwrap_or_default()
                            ),
                            None => "no sign of a mesh".to_owned(),
                        };
                        let said = format!("no Namespace manifest `{namespace}` in scope, {why}");
                        Fact::unknown(Dataplane::Unknown, said, Some(SETTLE))
                    }
                },
            },
        }
    }

    /// The namespace is taken for one in ambient mode (`--mesh ambient`); pods may still leave it, or
    /// ask for a sidecar.
    fn as_if_ambient(&self, workload: &Workload<'t>) -> Fact<Dataplane> {
        let template = &workload.template;
        if let Some(mode) = self.ambient(workload).filter(|mode| !mode.value) {
            return mode.map(|_| Dataplane::None);
        }
        let says = |key: &str, value: &str| {
            let entry = template.label(key)?;
            (entry.value.text() == Some(value)).then_some(entry)
        };
        if let Some(entry) = says(keys::DATAPLANE_MODE, "none") {
            let said = "this label keeps the pod out of the ambient mesh";
            let place = workload.object.label_at(entry.value.span(), said);
            return Fact::known(Dataplane::None, place);
        }
        let (namespace, _) = self.namespace_of(&workload.object);
        if says(keys::INJECT, "true").is_some() {
            let said =
                format!("namespace `{namespace}` is not in the tree; the pod asks for a sidecar");
            return self.as_if_injected(workload, said, Some(SETTLE));
        }
        let said = format!("namespace `{namespace}` is in the ambient mesh (--mesh ambient)");
        Fact::assumed(Dataplane::Ambient, said, None)
    }

    /// The namespace is taken for one that is injected; pods may still be left out.
    fn as_if_injected(
        &self,
        workload: &Workload<'t>,
        said: String,
        settle: Option<&'static str>,
    ) -> Fact<Dataplane> {
        let fact = self.judge(workload, &NamespaceView::unknown());
        if !matches!(fact.value, Dataplane::Sidecar | Dataplane::Uncaptured) {
            return fact;
        }
        let certainty = fact
            .certainty
            .min(certainty_of_option(self.given(&workload.object)));
        Fact { certainty, ..fact }.preceded_by(Reason::said(said, settle))
    }

    /// Returns a sign that the workload belongs to the mesh.
    fn evidence(&self, workload: &Workload<'t>) -> Option<String> {
        let template = &workload.template;
        let prefixes = [
            "sidecar.istio.io/",
            "traffic.sidecar.istio.io/",
            keys::PROXY_CONFIG,
        ];
        let keys_of =
            |node: Option<NodeRef<'t>>| node.into_iter().flat_map(NodeRef::effective_entries);
        let own = keys_of(template.annotations()).chain(keys_of(template.labels()));
        for key in own.filter_map(|entry| entry.key.text()) {
            if prefixes.iter().any(|prefix| key.starts_with(prefix)) || key == keys::TLS_MODE {
                return Some(format!("the pod template carries `{key}`"));
            }
        }
        if let Some(name) = template
            .label(keys::REVISION)
            .and_then(|one| one.value.text())
        {
            let scope = self.scope(workload.object.home());
            let served = scope.iter().flat_map(|plane| plane.names());
            if served.into_iter().any(|served| served == name) {
                return Some(format!(
                    "the pod asks for revision `{name}`, which a control plane of the tree serves"
                ));
            }
        }
        let object = &workload.object;
        let scope = self.memo.scope(object, self.namespace_of(object));
        let work_out = || self.policy_beside(object).map(Into::into);
        let found: Option<Arc<str>> = self.memo.evidence.of(scope, work_out);
        found.map(|sign| sign.to_string())
    }

    /// Returns the nearest policy in the namespace of an object, in words.
    fn policy_beside(&self, object: &Object<'t>) -> Option<String> {
        let inventory = &self.inventory;
        let policies = self.beside(&inventory.peer_authentications, object);
        let signs = policies
            .chain(self.beside(&inventory.authorization_policies, object))
            .chain(self.beside(&inventory.mesh_signs, object));
        let found = nearest(signs, object.home());
        let sign = found.first()?;
        Some(format!("{} `{}` is there", sign.kind, sign.name()))
    }
}

/// `--override` is as good as the tree, all else is an assumption.
fn certainty_of_option(given: &Given) -> Certainty {
    if given.overrides_injection() {
        Certainty::Known
    } else {
        Certainty::Assumed
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

    /// The Namespace is not in the tree.
    const fn unknown() -> Self {
        Self {
            injection: None,
            revision: None,
            mode: None,
            object: None,
        }
    }
}

/// A sidecar that the manifest brings along itself: the output of `istioctl kube-inject`, or an
/// export from a cluster. A container with `image: auto` is only a request to the injector.
fn own_sidecar(workload: &Workload<'_>) -> Option<Fact<Dataplane>> {
    let lists = [ContainerList::Main, ContainerList::Init].into_iter();
    let mut containers = lists.flat_map(|list| workload.template.names_in(list));
    let (_, proxy) = containers.find(|(name, container)| {
        let image = || container.get("image").and_then(NodeRef::text);
        *name == keys::PROXY_CONTAINER && image().is_some_and(|image| image != "auto")
    })?;
    let span = proxy.get("name").map(NodeRef::span)?;
    let place = workload
        .object
        .label_at(span, "the manifest brings its own sidecar");
    Some(Fact::known(Dataplane::Sidecar, place))
}
