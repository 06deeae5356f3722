//! The rewrite of probes: the entries for the agent, the rewritten handlers, and the place of the env.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ENV, Mesh, OPT_OUT, PROXY, STATUS, STATUS_PORT, annotation, prober_envs, sidecar};

/// The slot of a handler, the end of its key, and the minor release that first rewrites it.
const SLOTS: [(&str, &str, u32); 5] = [
    ("/readinessProbe", "app-health/{}/readyz", 0),
    ("/livenessProbe", "app-health/{}/livez", 0),
    ("/startupProbe", "app-health/{}/startupz", 0),
    ("/lifecycle/preStop", "app-lifecycle/{}/prestopz", 25),
    ("/lifecycle/postStart", "app-lifecycle/{}/poststartz", 25),
];

/// Network handlers in the order in which the injector searches for them, each with the minor release that first
/// rewrites it.
const KINDS: [(&str, u32); 3] = [("httpGet", 0), ("tcpSocket", 12), ("grpc", 13)];

pub(super) fn rewrite_probes(pod: &mut Value, mesh: Mesh) {
    let word = annotation(pod, OPT_OUT).and_then(parse_bool);
    if sidecar(pod).is_none() || !word.unwrap_or(mesh.rewrites) {
        return;
    }
    let recorded = recorded(pod, mesh);
    write_env(pod, mesh, &recorded);
    let port = annotation(pod, STATUS_PORT).map_or(mesh.status_port, |text| {
        // Go's `Atoi` accepts a sign and rejects blanks; if it fails, the port is 0.
        text.parse::<i64>().unwrap_or(0)
    });
    for_each(pod, mesh, |handler, path, _| {
        point_to_agent(handler, path, port, mesh)
    });
}

fn parse_bool(word: &str) -> Option<bool> {
    match word {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Calls `act` for each handler that the release rewrites, init containers first.
fn for_each(pod: &mut Value, mesh: Mesh, mut act: impl FnMut(&mut Value, &str, &Value)) {
    let lists: &[&str] = if mesh.minor >= 19 {
        &["initContainers", "containers"]
    } else {
        &["containers"]
    };
    for list in lists {
        let items = pod
            .pointer_mut(&format!("/spec/{list}"))
            .and_then(Value::as_array_mut);
        for container in items.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            if name == PROXY {
                continue;
            }
            let ports = container.get("ports").cloned().unwrap_or(Value::Null);
            for (slot, path, since) in SLOTS {
                if mesh.minor < since {
                    continue;
                }
                if let Some(handler) = container
                    .pointer_mut(slot)
                    .filter(|handler| handler.is_object())
                {
                    act(handler, &format!("/{}", path.replace("{}", &name)), &ports);
                }
            }
        }
    }
}

fn kind_of(handler: &Value, mesh: Mesh) -> Option<&'static str> {
    let known = KINDS.iter().filter(|(_, since)| mesh.minor >= *since);
    known
        .map(|(kind, _)| *kind)
        .find(|kind| handler.get(kind).is_some())
}

/// Returns the entries for the agent by key, as `DumpAppProbers` does.
fn recorded(pod: &mut Value, mesh: Mesh) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for_each(pod, mesh, |handler, path, ports| {
        let Some(kind) = kind_of(handler, mesh) else {
            return;
        };
        let port = match &handler[kind]["port"] {
            Value::String(name) => {
                let ports = ports.as_array().cloned().unwrap_or_default();
                let hit = ports.iter().rfind(|port| port["name"] == json!(name));
                let Some(number) = hit.and_then(|port| port["containerPort"].as_i64()) else {
                    return;
                };
                number
            }
            number => {
                let number = number.as_i64().unwrap_or(0);
                if kind != "grpc" && number == mesh.status_port {
                    return;
                }
                number
            }
        };
        all.insert(path.to_owned(), prober(handler, kind, port));
    });
    all
}

