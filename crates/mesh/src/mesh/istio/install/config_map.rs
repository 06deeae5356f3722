//! ConfigMaps of a running or rendered installation: `istio`, `istio-sidecar-injector`,
//! `istio-cni-config`.
//!
//! Source: Istio 1.31, `templates/configmap.yaml` and `templates/istiod-injector-configmap.yaml`
//! of the chart istio-discovery, `templates/configmap-cni.yaml` of istio-cni,
//! `pkg/kube/inject/webhook.go` (a missing `rewriteAppHTTPProbe` is false there).

use meshprobe_yaml::{Entry, NodeRef};

use super::installation::Install;
use super::installation::{Carrier, Part};
use super::values::Found;
use super::values::Values;
use super::values::{Embedded, Layer};
use super::{istiod, sail};
use crate::kube::{Object, Requirements};
use crate::mesh::Fact;
use crate::mesh::istio::keys;

/// Injection templates of the charts of Istio 1.31; all others are custom.
const OWN_TEMPLATES: [&str; 8] = [
    "sidecar",
    "gateway",
    "grpc-simple",
    "grpc-agent",
    "waypoint",
    "kube-gateway",
    "agentgateway",
    "agentgateway-waypoint",
];

/// The ConfigMap in which users of the Istio add-on of Azure Kubernetes Service set `meshConfig`, followed by `-` and
/// the revision, such as `asm-1-26`, and the namespace of the add-on.
///
/// Source: "Configure Istio-based service mesh add-on" of the AKS documentation.
const AKS_CONFIG_MAP: &str = "istio-shared-configmap";
const AKS_NAMESPACE: &str = "aks-istio-system";

/// Reads a ConfigMap of an installation.
pub(super) fn read(object: &Object<'_>) -> Option<Install> {
    let data = object.node.get("data")?;
    let name = object.name();
    if name == "istio-cni-config" {
        return Some(cni(object, data));
    }
    if name.starts_with("istio-sidecar-injector") {
        let written = data.get("values").is_some() || data.get("config").is_some();
        return written.then(|| injector(object, data));
    }
    let is_mesh = name == "istio" || name.starts_with("istio-");
    data.entry("mesh")
        .filter(|_| is_mesh)
        .map(|entry| mesh(object, entry))
}

/// Starts an installation with the release and revision of the ConfigMap.
fn start(object: &Object<'_>, carrier: Carrier, prefix: &str) -> Install {
    let mut install = Install::of(object, carrier, Part::OfRevision).with_labelled_version(object);
    let label = object.label(keys::REVISION).map(|entry| entry.value);
    let by_name = object
        .name()
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('-'));
    let revision = label.and_then(NodeRef::text).or(by_name);
    install.revision = revision.filter(|name| *name != "default").map(|name| {
        let span = label.map_or_else(|| object.name_span(), NodeRef::span);
        let message = format!("revision `{name}` is served here");
        Fact::known(name.to_owned(), object.label_at(span, message))
    });
    install
}

fn mesh(object: &Object<'_>, entry: Entry<'_>) -> Install {
    let of_aks = object.name().starts_with(AKS_CONFIG_MAP);
    let prefix = if of_aks { AKS_CONFIG_MAP } else { "istio" };
    let mut install = start(object, Carrier::MeshConfigMap, prefix);
    let text = Embedded::of(object, entry, &mut install.unread);
    let layer = text.as_ref().and_then(Layer::embedded);
    let values = Values {
        layers: layer
            .into_iter()
            .map(|layer| layer.mounted(&["meshConfig"]))
            .collect(),
    };
    istiod::mesh_config(&mut install, &values);
    // The chart writes the JSON name; a text written by hand may have the other one.
    if install.root_namespace.is_none() && install.rejected_config.is_none() {
        let namespace = "meshConfig.root_namespace";
        install.root_namespace = values.string(namespace, keys::DEFAULT_ROOT_NAMESPACE);
    }
    if install.root_namespace.is_none() && of_aks {
        let message = format!("the Istio add-on of AKS uses root namespace `{AKS_NAMESPACE}`");
        let label = object.label_at(object.name_span(), message);
        install.root_namespace = Some(Fact::known(AKS_NAMESPACE.to_owned(), label));
    }
    install
}

