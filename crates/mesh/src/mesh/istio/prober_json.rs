//! The value of `ISTIO_KUBE_APP_PROBERS`, byte for byte as Go's `encoding/json` would write it.
//!
//! Source: Istio 1.31, `pkg/kube/inject/app_probe.go` (`KubeAppProbers`), Go 1.22+
//! `encoding/json`: keys sorted, `&`, `<`, `>`, U+2028 and U+2029 escaped, `\b` and `\f` short.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::kube::{HttpGet, ProbeHandler};

use super::rewrite::is_agent_path;

/// The error for a handler that has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRecorded;

/// Returns the JSON of one prober, with explicit defaults: `{"httpGet":{…},"timeoutSeconds":1}`.
/// `port` is the number that the handler's port resolves to. Hooks have no timeout.
///
/// # Errors
/// [`NotRecorded`] for handlers that the agent cannot run (exec, sleep).
pub fn prober(
    action: &ProbeHandler,
    port: i64,
    timeout_seconds: Option<i64>,
) -> Result<String, NotRecorded> {
    let mut out = String::from("{");
    match action {
        ProbeHandler::HttpGet(http) => http_get(&mut out, http, port),
        ProbeHandler::TcpSocket { host, .. } => {
            out.push_str("\"tcpSocket\":{");
            field(&mut out, "port", &port.to_string());
            optional(&mut out, "host", host.as_deref());
            out.push('}');
        }
        ProbeHandler::Grpc { service, .. } => {
            out.push_str("\"grpc\":{");
            field(&mut out, "port", &port.to_string());
            field(&mut out, "service", &string(service));
            out.push('}');
        }
        ProbeHandler::Exec | ProbeHandler::Sleep | ProbeHandler::Missing => {
            return Err(NotRecorded);
        }
    }
    if let Some(seconds) = timeout_seconds.filter(|&seconds| seconds != 0) {
        field(&mut out, "timeoutSeconds", &seconds.to_string());
    }
    out.push('}');
    Ok(out)
}

fn http_get(out: &mut String, http: &HttpGet, port: i64) {
    out.push_str("\"httpGet\":{");
    optional(out, "path", Some(&http.path));
    field(out, "port", &port.to_string());
    optional(out, "host", http.host.as_deref());
    optional(out, "scheme", Some(&http.scheme));
    if !http.headers.is_empty() {
        let headers: Vec<String> = http
            .headers
            .iter()
            .map(|(name, value)| {
                format!("{{\"name\":{},\"value\":{}}}", string(name), string(value))
            })
            .collect();
        field(out, "httpHeaders", &format!("[{}]", headers.join(",")));
    }
    out.push('}');
}

fn optional(out: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        field(out, name, &string(value));
    }
}

fn field(out: &mut String, name: &str, json: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    let _ = write!(out, "\"{name}\":{json}");
}

