//! The labels and annotations of Consul that users write.

use crate::mesh::known_key::KeyMap::{Annotations, Labels};
use crate::mesh::known_key::KeyOwner::{Namespace, Pod};
use crate::mesh::known_key::KnownKey;

use super::keys;

pub(super) static KEYS: &[KnownKey] = &[
    KnownKey {
        name: keys::INJECT,
        map: Annotations,
        owners: &[Pod],
        values: &["true", "false"],
        meaning: "Switches the injection of the proxy on or off.",
        rules: &[],
    },
    KnownKey {
        name: keys::SERVICE,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Names the services of the pod.",
        rules: &["consul-multiport-tproxy"],
    },
    KnownKey {
        name: keys::SERVICE_PORT,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports of the services of the pod: numbers or names.",
        rules: &["consul-port-name-shared"],
    },
    KnownKey {
        name: keys::METRICS_PORT,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Sets the port of the metrics, instead of that of the service.",
        rules: &[],
    },
    KnownKey {
        name: keys::TRANSPARENT,
        map: Annotations,
        owners: &[Pod],
        values: &["true", "false"],
        meaning: "Switches the capture of traffic on or off.",
        rules: &[],
    },
    KnownKey {
        name: keys::TRANSPARENT,
        map: Labels,
        owners: &[Namespace],
        values: &["true", "false"],
        meaning: "Switches the capture of traffic of the pods of the namespace on or off.",
        rules: &[],
    },
    KnownKey {
        name: keys::OVERWRITE,
        map: Annotations,
        owners: &[Pod],
        values: &["true", "false"],
        meaning: "Switches the rewrite of probes on or off.",
        rules: &["consul-probe-not-rewritten"],
    },
    KnownKey {
        name: keys::EXCLUDED_PORTS,
        map: Annotations,
        owners: &[Pod],
        values: &[],
        meaning: "Lists the ports whose inbound traffic the proxy does not capture.",
        rules: &[],
    },
    KnownKey {
        name: keys::LIFECYCLE,
        map: Annotations,
        owners: &[Pod],
        values: &["true", "false"],
        meaning: "Switches the management of the proxy's life cycle on or off, since consul-k8s 1.3.",
        rules: &[],
    },
    KnownKey {
        name: keys::AS_SIDECAR,
        map: Annotations,
        owners: &[Pod],
        values: &["true", "false"],
        meaning: "Makes the proxy a native sidecar, since consul-k8s 1.9.",
        rules: &[],
    },
];
