//! Virtual machines: the health check of a `WorkloadGroup`.
//!
//! Four programs read it, each in its own way: the API server applies the schema of the definition,
//! istiod's webhook (and `istioctl validate`) its validation, `istioctl x workload entry
//! configure` neither, and the agent on the machine runs the checks.
//!
//! Source: Istio's development head of August 2026, `pkg/config/validation/validation.go`,
//! `istioctl/pkg/workload/workload.go`, `pkg/istio-agent/health`; the order of the fields is that
//! of `networking/v1alpha3/workload_group.proto` (istio.io/api 1.31).
//!
//! `mesh.yaml`, the agent's configuration on a virtual machine, as `istioctl x workload entry
//! configure` writes it with its default flags.
//!
//! Source: `istioctl/pkg/workload/workload.go`, measured (`fixtures/istio/vm`).

mod fault;
mod probe;

use std::collections::BTreeMap;

use fault::{annotation_fault, default_config_fault};
use meshprobe_yaml::{
    Entry, FieldPath, NodeRef, Span, SyntaxError, Tree, Value, from_node, parse_embedded,
};
use probe::{UnreadableValue, field, number};
use serde_json::{Map, Value as Json, json};

use super::admission;
use super::keys::PROXY_CONFIG;
use super::prober_json::string;
use super::proxy_config::canonical;
use crate::kube::Object;
use crate::mesh::Version;

pub use fault::{Fault, FaultKind, find_faults};
pub use probe::{Method, kept, placeholder_value, read};

/// Annotation of a `WorkloadEntry` that enables its health checks; auto-registered ones have it
/// (`pilot/pkg/autoregistration/controller.go`).
pub const HEALTH_CHECKS_ENABLED: &str = "proxy.istio.io/health-checks-enabled";

/// The release since which the agent verifies the certificate of an HTTPS check: `health_check.go`
/// converts the scheme to lower case, `health_probers.go` compares it with `HTTPS`.
pub const HTTPS_VERIFIED_SINCE: Version = Version::new(1, 24);

/// The number of failed checks after which the agent treats the machine as unhealthy, unless the probe sets
/// another; the kubelet waits for three (`health_check.go`, `fillInDefaults`).
pub const DEFAULT_FAILURE_THRESHOLD: i64 = 1;

/// Returns what the sidecar of a machine uses a port for; `None` if the port belongs to the application.
/// `agent` is the port of the agent's status server.
#[must_use]
pub fn own_port(port: i64, agent: i64) -> Option<&'static str> {
    let agent = (port == agent).then_some("its agent");
    agent.or_else(|| super::capture::sidecar_port(port))
}

/// Labels with the name of a machine's workload, the strongest first.
const CANONICAL_SERVICE: [&str; 3] = [
    "service.istio.io/canonical-name",
    "app.kubernetes.io/name",
    "app",
];
const CANONICAL_REVISION: [&str; 3] = [
    "service.istio.io/canonical-revision",
    "app.kubernetes.io/version",
    "version",
];

/// The service account of a template that names none (`readWorkloadGroup`).
const DEFAULT_SERVICE_ACCOUNT: &str = "default";

/// The mesh configuration of a control plane: the text under `mesh` in its `ConfigMap`.
#[derive(Clone, Debug, Default)]
pub struct MeshConfig {
    whole: Map<String, Json>,
    /// Why istioctl rejects `defaultConfig`.
    fault: Option<String>,
}

impl MeshConfig {
    /// Parses the text.
    ///
    /// # Errors
    /// [`SyntaxError`] with an offset within `text`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let whole = object(text)?;
        let fault = default_config_fault(text);
        Ok(Self { whole, fault })
    }

    /// Returns `defaultConfig`.
    fn default_config(&self) -> Map<String, Json> {
        match self.whole.get("defaultConfig") {
            Some(Json::Object(config)) => canonical(config.clone()),
            _ => Map::new(),
        }
    }

    /// Returns `defaultConfig.statusPort`, if it is a number.
    #[must_use]
    pub fn status_port(&self) -> Option<i64> {
        status_port(&self.default_config())
    }

    /// Returns `trustDomain`, or `cluster.local` if none is written.
    fn trust_domain(&self) -> &str {
        let written = self.whole.get("trustDomain").and_then(Json::as_str);
        written.unwrap_or("cluster.local")
    }
}

