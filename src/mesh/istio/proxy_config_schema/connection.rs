//! The message of `connectionSettings`.

use super::super::proto_type::{Field, Type, field};

const PROFILES: &[&str] = &["SIDECAR", "EDGE"];
const UNDERSCORES_ACTIONS: &[&str] = &[
    "HEADERS_WITH_UNDERSCORES_UNSPECIFIED",
    "HEADERS_WITH_UNDERSCORES_ALLOW",
    "HEADERS_WITH_UNDERSCORES_REJECT_REQUEST",
    "HEADERS_WITH_UNDERSCORES_DROP_HEADER",
];
const ESCAPED_SLASHES_ACTIONS: &[&str] = &[
    "PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED",
    "KEEP_UNCHANGED",
    "REJECT_REQUEST",
    "UNESCAPE_AND_REDIRECT",
    "UNESCAPE_AND_FORWARD",
];

pub(super) const CONNECTION_SETTINGS: &[Field] = &[
    field("clusterPerConnectionBufferLimitBytes", Type::Int32),
    field("globalDownstreamConnectionLimit", Type::Int32),
    field("http2InitialConnectionWindowSize", Type::Int32),
    field("http2InitialStreamWindowSize", Type::Int32),
    field("httpDrainTimeout", Type::Duration),
    field(
        "httpHeadersWithUnderscoresAction",
        Type::Enum(UNDERSCORES_ACTIONS),
    ),
    field("httpIdleTimeout", Type::Duration),
    field("httpMaxConcurrentStreams", Type::Int32),
    field("httpMaxConnectionDuration", Type::Duration),
    field("httpMaxStreamDuration", Type::Duration),
    field("httpMergeSlashes", Type::Bool),
    field(
        "httpPathWithEscapedSlashesAction",
        Type::Enum(ESCAPED_SLASHES_ACTIONS),
    ),
    field("httpRequestHeadersTimeout", Type::Duration),
    field("httpRequestTimeout", Type::Duration),
    field("httpStreamIdleTimeout", Type::Duration),
    field("listenerConnectionLimit", Type::Int32),
    field("listenerPerConnectionBufferLimitBytes", Type::Int32),
    field("profile", Type::Enum(PROFILES)),
];
