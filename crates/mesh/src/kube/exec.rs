//! Network calls in the commands of `exec` handlers, as far as they can be parsed.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::handler::Probe;
use super::probe_handler::ProbeHandler;

/// Kind of a network call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecKind {
    /// Only opens a TCP connection.
    Connect,
    /// Sends a request and checks the response.
    Request,
}

/// Network call of a command to an address outside its own pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecCall {
    /// The kind of the call.
    pub kind: ExecKind,
    /// The host as written.
    pub host: String,
    /// The port, if the command contains one.
    pub port: Option<u16>,
}

/// Returns the calls of an exec handler to addresses outside the pod. Omits loopback addresses,
/// and hosts that only the running container knows (variables, placeholders). Recognizes only the
/// programs that `tool` lists.
#[must_use]
pub fn exec_calls(handler: &Probe<'_>) -> Vec<ExecCall> {
    if !matches!(handler.action, Ok(ProbeHandler::Exec)) {
        return Vec::new();
    }
    let command = handler
        .node
        .get("exec")
        .and_then(|exec| exec.get("command"));
    let words: Vec<&str> = command
        .into_iter()
        .flat_map(NodeRef::items)
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
        let end = after.iter().position(|word| self::tool(word).is_some());
        let (arguments, _) = after.split_at(end.unwrap_or(after.len()));
        match tool {
            Tool::Http => calls.extend(url(arguments)),
            Tool::Grpc => calls.extend(grpc(arguments)),
            Tool::Connect => calls.extend(connect(arguments)),
        }
    }
    calls.retain(|call| leaves_pod(&call.host));
    calls
}

/// Returns whether `c` separates words: white space, or a quote or an operator of the shell.
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

/// Parses the `host/port` of bash's `/dev/tcp/host/port`.
fn device(address: &str) -> Option<ExecCall> {
    let (host, port) = address.split_once('/')?;
    Some(ExecCall {
        kind: ExecKind::Connect,
        host: host.to_owned(),
        port: Some(port.parse().ok()?),
    })
}

/// Finds the address in the arguments of curl or wget: a URL, or `host:port` without a scheme.
fn url(arguments: &[&str]) -> Option<ExecCall> {
    if arguments.iter().any(|word| word.contains("unix-socket")) {
        return None;
    }
    let with_scheme = arguments.iter().find_map(|word| {
        let (scheme, rest) = word.split_once("://")?;
        matches!(scheme, "http" | "https").then_some(rest)
    });
    let bare = || {
        arguments
            .iter()
            .find(|word| !word.starts_with('-') && authority(word).1.is_some())
            .copied()
    };
    let (host, port) = authority(with_scheme.or_else(bare)?);
    Some(ExecCall {
        kind: ExecKind::Request,
        host: host.to_owned(),
        port,
    })
}

/// Finds the address in the arguments of the gRPC health probe: `-addr=host:port`.
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

/// Finds the address in the arguments of `nc -z host port`: the first word that is followed by a
/// port. Returns `None` if an option selects UDP, Unix sockets or listening.
fn connect(arguments: &[&str]) -> Option<ExecCall> {
    let is_other_mode = |word: &&str| {
        word.starts_with('-') && !word.starts_with("--") && word.contains(['u', 'U', 'l'])
    };
    if arguments.iter().any(is_other_mode) {
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

/// Splits `user@host:port/path` into host and port.
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

/// Returns whether `host` is certainly outside the pod: not a loopback address, and without variables.
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
    fn an_address_is_split_into_host_and_port() {
        assert_eq!(authority("web.shop:80/healthz?x"), ("web.shop", Some(80)));
        assert_eq!(authority("u:p@web/healthz"), ("web", None));
        assert_eq!(authority("[::1]:80"), ("::1", Some(80)));
    }

    #[test]
    fn the_address_is_found_in_the_arguments_of_each_tool() {
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
        for local in ["localhost", "127.0.0.1", "::1", "$POD_IP", "${HOST}", ""] {
            assert!(!leaves_pod(local), "{local}");
        }
        assert!(leaves_pod("web.shop"));
    }
}
