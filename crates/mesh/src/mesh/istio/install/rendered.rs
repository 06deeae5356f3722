//! Rendered objects of the charts: the Deployment of istiod, the DaemonSets of the nodes.
//!
//! Source: Istio 1.31, `templates/deployment.yaml` of the chart istio-discovery, `templates/
//! daemonset.yaml` of istio-cni and ztunnel.

use meshprobe_yaml::{FieldPath, NodeRef};

use super::installation::Install;
use super::installation::{Carrier, Part};
use super::values::Layer;
use super::values::Values;
use super::values::{Found, Typing};
use super::version::version_of_image;
use super::{istiod, sail};
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::mesh::{Fact, Version};

/// Reads a Deployment or DaemonSet of an installation, by the images of its containers.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    let containers = FieldPath::keys(&["spec", "template", "spec", "containers"]);
    let containers = object.node.at(&containers)?;
    let of_image = |wanted: &str| {
        containers.items().find(|container| {
            let image = container.get("image").and_then(NodeRef::text);
            image.is_some_and(|image| names(image, wanted))
        })
    };
    match object.kind {
        "Deployment" => of_image("pilot").map(|container| istiod(object, container)),
        _ => node_agent(object, of_image("install-cni"), of_image("ztunnel")),
    }
}

/// Returns whether the name of an image without its registry and tag is `wanted`.
fn names(image: &str, wanted: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split([':', '@']).next() == Some(wanted)
}

fn istiod(object: &Object<'_>, container: NodeRef<'_>) -> Install {
    let mut install = Install::of(object, Carrier::Rendered, Part::OfRevision);
    let layers = container
        .get("env")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|item| {
            let name = item.get("name")?.text()?;
            let layer = Layer::file(item.get("value")?, object.path());
            let target = if name == "REVISION" {
                "revision".to_owned()
            } else {
                format!("pilot.env.{name}")
            };
            Some(layer.set(&target, Typing::Text))
        });
    // The kubelet uses the last of duplicates.
    let mut layers: Vec<Layer<'_>> = layers.collect();
    layers.reverse();
    install.version = version(object, container);
    istiod::read_into(&mut install, &Values { layers });
    if let Some(entry) = object.label(keys::REVISION)
        && let Some(name) = entry.value.text()
    {
        let message = format!("revision `{name}` is served here");
        let place = object.label_at(entry.value.span(), message);
        install.revision = Some(Fact::known(name.to_owned(), place));
    }
    install.revision = install.revision.filter(|fact| fact.value != "default");
    install
}

fn version(object: &Object<'_>, container: NodeRef<'_>) -> Option<Fact<Version>> {
    let node = container.get("image")?;
    let version = version_of_image(node.text()?)?;
    let message = format!("the image is from Istio {version}");
    Some(Fact::known(version, object.label_at(node.span(), message)))
}

fn node_agent(
    object: &Object<'_>,
    cni: Option<NodeRef<'_>>,
    ztunnel: Option<NodeRef<'_>>,
) -> Option<Install> {
    let mut install = Install::of(object, Carrier::Rendered, Part::Cluster);
    if let Some(image) = cni.and_then(|container| container.get("image")) {
        install.cni = Some(sail::cni_plugin_installed(&Found::of(image, object.path())));
        return Some(install);
    }
    let image = ztunnel?.get("image")?;
    let place = object.label_at(
        image.span(),
        "ztunnel, the node proxy of ambient mode, is installed here",
    );
    install.ambient = Some(Fact::known(true, place));
    Some(install)
}
