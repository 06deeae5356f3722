//! A model of Istio's injection webhook for tests: the rewrite of probes and the prober env. It shares no code with
//! `src` and uses plain JSON values, so that the same mistake is not made twice.
//!
//! Modelled: decoding and the API server's defaults, which pods are injected, the merge of a user's
//! `istio-proxy`, the env from `proxyMetadata`, the rewrite of probes, the order of containers.
//! Not modelled: the rest of the template (volumes, the other env, `PROXY_CONFIG`, `istio-init`'s env).

pub(crate) mod defaults;
pub(crate) mod pods;
mod probers;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use defaults::{Types, decoded};
use probers::rewrite_probes;

pub(crate) const ENV: &str = "ISTIO_KUBE_APP_PROBERS";
pub(crate) const PROXY: &str = "istio-proxy";
pub(crate) const OPT_OUT: &str = "sidecar.istio.io/rewriteAppHTTPProbers";
pub(crate) const CONFIG: &str = "proxy.istio.io/config";
const STATUS: &str = "sidecar.istio.io/status";
const STATUS_PORT: &str = "status.sidecar.istio.io/port";
const TEMPLATES: &str = "inject.istio.io/templates";

/// Settings of the mesh that injects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mesh {
    /// The minor version of the release: 31 for 1.31.
    pub(crate) minor: u32,
    /// `global.proxy.statusPort`.
    pub(crate) status_port: i64,
    /// `sidecarInjectorWebhook.rewriteAppHTTPProbe`.
    pub(crate) rewrites: bool,
    /// Whether sidecars are native.
    pub(crate) native: bool,
    /// Whether the template escapes the values of `proxyMetadata`. No release does; a later one could.
    pub(crate) escapes_metadata: bool,
}

impl Mesh {
    /// Returns the mesh of a release such as `1.28.10`, with the default values of the charts.
    pub(crate) fn of(release: &str) -> Self {
        Self {
            minor: release.split('.').nth(1).unwrap().parse().unwrap(),
            status_port: 15020,
            rewrites: true,
            native: false,
            escapes_metadata: false,
        }
    }
}

/// The pod template of an object, and its namespace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Workload {
    pub(crate) namespace: String,
    pub(crate) template: Value,
}

/// Result of the admission of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Admitted {
    /// The pod is refused.
    Error,
    /// The pod passes unchanged.
    Skipped,
    /// The pod with its sidecar.
    Injected(Value),
}

/// Returns the workloads of a stream in order, including the items of Lists.
pub(crate) fn workloads(text: &str) -> Vec<Workload> {
    let mut objects = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let mut value = serde_yaml::Value::deserialize(document).unwrap();
        value.apply_merge().unwrap();
        let value = serde_json::to_value(value).unwrap();
        match value.get("items") {
            Some(items) => objects.extend(items.as_array().unwrap().clone()),
            None => objects.push(value),
        }
    }
    objects.iter().filter_map(workload).collect()
}

fn workload(object: &Value) -> Option<Workload> {
    let pointer = match object.get("kind")?.as_str()? {
        "Pod" => "",
        "PodTemplate" => "/template",
        "CronJob" => "/spec/jobTemplate/spec/template",
        _ => "/spec/template",
    };
    let template = object.pointer(pointer)?;
    template.pointer("/spec/containers")?;
    let namespace = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str);
    Some(Workload {
        namespace: namespace.unwrap_or("default").to_owned(),
        template: template.clone(),
    })
}

