//! Messages of the networking API within a `ProxyConfig`.
//!
//! Source: istio.io/api 1.10 to 1.31, `networking/v1alpha3/destination_rule.proto` and `workload_group.proto`.

use super::super::proto_type::{Field, Type, field};
use super::common::{V12, V22, V25};

const TLS_MODES: &[&str] = &["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"];

pub(super) const READINESS_PROBE: &[Field] = &[
    field("exec", Type::Message(EXEC_CHECK)),
    field("failureThreshold", Type::Int32),
    field("grpc", Type::Message(GRPC_CHECK)).since(V25),
    field("httpGet", Type::Message(HTTP_CHECK)),
    field("initialDelaySeconds", Type::Int32),
    field("periodSeconds", Type::Int32),
    field("successThreshold", Type::Int32),
    field("tcpSocket", Type::Message(TCP_CHECK)),
    field("timeoutSeconds", Type::Int32),
];

const EXEC_CHECK: &[Field] = &[field("command", Type::List(&Type::String))];

const TCP_CHECK: &[Field] = &[field("host", Type::String), field("port", Type::Uint32)];

const HTTP_CHECK: &[Field] = &[
    field("host", Type::String),
    field("httpHeaders", Type::List(&Type::Message(HTTP_HEADER))),
    field("path", Type::String),
    field("port", Type::Uint32),
    field("scheme", Type::String),
];

const HTTP_HEADER: &[Field] = &[field("name", Type::String), field("value", Type::String)];

pub(in crate::mesh::istio) const TCP_KEEPALIVE: &[Field] = &[
    field("interval", Type::Duration),
    field("probes", Type::Uint32),
    field("time", Type::Duration),
];

pub(in crate::mesh::istio) const TLS_SETTINGS: &[Field] = &[
    field("caCertificates", Type::String),
    field("caCrl", Type::String).since(V22),
    field("clientCertificate", Type::String),
    field("credentialName", Type::String),
    field("insecureSkipVerify", Type::Bool).since(V12),
    field("mode", Type::Enum(TLS_MODES)),
    field("privateKey", Type::String),
    field("sni", Type::String),
    field("subjectAltNames", Type::List(&Type::String)),
];

const GRPC_CHECK: &[Field] = &[field("port", Type::Uint32), field("service", Type::String)];
