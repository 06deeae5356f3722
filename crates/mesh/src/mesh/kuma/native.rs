//! Whether Kuma's own sidecar is a native sidecar.
//!
//! Source: `experimental.sidecarContainers`, on by default since 2.14.0 (2f9d353dd6) and without an opt-out in 3
//! (d18df677b7). Kubernetes before 1.29 does not have native sidecars, so the default remains an assumption.

use crate::mesh::model::PodInput;
use crate::mesh::{Fact, Version};

const SETTLE: &str = "--assume native-sidecars=true|false";

/// Returns whether the sidecar starts before the init containers of the pod.
pub(super) fn native_sidecars(input: &PodInput<'_, '_>) -> Fact<bool> {
    if let Some(fact) = &input.native_sidecars {
        return fact.clone();
    }
    let is_old = input
        .release
        .is_some_and(|release| release < Version::new(2, 14));
    let message = match is_old {
        true => "Kuma's sidecar is not native by default before 2.14",
        false => "Kuma's sidecar is native by default since 2.14",
    };
    Fact::assumed(!is_old, message, Some(SETTLE))
}