/// Returns the result of the API server and the webhook for a pod.
pub(crate) fn admit(workload: &Workload, mesh: Mesh) -> Admitted {
    let Ok(mut pod) = decoded(&workload.template, Types { minor: mesh.minor }) else {
        return Admitted::Error;
    };
    if !is_injected(&pod, &workload.namespace, mesh.minor) {
        return Admitted::Skipped;
    }
    if !status_port_is_valid(&pod) {
        return Admitted::Error;
    }
    let template = annotation(&pod, TEMPLATES).unwrap_or("sidecar").to_owned();
    match template.as_str() {
        "sidecar" => {}
        "grpc-agent" if mesh.minor >= 11 => {
            // The template contains the opt-out since 1.12.
            if mesh.minor >= 12 {
                annotations(&mut pod).insert(OPT_OUT.to_owned(), json!("false"));
            }
        }
        _ => return Admitted::Error,
    }
    add_sidecar(&mut pod, &template, mesh);
    rewrite_probes(&mut pod, mesh);
    reorder(&mut pod, mesh);
    Admitted::Injected(pod)
}

pub(crate) fn annotation<'a>(pod: &'a Value, key: &str) -> Option<&'a str> {
    pod.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

fn annotations(pod: &mut Value) -> &mut Map<String, Value> {
    let metadata = pod.as_object_mut().unwrap().entry("metadata");
    let metadata = metadata.or_insert(json!({})).as_object_mut().unwrap();
    let annotations = metadata.entry("annotations").or_insert(json!({}));
    annotations.as_object_mut().unwrap()
}

/// Returns whether a pod is injected: `injectRequired` with the policy enabled.
fn is_injected(pod: &Value, namespace: &str, minor: u32) -> bool {
    let system = [
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "local-path-storage",
    ];
    if pod.pointer("/spec/hostNetwork") == Some(&json!(true)) || system.contains(&namespace) {
        return false;
    }
    let key = "sidecar.istio.io/inject";
    let label = pod
        .get("metadata")
        .and_then(|metadata| metadata.get("labels")?.get(key)?.as_str());
    let label = label.filter(|_| minor >= 12);
    let Some(word) = label
        .or_else(|| annotation(pod, key))
        .filter(|word| !word.is_empty())
    else {
        return true;
    };
    if minor >= 27 {
        return word != "false";
    }
    ["y", "yes", "true", "on"].contains(&word.to_lowercase().as_str())
}

/// Returns whether the status port is valid. The validator trims the value, unlike the injector.
fn status_port_is_valid(pod: &Value) -> bool {
    annotation(pod, STATUS_PORT)
        .is_none_or(|port| port.trim().parse::<u16>().is_ok() && !port.contains('+'))
}

fn is_native(pod: &Value, mesh: Mesh) -> bool {
    let own = annotation(pod, "sidecar.istio.io/nativeSidecar").filter(|_| mesh.minor >= 24);
    match own {
        Some("true") => true,
        Some("false") => false,
        _ => mesh.native && mesh.minor >= 19,
    }
}

pub(crate) fn list<'a>(pod: &'a Value, key: &str) -> Vec<&'a Value> {
    let items = pod
        .pointer(&format!("/spec/{key}"))
        .and_then(Value::as_array);
    items.into_iter().flatten().collect()
}

fn list_mut<'a>(pod: &'a mut Value, key: &str) -> &'a mut Vec<Value> {
    let spec = pod["spec"].as_object_mut().unwrap();
    let items = spec.entry(key).or_insert(json!([]));
    if items.is_null() {
        *items = json!([]);
    }
    items.as_array_mut().unwrap()
}

/// Adds the sidecar of the template, merged with the user's `istio-proxy`. An env of the user replaces one with the
/// same name.
fn add_sidecar(pod: &mut Value, template: &str, mesh: Mesh) {
    let native = is_native(pod, mesh);
    let mut env = Vec::new();
    if template == "sidecar" {
        env = metadata_env(pod, mesh);
    }
    let key = if native {
        "initContainers"
    } else {
        "containers"
    };
    let mut own_proxy = take_proxy(pod, key);
    if own_proxy.is_none() && native {
        own_proxy = take_proxy(pod, "containers");
    }
    let mut proxy = own_proxy.unwrap_or_else(|| json!({"name": PROXY}));
    let own = proxy
        .get("env")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    env.retain(|entry| own.iter().all(|other| other["name"] != entry["name"]));
    env.extend(own);
    proxy["env"] = json!(env);
    if proxy.get("image").is_none_or(|image| image == "auto") {
        proxy["image"] = json!("proxyv2");
    }
    list_mut(pod, key).push(proxy);
    let has_init = list(pod, "initContainers")
        .iter()
        .any(|container| container["name"] == "istio-init");
    if template == "sidecar" && !has_init {
        list_mut(pod, "initContainers").push(json!({"name": "istio-init"}));
    }
}

