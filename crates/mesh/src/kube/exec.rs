//! Network calls in the commands of `exec` handlers, as far as they can be parsed.
//!
//! Exec handlers that only send an HTTP request to the application in their own pod.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::probe_handler::{Probe, ProbeHandler};

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

/// Request to the pod itself, which an `httpGet` handler could send instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfRequest {
    /// `curl` or `wget`.
    pub tool: &'static str,
    /// Whether the scheme is HTTPS.
    pub https: bool,
    /// The port.
    pub port: u16,
    /// Path and query.
    pub path: String,
}

/// Returns the request that an exec handler sends, if its command is a single call of curl or wget
/// to a loopback address: without headers, another method, or a check of the response.
#[must_use]
pub fn self_request(handler: &Probe<'_>) -> Option<SelfRequest> {
    if !matches!(handler.action, Ok(ProbeHandler::Exec)) {
        return None;
    }
    let command = handler.node.get("exec")?.get("command")?;
    let words: Option<Vec<&str>> = command.items().map(NodeRef::text).collect();
    let words = words?;
    match words.as_slice() {
        [shell, flag, script] if is_shell(shell) && matches!(*flag, "-c" | "-ec" | "-lc") => {
            parse_command(&script_words(script)?)
        }
        words => parse_command(words),
    }
}

fn program_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_shell(word: &str) -> bool {
    matches!(program_name(word), "sh" | "bash" | "ash" | "dash")
}

/// Splits a script into words if it is one plain command. Ignores a final `|| exit 1`, which does not
/// change the result.
fn script_words(script: &str) -> Option<Vec<&str>> {
    let script = script.trim();
    let script = script.strip_suffix("|| exit 1").unwrap_or(script);
    let shell = |c: char| "|&;<>()`$\\*?!{}[]#~\n".contains(c);
    let words = script.split_whitespace().map(|word| {
        let single = word.strip_prefix('\'').and_then(|w| w.strip_suffix('\''));
        let double = word.strip_prefix('"').and_then(|w| w.strip_suffix('"'));
        let bare = single.or(double).unwrap_or(word);
        // The shell accepts `?` and `&` of a query literally only within quotes.
        let is_quoted = bare.len() < word.len();
        let plain = |c: char| !shell(c) || (is_quoted && matches!(c, '?' | '&'));
        (bare.chars().all(plain) && !bare.contains(['\'', '"'])).then_some(bare)
    });
    words.collect()
}

fn parse_command(words: &[&str]) -> Option<SelfRequest> {
    let (program, arguments) = words.split_first()?;
    let (tool, flags) = match program_name(program) {
        "curl" => ("curl", CURL),
        "wget" => ("wget", WGET),
        _ => return None,
    };
    let mut urls = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            urls.push(*word);
        } else if flags.with_value.contains(word) {
            rest.next()?;
        } else if !flags.accepts(word) {
            return None;
        }
    }
    let [url] = urls.as_slice() else { return None };
    let request = parse_url(url)?;
    Some(SelfRequest { tool, ..request })
}

/// Flags of a program that do not change what its request checks.
struct Flags {
    alone: &'static [&'static str],
    with_value: &'static [&'static str],
    /// Single-letter flags, which can be combined after one `-`.
    letters: &'static str,
}

const CURL: &Flags = &Flags {
    alone: &[
        "--fail",
        "--fail-with-body",
        "--silent",
        "--show-error",
        "--insecure",
        "--location",
        "--verbose",
    ],
    with_value: &["-o", "--output", "-m", "--max-time", "--connect-timeout"],
    letters: "fsSkLv46",
};

const WGET: &Flags = &Flags {
    alone: &[
        "--quiet",
        "--no-verbose",
        "--no-check-certificate",
        "-O-",
        "-qO-",
        "-O/dev/null",
        "-qO/dev/null",
    ],
    with_value: &["-O", "-qO", "-T", "--timeout", "-t", "--tries"],
    letters: "q",
};

impl Flags {
    fn accepts(&self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or(word);
        let with_value = word.len() > name.len() && self.with_value.contains(&name);
        let letters = word.strip_prefix('-').unwrap_or_default();
        let combined = !letters.is_empty() && letters.chars().all(|c| self.letters.contains(c));
        self.alone.contains(&word) || with_value || combined
    }
}

fn parse_url(url: &str) -> Option<SelfRequest> {
    let (https, rest) = match url.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some(_) => return None,
        None => (false, url),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (authority, None),
    };
    let is_own = host == "localhost" || host == "[::1]" || is_loopback(host);
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    is_own.then(|| SelfRequest {
        tool: "",
        https,
        port: port.unwrap_or(if https { 443 } else { 80 }),
        path,
    })
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<core::net::Ipv4Addr>();
    address.is_ok_and(|address| address.is_loopback())
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

    fn read(words: &[&str]) -> Option<(bool, u16, String)> {
        let request = match words {
            ["sh", "-c", script] => script_words(script).and_then(|words| parse_command(&words)),
            words => parse_command(words),
        };
        request.map(|request| (request.https, request.port, request.path))
    }

    #[test]
    fn plain_requests_are_recognized() {
        let some = |https, port, path: &str| Some((https, port, path.to_owned()));
        let url = "http://localhost:8080/healthy";
        assert_eq!(read(&["curl", "-f", url]), some(false, 8080, "/healthy"));
        assert_eq!(
            read(&[
                "/usr/bin/curl",
                "-fsS",
                "-o",
                "/dev/null",
                "-m",
                "3",
                "127.0.0.1:80"
            ]),
            some(false, 80, "/")
        );
        assert_eq!(
            read(&["curl", "-kf", "https://[::1]/a?b=c#d"]),
            some(true, 443, "/a?b=c")
        );
        assert_eq!(
            read(&["wget", "-q", "-O", "-", "http://127.0.0.1:8080?x"]),
            some(false, 8080, "/?x")
        );
        assert_eq!(
            read(&["wget", "-qO-", "--timeout=3", url]),
            some(false, 8080, "/healthy")
        );
        assert_eq!(
            read(&["sh", "-c", "curl -f 'http://localhost:8080/a?b' || exit 1"]),
            some(false, 8080, "/a?b")
        );
    }

    #[test]
    fn other_commands_are_not_recognized() {
        let url = "http://localhost:8080/healthy";
        let commands: [&[&str]; 12] = [
            &["curl", "-f", "http://web:8080/"],
            &["curl", "-f", "http://localhost:$PORT/"],
            &["curl", "-f", "-X", "POST", url],
            &["curl", "-fH", "A: b", url],
            &["curl", "-I", url],
            &["curl", "-f", url, url],
            &["curl", "--unix-socket", "/s", url],
            &["curl", "-f", "ftp://localhost/"],
            &["wget", "--spider", url],
            &["sh", "-c", "curl -f http://localhost/ | grep ok"],
            &["sh", "-c", "curl -f http://localhost/?a&b"],
            &["cat", "/tmp/ready"],
        ];
        for words in commands {
            assert_eq!(read(words), None, "{words:?}");
        }
    }
}