/// Returns a prober as Go's `json.Marshal` writes it: in the field order of the API types, without empty fields.
fn prober(handler: &Value, kind: &str, port: i64) -> String {
    let action = &handler[kind];
    let mut fields = Vec::new();
    let text = |key: &str| {
        action
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    if let Some(path) = text("path") {
        fields.push(format!("\"path\":{}", quoted(path)));
    }
    fields.push(format!("\"port\":{port}"));
    if kind == "grpc" {
        let service = action.get("service").and_then(Value::as_str);
        fields.push(format!(
            "\"service\":{}",
            service.map_or("null".into(), quoted)
        ));
    }
    for key in ["host", "scheme"] {
        if let Some(value) = text(key) {
            fields.push(format!("\"{key}\":{}", quoted(value)));
        }
    }
    let headers = action.get("httpHeaders").and_then(Value::as_array);
    if let Some(headers) = headers.filter(|headers| !headers.is_empty()) {
        let each = headers.iter().map(|header| {
            let text =
                |key: &str| quoted(header.get(key).and_then(Value::as_str).unwrap_or_default());
            format!("{{\"name\":{},\"value\":{}}}", text("name"), text("value"))
        });
        let each: Vec<String> = each.collect();
        fields.push(format!("\"httpHeaders\":[{}]", each.join(",")));
    }
    let timeout = handler.get("timeoutSeconds").and_then(Value::as_i64);
    let timeout = timeout.filter(|seconds| *seconds != 0);
    let timeout = timeout.map_or(String::new(), |seconds| {
        format!(",\"timeoutSeconds\":{seconds}")
    });
    format!("{{\"{kind}\":{{{}}}{timeout}}}", fields.join(","))
}

/// Returns a JSON string with the escapes of Go.
fn quoted(text: &str) -> String {
    let plain = serde_json::to_string(text).unwrap();
    let mut out = plain
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e");
    out = out.replace('\u{2028}', "\\u2028");
    out.replace('\u{2029}', "\\u2029")
}

fn object(all: &BTreeMap<String, String>) -> String {
    let members: Vec<String> = all
        .iter()
        .map(|(key, json)| format!("{}:{json}", quoted(key)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Appends the env to the sidecar, or in an injected pod merges it into the first existing one.
fn write_env(pod: &mut Value, mesh: Mesh, recorded: &BTreeMap<String, String>) {
    if recorded.is_empty() {
        return;
    }
    let merges = annotation(pod, STATUS).is_some() && mesh.minor >= 17;
    let existing = prober_envs(pod).first().cloned();
    let merged = match (&existing, merges) {
        (Some(text), true) => {
            let Ok(old) =
                serde_json::from_str::<BTreeMap<String, Box<serde_json::value::RawValue>>>(text)
            else {
                return;
            };
            let mut all = recorded.clone();
            all.extend(
                old.into_iter()
                    .map(|(key, raw)| (key, raw.get().to_owned())),
            );
            Some(object(&all))
        }
        (None, true) if mesh.minor < 27 => return,
        _ => None,
    };
    let value = merged.clone().unwrap_or_else(|| object(recorded));
    let env = env_of_sidecar(pod);
    match env
        .iter_mut()
        .find(|entry| entry["name"] == ENV)
        .filter(|_| merged.is_some())
    {
        Some(entry) => entry["value"] = json!(value),
        None => env.push(json!({"name": ENV, "value": value})),
    }
}

fn env_of_sidecar(pod: &mut Value) -> &mut Vec<Value> {
    let in_main = super::list(pod, "containers")
        .iter()
        .any(|container| container["name"] == PROXY);
    let list = if in_main {
        "/spec/containers"
    } else {
        "/spec/initContainers"
    };
    let items = pod.pointer_mut(list).unwrap().as_array_mut().unwrap();
    let proxy = items
        .iter_mut()
        .find(|container| container["name"] == PROXY)
        .unwrap();
    let proxy: &mut Map<String, Value> = proxy.as_object_mut().unwrap();
    proxy
        .entry("env")
        .or_insert(json!([]))
        .as_array_mut()
        .unwrap()
}

/// Points a handler to the agent, as `patchRewriteProbe` does, even if it has no entry.
fn point_to_agent(handler: &mut Value, path: &str, port: i64, mesh: Mesh) {
    let Some(kind) = kind_of(handler, mesh) else {
        return;
    };
    let map = handler.as_object_mut().unwrap();
    if kind == "httpGet" {
        let http = map["httpGet"].as_object_mut().unwrap();
        http.insert("path".into(), json!(path));
        http.insert("port".into(), json!(port));
        if http.get("scheme") == Some(&json!("HTTPS")) {
            http.insert("scheme".into(), json!("HTTP"));
        }
    } else {
        map.remove(kind);
        map.insert("httpGet".into(), json!({"path": path, "port": port}));
    }
}
