//! Reads an entry of the prober env: the reverse of [`super::prober_json`].
//!
//! Source: Istio 1.31, `pkg/kube/inject/app_probe.go` (`KubeAppProbers`) and
//! `pilot/cmd/pilot-agent/status/server.go`, which rejects entries with a named port, or with
//! more or less than one handler.

use serde::Deserialize;

use crate::kube::{HttpGet, Port, ProbeHandler};

/// One prober.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The handler that the agent runs; its port is a number.
    pub action: ProbeHandler,
    /// Seconds; `None` if none are recorded.
    pub timeout_seconds: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Prober {
    http_get: Option<HttpProber>,
    tcp_socket: Option<TcpProber>,
    grpc: Option<GrpcProber>,
    timeout_seconds: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HttpProber {
    path: Option<String>,
    port: i64,
    host: Option<String>,
    scheme: Option<String>,
    http_headers: Option<Vec<Header>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TcpProber {
    port: i64,
    host: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrpcProber {
    port: i64,
    service: Option<String>,
}

/// Parses the JSON of one prober and fills in the defaults of the API server.
///
/// # Errors
/// A description if the text is not exactly one handler with the fields of a probe.
pub fn read(json: &str) -> Result<Recorded, String> {
    let prober: Prober = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let actions = [
        prober.http_get.map(http),
        prober.tcp_socket.map(tcp),
        prober.grpc.map(grpc),
    ];
    let mut written = actions.into_iter().flatten();
    let (Some(action), None) = (written.next(), written.next()) else {
        return Err("it does not contain exactly one handler".to_owned());
    };
    Ok(Recorded {
        action,
        timeout_seconds: prober.timeout_seconds,
    })
}

/// Converts empty text to `None`, because Go omits empty fields.
fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn http(prober: HttpProber) -> ProbeHandler {
    let headers = prober.http_headers.unwrap_or_default();
    ProbeHandler::HttpGet(HttpGet {
        path: filled(prober.path).unwrap_or_else(|| "/".to_owned()),
        port: Port::Number(prober.port),
        host: filled(prober.host),
        scheme: filled(prober.scheme).unwrap_or_else(|| "HTTP".to_owned()),
        headers: headers
            .into_iter()
            .map(|header| (header.name, header.value))
            .collect(),
    })
}

fn tcp(prober: TcpProber) -> ProbeHandler {
    ProbeHandler::TcpSocket {
        port: Port::Number(prober.port),
        host: filled(prober.host),
    }
}

fn grpc(prober: GrpcProber) -> ProbeHandler {
    ProbeHandler::Grpc {
        port: prober.port,
        service: prober.service.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::istio::prober_json;

    #[test]
    fn written_entries_are_read_back() {
        for json in [
            r#"{"httpGet":{"path":"/a\u0026b","port":8080,"scheme":"HTTPS","httpHeaders":[{"name":"A","value":"b"}]},"timeoutSeconds":3}"#,
            r#"{"tcpSocket":{"port":5432}}"#,
            r#"{"grpc":{"port":9090,"service":"x"},"timeoutSeconds":1}"#,
        ] {
            let recorded = read(json).unwrap();
            let Some(Port::Number(port)) = recorded.action.port() else {
                panic!("{json}");
            };
            let again = prober_json::prober(&recorded.action, port, recorded.timeout_seconds);
            assert_eq!(again.unwrap(), json);
        }
    }

    #[test]
    fn entries_that_the_agent_does_not_start_with_are_rejected() {
        for json in [
            "null",
            "{}",
            r#"{"httpGet":{"port":"http"}}"#,
            r#"{"httpGet":{"port":1},"tcpSocket":{"port":1}}"#,
            r#"{"exec":{"command":[]}}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
        let bare = read(r#"{"grpc":{"port":1,"service":null}}"#).unwrap();
        assert_eq!(
            bare.action,
            ProbeHandler::Grpc {
                port: 1,
                service: String::new()
            }
        );
    }
}
