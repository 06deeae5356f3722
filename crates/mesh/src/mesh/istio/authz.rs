//! Evaluates `AuthorizationPolicy` rules for a client without identity, such as the kubelet.
//!
//! Source: Istio 1.31, `pilot/pkg/security/authz/model/model.go`, `builder.go`.

/// The result of a condition that may depend on facts that only the running mesh has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// Only the running mesh can decide.
    Unknown,
}

impl Match {
    /// Converts a boolean.
    #[must_use]
    pub(crate) const fn of(truth: bool) -> Self {
        if truth { Self::Yes } else { Self::No }
    }

    /// Returns the negation.
    #[must_use]
    pub(crate) const fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
        }
    }

    /// Combines results with "and".
    #[must_use]
    pub fn all(matches: impl IntoIterator<Item = Self>) -> Self {
        let mut result = Self::Yes;
        for found in matches {
            match found {
                Self::No => return Self::No,
                Self::Unknown => result = Self::Unknown,
                Self::Yes => {}
            }
        }
        result
    }

    /// Combines results with "or".
    #[must_use]
    pub fn any(matches: impl IntoIterator<Item = Self>) -> Self {
        Self::all(matches.into_iter().map(Self::not)).not()
    }
}

/// The request that a probe makes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// `GET`, or `POST` for gRPC.
    pub method: &'static str,
    /// The path without query.
    pub path: String,
    /// The `Host` header, if the probe sets one.
    pub host: Option<String>,
    /// The port of the pod.
    pub port: i64,
    /// Whether the filter chain handles HTTP; a TCP chain only evaluates ports and addresses.
    pub is_http: bool,
}

/// The fields of a source or operation that only an HTTP chain can evaluate.
const HTTP_FIELDS: [&str; 10] = [
    "requestPrincipals",
    "notRequestPrincipals",
    "remoteIpBlocks",
    "notRemoteIpBlocks",
    "hosts",
    "notHosts",
    "methods",
    "notMethods",
    "paths",
    "notPaths",
];

/// Returns whether a field of `from` or `to` needs an HTTP chain.
#[must_use]
pub fn is_http_field(field: &str) -> bool {
    HTTP_FIELDS.contains(&field)
}

/// Returns whether a condition of `when` needs an HTTP chain.
#[must_use]
pub fn is_http_condition(key: &str) -> bool {
    key.starts_with("request.") || key == "remote.ip"
}

/// Evaluates a list field (`principals`, `notPaths` …) for the request of a probe.
#[must_use]
pub fn field(name: &str, values: &[&str], request: &Request) -> Match {
    match name.strip_prefix("not") {
        Some(positive) => {
            let mut letters = positive.chars();
            let first = letters.next().map(|letter| letter.to_ascii_lowercase());
            let positive: String = first.into_iter().chain(letters).collect();
            positive_field(&positive, values, request).not()
        }
        None => positive_field(name, values, request),
    }
}

fn positive_field(name: &str, values: &[&str], request: &Request) -> Match {
    let any = |holds: &dyn Fn(&str) -> bool| Match::of(values.iter().any(|value| holds(value)));
    match name {
        // The kubelet presents no certificate and no token.
        "principals" | "namespaces" | "serviceAccounts" | "requestPrincipals" => Match::No,
        "ipBlocks" | "remoteIpBlocks" if values.contains(&"0.0.0.0/0") => Match::Yes,
        "ipBlocks" | "remoteIpBlocks" => Match::Unknown,
        "ports" => any(&|value| value.parse() == Ok(request.port)),
        "methods" => any(&|value| wildcard(value, request.method)),
        "paths" if values.iter().any(|value| value.contains('{')) => Match::Unknown,
        "paths" => any(&|value| wildcard(value, &request.path)),
        "hosts" => Match::any(values.iter().map(|value| host(value, request))),
        _ => Match::Unknown,
    }
}