fn take_proxy(pod: &mut Value, key: &str) -> Option<Value> {
    let items = list_mut(pod, key);
    let at = items
        .iter()
        .position(|container| container["name"] == PROXY)?;
    Some(items.remove(at))
}

/// Returns the env from `proxyMetadata`. The template contains `- name: {{ $key }}` and `value: "{{ $value }}"`: each
/// value is put between quotes, and then read as YAML. A template with `{{ $value | quote }}` would keep each value.
fn metadata_env(pod: &Value, mesh: Mesh) -> Vec<Value> {
    let Some(text) = annotation(pod, CONFIG) else {
        return Vec::new();
    };
    let config: Value = serde_yaml::from_str(text).unwrap();
    let entries = config.get("proxyMetadata").and_then(Value::as_object);
    let entries = entries.into_iter().flatten();
    entries
        .map(|(name, value)| {
            let pasted = value.as_str().unwrap();
            if mesh.escapes_metadata {
                return json!({"name": name, "value": pasted});
            }
            let read: String = serde_yaml::from_str(&format!("\"{pasted}\"")).unwrap();
            json!({"name": name, "value": read})
        })
        .collect()
}

/// Moves the proxy to the end, or to the start if the application waits for it. A native sidecar follows
/// `istio-init`.
fn reorder(pod: &mut Value, mesh: Mesh) {
    if is_native(pod, mesh) {
        let inits = list_mut(pod, "initContainers");
        let rank = |container: &Value| match container["name"].as_str() {
            Some("istio-init") => 0,
            Some(PROXY) => 1,
            _ => 2,
        };
        inits.sort_by_key(rank);
        return;
    }
    let hold = annotation(pod, CONFIG)
        .and_then(|text| serde_yaml::from_str::<Value>(text).ok())
        .is_some_and(|config| config.get("holdApplicationUntilProxyStarts") == Some(&json!(true)));
    let containers = list_mut(pod, "containers");
    containers.sort_by_key(|container| (container["name"] == PROXY) != hold);
}

/// Returns the sidecar. The order of the search is that of the injector.
pub(crate) fn sidecar(pod: &Value) -> Option<&Value> {
    let both = list(pod, "containers")
        .into_iter()
        .chain(list(pod, "initContainers"));
    both.into_iter()
        .find(|container| container["name"] == PROXY)
}

/// Returns every prober env of the sidecar in order. The kubelet uses the last one.
pub(crate) fn prober_envs(pod: &Value) -> Vec<String> {
    let env = sidecar(pod).and_then(|proxy| proxy.get("env")?.as_array());
    let env = env
        .into_iter()
        .flatten()
        .filter(|entry| entry["name"] == ENV);
    env.map(|entry| entry["value"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn names(pod: &Value, key: &str) -> Vec<String> {
    let names = list(pod, key).into_iter();
    names
        .map(|container| container["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Returns the paths of rewritten probes that the prober env does not contain.
pub(crate) fn unserved(pod: &Value) -> Vec<String> {
    let known: Value = prober_envs(pod).last().map_or(json!({}), |env| {
        serde_json::from_str(env).unwrap_or(Value::Null)
    });
    let handlers = defaults::handlers(pod, Types { minor: 31 });
    let paths = handlers
        .values()
        .filter_map(|handler| handler.pointer("/httpGet/path")?.as_str());
    let agents = paths.filter(|path| path.starts_with("/app-"));
    agents
        .filter(|path| known.get(path).is_none())
        .map(str::to_owned)
        .collect()
}
