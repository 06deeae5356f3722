//! The values of Istio's charts.
//!
//! Source: Istio 1.10 to 1.31, `manifests/charts/istio-control/istio-discovery` (values.yaml,
//! `templates/configmap.yaml`, `templates/istiod-injector-configmap.yaml`,
//! `templates/zzz_profile.yaml`), `manifests/charts/istio-cni`, `manifests/helm-profiles`.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::installation::{EnablementSelector, Install, NativeSidecars};
use super::values::{Descent, Found, Layer, Values};
use super::version::{of_tag, version_of_image};
use crate::finding::Label;
use crate::kube::Requirements;
use crate::mesh::istio::config_schema::{INTERCEPTION_MODES, MESH_CONFIG};
use crate::mesh::istio::keys::{DEFAULT_ROOT_NAMESPACE, DEFAULT_STATUS_PORT, LOCALHOST_PROBES};
use crate::mesh::istio::proto_type::{TypeFault, enumeration, faults, original_name};
use crate::mesh::istio::rewrite::parse_bool;
use crate::mesh::{Fact, Reason, ReleaseChange, Version};

/// Reads the values of the istiod chart into `install`. Existing values are kept.
pub(super) fn read_into(install: &mut Install, values: &Values<'_>) {
    // The release decides which fields of the mesh configuration exist.
    if install.version.is_none() {
        install.version = version(values);
    }
    names(install, values);
    injector(install, values);
    mesh_config(install, values);
    let port = i64::from(DEFAULT_STATUS_PORT);
    install.proxy_status_port = values.integer("global.proxy.statusPort", port);
    install.include_inbound_ports = values.string("global.proxy.includeInboundPorts", "*");
    install.exclude_inbound_ports = values.string("global.proxy.excludeInboundPorts", "");
    install.replaces_hold = replaces_hold(values);
    install.cni = cni(values);
    install.native_sidecars = native_sidecars(values);
    install.rewrite_tcp = environment(values, "REWRITE_TCP_PROBES", switch);
    install.ambient = ambient(values);
    install.ambient_selectors = enablement_selectors(values);
}

/// Reads the values of the CNI chart into `install`.
pub(super) fn read_cni_into(install: &mut Install, values: &Values<'_>) {
    install.ambient = ambient(values);
    install.ambient_selectors = enablement_selectors(values);
    install.cni_excluded = excluded_namespaces(values);
}

/// Reads the namespaces whose pods the CNI plugin ignores.
pub(super) fn excluded_namespaces(values: &Values<'_>) -> Option<Fact<Vec<String>>> {
    let paths = ["cni.excludeNamespaces", "excludeNamespaces"].into_iter();
    let found = paths
        .map(|path| values.list(path))
        .find(|found| !found.is_empty())?;
    list_of_names(&found, "the CNI plugin ignores these namespaces")
}

fn names(install: &mut Install, values: &Values<'_>) {
    if install.revision.is_none() {
        let revision = values.find("revision");
        let written = revision.filter(|found| found.string().is_some_and(|text| !text.is_empty()));
        match written {
            Some(found) if found.is_placeholder() => {
                let message = "the revision is a placeholder";
                install.more_names = Some(Reason::written(found.label(message)));
            }
            Some(found) => install.revision = named(&found, "revision"),
            None => {}
        }
    }
    for tag in values.list("revisionTags") {
        if tag.is_placeholder() {
            let message = "a tag is a placeholder";
            install.more_names = Some(Reason::written(tag.label(message)));
        } else {
            install.tags.extend(named(&tag, "tag"));
        }
    }
    let by_default = "sidecarInjectorWebhook.enableNamespacesByDefault";
    install.namespaces_by_default = values.boolean(by_default, false);
}

fn named(found: &Found<'_>, what: &str) -> Option<Fact<String>> {
    let name = found.string()?.to_owned();
    let message = format!("{what} `{name}` is served here");
    Some(Fact::known(name, found.label(message)))
}

