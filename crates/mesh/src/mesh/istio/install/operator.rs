//! `IstioOperator`, the input of `istioctl install`.
//!
//! Source: Istio 1.31, `operator/pkg/apis/types.go`, `manifests/profiles`.

use meshprobe_yaml::{FieldPath, NodeRef, Scalar};

use super::installation::Install;
use super::installation::{Carrier, Part};
use super::istiod;
use super::values::Layer;
use super::values::Values;
use super::values::{Found, Typing};
use super::version::of_tag;
use crate::kube::Object;
use crate::mesh::Fact;

/// Reads an `IstioOperator`. Without the component `pilot` (a file for gateways only), it describes
/// at most components that serve the whole cluster.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    let spec = object.node.get("spec");
    let part = if has_pilot(spec) {
        Part::ControlPlane
    } else {
        Part::Cluster
    };
    let mut install = Install::of(object, Carrier::IstioOperator, part);
    let Some(spec) = spec else {
        return Some(install);
    };
    let values = values(object, spec);
    let tag = at(spec, &["components", "pilot", "tag"]).map(|node| Found::of(node, object.path()));
    let tag = tag.and_then(|tag| {
        let version = of_tag(tag.string()?)?;
        Some(Fact::known(
            version,
            tag.label(format!("the image is from Istio {version}")),
        ))
    });
    install.version = tag;
    istiod::read_into(&mut install, &values);
    install.cni = install.cni.or_else(|| component(object, spec, "cni"));
    install.ambient = install
        .ambient
        .or_else(|| component(object, spec, "ztunnel"));
    install.cni_excluded = istiod::excluded_namespaces(&values);
    let has_facts =
        install.part == Part::ControlPlane || install.cni.is_some() || install.ambient.is_some();
    has_facts.then_some(install)
}

fn values<'t>(object: &Object<'t>, spec: NodeRef<'t>) -> Values<'t> {
    let path = object.path();
    let single = |keys: &[&'static str], target: &str| {
        Some(Layer::file(at(spec, keys)?, path).set(target, Typing::Text))
    };
    let whole = |key: &str, mount: &[&str]| Some(Layer::file(spec.get(key)?, path).mounted(mount));
    // The strongest first: the fields of the API itself, then values, then the fields that set defaults for values.
    let first = [
        whole("meshConfig", &["meshConfig"]),
        single(&["revision"], "revision"),
        single(&["profile"], "profile"),
        single(&["compatibilityVersion"], "compatibilityVersion"),
    ];
    let last = [
        whole("values", &[]),
        whole("unvalidatedValues", &[]),
        single(&["tag"], "global.tag"),
        single(&["namespace"], "global.istioNamespace"),
    ];
    let layers = first.into_iter().flatten().chain(environment(object, spec));
    Values {
        layers: layers.chain(last.into_iter().flatten()).collect(),
    }
}

/// Reads `components.pilot.k8s.env`, which changes the Deployment itself and is therefore stronger than values.
fn environment<'t>(object: &Object<'t>, spec: NodeRef<'t>) -> Vec<Layer<'t>> {
    let list = at(spec, &["components", "pilot", "k8s", "env"]);
    list.into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|item| {
            let name = item.get("name")?.text()?;
            let layer = Layer::file(item.get("value")?, object.path());
            Some(layer.set(&format!("pilot.env.{name}"), Typing::Text))
        })
        .collect()
}

/// Returns whether the component `pilot` is installed. The profile `empty` has no components; `remote` and `external`
/// install webhooks.
fn has_pilot(spec: Option<NodeRef<'_>>) -> bool {
    let Some(spec) = spec else { return true };
    let enabled = at(spec, &["components", "pilot", "enabled"]).and_then(NodeRef::scalar);
    match enabled {
        Some(Scalar::Bool(enabled)) => enabled,
        _ => spec.get("profile").and_then(NodeRef::text) != Some("empty"),
    }
}

fn component(object: &Object<'_>, spec: NodeRef<'_>, name: &'static str) -> Option<Fact<bool>> {
    let found = Found::of(at(spec, &["components", name, "enabled"])?, object.path());
    let value = found.boolean()?;
    let message = format!("component `{name}` is {}", if value { "on" } else { "off" });
    Some(Fact::known(value, found.label(message)))
}

fn at<'t>(node: NodeRef<'t>, keys: &[&'static str]) -> Option<NodeRef<'t>> {
    node.at(&FieldPath::keys(keys))
}
