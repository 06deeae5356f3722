//! Decoding and defaults of the API server, which processes a pod before the webhook.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::list;

pub(crate) const SLOTS: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
pub(crate) const HOOKS: [&str; 2] = ["postStart", "preStop"];
const HANDLERS: [&str; 5] = ["httpGet", "tcpSocket", "grpc", "exec", "sleep"];

/// The Kubernetes types of an Istio release: they have `grpc` since 1.13, and `sleep` since 1.22.
#[derive(Clone, Copy)]
pub(crate) struct Types {
    pub(crate) minor: u32,
}

impl Types {
    pub(crate) fn of(release: &str) -> Self {
        Self {
            minor: release.split('.').nth(1).unwrap().parse().unwrap(),
        }
    }

    fn lacks(self, handler: &str) -> bool {
        (handler == "grpc" && self.minor < 13) || (handler == "sleep" && self.minor < 22)
    }
}

/// Decodes a pod with the types of a release and fills in the defaults of its handlers. Fails if a value has the
/// wrong type.
pub(super) fn decoded(template: &Value, types: Types) -> Result<Value, ()> {
    let mut pod = template.clone();
    without_nulls(&mut pod);
    let annotations = pod
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    if annotations.is_some_and(|all| all.values().any(|value| !value.is_string())) {
        return Err(());
    }
    for key in ["initContainers", "containers"] {
        let Some(items) = pod
            .pointer_mut(&format!("/spec/{key}"))
            .and_then(Value::as_array_mut)
        else {
            continue;
        };
        for container in items {
            for (handler, is_probe) in each_mut(container) {
                check(handler)?;
                handler
                    .as_object_mut()
                    .unwrap()
                    .retain(|key, _| !types.lacks(key));
                *handler = defaulted(handler, is_probe);
            }
        }
    }
    Ok(pod)
}

/// Returns the handlers of a container, each with whether it is a probe.
pub(crate) fn each_mut(container: &mut Value) -> Vec<(&mut Value, bool)> {
    let mut found = Vec::new();
    let Some(map) = container.as_object_mut() else {
        return found;
    };
    for (key, value) in map {
        if SLOTS.contains(&key.as_str()) && value.is_object() {
            found.push((value, true));
        } else if key == "lifecycle" && value.is_object() {
            let hooks = value.as_object_mut().unwrap().iter_mut();
            let hooks =
                hooks.filter(|(key, value)| HOOKS.contains(&key.as_str()) && value.is_object());
            found.extend(hooks.map(|(_, value)| (value, false)));
        }
    }
    found
}

/// Checks the types of a handler in Go: a path is a string, and a port fits in 32 bits.
fn check(handler: &Value) -> Result<(), ()> {
    let path = handler.pointer("/httpGet/path");
    if path.is_some_and(|path| !path.is_string()) {
        return Err(());
    }
    let ports = ["httpGet", "tcpSocket", "grpc"].into_iter();
    let mut ports = ports.filter_map(|kind| handler.get(kind)?.get("port")?.as_i64());
    if ports.any(|port| i32::try_from(port).is_err()) {
        return Err(());
    }
    Ok(())
}

/// Removes null values, as the API server does.
pub(crate) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// Returns a probe or hook with the defaults of the API server.
pub(crate) fn defaulted(handler: &Value, is_probe: bool) -> Value {
    let mut out = handler.clone();
    without_nulls(&mut out);
    let map = out.as_object_mut().unwrap();
    // The types of old releases do not have the field.
    map.remove("terminationGracePeriodSeconds");
    if is_probe {
        for (name, value) in [
            ("timeoutSeconds", 1),
            ("periodSeconds", 10),
            ("successThreshold", 1),
            ("failureThreshold", 3),
        ] {
            let entry = map.entry(name).or_insert(json!(value));
            if entry == &json!(0) {
                *entry = json!(value);
            }
        }
        if map.get("initialDelaySeconds") == Some(&json!(0)) {
            map.remove("initialDelaySeconds");
        }
    }
    if let Some(http) = map.get_mut("httpGet").and_then(Value::as_object_mut) {
        for (name, value) in [("path", "/"), ("scheme", "HTTP")] {
            let entry = http.entry(name).or_insert(json!(value));
            if entry.is_null() || entry == "" {
                *entry = json!(value);
            }
        }
        if http
            .get("httpHeaders")
            .is_some_and(|headers| headers.as_array().is_none_or(Vec::is_empty))
        {
            http.remove("httpHeaders");
        }
        // The API server omits an empty host.
        if http.get("host").is_some_and(|host| host == "") {
            http.remove("host");
        }
    }
    if let Some(grpc) = map.get_mut("grpc").and_then(Value::as_object_mut) {
        grpc.entry("service").or_insert(json!(""));
    }
    out
}

/// Returns the handlers of the application containers with defaults, by `list/name/slot`.
pub(crate) fn handlers(pod: &Value, types: Types) -> BTreeMap<String, Value> {
    let lists = ["initContainers", "containers"];
    let containers = lists.into_iter().flat_map(|key| {
        list(pod, key)
            .into_iter()
            .map(move |container| (key, container))
    });
    of_containers(containers, types)
}

/// Returns the handlers of containers with defaults, by `list/name/slot`. Each container comes with the name of its
/// list.
pub(crate) fn of_containers<'a>(
    containers: impl Iterator<Item = (&'a str, &'a Value)>,
    types: Types,
) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for (list, container) in containers {
        let name = container
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name == "istio-proxy" || name == "istio-init" {
            continue;
        }
        let mut add = |slot: &str, handler: Option<&Value>, is_probe: bool| {
            let Some(handler) = handler.filter(|handler| handler.is_object()) else {
                return;
            };
            let mut handler = handler.clone();
            let map = handler.as_object_mut().unwrap();
            // The types of the release may not have these handlers.
            map.retain(|key, _| !types.lacks(key));
            if map.keys().any(|key| HANDLERS.contains(&key.as_str())) {
                found.insert(
                    format!("{list}/{name}/{slot}"),
                    defaulted(&handler, is_probe),
                );
            }
        };
        for slot in SLOTS {
            add(slot, container.get(slot), true);
        }
        for slot in HOOKS {
            add(
                slot,
                container.pointer(&format!("/lifecycle/{slot}")),
                false,
            );
        }
    }
    found
}
