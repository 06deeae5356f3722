//! How pods take part in App Mesh.

use meshprobe_tree::source::placeholder;

use super::keys::{ENVOY, INJECT};
use super::listener::{judge, node};
use crate::finding::Certainty;
use crate::kube::Workload;
use crate::mesh::description::Mesh;
use crate::mesh::fact::{Fact, Reason};
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeTreatment, RewriteSupport, release_of,
    treatments_of_unchanged_probes,
};
use crate::mesh::version::Version;

const SETTLE: &str = "--assume injection=all|none";

/// The model of App Mesh.
#[derive(Debug)]
pub(crate) struct AppMesh;

impl MeshModel for AppMesh {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::APP_MESH, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[ENVOY, "proxyinit"]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        let object = &input.workload.object;
        let template = &input.workload.template;
        let containers = template.containers();
        let own = containers
            .iter()
            .find(|container| container.name() == ENVOY);
        if let Some(name) = own.and_then(|container| container.node.get("name")) {
            let message = "the manifest contains the proxy of App Mesh";
            return Fact::known(
                Membership::AlreadyInjected,
                object.label_at(name.span(), message),
            );
        }
        let switch = template.annotation(INJECT);
        if let Some(entry) = &switch {
            let text = entry.value.text().unwrap_or_default();
            if placeholder::contains(text) {
                let message = "fills in this value, which decides about injection";
                let place = object.placeholder_at(entry.value.span(), message);
                return Fact {
                    certainty: Certainty::Unknown,
                    ..Fact::known(Membership::Unknown, place)
                };
            }
            if text.eq_ignore_ascii_case("disabled") {
                let message = "injection is switched off here";
                let place = object.label_at(entry.value.span(), message);
                return Fact::known(Membership::Outside, place);
            }
        }
        let by_namespace = by_namespace(input);
        if by_namespace.value != Membership::Injected || node(input).is_some() {
            return by_namespace;
        }
        let message = "no VirtualNode in the tree selects the pod, so it is not known whether the \
                       pod is injected";
        Fact::unknown(Membership::Unknown, message, Some(SETTLE))
    }

    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        let node = node(input);
        treatments_of_unchanged_probes(membership, handlers, |_, action, number| {
            judge(input, node, action, number)
        })
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport::unchanged(Version::new(1, 0), "App Mesh does not change probes")
    }

    fn port_owner(
        &self,
        _pod: &Workload<'_>,
        _release: Option<Version>,
        port: i64,
    ) -> Option<&'static str> {
        match port {
            15000 => Some("inbound traffic"),
            15001 => Some("outbound traffic"),
            _ => None,
        }
    }
}

/// Decides membership from the Namespace: the webhook only handles Namespaces with its label.
fn by_namespace(input: &PodInput<'_, '_>) -> Fact<Membership> {
    if let Some(hypothesis) = &input.supposed {
        return hypothesis.clone().map(|on| match on {
            true => Membership::Injected,
            false => Membership::Outside,
        });
    }
    let Some(namespace) = input.namespace else {
        let message = format!(
            "Namespace `{}` is not in the tree; App Mesh is assumed to inject it",
            input.namespace_name
        );
        return match node(input) {
            Some(node) => Fact::assumed(Membership::Injected, message, Some(SETTLE)).preceded_by(
                Reason::written(
                    node.label_at(node.name_span(), "this VirtualNode selects the pod"),
                ),
            ),
            None => Fact::unknown(
                Membership::Unknown,
                format!(
                    "the Namespace manifest `{}` is not in scope, so it is not known whether the \
                     pod is injected",
                    input.namespace_name
                ),
                Some(SETTLE),
            ),
        };
    };
    let entry = namespace
        .label(INJECT)
        .filter(|entry| entry.value.text() == Some("enabled"));
    match entry {
        Some(entry) => {
            let place = namespace.label_at(entry.value.span(), "injection is on");
            Fact::known(Membership::Injected, place)
        }
        None => {
            let message = format!(
                "Namespace `{}` is not labelled `{INJECT}=enabled`",
                namespace.name()
            );
            let place = namespace.label_at(namespace.name_span(), message);
            Fact::known(Membership::Outside, place)
        }
    }
}
