//! What the commands of exec handlers call over the network, as far as it can be read.

use crate::source::placeholder;
use crate::yaml::NodeRef;

use super::handler::{Action, Handler};

/// How a command reaches out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecKind {
    /// It only opens a TCP connection.
    Connect,
    /// It makes a request and looks at the answer.
    Request,
}

/// One call of a command to another address than that of its own pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecCall {
    /// How it reaches out.
    pub kind: ExecKind,
    /// The host as written.
    pub host: String,
    /// The port, where one is written.
    pub port: Option<u16>,
}

/// Returns the calls of an exec handler that leave the pod. Hosts that only the running container
/// knows (variables, placeholders) are left out, loopback too; tools that are not listed in
/// `tool` are not read.
#[must_use]
pub fn exec_calls(handler: &Handler<'_>) -> Vec<ExecCall> {
    if !matches!(handler.action, Ok(Action::Exec)) {
        return Vec::new();
    }
    let command = handler
        .node
        .get("exec")
        .and_then(|exec| exec.get("command"));
    let items = command.into_iter().flat_map(NodeRef::items);
    let words: Vec<&str> = items
        .filter_map(NodeRef::text)
        .flat_map(|text| text.split(is_separator))
        .filter(|word| !word.is_empty())
        .collect();
    let mut calls = Vec::new();
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if let Some(address) = word.strip_prefix("/dev/tcp/") {
            calls.extend(device(address));
            continue;
        }
        let Some(tool) = tool(word) else {
            continue;
        };
        let own = after.iter().position(|word| self::tool(word).is_some());
        let (arguments, _) = after.split_at(own.unwrap_or(after.len()));
        match tool {
            Tool::Http => calls.extend(url(arguments)),
            Tool::Grpc => calls.extend(grpc(arguments)),
            Tool::Connect => calls.extend(connect(arguments)),
        }
    }
    calls.retain(|call| leaves_pod(&call.host));
    calls
}

/// Blanks and what a shell cuts words at.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\'' | '"' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`'
        )
}

#[derive(Clone, Copy)]
enum Tool {
    Http,
    Grpc,
    Connect,
}

fn tool(word: &str) -> Option<Tool> {
    match word.rsplit('/').next().unwrap_or(word) {
        "curl" | "wget" => Some(Tool::Http),
        "grpc_health_probe" | "grpc-health-probe" => Some(Tool::Grpc),
        "nc" | "ncat" | "netcat" | "telnet" => Some(Tool::Connect),
        _ => None,
    }
}

/// `/dev/tcp/host/port` of bash.
fn device(address: &str) -> Option<ExecCall> {
    let (host, port) = address.split_once('/')?;
    Some(ExecCall {
        kind: ExecKind::Connect,
        host: host.to_owned(),
        port: Some(port.parse().ok()?),
    })
}

/// The address of curl and wget: a URL, or `host:port` without a scheme.
fn url(arguments: &[&str]) -> Option<ExecCall> {
    if arguments.iter().any(|word| word.contains("unix-socket")) {
        return None;
    }
    let with_scheme = arguments.iter().find_map(|word| {
        let (scheme, rest) = word.split_once("://")?;
        matches!(scheme, "http" | "https").then_some(rest)
    });
    let bare = || {
        let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
        words.find(|word| authority(word).1.is_some()).copied()
    };
    let (host, port) = authority(with_scheme.or_else(bare)?);
    Some(ExecCall {
        kind: ExecKind::Request,
        host: host.to_owned(),
        port,
    })
}

/// `-addr=host:port` of the gRPC health probe.
fn grpc(arguments: &[&str]) -> Option<ExecCall> {
    let flag = |word: &&str| word.trim_start_matches('-') == "addr";
    let after_flag = || {
        let at = arguments.iter().position(flag)?;
        arguments.get(at + 1).copied()
    };
    let joined = arguments
        .iter()
        .find_map(|word| word.trim_start_matches('-').strip_prefix("addr="));
    let (host, port) = authority(joined.or_else(after_flag)?);
    Some(ExecCall {
        kind: ExecKind::Request,
        host: host.to_owned(),
        port,
    })
}

/// `nc -z host port`: the first word that is followed by a port; not with UDP or Unix sockets.
fn connect(arguments: &[&str]) -> Option<ExecCall> {
    let other = |word: &&str| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(['u', 'U', 'l'])
    };
    if arguments.iter().any(other) {
        return None;
    }
    arguments.windows(2).find_map(|pair| {
        let [host, port] = pair else { return None };
        let is_host = !host.starts_with('-') && host.parse::<i64>().is_err();
        Some(ExecCall {
            kind: ExecKind::Connect,
            host: (*host).to_owned(),
            port: Some(port.parse().ok().filter(|_| is_host)?),
        })
    })
}

/// Host and port of `user@host:port/path`.
fn authority(text: &str) -> (&str, Option<u16>) {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let whole = text.get(..end).unwrap_or_default();
    let whole = whole.rsplit('@').next().unwrap_or(whole);
    if let Some((address, rest)) = whole
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        return (address, rest.trim_start_matches(':').parse().ok());
    }
    match whole.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (whole, None),
    }
}

/// Loopback addresses and variables do not, or may not, leave the pod.
fn leaves_pod(host: &str) -> bool {
    let loopback = host == "localhost"
        || host.ends_with(".localhost")
        || host.starts_with("127.")
        || matches!(host, "" | "::1" | "0.0.0.0" | "::" | "0");
    !loopback && !host.contains(['$', '{', '%']) && !placeholder::contains(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        assert_eq!(authority("web.shop:80/healthz?x"), ("web.shop", Some(80)));
        assert_eq!(authority("u:p@web/healthz"), ("web", None));
        assert_eq!(authority("[::1]:80"), ("::1", Some(80)));
    }

    #[test]
    fn commands_are_read() {
        let host = |call: Option<ExecCall>| call.map(|call| (call.host, call.port));
        let some = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(
            host(connect(&["-w", "2", "-z", "db", "80"])),
            some("db", Some(80))
        );
        assert_eq!(host(connect(&["-zu", "db", "53"])), None);
        assert_eq!(host(url(&["-o", "out.txt", "http://a/b"])), some("a", None));
        assert_eq!(host(url(&["-qO-", "a:8080/b"])), some("a", Some(8080)));
        assert_eq!(host(url(&["--unix-socket", "/s", "http://a/b"])), None);
        assert_eq!(host(grpc(&["-addr=:9090"])), some("", Some(9090)));
        assert_eq!(host(grpc(&["-addr", "a:1"])), some("a", Some(1)));
        assert_eq!(host(device("db/5432")), some("db", Some(5432)));
        for own in ["localhost", "127.0.0.1", "::1", "$POD_IP", "${HOST}", ""] {
            assert!(!leaves_pod(own), "{own}");
        }
        assert!(leaves_pod("web.shop"));
    }
}
