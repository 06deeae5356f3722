//! The fields of a `ProxyConfig`, their types, and the releases that added them.
//!
//! Source: istio.io/api 1.10 to 1.31, `mesh/v1alpha1/proxy.proto` and `networking/v1beta1/proxy_config.proto`. A later
//! release adds a field as the last patch level of its branch has it. The names of an enum are those of all releases.

pub(super) mod common;
mod connection;
mod headers;
pub(super) mod networking;
mod tracing;

use self::common::{CERTIFICATE_FORWARDING, V12, V13, V14, V17, V19, V21, V29, V31};
use self::connection::CONNECTION_SETTINGS;
use self::headers::PROXY_HEADERS;
use self::networking::{READINESS_PROBE, TCP_KEEPALIVE, TLS_SETTINGS};
use self::tracing::TRACING;
use super::proto_type::{Field, Type, field};

const AUTHENTICATION_POLICIES: &[&str] = &["NONE", "MUTUAL_TLS", "INHERIT"];
const TRACING_SERVICE_NAMES: &[&str] = &[
    "APP_LABEL_AND_NAMESPACE",
    "CANONICAL_NAME_ONLY",
    "CANONICAL_NAME_AND_NAMESPACE",
];
/// The ways of interception, by number.
pub(in crate::mesh::istio) const INTERCEPTION_MODES: [&str; 3] = ["REDIRECT", "TPROXY", "NONE"];

const PROXY_STATS_MATCHER: &[Field] = &[
    field("inclusionPrefixes", Type::List(&Type::String)),
    field("inclusionRegexps", Type::List(&Type::String)),
    field("inclusionSuffixes", Type::List(&Type::String)),
];

const GATEWAY_TOPOLOGY: &[Field] = &[
    field(
        "forwardClientCertDetails",
        Type::Enum(CERTIFICATE_FORWARDING),
    ),
    field("numTrustedProxies", Type::Uint32),
    field("proxyProtocol", Type::Message(&[])).since(V19),
];

const REMOTE_SERVICE: &[Field] = &[
    field("address", Type::String),
    field("tcpKeepalive", Type::Message(TCP_KEEPALIVE)),
    field("tlsSettings", Type::Message(TLS_SETTINGS)),
];

const SDS: &[Field] = &[
    field("enabled", Type::Bool),
    field("k8sSaJwtPath", Type::String),
];

const PROXY_IMAGE: &[Field] = &[field("imageType", Type::String)];

const PRIVATE_KEY_PROVIDER: &[Field] = &[
    field("cryptomb", Type::Message(CRYPTO_MB)),
    field("qat", Type::Message(QAT)).since(V17),
];

const CRYPTO_MB: &[Field] = &[
    field("fallback", Type::Bool).since(V21),
    field("pollDelay", Type::Duration),
];

const QAT: &[Field] = &[
    field("fallback", Type::Bool).since(V21),
    field("pollDelay", Type::Duration),
];

/// The fields of a `ProxyConfig`.
pub(super) const FIELDS: &[Field] = &[
    field("availabilityZone", Type::String),
    field("binaryPath", Type::String),
    field("caCertificatesPem", Type::List(&Type::String)),
    field("concurrency", Type::Int32),
    field("configPath", Type::String),
    field("connectionSettings", Type::Message(CONNECTION_SETTINGS)).since(V31),
    field(
        "controlPlaneAuthPolicy",
        Type::Enum(AUTHENTICATION_POLICIES),
    ),
    field("customConfigFile", Type::String),
    field("discoveryAddress", Type::String),
    field("discoveryRefreshDelay", Type::Duration),
    field("drainDuration", Type::Duration),
    field("envoyAccessLogService", Type::Message(REMOTE_SERVICE)),
    field("envoyMetricsService", Type::Message(REMOTE_SERVICE)),
    field("envoyMetricsServiceAddress", Type::String),
    field("extraStatTags", Type::List(&Type::String)),
    field("fileFlushInterval", Type::Duration).since(V29),
    field("fileFlushMinSizeKb", Type::Uint32).since(V29),
    field("gatewayTopology", Type::Message(GATEWAY_TOPOLOGY)),
    field("holdApplicationUntilProxyStarts", Type::Bool),
    field("image", Type::Message(PROXY_IMAGE)).since(V12),
    field("interceptionMode", Type::Enum(&INTERCEPTION_MODES)),
    field("meshId", Type::String),
    field("privateKeyProvider", Type::Message(PRIVATE_KEY_PROVIDER)).since(V14),
    field("proxyAdminPort", Type::Int32),
    field("proxyBootstrapTemplatePath", Type::String),
    field("proxyHeaders", Type::Message(PROXY_HEADERS)).since(V19),
    field("proxyMetadata", Type::Map(&Type::String)),
    field("proxyStatsMatcher", Type::Message(PROXY_STATS_MATCHER)),
    field("readinessProbe", Type::Message(READINESS_PROBE)),
    field("runtimeValues", Type::Map(&Type::String)).since(V14),
    field("sds", Type::Message(SDS)),
    field("serviceCluster", Type::String),
    field("statNameLength", Type::Int32),
    field("statsCompression", Type::Bool).since(V29),
    field("statsdUdpAddress", Type::String),
    field("statusPort", Type::Int32),
    field("terminationDrainDuration", Type::Duration),
    field("tracing", Type::Message(TRACING)),
    field("tracingServiceName", Type::Enum(TRACING_SERVICE_NAMES)).since(V13),
    field("zipkinAddress", Type::String),
];