/// Returns `text` as a JSON string in Go's spelling.
#[must_use]
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '&' | '<' | '>' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the JSON object of all probers, with keys in byte order.
#[must_use]
pub fn object(probers: &BTreeMap<String, String>) -> String {
    let members: Vec<String> = probers
        .iter()
        .map(|(key, json)| format!("{}:{json}", string(key)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Parses the value of the variable: keys with the text of their probers.
///
/// # Errors
/// The message of the parser if the text is not a JSON object.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let raw: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(raw
        .into_iter()
        .map(|(key, value)| (key, value.get().to_owned()))
        .collect())
}

/// Returns whether a prober is a gRPC check without a timeout: the agent's deadline then
/// expires before the check starts (`pilot/cmd/pilot-agent/status/server.go`).
#[must_use]
pub fn expires_at_once(json: &str) -> bool {
    let Ok(prober) = parse(json) else {
        return false;
    };
    let timeout = prober.get("timeoutSeconds").map(String::as_str);
    let is_grpc = prober.get("grpc").is_some_and(|grpc| grpc != "null");
    let seconds = timeout.map_or(Some(0), |text| match text {
        "null" => Some(0),
        number => number.parse::<i64>().ok(),
    });
    is_grpc && seconds.is_some_and(|seconds| seconds <= 0)
}

/// Returns a prober with another timeout; `None` if it is not a JSON object.
#[must_use]
pub fn with_timeout(json: &str, seconds: i64) -> Option<String> {
    let mut prober = parse(json).ok()?;
    prober.insert("timeoutSeconds".to_owned(), seconds.to_string());
    Some(object(&prober))
}

/// Returns a prober whose port is the number `port`; `None` if it contains neither `httpGet` nor
/// `tcpSocket`.
#[must_use]
pub fn with_port(json: &str, port: i64) -> Option<String> {
    let mut prober = parse(json).ok()?;
    let kind = ["httpGet", "tcpSocket"]
        .into_iter()
        .find(|kind| prober.contains_key(*kind))?;
    let mut handler = parse(prober.get(kind)?).ok()?;
    handler.insert("port".to_owned(), port.to_string());
    prober.insert(kind.to_owned(), object(&handler));
    Some(object(&prober))
}

/// Returns the name that a prober contains instead of a port number.
#[must_use]
pub fn port_name(json: &str) -> Option<String> {
    let fields: BTreeMap<String, serde_json::Value> = serde_json::from_str(json).ok()?;
    ["httpGet", "tcpSocket"]
        .into_iter()
        .find_map(|kind| fields.get(kind)?.get("port")?.as_str())
        .map(str::to_owned)
}

/// Returns why the agent does not start with an entry, as a predicate of "its entry `path`";
/// `None` if it accepts the entry. Releases before 1.25 do not accept paths of hooks.
///
/// Source: Istio 1.31, `pilot/cmd/pilot-agent/status/server.go` (`NewServer`,
/// `validateAppKubeProber`); measured.
#[must_use]
pub fn rejection_reason(path: &str, json: &str) -> Option<&'static str> {
    if !is_agent_path(path) {
        return Some("is not a path of the agent (`/app-health/<container>/livez` …)");
    }
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(json) else {
        return Some("is not a JSON object");
    };
    // Go ignores the case of field names.
    let field = |name: &str| {
        fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    };
    let kinds = ["httpGet", "tcpSocket", "grpc"];
    let mut handlers = kinds
        .into_iter()
        .filter_map(|kind| Some((kind, field(kind)?)));
    let (Some((kind, handler)), None) = (handlers.next(), handlers.next()) else {
        return Some("must contain exactly one of `httpGet`, `tcpSocket` and `grpc`");
    };
    let serde_json::Value::Object(handler) = handler else {
        return Some("contains a handler that is not a JSON object");
    };
    let is_int32 = |value: &serde_json::Value| {
        let number = value.as_i64();
        value.is_null() || number.is_some_and(|number| i32::try_from(number).is_ok())
    };
    let mut keys = handler.iter();
    match keys.find(|(key, _)| key.eq_ignore_ascii_case("port")) {
        Some((_, value)) if value.is_string() && kind != "grpc" => {
            return Some("has a named port, but the agent only accepts numbers");
        }
        Some((_, value)) if !is_int32(value) => {
            return Some("has a port that is not a whole number");
        }
        _ => {}
    }
    match field("timeoutSeconds") {
        Some(seconds) if !is_int32(seconds) => Some("has a timeout that is not a whole number"),
        _ => None,
    }
}