fn injector(install: &mut Install, values: &Values<'_>) {
    install.rewrite = values.boolean("sidecarInjectorWebhook.rewriteAppHTTPProbe", true);
    // The injector rejects any other value than `enabled` and then treats the policy as off (inject.go).
    install.auto_inject = values.fact("global.proxy.autoInject", Some(true), |found| {
        Some(found.string()? == "enabled")
    });
    install.never_inject = selectors(values, "sidecarInjectorWebhook.neverInjectSelector");
    install.always_inject = selectors(values, "sidecarInjectorWebhook.alwaysInjectSelector");
    let defaults = values.list("sidecarInjectorWebhook.defaultTemplates");
    install.default_templates = list_of_names(&defaults, "defaultTemplates");
    for name in values.keys("sidecarInjectorWebhook.templates") {
        install.custom_templates.extend(name.string().map(|text| {
            let message = format!("injection template `{text}` is defined here");
            Fact::known(text.to_owned(), name.label(message))
        }));
    }
    let policy = "sidecarInjectorWebhook.reinvocationPolicy";
    install.reinvocation_policy = values.string(policy, "Never");
}

/// Reads names as one fact; an empty list counts as none.
pub(super) fn list_of_names(found: &[Found<'_>], what: &str) -> Option<Fact<Vec<String>>> {
    let first = found.first()?;
    let names: Vec<String> = found
        .iter()
        .filter_map(|name| name.string().map(str::to_owned))
        .collect();
    let message = format!("{what}: {}", names.join(", "));
    Some(Fact::known(names, first.label(message)))
}

/// Reads `meshConfig` from the values.
pub(super) fn mesh_config(install: &mut Install, values: &Values<'_>) {
    let port = i64::from(DEFAULT_STATUS_PORT);
    install.root_namespace = values
        .string("meshConfig.rootNamespace", DEFAULT_ROOT_NAMESPACE)
        .or_else(|| values.string("global.istioNamespace", DEFAULT_ROOT_NAMESPACE));
    let status_port = field(values, "meshConfig.defaultConfig", "statusPort");
    install.mesh_status_port = values.integer(&status_port, port);
    let mode = field(values, "meshConfig.defaultConfig", "interceptionMode");
    install.interception_mode = values.fact(&mode, Some("REDIRECT".to_owned()), |found| {
        enumeration(found.node, &INTERCEPTION_MODES)
            .map(str::to_owned)
            .or_else(|| found.string().map(str::to_owned))
    });
    let policy = field(values, "meshConfig", "inboundTrafficPolicy");
    install.inbound_traffic_policy = values.string(&format!("{policy}.mode"), "PASSTHROUGH");
    let merge = field(values, "meshConfig", "enablePrometheusMerge");
    install.prometheus_merge = values.boolean(&merge, true);
    let hold = "holdApplicationUntilProxyStarts";
    install.hold_application = values
        .boolean(&field(values, "meshConfig.defaultConfig", hold), false)
        .or_else(|| values.boolean(&format!("global.proxy.{hold}"), false));
    let metadata = field(values, "meshConfig.defaultConfig", "proxyMetadata");
    let localhost = format!("{metadata}.{LOCALHOST_PROBES}");
    install.probe_localhost = values.fact(&localhost, Some(false), switch);
    let discovery = field(values, "meshConfig", "discoverySelectors");
    install.discovery_selectors = selectors(values, &discovery);
    reject_wrong_types(install, values);
}

/// Returns the path of a field of the mesh configuration in the spelling that is written; of two
/// spellings Istio uses that of JSON. `defaultConfig` itself has only one spelling (`ApplyMeshConfig` in
/// `pkg/config/mesh/mesh.go` of Istio 1.31).
fn field(values: &Values<'_>, message: &str, json: &str) -> String {
    let path = format!("{message}.{json}");
    if values.find(&path).is_none() {
        let original = format!("{message}.{}", original_name(json));
        if values.find(&original).is_some() {
            return original;
        }
    }
    path
}

/// Reads an environment variable of istiod. Since 1.24, the keys of `pilot` are also accepted at the top level.
fn environment<T>(
    values: &Values<'_>,
    name: &str,
    read: impl Fn(&Found<'_>) -> Option<T>,
) -> Option<Fact<T>> {
    ["pilot.env", "env"]
        .iter()
        .find_map(|prefix| values.fact(&format!("{prefix}.{name}"), None, &read))
}

/// Reads a boolean environment variable as Go does; YAML may already have parsed it as a boolean.
fn switch(found: &Found<'_>) -> Option<bool> {
    found
        .string()
        .and_then(parse_bool)
        .or_else(|| found.boolean())
}

/// Returns whether the hooks of the sidecar in the values replace the one that waits for it. They do not if they wait, too.
///
/// Source: Istio 1.10 to 1.31, `files/injection-template.yaml` of the chart istio-discovery.
fn replaces_hold(values: &Values<'_>) -> Option<Fact<bool>> {
    const LIFECYCLE: &str = "global.proxy.lifecycle";
    let hooks = values.find(LIFECYCLE)?;
    let command = values.list(&format!("{LIFECYCLE}.postStart.exec.command"));
    let words: Vec<&str> = command.iter().filter_map(Found::string).collect();
    let waits = words.join(" ").contains("pilot-agent wait");
    let replaces = !values.keys(LIFECYCLE).is_empty() && !waits;
    let message = format!("`{LIFECYCLE}` replaces the hook that waits for the sidecar");
    Some(Fact::known(replaces, hooks.label(message)))
}

fn cni(values: &Values<'_>) -> Option<Fact<bool>> {
    ["pilot.cni.enabled", "cni.enabled", "istio_cni.enabled"]
        .iter()
        .find_map(|path| values.boolean(path, false))
        .or_else(|| {
            let is_openshift = |found: &Found<'_>| Some(found.string()?.starts_with("openshift"));
            ["global.platform", "profile"]
                .iter()
                .filter_map(|path| values.fact(path, None, is_openshift))
                .find(|fact| fact.value)
        })
}

fn native_sidecars(values: &Values<'_>) -> Option<Fact<NativeSidecars>> {
    let written = environment(values, "ENABLE_NATIVE_SIDECARS", |found| {
        match (switch(found), found.string()?) {
            (Some(true), _) => Some(NativeSidecars::On),
            (Some(false), _) => Some(NativeSidecars::Off),
            (None, "auto") => Some(NativeSidecars::Auto),
            _ => None,
        }
    });
    // `compatibility-version-1.26.yaml` and earlier ones switch native sidecars off.
    written.or_else(|| {
        values.fact("compatibilityVersion", None, |found| {
            let version = of_tag(found.string()?)?;
            (version <= Version::new(1, 26)).then_some(NativeSidecars::Off)
        })
    })
}

fn ambient(values: &Values<'_>) -> Option<Fact<bool>> {
    environment(values, "PILOT_ENABLE_AMBIENT", switch)
        .or_else(|| values.boolean("cni.ambient.enabled", false))
        .or_else(|| values.boolean("ambient.enabled", false))
        .or_else(|| {
            let by_profile = |found: &Found<'_>| Some(found.string()?.contains("ambient"));
            values
                .fact("profile", None, by_profile)
                .filter(|fact| fact.value)
        })
}

fn enablement_selectors(values: &Values<'_>) -> Option<Fact<Vec<EnablementSelector>>> {
    [
        "cni.ambient.enablementSelectors",
        "ambient.enablementSelectors",
    ]
    .iter()
    .map(|path| values.list(path))
    .find_map(|found| {
        let nodes = found.iter().map(|item| item.node);
        let label = found
            .first()?
            .label("these selectors enrol pods in ambient mode");
        Some(Fact::known(nodes.map(enablement_selector).collect(), label))
    })
}

/// Reads one pair of selectors of the CNI plugin.
pub(super) fn enablement_selector(node: NodeRef<'_>) -> EnablementSelector {
    EnablementSelector {
        pod: Requirements::parse(node.get("podSelector")),
        namespace: Requirements::parse(node.get("namespaceSelector")),
    }
}

pub(super) fn selectors(values: &Values<'_>, path: &str) -> Option<Fact<Vec<Requirements>>> {
    let items = values.list(path);
    let label = items.first()?.label(format!("`{path}` is set here"));
    let read = items
        .iter()
        .map(|item| Requirements::parse(Some(item.node)));
    Some(Fact::known(read.collect(), label))
}

/// Reads the release. The image of istiod takes precedence over the version of the chart.
fn version(values: &Values<'_>) -> Option<Fact<Version>> {
    let tag = |found: &Found<'_>| of_tag(found.string()?);
    let image = |found: &Found<'_>| version_of_image(found.string()?);
    values
        .fact("pilot.tag", None, tag)
        .or_else(|| values.fact("tag", None, tag))
        .or_else(|| values.fact("pilot.image", None, image))
        .or_else(|| values.fact("image", None, image))
        .or_else(|| values.fact("global.tag", None, tag))
}

/// The key of the mesh configuration in the values.
const KEY: &str = "meshConfig";

/// Records the first value of a wrong type in `meshConfig`. istiod then rejects the whole configuration and keeps the
/// last valid one, so none of its facts apply.
pub(super) fn reject_wrong_types(install: &mut Install, values: &Values<'_>) {
    let Some(rejected) = first_fault(install, values) else {
        return;
    };
    install.rejected_config = Some(rejected);
    install.root_namespace = None;
    install.mesh_status_port = None;
    install.interception_mode = None;
    install.inbound_traffic_policy = None;
    install.prometheus_merge = None;
    install.hold_application = None;
    install.probe_localhost = None;
    install.discovery_selectors = None;
}

/// Returns the first value that istiod rejects. A value that a stronger layer replaces is ignored.
fn first_fault(install: &Install, values: &Values<'_>) -> Option<Label> {
    let release = install.version.as_ref().map(|version| version.value);
    // A field of a later release is checked only if the release is known.
    let is_checked = |change: &ReleaseChange| release.is_some() && change.is_in(release);
    for (index, layer) in values.layers.iter().enumerate() {
        let Descent::Node(node) = layer.descend(&[KEY]) else {
            continue;
        };
        let stronger = values.layers.get(..index).unwrap_or_default();
        let fault = config_faults(node).into_iter().find(|fault| {
            fault.since.is_none_or(is_checked) && !is_replaced(&fault.path, stronger)
        });
        if let Some(fault) = fault {
            let message = format!(
                "Istio rejects the whole mesh configuration: {}",
                fault.message
            );
            let found = layer.found(node);
            return Some(found.label_within(fault.span, message));
        }
    }
    None
}

/// Returns the values of a wrong type in a mesh configuration.
fn config_faults(node: NodeRef<'_>) -> Vec<TypeFault> {
    if node.is_mapping() {
        return faults(node, MESH_CONFIG);
    }
    if placeholder::contains(node.source()) {
        return Vec::new();
    }
    vec![TypeFault {
        path: String::new(),
        span: node.span(),
        message: "it must be a mapping".to_owned(),
        since: None,
    }]
}

/// Returns whether one of the layers also contains the value at a path, or the list that the path leads into.
fn is_replaced(path: &str, layers: &[Layer<'_>]) -> bool {
    let outer = path.split('[').next().unwrap_or_default();
    let fields = outer.split('.').filter(|key| !key.is_empty());
    let keys: Vec<&str> = [KEY].into_iter().chain(fields).collect();
    let contains = |layer: &Layer<'_>| !matches!(layer.descend(&keys), Descent::Absent);
    layers.iter().any(contains)
}
