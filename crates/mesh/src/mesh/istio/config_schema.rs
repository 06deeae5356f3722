//! The fields of a `MeshConfig` and a `ProxyConfig`, their types, and the releases that added them.
//!
//! A value of a wrong type makes Istio reject the whole message, and with it the settings that predictions depend on. The
//! fields inside of other messages are checked only where predictions read them: no other fault is known in public files.
//!
//! Source: istio.io/api 1.10 to 1.31, `mesh/v1alpha1/config.proto`, `mesh/v1alpha1/proxy.proto`. A later release adds a
//! field as the last patch level of its branch has it. The names of an enum are those of all releases. A field that is
//! not listed is not checked, such as those that a modelled release has removed.

use super::proto_type::Type::{Bool, Duration, Enum, Int32, List, Map, Message, String, Uint32};
use super::proto_type::{Field, Type, field};
use crate::mesh::{ReleaseChange, Version};

/// The ways of interception, by number.
pub(super) const INTERCEPTION_MODES: [&str; 3] = ["REDIRECT", "TPROXY", "NONE"];

/// A message whose fields are not checked.
const ANY: Type = Message(&[]);
const TEXTS: Type = List(&String);

const SELECTOR: &[Field] = &[
    field("matchExpressions", List(&Message(REQUIREMENT))),
    field("matchLabels", Map(&String)),
];

const REQUIREMENT: &[Field] = &[
    field("key", String),
    field("operator", String),
    field("values", TEXTS),
];

/// The fields of a `MeshConfig`.
pub(super) const MESH_CONFIG: &[Field] = &[
    field("accessLogEncoding", Enum(&["TEXT", "JSON"])),
    field("accessLogFile", String),
    field("accessLogFormat", String),
    field("ca", ANY),
    field("caCertificates", List(&ANY)),
    field("certificates", List(&ANY)),
    field("configSources", List(&ANY)),
    field("connectTimeout", Duration),
    field("defaultConfig", Message(PROXY_CONFIG)),
    field("defaultDestinationRuleExportTo", TEXTS),
    field("defaultHttpRetryPolicy", ANY).since(V12),
    field("defaultProviders", ANY),
    field("defaultServiceExportTo", TEXTS),
    field("defaultTrafficPolicy", ANY).since(V31),
    field("defaultVirtualServiceExportTo", TEXTS),
    field("disableEnvoyListenerLog", Bool),
    field("discoverySelectors", List(&Message(SELECTOR))),
    field("dnsRefreshRate", Duration),
    field("enableAutoMtls", Bool),
    field("enableEnvoyAccessLogService", Bool),
    field("enablePrometheusMerge", Bool),
    field("enableTracing", Bool),
    field("extensionProviders", List(&ANY)),
    field("h2UpgradePolicy", Enum(&["DO_NOT_UPGRADE", "UPGRADE"])),
    field("hboneIdleTimeout", Duration).since(V29),
    field("inboundClusterStatName", String),
    field("inboundTrafficPolicy", Message(INBOUND_POLICY)).since(V22),
    field("ingressClass", String),
    field("ingressControllerMode", Enum(INGRESS_MODES)),
    field("ingressSelector", String),
    field("ingressService", String),
    field("localityLbSetting", ANY),
    field("meshMTLS", ANY).since(V14),
    field("outboundClusterStatName", String),
    field("outboundTrafficPolicy", ANY),
    field("pathNormalization", ANY),
    field("protocolDetectionTimeout", Duration),
    field("proxyHttpPort", Int32),
    field("proxyInboundListenPort", Int32).since(V18),
    field("proxyListenPort", Int32),
    field("rootNamespace", String),
    field("serviceEntryVisibility", ANY).since(V31),
    field("serviceScopeConfigs", List(&ANY)).since(V27),
    field("serviceSettings", List(&ANY)),
    field("tcpKeepalive", ANY),
    field("tlsDefaults", ANY).since(V18),
    field("trustDomain", String),
    field("trustDomainAliases", TEXTS),
    field("verifyCertificateAtClient", Bool),
    field("zoneAwareLbSetting", ANY).since(V31),
];

const INBOUND_POLICY: &[Field] = &[field("mode", Enum(&["PASSTHROUGH", "LOCALHOST"]))];
const INGRESS_MODES: &[&str] = &["UNSPECIFIED", "OFF", "DEFAULT", "STRICT"];
const TRACING_NAMES: &[&str] = &[
    "APP_LABEL_AND_NAMESPACE",
    "CANONICAL_NAME_ONLY",
    "CANONICAL_NAME_AND_NAMESPACE",
];

/// The fields of a `ProxyConfig`.
pub(super) const PROXY_CONFIG: &[Field] = &[
    field("availabilityZone", String),
    field("binaryPath", String),
    field("caCertificatesPem", TEXTS),
    field("concurrency", Int32),
    field("configPath", String),
    field("connectionSettings", ANY).since(V31),
    field("controlPlaneAuthPolicy", Enum(AUTH_POLICIES)),
    field("customConfigFile", String),
    field("discoveryAddress", String),
    field("discoveryRefreshDelay", Duration),
    field("drainDuration", Duration),
    field("envoyAccessLogService", ANY),
    field("envoyMetricsService", ANY),
    field("envoyMetricsServiceAddress", String),
    field("extraStatTags", TEXTS),
    field("fileFlushInterval", Duration).since(V29),
    field("fileFlushMinSizeKb", Uint32).since(V29),
    field("gatewayTopology", ANY),
    field("holdApplicationUntilProxyStarts", Bool),
    field("image", ANY).since(V12),
    field("interceptionMode", Enum(&INTERCEPTION_MODES)),
    field("meshId", String),
    field("privateKeyProvider", ANY).since(V14),
    field("proxyAdminPort", Int32),
    field("proxyBootstrapTemplatePath", String),
    field("proxyHeaders", ANY).since(V19),
    field("proxyMetadata", Map(&String)),
    field("proxyStatsMatcher", ANY),
    field("readinessProbe", ANY),
    field("runtimeValues", Map(&String)).since(V14),
    field("sds", ANY),
    field("serviceCluster", String),
    field("statNameLength", Int32),
    field("statsCompression", Bool).since(V29),
    field("statsdUdpAddress", String),
    field("statusPort", Int32),
    field("terminationDrainDuration", Duration),
    field("tracing", ANY),
    field("tracingServiceName", Enum(TRACING_NAMES)).since(V13),
    field("zipkinAddress", String),
];

const AUTH_POLICIES: &[&str] = &["NONE", "MUTUAL_TLS", "INHERIT"];

const fn added_in(minor: u16) -> ReleaseChange {
    ReleaseChange::new(Version::new(1, minor), &[])
}

const V12: &ReleaseChange = &added_in(12);
const V13: &ReleaseChange = &added_in(13);
const V14: &ReleaseChange = &added_in(14);
const V18: &ReleaseChange = &added_in(18);
const V19: &ReleaseChange = &added_in(19);
const V22: &ReleaseChange = &added_in(22);
const V27: &ReleaseChange = &added_in(27);
const V29: &ReleaseChange = &added_in(29);
const V31: &ReleaseChange = &added_in(31);
