//! Rendered objects of the charts: the Deployment of istiod, the DaemonSets of the nodes.
//!
//! Source: Istio 1.31, `templates/deployment.yaml` of the chart istio-discovery, `templates/
//! daemonset.yaml` of istio-cni and ztunnel.
//!
//! ConfigMaps of a running or rendered installation: `istio`, `istio-sidecar-injector`,
//! `istio-cni-config`.
//!
//! Source: Istio 1.31, `templates/configmap.yaml` and `templates/istiod-injector-configmap.yaml`
//! of the chart istio-discovery, `templates/configmap-cni.yaml` of istio-cni,
//! `pkg/kube/inject/webhook.go` (a missing `rewriteAppHTTPProbe` is false there).
//!
//! `MutatingWebhookConfiguration`: which pods are injected, as the API server decides.
//!
//! Source: Istio 1.31, `templates/mutatingwebhook.yaml` and `templates/revision-tags-mwc.yaml` of
//! the chart istio-discovery; Kubernetes, "Dynamic Admission Control".

use meshprobe_yaml::{Entry, FieldPath, NodeRef};

use super::installation::{Carrier, Install, Part, Webhook};
use super::values::{Embedded, Found, Layer, Typing, Values};
use super::version::version_of_image;
use super::{istiod, operators};
use crate::kube::{Object, Requirements};
use crate::mesh::istio::keys;
use crate::mesh::istio::known_keys::TEMPLATES;
use crate::mesh::{Fact, Version};

/// Reads a Deployment or DaemonSet of an installation, by the images of its containers.
pub(super) fn read_workload(object: &Object<'_>) -> Option<Install> {
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
        let place = object.label_at(image.span(), "");
        install.cni = Some(operators::cni_plugin_installed(place));
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

/// The ConfigMap in which users of the Istio add-on of Azure Kubernetes Service set `meshConfig`, followed by `-` and
/// the revision, such as `asm-1-26`, and the namespace of the add-on.
///
/// Source: "Configure Istio-based service mesh add-on" of the AKS documentation.
const AKS_CONFIG_MAP: &str = "istio-shared-configmap";
const AKS_NAMESPACE: &str = "aks-istio-system";

/// Reads a ConfigMap of an installation.
pub(super) fn read_config_map(object: &Object<'_>) -> Option<Install> {
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
    let selectors = |path: &str| istiod::selectors(values, path);
    install.never_inject = selectors("neverInjectSelector").or(install.never_inject.take());
    install.always_inject = selectors("alwaysInjectSelector").or(install.always_inject.take());
    let defaults = istiod::list_of_names(&values.list("defaultTemplates"), "defaultTemplates");
    install.default_templates = defaults.or(install.default_templates.take());
    for name in values.keys("templates") {
        let Some(text) = name.string().filter(|text| !TEMPLATES.contains(text)) else {
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
    let place = object.label_at(name.unwrap_or(object.node).span(), "");
    install.cni = Some(operators::cni_plugin_installed(place));
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

/// Reads the configuration of an injector, which is recognized by its labels or the names of its webhooks.
pub(super) fn read_webhook(object: &Object<'_>) -> Option<Install> {
    let own: Vec<NodeRef<'_>> = object
        .node
        .get("webhooks")
        .into_iter()
        .flat_map(NodeRef::items)
        .filter(is_injector)
        .collect();
    if own.is_empty() {
        return None;
    }
    let mut install =
        Install::of(object, Carrier::Webhooks, Part::OfRevision).with_labelled_version(object);
    let label = |key| object.label(key).and_then(|entry| text_fact(object, entry));
    install.revision = label(keys::REVISION).filter(|fact| fact.value != "default");
    let tag = label(keys::TAG);
    install.reinvocation_policy = own
        .iter()
        .find_map(|item| item.get("reinvocationPolicy"))
        .and_then(|node| {
            let text = node.text()?;
            let message = format!("`reinvocationPolicy` is {text}");
            Some(Fact::known(
                text.to_owned(),
                object.label_at(node.span(), message),
            ))
        });
    let tag_name = tag.as_ref().map(|fact| fact.value.clone());
    install.webhooks = own
        .iter()
        .map(|item| webhook(object, *item, tag_name.as_ref()))
        .collect();
    install.tags.extend(tag);
    Some(install)
}

fn text_fact(object: &Object<'_>, entry: Entry<'_>) -> Option<Fact<String>> {
    let text = entry.value.text()?;
    let message = format!("`{text}` is served here");
    Some(Fact::known(
        text.to_owned(),
        object.label_at(entry.value.span(), message),
    ))
}

/// Returns whether a webhook injects. The validation of Istio and other programs have webhooks, too.
fn is_injector(item: &NodeRef<'_>) -> bool {
    let name = item.get("name").and_then(NodeRef::text).unwrap_or_default();
    let service = item
        .get("clientConfig")
        .and_then(|config| config.get("service"));
    let path = service
        .and_then(|service| service.get("path"))
        .and_then(NodeRef::text);
    name.ends_with("sidecar-injector.istio.io")
        || path.is_some_and(|path| path.starts_with("/inject")) && name.contains("istio")
}

fn webhook(object: &Object<'_>, item: NodeRef<'_>, tag: Option<&String>) -> Webhook {
    let node = item.get("name").unwrap_or(item);
    let name = node.text().unwrap_or_default().to_owned();
    let place = object.label_at(node.span(), format!("webhook `{name}` selects the pod"));
    let selectors = ["namespaceSelector", "objectSelector"].map(|key| item.get(key));
    let [namespaces, objects] = selectors.map(Requirements::parse_builtin);
    let invalid = [&namespaces, &objects]
        .into_iter()
        .zip(selectors)
        .filter(|(read, _)| read.is_refused())
        .find_map(|(_, node)| node)
        .map(|node| {
            (
                node,
                "Kubernetes does not know this operator: the selector is assumed to match",
            )
        });
    let conditions = item
        .get("matchConditions")
        .filter(|list| list.items().len() > 0)
        .map(|node| {
            (
                node,
                "`matchConditions` are not evaluated, and assumed to be met",
            )
        });
    let unevaluated = invalid.or(conditions);
    Webhook {
        name,
        tag: tag.cloned(),
        namespaces,
        objects,
        place,
        unevaluated: unevaluated.map(|(node, message)| object.label_at(node.span(), message)),
    }
}

/// Returns whether a Service maps a tag.
pub(super) fn concerns_service(object: &Object<'_>) -> bool {
    object.label(keys::TAG).is_some() && object.label(keys::REVISION).is_some()
}

/// Reads the tag that a Service maps to a revision.
pub(super) fn read_service(object: &Object<'_>) -> Option<Install> {
    let tag = object.label(keys::TAG)?.value;
    let part = Part::Tags {
        kind: "Service".to_owned(),
        name: object.label(keys::REVISION)?.value.text()?.to_owned(),
    };
    let name = tag.text()?.to_owned();
    let mut install = Install::of(object, Carrier::Rendered, part);
    let place = object.label_at(tag.span(), format!("tag `{name}` is served here"));
    install.tags.push(Fact::known(name, place));
    Some(install)
}