/// Returns `mesh.yaml` for the machines of a `WorkloadGroup` in `namespace`: the probe as
/// written, without defaults, and, if the mesh configuration is known, all fields that follow from it.
///
/// # Errors
/// `UnreadableValue` for a value, or a `proxy.istio.io/config`, that makes istioctl fail.
pub fn mesh_yaml(
    group: &Object<'_>,
    namespace: &str,
    config: Option<&MeshConfig>,
) -> Result<Json, UnreadableValue> {
    if let Some(rejection) = admission::workload_template(group).into_iter().next() {
        return Err(UnreadableValue {
            span: rejection.span,
            route: rejection.route,
            message: format!("the value {}", rejection.reason),
        });
    }
    check_types(group, config)?;
    let spec = group.node.get("spec");
    let probe = spec.and_then(|spec| field(spec, "probe"));
    let probe = probe.map(|probe| read(probe.value)).transpose()?;
    let mut default = match config {
        Some(config) => whole(group, namespace, config)?,
        None => Map::new(),
    };
    // istioctl always drops a probe of an annotation.
    default.remove("readinessProbe");
    if let Some(probe) = &probe {
        default.insert("readinessProbe".to_owned(), to_json(probe));
    }
    Ok(json!({ "defaultConfig": default }))
}

/// Checks the types in the mesh configuration and in the annotations.
fn check_types(group: &Object<'_>, config: Option<&MeshConfig>) -> Result<(), UnreadableValue> {
    let of_mesh = config
        .and_then(|config| config.fault.as_ref())
        .map(|fault| {
            let message = format!("`defaultConfig` of the mesh configuration is invalid: {fault}");
            (group.name_span(), message)
        });
    let of_annotation = || {
        annotations(group).find_map(|entry| {
            let fault = annotation_fault(entry.value.text().unwrap_or_default())?;
            let message = format!("`{PROXY_CONFIG}` is invalid: {fault}");
            Some((entry.value.span(), message))
        })
    };
    match of_mesh.or_else(of_annotation) {
        Some((span, message)) => Err(UnreadableValue {
            span,
            route: FieldPath::root(),
            message,
        }),
        None => Ok(()),
    }
}

/// Returns the complete configuration: that of the mesh, the annotations and the metadata of the group.
fn whole(
    group: &Object<'_>,
    namespace: &str,
    config: &MeshConfig,
) -> Result<Map<String, Json>, UnreadableValue> {
    let mut default = config.default_config();
    for entry in annotations(group) {
        let text = entry.value.text().unwrap_or_default();
        let annotated = proxy_config(text).map_err(|error| UnreadableValue {
            span: entry.value.span(),
            route: FieldPath::root(),
            message: format!("`{PROXY_CONFIG}` is not YAML: {}", error.message),
        })?;
        merge(&mut default, annotated);
    }
    let metadata = metadata(group, namespace, config, &default);
    let entry = default.entry("proxyMetadata").or_insert_with(|| json!({}));
    if let Json::Object(existing) = entry {
        existing.extend(metadata);
    }
    Ok(default)
}

/// Returns the annotations that change the configuration, the strongest last.
fn annotations<'t>(group: &Object<'t>) -> impl Iterator<Item = Entry<'t>> + use<'t> {
    let spec = group.node.get("spec");
    let in_template = spec.and_then(|spec| {
        spec.get("metadata")?
            .get("annotations")?
            .entry(PROXY_CONFIG)
    });
    group
        .annotation(PROXY_CONFIG)
        .into_iter()
        .chain(in_template)
        .filter(|entry| !entry.value.is_null())
}

/// Returns the annotations of a group that contain a `readinessProbe`, which every program ignores.
#[must_use]
pub fn annotated_probes<'t>(group: &Object<'t>) -> Vec<Entry<'t>> {
    let has_probe = |entry: &Entry<'t>| {
        let config = proxy_config(entry.value.text().unwrap_or_default()).unwrap_or_default();
        config
            .get("readinessProbe")
            .is_some_and(|probe| !probe.is_null())
    };
    annotations(group).filter(has_probe).collect()
}

fn status_port(config: &Map<String, Json>) -> Option<i64> {
    config.get("statusPort")?.as_i64().filter(|&port| port != 0)
}

/// Returns the port of the agent from the annotations of a group, and the annotation that
/// decides.
#[must_use]
pub fn annotated_status_port<'t>(group: &Object<'t>) -> Option<(i64, Entry<'t>)> {
    annotations(group)
        .filter_map(|entry| {
            let config = proxy_config(entry.value.text().unwrap_or_default()).ok()?;
            Some((status_port(&config)?, entry))
        })
        .last()
}

