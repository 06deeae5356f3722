//! The fields of a `MeshConfig`, their types, and the releases that added them.
//!
//! Source: istio.io/api 1.10 to 1.31, `mesh/v1alpha1/config.proto`. A field that is not listed is not checked, such as
//! those that a modelled release has removed, and the settings of the providers in `extensionProviders`.

mod messages;
mod traffic;

use self::messages::{
    CA, CERTIFICATE, CERTIFICATE_DATA, CONFIG_SOURCE, DEFAULT_PROVIDERS, EXTENSION_PROVIDER,
    HTTP_RETRY, LABEL_SELECTOR, PATH_NORMALIZATION, SERVICE_ENTRY_VISIBILITY, SERVICE_SCOPE,
    SERVICE_SETTINGS, TLS_CONFIG,
};
use self::traffic::{
    DEFAULT_TRAFFIC_POLICY, INBOUND_TRAFFIC_POLICY, LOCALITY_SETTING, OUTBOUND_TRAFFIC_POLICY,
    ZONE_SETTING,
};
use crate::mesh::istio::proto_type::{Field, Type, field};
use crate::mesh::istio::proxy_config_schema;
use crate::mesh::istio::proxy_config_schema::common::{V12, V14, V18, V22, V27, V29, V31};
use crate::mesh::istio::proxy_config_schema::networking::TCP_KEEPALIVE;

const ACCESS_LOG_ENCODINGS: &[&str] = &["TEXT", "JSON"];
const H2_UPGRADE_POLICIES: &[&str] = &["DO_NOT_UPGRADE", "UPGRADE"];
const INGRESS_CONTROLLER_MODES: &[&str] = &["UNSPECIFIED", "OFF", "DEFAULT", "STRICT"];

/// The fields of a `MeshConfig`.
pub(super) const FIELDS: &[Field] = &[
    field("accessLogEncoding", Type::Enum(ACCESS_LOG_ENCODINGS)),
    field("accessLogFile", Type::String),
    field("accessLogFormat", Type::String),
    field("ca", Type::Message(CA)),
    field(
        "caCertificates",
        Type::List(&Type::Message(CERTIFICATE_DATA)),
    ),
    field("certificates", Type::List(&Type::Message(CERTIFICATE))),
    field("configSources", Type::List(&Type::Message(CONFIG_SOURCE))),
    field("connectTimeout", Type::Duration),
    field("defaultConfig", Type::Message(proxy_config_schema::FIELDS)),
    field("defaultDestinationRuleExportTo", Type::List(&Type::String)),
    field("defaultHttpRetryPolicy", Type::Message(HTTP_RETRY)).since(V12),
    field("defaultProviders", Type::Message(DEFAULT_PROVIDERS)),
    field("defaultServiceExportTo", Type::List(&Type::String)),
    field(
        "defaultTrafficPolicy",
        Type::Message(DEFAULT_TRAFFIC_POLICY),
    )
    .since(V31),
    field("defaultVirtualServiceExportTo", Type::List(&Type::String)),
    field("disableEnvoyListenerLog", Type::Bool),
    field(
        "discoverySelectors",
        Type::List(&Type::Message(LABEL_SELECTOR)),
    ),
    field("dnsRefreshRate", Type::Duration),
    field("enableAutoMtls", Type::Bool),
    field("enableEnvoyAccessLogService", Type::Bool),
    field("enablePrometheusMerge", Type::Bool),
    field("enableTracing", Type::Bool),
    field(
        "extensionProviders",
        Type::List(&Type::Message(EXTENSION_PROVIDER)),
    ),
    field("h2UpgradePolicy", Type::Enum(H2_UPGRADE_POLICIES)),
    field("hboneIdleTimeout", Type::Duration).since(V29),
    field("inboundClusterStatName", Type::String),
    field(
        "inboundTrafficPolicy",
        Type::Message(INBOUND_TRAFFIC_POLICY),
    )
    .since(V22),
    field("ingressClass", Type::String),
    field(
        "ingressControllerMode",
        Type::Enum(INGRESS_CONTROLLER_MODES),
    ),
    field("ingressSelector", Type::String),
    field("ingressService", Type::String),
    field("localityLbSetting", Type::Message(LOCALITY_SETTING)),
    field("meshMTLS", Type::Message(TLS_CONFIG)).since(V14),
    field("outboundClusterStatName", Type::String),
    field(
        "outboundTrafficPolicy",
        Type::Message(OUTBOUND_TRAFFIC_POLICY),
    ),
    field("pathNormalization", Type::Message(PATH_NORMALIZATION)),
    field("protocolDetectionTimeout", Type::Duration),
    field("proxyHttpPort", Type::Int32),
    field("proxyInboundListenPort", Type::Int32).since(V18),
    field("proxyListenPort", Type::Int32),
    field("rootNamespace", Type::String),
    field(
        "serviceEntryVisibility",
        Type::Message(SERVICE_ENTRY_VISIBILITY),
    )
    .since(V31),
    field(
        "serviceScopeConfigs",
        Type::List(&Type::Message(SERVICE_SCOPE)),
    )
    .since(V27),
    field(
        "serviceSettings",
        Type::List(&Type::Message(SERVICE_SETTINGS)),
    ),
    field("tcpKeepalive", Type::Message(TCP_KEEPALIVE)),
    field("tlsDefaults", Type::Message(TLS_CONFIG)).since(V18),
    field("trustDomain", Type::String),
    field("trustDomainAliases", Type::List(&Type::String)),
    field("verifyCertificateAtClient", Type::Bool),
    field("zoneAwareLbSetting", Type::Message(ZONE_SETTING)).since(V31),
];
