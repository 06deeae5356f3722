//! Reads a URL as Go does: enough of `net/url` to compute the target of the request that Go's HTTP client sends.
//!
//! Source: `parse`, `parseAuthority`, `parseHost`, `setPath`, `EscapedPath` and `RequestURI` of Go 1.26, with the setting
//! `urlstrictcolons=0`, the default of modules for older releases of Go. Before 1.25.2, Go also accepts hosts in brackets
//! that are not IPv6 addresses. `tests/oracle/paths` compares the result with Go's own code.

use core::net::Ipv6Addr;
use std::fmt;

use meshprobe_mesh::kube::HttpGet;
use meshprobe_tree::source::placeholder;

/// Punctuation that Go does not escape in a path.
const PATH: &[u8] = b"-_.~$&+,/:;=@";
/// Further punctuation that Go keeps in a path if all other characters may be kept, too.
const PATH_IF_WRITTEN: &[u8] = b"!'()*[]%";
/// Punctuation in a host.
const HOST: &[u8] = b"-_.~!$&'()*+,;=:[]<>\"";
/// Punctuation in the user and password in front of a host.
const USER: &[u8] = b"-._:~!$&'()*+,;=%@";

/// A URL that Go's `url.Parse` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::predict) struct GoUrl<'a> {
    /// Whether a scheme is followed by something other than `/`, as in `mailto:a`. A client cannot request it.
    pub is_opaque: bool,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> GoUrl<'a> {
    /// Parses a URL; `None` if Go reports an error.
    pub(in crate::predict) fn parse(text: &'a str) -> Option<Self> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|byte| byte.is_ascii_control()) || !has_valid_escapes(fragment) {
            return None;
        }
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let mut url = Self {
            is_opaque: false,
            path: rest,
            query,
        };
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                url.is_opaque = !rest.is_empty();
                return Some(url);
            }
            let segment = rest.split('/').next().unwrap_or_default();
            if segment.contains(':') {
                return None;
            }
        }
        let has_authority = !scheme.is_empty() || !rest.starts_with("///");
        if let Some(rest) = rest.strip_prefix("//").filter(|_| has_authority) {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !is_authority(authority) {
                return None;
            }
            url.path = path;
        }
        has_valid_escapes(url.path).then_some(url)
    }

    /// Returns the target of the request: the path, escaped where necessary, and the query as it is written.
    pub(in crate::predict) fn request_target(&self) -> String {
        let kept = |byte: u8| is_one_of(byte, PATH) || PATH_IF_WRITTEN.contains(&byte);
        let mut target = if self.path.bytes().all(kept) {
            with_slash(self.path.to_owned())
        } else {
            with_slash(escape(&unescape(self.path)))
        };
        if let Some(query) = self.query {
            target.push('?');
            target.push_str(query);
        }
        target
    }
}

/// Returns the target of a request for a path that is not parsed, but escaped as a whole.
pub(in crate::predict) fn target_of_raw_path(path: &str) -> String {
    with_slash(escape(path.as_bytes()))
}

fn with_slash(mut path: String) -> String {
    if !path.starts_with('/') {
        path.insert(0, '/');
    }
    path
}

/// Splits off the scheme, which is empty if there is none; `None` if the text starts with `:`.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    match text.split_once(':') {
        Some(("", _)) => None,
        Some((scheme, rest)) if starts_with_letter(scheme) && scheme.bytes().all(is_name) => {
            Some((scheme, rest))
        }
        _ => Some(("", text)),
    }
}

fn starts_with_letter(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_user = user.bytes().all(|byte| is_one_of(byte, USER)) && has_valid_escapes(user);
    is_user && is_host(host)
}

fn is_host(host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => is_ip_literal(host),
        Some(_) => false,
        None => {
            let port = host.rfind(':').and_then(|colon| host.get(colon..));
            is_optional_port(port.unwrap_or_default()) && is_host_text(host)
        }
    }
}

/// Returns whether a host in brackets is an IPv6 address, with a zone and a port if it has them.
fn is_ip_literal(host: &str) -> bool {
    let Some((address, port)) = host
        .strip_prefix('[')
        .and_then(|host| host.rsplit_once(']'))
    else {
        return false;
    };
    let (address, zone) = match address.split_once("%25") {
        Some((address, zone)) => (address, Some(zone)),
        None => (address, None),
    };
    let is_zone = zone.is_none_or(|zone| !zone.is_empty() && is_zone_text(zone));
    is_optional_port(port) && is_zone && address.parse::<Ipv6Addr>().is_ok()
}

