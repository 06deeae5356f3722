//! A partial `istio-proxy` container, last in `containers`, that the injector completes.
//!
//! Measured with 18 releases: last or first in `containers` it works for classic and native
//! sidecars, in `initContainers` for native ones only (Istio 1.31, `pkg/kube/inject/inject.go`).

use meshprobe_mesh::kube::ContainerList;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Value};

use super::container::variable;

/// The image name that the injector replaces with its own.
pub(super) const IMAGE: &str = "auto";

/// Returns the change that adds the container.
pub(super) fn set_prober_env(pod: &WorkloadPrediction<'_>, json: String) -> Change {
    let list = ContainerList::Main.key();
    Change::Push {
        route: pod.workload.template.route.child("spec").child(list),
        value: Value::Map(vec![
            ("name".to_owned(), Value::from(keys::PROXY_CONTAINER)),
            ("image".to_owned(), Value::from(IMAGE)),
            ("env".to_owned(), Value::Seq(vec![variable(json)])),
        ]),
    }
}
