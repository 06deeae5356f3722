//! The prober env in the `istio-proxy` container of the manifest: a partial container of the user, a container that a
//! rewrite added, or a complete sidecar. The injector reads the env of that container in every form.

use meshprobe_mesh::kube::Container;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_yaml::{Change, Value};

/// Sets the env of the container, or replaces its value.
pub(super) fn set_prober_env(proxy: &Container<'_>, json: String) -> Change {
    match proxy.env(keys::PROBERS_ENV) {
        Some(variable) => Change::Set {
            route: variable.route.child("value"),
            value: Value::Str(json),
        },
        None => Change::Push {
            route: proxy.route.child("env"),
            value: variable(json),
        },
    }
}

/// Returns the entry of `env`.
pub(super) fn variable(json: String) -> Value {
    Value::Map(vec![
        ("name".to_owned(), Value::from(keys::PROBERS_ENV)),
        ("value".to_owned(), Value::Str(json)),
    ])
}
