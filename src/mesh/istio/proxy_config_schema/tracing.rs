//! The messages of `tracing`.

use super::super::proto_type::{Field, Type, field};
use super::common::V25;
use super::networking::TLS_SETTINGS;

const TRACE_CONTEXTS: &[&str] = &[
    "UNSPECIFIED",
    "W3C_TRACE_CONTEXT",
    "GRPC_BIN",
    "CLOUD_TRACE_CONTEXT",
    "B3",
];

pub(super) const TRACING: &[Field] = &[
    field("customTags", Type::Map(&Type::Message(CUSTOM_TAG))),
    field("datadog", Type::Message(DATADOG)),
    field("enableIstioTags", Type::Bool).since(V25),
    field("lightstep", Type::Message(LIGHTSTEP)),
    field("maxPathTagLength", Type::Uint32),
    field("openCensusAgent", Type::Message(OPEN_CENSUS_AGENT)),
    field("sampling", Type::Double),
    field("stackdriver", Type::Message(STACKDRIVER)),
    field("tlsSettings", Type::Message(TLS_SETTINGS)),
    field("zipkin", Type::Message(ZIPKIN)),
];

const CUSTOM_TAG: &[Field] = &[
    field("environment", Type::Message(ENVIRONMENT_TAG)),
    field("header", Type::Message(HEADER_TAG)),
    field("literal", Type::Message(LITERAL_TAG)),
];

const HEADER_TAG: &[Field] = &[
    field("defaultValue", Type::String),
    field("name", Type::String),
];

const ENVIRONMENT_TAG: &[Field] = &[
    field("defaultValue", Type::String),
    field("name", Type::String),
];

const LITERAL_TAG: &[Field] = &[field("value", Type::String)];

const OPEN_CENSUS_AGENT: &[Field] = &[
    field("address", Type::String),
    field("context", Type::List(&Type::Enum(TRACE_CONTEXTS))),
];

const STACKDRIVER: &[Field] = &[
    field("debug", Type::Bool),
    field("maxNumberOfAnnotations", Type::Int64),
    field("maxNumberOfAttributes", Type::Int64),
    field("maxNumberOfMessageEvents", Type::Int64),
];

const DATADOG: &[Field] = &[field("address", Type::String)];

const LIGHTSTEP: &[Field] = &[
    field("accessToken", Type::String),
    field("address", Type::String),
];

const ZIPKIN: &[Field] = &[field("address", Type::String)];
