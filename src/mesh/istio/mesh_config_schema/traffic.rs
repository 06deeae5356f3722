//! The messages of a `MeshConfig` about traffic.
//!
//! Source: istio.io/api 1.10 to 1.31, `networking/v1alpha3/destination_rule.proto`.

use crate::mesh::istio::proto_type::{Field, Type, field};
use crate::mesh::istio::proxy_config_schema::common::{V12, V30};
use crate::mesh::istio::proxy_config_schema::networking::TLS_SETTINGS;

const INBOUND_MODES: &[&str] = &["PASSTHROUGH", "LOCALHOST"];
const OUTBOUND_MODES: &[&str] = &["REGISTRY_ONLY", "ALLOW_ANY", "ALLOW_ANY_DYNAMIC_DNS"];

pub(super) const DEFAULT_TRAFFIC_POLICY: &[Field] = &[
    field("connectionPool", Type::Message(&[])),
    field("outlierDetection", Type::Message(&[])),
];

pub(super) const INBOUND_TRAFFIC_POLICY: &[Field] = &[field("mode", Type::Enum(INBOUND_MODES))];

pub(super) const OUTBOUND_TRAFFIC_POLICY: &[Field] = &[
    field("mode", Type::Enum(OUTBOUND_MODES)),
    field("tls", Type::Message(TLS_SETTINGS)).since(V30),
];

pub(super) const LOCALITY_SETTING: &[Field] = &[
    field("distribute", Type::List(&Type::Message(DISTRIBUTE))),
    field("enabled", Type::Bool),
    field("failover", Type::List(&Type::Message(FAILOVER))),
    field("failoverPriority", Type::List(&Type::String)).since(V12),
];

pub(super) const ZONE_SETTING: &[Field] = &[
    field("enabled", Type::Bool),
    field("failover", Type::List(&Type::Message(FAILOVER))),
    field("failoverPriority", Type::List(&Type::String)),
];

const DISTRIBUTE: &[Field] = &[
    field("from", Type::String),
    field("to", Type::Map(&Type::Uint32)),
];

const FAILOVER: &[Field] = &[field("from", Type::String), field("to", Type::String)];