/// Returns the port that one prober targets, whatever its kind.
#[must_use]
pub fn port(prober: &str) -> Option<i64> {
    let fields: BTreeMap<String, serde_json::Value> = serde_json::from_str(prober).ok()?;
    ["httpGet", "tcpSocket", "grpc"]
        .into_iter()
        .find_map(|kind| fields.get(kind)?.get("port")?.as_i64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::Port;

    #[test]
    fn timeouts_are_read_and_written() {
        let grpc = r#"{"grpc":{"port":9090,"service":""}}"#;
        assert!(expires_at_once(grpc));
        let fixed = with_timeout(grpc, 1).unwrap();
        assert_eq!(
            fixed,
            r#"{"grpc":{"port":9090,"service":""},"timeoutSeconds":1}"#
        );
        assert!(!expires_at_once(&fixed));
        assert!(expires_at_once(
            r#"{"grpc":{"port":9090},"timeoutSeconds":0}"#
        ));
        assert!(!expires_at_once(r#"{"httpGet":{"port":8080}}"#));
        assert!(!expires_at_once("[]"));
    }

    #[test]
    fn the_agent_starts_with_entries_of_the_injector_and_little_else() {
        let path = "/app-health/web/livez";
        for fine in [
            r#"{"httpGet":{"path":"/","port":8080,"scheme":"HTTP"},"timeoutSeconds":1}"#,
            r#"{"tcpSocket":{"port":0}}"#,
            r#"{"grpc":{"port":9090,"service":null},"httpGet":null}"#,
            r#"{"HTTPGet":{"Port":8080}}"#,
        ] {
            assert_eq!(rejection_reason(path, fine), None, "{fine}");
        }
        for wrong in [
            "null",
            "[]",
            "{}",
            r#"{"httpGet":{"port":"http"}}"#,
            r#"{"tcpSocket":{"port":"8080"}}"#,
            r#"{"grpc":{"port":"9090"}}"#,
            r#"{"httpGet":{"port":80.5}}"#,
            r#"{"httpGet":{"port":1},"tcpSocket":{"port":1}}"#,
            r#"{"httpGet":{"port":1},"timeoutSeconds":"1"}"#,
            r#"{"httpGet":"/"}"#,
            r#"{"exec":{"command":[]}}"#,
        ] {
            assert!(rejection_reason(path, wrong).is_some(), "{wrong}");
        }
        let fine = r#"{"tcpSocket":{"port":1}}"#;
        for wrong in ["/healthz", "/app-health//livez", "/app-health/a/b/livez"] {
            assert!(rejection_reason(wrong, fine).is_some(), "{wrong}");
        }
    }

    #[test]
    fn ports_are_read_and_written() {
        let named = r#"{"httpGet":{"path":"/","port":"http"},"timeoutSeconds":2}"#;
        assert_eq!(port_name(named).as_deref(), Some("http"));
        let fixed = with_port(named, 8080).unwrap();
        assert_eq!(
            fixed,
            r#"{"httpGet":{"path":"/","port":8080},"timeoutSeconds":2}"#
        );
        assert_eq!(port_name(&fixed), None);
        assert_eq!(with_port(r#"{"grpc":{"port":1}}"#, 2), None);
    }

    #[test]
    fn strings_are_escaped_as_in_go() {
        assert_eq!(string("/h?a=1&b=<2>"), r#""/h?a=1\u0026b=\u003c2\u003e""#);
        assert_eq!(
            string("a\u{8}\u{c}\u{1}\u{7f}\u{2028}ü"),
            "\"a\\b\\f\\u0001\u{7f}\\u2028ü\""
        );
    }

    #[test]
    fn probers_follow_the_field_order_of_the_api() {
        let http = ProbeHandler::HttpGet(HttpGet {
            path: "/".into(),
            port: Port::Number(8080),
            host: None,
            scheme: "HTTPS".into(),
            headers: vec![("Host".into(), "a.example".into())],
        });
        assert_eq!(
            prober(&http, 8080, Some(1)).unwrap(),
            r#"{"httpGet":{"path":"/","port":8080,"scheme":"HTTPS","httpHeaders":[{"name":"Host","value":"a.example"}]},"timeoutSeconds":1}"#
        );
        let grpc = ProbeHandler::Grpc {
            port: 9090,
            service: String::new(),
        };
        assert_eq!(
            prober(&grpc, 9090, Some(5)).unwrap(),
            r#"{"grpc":{"port":9090,"service":""},"timeoutSeconds":5}"#
        );
        assert_eq!(prober(&ProbeHandler::Exec, 0, None), Err(NotRecorded));
    }
}