fn metadata(
    group: &Object<'_>,
    namespace: &str,
    config: &MeshConfig,
    default: &Map<String, Json>,
) -> Map<String, Json> {
    let spec = group.node.get("spec");
    let template = spec.and_then(|spec| spec.get("template"));
    let of_template = |key: &str| {
        let value = template?.get(key).filter(|value| !value.is_null());
        value?.text()
    };
    let mut labels = labels(spec.and_then(|spec| spec.get("metadata")?.get("labels")));
    labels.extend(self::labels(
        template.and_then(|template| template.get("labels")),
    ));
    let named = |keys: [&str; 3], default: &str| {
        keys.iter()
            .find_map(|key| labels.get(*key))
            .cloned()
            .unwrap_or_else(|| default.to_owned())
    };
    let service = named(CANONICAL_SERVICE, group.name());
    let revision = named(CANONICAL_REVISION, "latest");
    labels.insert(CANONICAL_SERVICE[0].to_owned(), service.clone());
    labels.insert(CANONICAL_REVISION[0].to_owned(), revision.clone());
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{}:{}", string(key), string(value)))
        .collect();
    let service_account = of_template("serviceAccount").filter(|name| !name.is_empty());
    let mesh_id = default.get("meshId").and_then(Json::as_str);
    let mut metadata = BTreeMap::from([
        ("CANONICAL_REVISION", revision),
        ("CANONICAL_SERVICE", service),
        ("ISTIO_METAJSON_LABELS", format!("{{{}}}", labels.join(","))),
        ("ISTIO_META_CLUSTER_ID", "Kubernetes".to_owned()),
        ("ISTIO_META_DNS_CAPTURE", "true".to_owned()),
        ("ISTIO_META_MESH_ID", mesh_id.unwrap_or_default().to_owned()),
        (
            "ISTIO_META_NETWORK",
            of_template("network").unwrap_or_default().to_owned(),
        ),
        ("ISTIO_META_WORKLOAD_NAME", group.name().to_owned()),
        ("POD_NAMESPACE", namespace.to_owned()),
        (
            "SERVICE_ACCOUNT",
            service_account
                .unwrap_or(DEFAULT_SERVICE_ACCOUNT)
                .to_owned(),
        ),
        ("TRUST_DOMAIN", config.trust_domain().to_owned()),
    ]);
    if let Some(ports) = template.and_then(|template| pod_ports(template.get("ports")?)) {
        metadata.insert("ISTIO_META_POD_PORTS", ports);
    }
    metadata
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Json::String(value)))
        .collect()
}

fn labels(node: Option<NodeRef<'_>>) -> BTreeMap<String, String> {
    node.into_iter()
        .flat_map(NodeRef::entries)
        .filter_map(|entry| Some((entry.key.text()?.to_owned(), entry.value.text()?.to_owned())))
        .collect()
}

fn pod_ports(node: NodeRef<'_>) -> Option<String> {
    let ports: BTreeMap<&str, i64> = node
        .entries()
        .filter_map(|entry| {
            let value = entry.value;
            let port = if value.is_null() {
                Some(0)
            } else {
                number(value)
            };
            Some((entry.key.text()?, port?))
        })
        .collect();
    let entries: Vec<String> = ports
        .iter()
        .map(|(name, port)| {
            let name = string(name);
            format!("{{\"name\":{name},\"containerPort\":{port},\"protocol\":\"\"}}")
        })
        .collect();
    (!entries.is_empty()).then(|| format!("[{}]", entries.join(",")))
}

/// Merges one configuration into another: mappings are merged, all other values are replaced.
fn merge(base: &mut Map<String, Json>, overlay: Map<String, Json>) {
    for (key, value) in overlay {
        match (base.get_mut(&key), value) {
            (_, Json::Null) => {}
            (Some(Json::Object(base)), Json::Object(overlay)) => merge(base, overlay),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Parses the text of an annotation.
fn proxy_config(text: &str) -> Result<Map<String, Json>, SyntaxError> {
    object(text).map(canonical)
}

fn object(text: &str) -> Result<Map<String, Json>, SyntaxError> {
    let text = std::sync::Arc::from(text);
    let whole = Span::new(0, str::len(&text));
    let tree = parse_embedded(&text, whole)?;
    let Some(root) = tree.as_ref().and_then(Tree::root) else {
        return Ok(Map::new());
    };
    from_node::<Map<String, Json>>(root).map_err(|error| SyntaxError {
        offset: error.span.start,
        message: error.message,
    })
}

/// Converts a value to JSON.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Str(text) | Value::Block(text) => json!(text),
        Value::Seq(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => Json::Object(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), to_json(value)))
                .collect(),
        ),
    }
}