fn injector(object: &Object<'_>, data: NodeRef<'_>) -> Install {
    let mut install = start(object, Carrier::InjectorConfigMap, "istio-sidecar-injector");
    if let Some(entry) = data.entry("values")
        && let Some(text) = Embedded::of(object, entry, &mut install.unread)
    {
        let layers = Layer::embedded(&text).into_iter().collect();
        let values = Values { layers };
        istiod::read_into(&mut install, &values);
        if install.rewrite.is_none() {
            let message = "the values do not contain `sidecarInjectorWebhook.rewriteAppHTTPProbe`, \
                           which the injector reads as false";
            let place = object.label_at(entry.key.span(), message);
            install.rewrite = Some(Fact::known(false, place));
        }
    }
    if let Some(entry) = data.entry("config")
        && let Some(text) = Embedded::of(object, entry, &mut install.unread)
    {
        let layers = Layer::embedded(&text).into_iter().collect();
        config(&mut install, &Values { layers });
    }
    install
}

/// Reads `config`, from which alone the injector takes policy, selectors and templates.
fn config(install: &mut Install, values: &Values<'_>) {
    let policy = values.fact("policy", Some(true), |found| {
        Some(found.string()? == "enabled")
    });
    install.auto_inject = policy.or(install.auto_inject.take());
    let selectors = |path: &str| {
        let items = values.list(path);
        let label = items.first()?.label(format!("`{path}` is set here"));
        let read = items
            .iter()
            .map(|item| Requirements::parse(Some(item.node)));
        Some(Fact::known(read.collect(), label))
    };
    install.never_inject = selectors("neverInjectSelector").or(install.never_inject.take());
    install.always_inject = selectors("alwaysInjectSelector").or(install.always_inject.take());
    let defaults = istiod::list_of_names(&values.list("defaultTemplates"), "defaultTemplates");
    install.default_templates = defaults.or(install.default_templates.take());
    for name in values.keys("templates") {
        let Some(text) = name.string().filter(|text| !OWN_TEMPLATES.contains(text)) else {
            continue;
        };
        if install
            .custom_templates
            .iter()
            .all(|known| known.value != text)
        {
            let message = format!("injection template `{text}` is defined here");
            install
                .custom_templates
                .push(Fact::known(text.to_owned(), name.label(message)));
        }
    }
    for alias in values.keys("aliases") {
        let Some(name) = alias.string() else { continue };
        let targets = values.list(&format!("aliases.{name}"));
        let targets = targets
            .iter()
            .filter_map(Found::string)
            .map(str::to_owned)
            .collect();
        let message = format!("`{name}` is an alias of other templates");
        let fact = Fact::known((name.to_owned(), targets), alias.label(message));
        install.template_aliases.push(fact);
    }
}

fn cni(object: &Object<'_>, data: NodeRef<'_>) -> Install {
    let mut install = Install::of(object, Carrier::Rendered, Part::Cluster);
    let found = |key: &str| Some(Found::of(data.get(key)?, object.path()));
    let name = object.metadata().and_then(|metadata| metadata.get("name"));
    let plugin = Found::of(name.unwrap_or(object.node), object.path());
    install.cni = Some(sail::cni_plugin_installed(&plugin));
    install.ambient = found("AMBIENT_ENABLED").and_then(|found| {
        let value = found.boolean()?;
        let message = format!("ambient mode is {}", if value { "on" } else { "off" });
        Some(Fact::known(value, found.label(message)))
    });
    install.cni_excluded = found("EXCLUDE_NAMESPACES").and_then(|found| {
        let names = found
            .string()?
            .split(',')
            .map(|name| name.trim().to_owned());
        let message = "the CNI plugin ignores these namespaces";
        Some(Fact::known(names.collect(), found.label(message)))
    });
    let entry = data.entry("AMBIENT_ENABLEMENT_SELECTOR");
    let text = entry.and_then(|entry| Embedded::of(object, entry, &mut install.unread));
    let root = text
        .as_ref()
        .and_then(Layer::embedded)
        .map(|layer| layer.node);
    if let (Some(root), Some(entry)) = (root, entry) {
        let message = "these selectors enrol pods in ambient mode";
        let read = root.items().map(istiod::enablement_selector).collect();
        let place = object.label_at(entry.key.span(), message);
        install.ambient_selectors = Some(Fact::known(read, place));
    }
    install
}