/// Returns whether a text is empty or `:` with digits.
fn is_optional_port(text: &str) -> bool {
    let digits = text.strip_prefix(':');
    text.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether Go accepts a host; only `%25` and bytes that are not ASCII may be escaped.
fn is_host_text(host: &str) -> bool {
    let mut parts = host.split('%');
    is_plain_host(parts.next().unwrap_or_default())
        && parts.all(|part| {
            escaped_byte(part).is_some_and(|byte| byte >= 0x80 || byte == b'%')
                && is_plain_host(part.get(2..).unwrap_or_default())
        })
}

/// Returns whether Go accepts the zone of an IPv6 address. It may contain escaped spaces, too.
fn is_zone_text(zone: &str) -> bool {
    let mut parts = zone.split('%');
    is_plain_host(parts.next().unwrap_or_default())
        && parts.all(|part| {
            escaped_byte(part).is_some_and(|byte| b"% ".contains(&byte) || is_one_of(byte, HOST))
                && is_plain_host(part.get(2..).unwrap_or_default())
        })
}

fn is_plain_host(text: &str) -> bool {
    let is_host = |byte: u8| !byte.is_ascii() || is_one_of(byte, HOST);
    text.bytes().all(is_host)
}

fn is_one_of(byte: u8, punctuation: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || punctuation.contains(&byte)
}

/// Returns whether two hexadecimal digits follow each `%`.
fn has_valid_escapes(text: &str) -> bool {
    let mut rest = text.split('%').skip(1);
    rest.all(|part| escaped_byte(part).is_some())
}

/// Returns the byte that the two hexadecimal digits after a `%` name.
fn escaped_byte(after: &str) -> Option<u8> {
    let digits = after.get(..2)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex
        .then(|| u8::from_str_radix(digits, 16).ok())
        .flatten()
}

/// Replaces the escapes of a text, which are valid.
fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.extend(escaped_byte(part));
        bytes.extend(part.bytes().skip(2));
    }
    bytes
}

fn escape(path: &[u8]) -> String {
    let mut escaped = String::with_capacity(path.len());
    for &byte in path {
        if is_one_of(byte, PATH) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// A path that the kubelet and the agent read differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMisread<'a> {
    path: &'a str,
    kubelet: Option<String>,
    agent: Option<String>,
}

impl<'a> PathMisread<'a> {
    /// Compares the requests for a path; `None` if they are equal.
    #[must_use]
    pub fn of(path: &'a str) -> Option<Self> {
        let misread = Self {
            path,
            kubelet: kubelet_target(path),
            agent: agent_target(path),
        };
        (misread.kubelet.is_none() || misread.kubelet != misread.agent).then_some(misread)
    }

    /// Returns the target that the kubelet requests; `None` if it cannot send a request.
    #[must_use]
    pub fn kubelet(&self) -> Option<&str> {
        self.kubelet.as_deref()
    }

    /// Returns the target that the agent requests; `None` if it cannot parse the path, and answers with 500.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns whether the path does not start with a slash. Such a path is misread because of a scheme.
    #[must_use]
    pub fn has_scheme(&self) -> bool {
        !self.path.starts_with('/')
    }
}

impl fmt::Display for PathMisread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path;
        match (&self.kubelet, &self.agent) {
            (Some(kubelet), Some(agent)) => {
                write!(
                    f,
                    "the kubelet requests `{kubelet}`, but the agent requests `{agent}`"
                )
            }
            (Some(kubelet), None) => {
                write!(
                    f,
                    "the kubelet requests `{kubelet}`, but the agent cannot parse `{path}`"
                )
            }
            (None, Some(agent)) => {
                write!(
                    f,
                    "the kubelet cannot request `{path}`, and the agent requests `{agent}`"
                )
            }
            (None, None) => write!(f, "neither the kubelet nor the agent can request `{path}`"),
        }
    }
}

/// Returns the target that the kubelet requests: it parses the path as a URL, and escapes the whole text if it cannot.
///
/// Source: `formatURL` of Kubernetes 1.36 (`pkg/probe/http/request.go`).
fn kubelet_target(path: &str) -> Option<String> {
    match GoUrl::parse(path) {
        Some(url) if url.is_opaque => None,
        Some(url) => Some(url.request_target()),
        None => Some(target_of_raw_path(path)),
    }
}

/// Returns the text with which the kubelet reports that it cannot request a path, because it reads the part before the
/// first colon as a scheme and the rest as a URL without a host; `None` if it can.
///
/// Source: `formatURL` of Kubernetes 1.36, and `net/http` of Go 1.26.
pub(in crate::predict) fn failed_request(http: &HttpGet) -> Option<String> {
    let path = http.path.as_str();
    if placeholder::contains(path) || kubelet_target(path).is_some() {
        return None;
    }
    let (_, rest) = path.split_once(':')?;
    let scheme = http.scheme.to_ascii_lowercase();
    Some(format!(
        "Get \"{scheme}:{rest}\": http: no Host in request URL"
    ))
}

/// Returns the target that the agent requests: it appends the path to `http://HOST:PORT`, with a slash if it has none.
///
/// Source: `handleAppProbeHTTPGet` of Istio 1.10 to 1.31 (`pilot/cmd/pilot-agent/status/server.go`).
fn agent_target(path: &str) -> Option<String> {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let url = format!("http://agent{slash}{path}");
    GoUrl::parse(&url).map(|url| url.request_target())
}
