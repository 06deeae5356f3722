//! The messages of a `MeshConfig`.

use crate::mesh::istio::proto_type::{Field, Type, field};
use crate::mesh::istio::proxy_config_schema::common::{V11, V12, V18, V19, V26};
use crate::mesh::istio::proxy_config_schema::networking::TLS_SETTINGS;

const RESOURCES: &[&str] = &["SERVICE_REGISTRY"];
const TLS_PROTOCOLS: &[&str] = &["TLS_AUTO", "TLSV1_2", "TLSV1_3"];
const NORMALIZATION_TYPES: &[&str] = &[
    "DEFAULT",
    "NONE",
    "BASE",
    "MERGE_SLASHES",
    "DECODE_AND_MERGE_SLASHES",
];
const VISIBILITIES: &[&str] = &["VISIBILITY_UNSPECIFIED", "NONE", "NAMESPACE", "PUBLIC"];
const SCOPES: &[&str] = &["LOCAL", "GLOBAL"];

pub(super) const CA: &[Field] = &[
    field("address", Type::String),
    field("istiodSide", Type::Bool),
    field("requestTimeout", Type::Duration),
    field("tlsSettings", Type::Message(TLS_SETTINGS)),
];

pub(super) const CERTIFICATE_DATA: &[Field] = &[
    field("certSigners", Type::List(&Type::String)).since(V12),
    field("pem", Type::String),
    field("spiffeBundleUrl", Type::String),
    field("trustDomains", Type::List(&Type::String)).since(V12),
];

pub(super) const CERTIFICATE: &[Field] = &[
    field("dnsNames", Type::List(&Type::String)),
    field("secretName", Type::String),
];

pub(super) const CONFIG_SOURCE: &[Field] = &[
    field("address", Type::String),
    field("subscribedResources", Type::List(&Type::Enum(RESOURCES))),
    field("tlsSettings", Type::Message(TLS_SETTINGS)),
];

pub(super) const HTTP_RETRY: &[Field] = &[
    field("attempts", Type::Int32),
    field("backoff", Type::Duration).since(V26),
    field("perTryTimeout", Type::Duration),
    field("retryIgnorePreviousHosts", Type::Bool).since(V26),
    field("retryOn", Type::String),
    field("retryRemoteLocalities", Type::Bool),
];

pub(super) const DEFAULT_PROVIDERS: &[Field] = &[
    field("accessLogging", Type::List(&Type::String)).since(V11),
    field("metrics", Type::List(&Type::String)).since(V11),
    field("tracing", Type::List(&Type::String)).since(V11),
];

pub(super) const LABEL_SELECTOR: &[Field] = &[
    field(
        "matchExpressions",
        Type::List(&Type::Message(SELECTOR_REQUIREMENT)),
    ),
    field("matchLabels", Type::Map(&Type::String)),
];

const SELECTOR_REQUIREMENT: &[Field] = &[
    field("key", Type::String),
    field("operator", Type::String),
    field("values", Type::List(&Type::String)),
];

/// The fields of the providers themselves are not checked.
pub(super) const EXTENSION_PROVIDER: &[Field] = &[field("name", Type::String)];

pub(super) const TLS_CONFIG: &[Field] = &[
    field("cipherSuites", Type::List(&Type::String)).since(V19),
    field("ecdhCurves", Type::List(&Type::String)).since(V18),
    field("minProtocolVersion", Type::Enum(TLS_PROTOCOLS)),
];

pub(super) const PATH_NORMALIZATION: &[Field] =
    &[field("normalization", Type::Enum(NORMALIZATION_TYPES))];

pub(super) const SERVICE_SETTINGS: &[Field] = &[
    field("hosts", Type::List(&Type::String)),
    field("settings", Type::Message(CLUSTER_SETTINGS)),
];

const CLUSTER_SETTINGS: &[Field] = &[field("clusterLocal", Type::Bool)];

pub(super) const SERVICE_SCOPE: &[Field] = &[
    field("namespaceSelector", Type::Message(LABEL_SELECTOR)),
    field("scope", Type::Enum(SCOPES)),
    field("servicesSelector", Type::Message(LABEL_SELECTOR)),
];

pub(super) const SERVICE_ENTRY_VISIBILITY: &[Field] = &[
    field("applyToSidecars", Type::Bool),
    field("defaultVisibility", Type::Enum(VISIBILITIES)),
    field("policies", Type::List(&Type::Message(VISIBILITY_POLICY))),
];

const VISIBILITY_POLICY: &[Field] = &[
    field("matchingRules", Type::List(&Type::Message(VISIBILITY_RULE))),
    field("visibility", Type::Enum(VISIBILITIES)),
];

const VISIBILITY_RULE: &[Field] = &[field("namespaceSelector", Type::Message(LABEL_SELECTOR))];
