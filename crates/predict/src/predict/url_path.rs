//! Compares the requests that the kubelet and the agent send for the path of a probe.

use std::fmt;

use meshprobe_mesh::kube::HttpGet;
use meshprobe_tree::source::placeholder;

use crate::predict::go_url::{GoUrl, target_of_raw_path};

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
