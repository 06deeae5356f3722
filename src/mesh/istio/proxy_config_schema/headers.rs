//! The messages of `proxyHeaders`.

use super::super::proto_type::{Field, Type, field};
use super::common::{CERTIFICATE_FORWARDING, V24, V25, V28};

const METADATA_EXCHANGE_MODES: &[&str] = &["UNDEFINED", "IN_MESH"];

pub(super) const PROXY_HEADERS: &[Field] = &[
    field("attemptCount", Type::Message(ATTEMPT_COUNT)),
    field("envoyDebugHeaders", Type::Message(ENVOY_DEBUG_HEADERS)),
    field("forwardedClientCert", Type::Enum(CERTIFICATE_FORWARDING)),
    field(
        "metadataExchangeHeaders",
        Type::Message(METADATA_EXCHANGE_HEADERS),
    ),
    field("preserveHttp1HeaderCase", Type::Bool).since(V25),
    field("requestId", Type::Message(REQUEST_ID)),
    field("server", Type::Message(SERVER)),
    field(
        "setCurrentClientCertDetails",
        Type::Message(CLIENT_CERTIFICATE_DETAILS),
    )
    .since(V24),
    field("xForwardedHost", Type::Message(X_FORWARDED_HOST)).since(V28),
    field("xForwardedPort", Type::Message(X_FORWARDED_PORT)).since(V28),
];

const METADATA_EXCHANGE_HEADERS: &[Field] = &[field("mode", Type::Enum(METADATA_EXCHANGE_MODES))];

const ENVOY_DEBUG_HEADERS: &[Field] = &[field("disabled", Type::Bool)];

const ATTEMPT_COUNT: &[Field] = &[field("disabled", Type::Bool)];

const SERVER: &[Field] = &[field("disabled", Type::Bool), field("value", Type::String)];

const REQUEST_ID: &[Field] = &[field("disabled", Type::Bool)];

const CLIENT_CERTIFICATE_DETAILS: &[Field] = &[
    field("cert", Type::Bool),
    field("chain", Type::Bool),
    field("dns", Type::Bool),
    field("subject", Type::Bool),
    field("uri", Type::Bool),
];

const X_FORWARDED_PORT: &[Field] = &[field("enabled", Type::Bool)];

const X_FORWARDED_HOST: &[Field] = &[field("enabled", Type::Bool)];
