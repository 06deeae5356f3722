//! Finds the sidecar that a manifest contains.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{ContainerList, Workload};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_yaml::NodeRef;

use crate::context::dataplane::Dataplane;

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