/// Evaluates a pattern of `hosts`. Without a `Host` header the host is the address of the pod, which only the
/// cluster knows, with the port of the probe.
fn host(pattern: &str, request: &Request) -> Match {
    if let Some(host) = &request.host {
        return Match::of(wildcard(pattern, host));
    }
    let port = format!(":{}", request.port);
    let is_address = |text: &str| {
        text.chars()
            .all(|letter| letter.is_ascii_hexdigit() || matches!(letter, '.' | ':' | '[' | ']'))
    };
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(suffix), _) if port.ends_with(suffix) => Match::Yes,
        (Some(suffix), _) if suffix.ends_with(&port) && is_address(suffix) => Match::Unknown,
        (None, Some(prefix)) if is_address(prefix) => Match::Unknown,
        (None, None) if pattern.ends_with(&port) && is_address(pattern) => Match::Unknown,
        _ => Match::No,
    }
}

/// Evaluates a condition of `when`.
#[must_use]
pub fn condition(key: &str, values: &[&str], not_values: &[&str], request: &Request) -> Match {
    let evaluate = |values: &[&str]| match key {
        "source.principal" | "source.namespace" | "source.serviceAccount" => Match::No,
        _ if key.starts_with("request.auth.") => Match::No,
        "destination.port" => Match::of(values.iter().any(|v| v.parse() == Ok(request.port))),
        _ => Match::Unknown,
    };
    let positive = if values.is_empty() {
        Match::Yes
    } else {
        evaluate(values)
    };
    let negative = if not_values.is_empty() {
        Match::Yes
    } else {
        evaluate(not_values).not()
    };
    Match::all([positive, negative])
}

/// Matches Istio's patterns: exact, `prefix*`, `*suffix`, `*`.
fn wildcard(pattern: &str, text: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(suffix), _) => text.ends_with(suffix),
        (None, Some(prefix)) => text.starts_with(prefix),
        (None, None) => pattern == text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            method: "GET",
            path: "/healthz".into(),
            host: None,
            port: 8080,
            is_http: true,
        }
    }

    #[test]
    fn a_client_without_identity_matches_no_identity() {
        assert_eq!(field("principals", &["*"], &request()), Match::No);
        assert_eq!(field("notPrincipals", &["a"], &request()), Match::Yes);
        assert_eq!(
            field("ipBlocks", &["10.0.0.0/8"], &request()),
            Match::Unknown
        );
        assert_eq!(
            field("notRequestPrincipals", &["*"], &request()),
            Match::Yes
        );
    }

    #[test]
    fn patterns_match_as_in_istio() {
        for pattern in ["/healthz", "/health*", "*z", "*"] {
            assert_eq!(
                field("paths", &[pattern], &request()),
                Match::Yes,
                "{pattern}"
            );
        }
        assert_eq!(field("paths", &["/ready"], &request()), Match::No);
        assert_eq!(field("notPaths", &["/healthz"], &request()), Match::No);
        assert_eq!(field("ports", &["9090", "8080"], &request()), Match::Yes);
        assert_eq!(field("hosts", &["a.example"], &request()), Match::No);
    }

    #[test]
    fn without_a_header_the_host_is_the_address_of_the_pod() {
        let evaluate = |pattern| field("hosts", &[pattern], &request());
        for pattern in ["*", "*:8080", "*8080", "*80"] {
            assert_eq!(evaluate(pattern), Match::Yes, "{pattern}");
        }
        for pattern in ["10.*", "10.0.0.7:8080", "[fd00::1]:8080", "*.7:8080"] {
            assert_eq!(evaluate(pattern), Match::Unknown, "{pattern}");
        }
        for pattern in ["*:9090", "web*", "web:8080", "10.0.0.7", "10.0.0.7:80"] {
            assert_eq!(evaluate(pattern), Match::No, "{pattern}");
        }
        assert_eq!(field("notHosts", &["*:8080"], &request()), Match::No);
    }

    #[test]
    fn conditions_follow_three_valued_logic() {
        assert_eq!(
            Match::all([Match::Yes, Match::Unknown, Match::No]),
            Match::No
        );
        assert_eq!(Match::any([Match::No, Match::Unknown]), Match::Unknown);
        assert_eq!(Match::any([Match::Unknown, Match::Yes]), Match::Yes);
        assert_eq!(Match::any([]), Match::No);
        assert_eq!(Match::all([]), Match::Yes);
    }
}
