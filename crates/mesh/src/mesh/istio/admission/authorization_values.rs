//! The values of the fields and conditions of an AuthorizationPolicy.
//!
//! Source: Istio 1.31, `pkg/config/security/security.go`.
//!
//! The schema of AuthorizationPolicies.
//!
//! IP addresses and networks, as Go's package `net/netip` reads them.

use core::net::{IpAddr, Ipv6Addr};

use super::schema::{SELECTOR, Schema, anything, object};
use crate::mesh::Version;

/// The release since which paths may contain `{*}` and `{**}`, and braces are otherwise rejected:
/// `CheckValidPathTemplate` does not exist in 1.21.
const PATH_TEMPLATES_SINCE: Version = Version::new(1, 22);

/// What the values of a list must be. No value is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Any text.
    Text,
    /// An address or a network.
    Address,
    /// A port number.
    Port,
    /// A path, which may be a template.
    Path,
    /// `NAME` or `NAMESPACE/NAME`.
    ServiceAccount,
    /// A text with at most one wildcard, at its start or its end.
    Wildcard,
    /// A wildcard text without `/`.
    TrustDomain,
}

/// Returns what the values of a field of a source or an operation must be. The values that a field with `not` excludes
/// have the same form.
pub(super) fn of_field(name: &str) -> Check {
    match name.strip_prefix("not").unwrap_or(name) {
        "ipBlocks" | "IpBlocks" | "remoteIpBlocks" | "RemoteIpBlocks" => Check::Address,
        "serviceAccounts" | "ServiceAccounts" => Check::ServiceAccount,
        "trustDomains" | "TrustDomains" => Check::TrustDomain,
        "ports" | "Ports" => Check::Port,
        "paths" | "Paths" => Check::Path,
        _ => Check::Text,
    }
}

/// Returns what the values of a condition must be.
///
/// # Errors
/// Returns what is wrong with the key.
pub(super) fn of_condition(key: &str) -> Result<Check, String> {
    let check = match key {
        "source.ip" | "remote.ip" | "destination.ip" => Check::Address,
        "destination.port" => Check::Port,
        "source.serviceAccount" => Check::ServiceAccount,
        "source.trustDomain" => Check::Wildcard,
        "source.namespace"
        | "source.principal"
        | "request.auth.principal"
        | "request.auth.audiences"
        | "request.auth.presenter"
        | "connection.sni" => Check::Text,
        "" => return Err("is empty".to_owned()),
        _ => return of_map(key),
    };
    Ok(check)
}

/// Checks a key such as `request.headers[x-token]`.
fn of_map(key: &str) -> Result<Check, String> {
    let prefixes = [
        "request.headers",
        "request.auth.claims",
        "experimental.envoy.filters.",
    ];
    if !prefixes.iter().any(|prefix| key.starts_with(prefix)) {
        return Err(format!("is `{key}`, which is not a known attribute"));
    }
    let open = key.find('[').unwrap_or_default();
    if key.ends_with(']') && open > 0 && open + 2 < key.len() {
        Ok(Check::Text)
    } else {
        Err(format!(
            "is `{key}`, expected `{}[NAME]`",
            key.split('[').next().unwrap_or_default()
        ))
    }
}

impl Check {
    /// Returns what is wrong with a value. `release` is the release of the control plane; the newest one if unknown.
    pub(super) fn fault(self, value: &str, release: Option<Version>) -> Option<String> {
        if value.is_empty() {
            return Some("is empty".to_owned());
        }
        let has_templates = release.is_none_or(|release| release >= PATH_TEMPLATES_SINCE);
        let reason = match self {
            Self::Address if !is_address_or_network(value) => {
                "is not an IP address or a CIDR range"
            }
            Self::Port if !is_port(value) => "is not a port number",
            Self::Path if has_templates => path_fault(value)?,
            Self::ServiceAccount if !is_service_account(value) => {
                "is not `SERVICE_ACCOUNT` or `NAMESPACE/SERVICE_ACCOUNT`"
            }
            Self::TrustDomain if value.contains('/') => "is not a trust domain: it contains `/`",
            Self::Wildcard | Self::TrustDomain if !is_wildcard(value) => {
                "contains a wildcard that is not at its start or end"
            }
            _ => return None,
        };
        Some(reason.to_owned())
    }
}

/// 0 is accepted.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<u32>().is_ok_and(|port| port <= 65535)
}

fn is_service_account(text: &str) -> bool {
    let mut parts = text.split('/');
    text.len() <= 320
        && !text.contains('*')
        && text.matches('/').count() <= 1
        && parts.all(|part| !part.is_empty())
}

fn is_wildcard(text: &str) -> bool {
    match text.matches('*').count() {
        0 => true,
        1 => text.starts_with('*') || text.ends_with('*'),
        _ => false,
    }
}

/// Returns what is wrong with a path as a template.
fn path_fault(path: &str) -> Option<&'static str> {
    let is_template = path.contains("{*}") || path.contains("{**}");
    let mut is_complete = false;
    for segment in path.trim_matches('/').split('/') {
        match segment {
            "{*}" | "{**}" if is_complete => return Some("contains an operator after `{**}`"),
            "{*}" => {}
            "{**}" => is_complete = true,
            _ if segment.contains(['{', '}']) => {
                return Some("contains `{` or `}` outside of the operators `{*}` and `{**}`");
            }
            _ if is_template && !is_literal(segment) => {
                return Some("contains a segment that is not allowed in a path template");
            }
            _ => {}
        }
    }
    None
}

/// Returns whether a segment consists of characters of RFC 3986 (`pchar`).
fn is_literal(segment: &str) -> bool {
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()+,;:@=".contains(&byte);
    !segment.is_empty() && segment.bytes().all(is_allowed)
}

/// The maximum number of rules, and of sources of a rule.
const MOST_RULES: usize = 512;
/// The maximum number of target references, and of service accounts of a source.
const MOST_REFERENCES: usize = 16;
const UNLIMITED: usize = usize::MAX;

/// `spec` of an AuthorizationPolicy.
pub(super) static AUTHORIZATION_POLICY: Schema = object(&[
    ("selector", SELECTOR),
    ("targetRef", TARGET),
    ("targetRefs", Schema::List(MOST_REFERENCES, &TARGET)),
    ("action", Schema::Text(action)),
    ("provider", object(&[("name", TEXT)])),
    ("rules", Schema::List(MOST_RULES, &RULE)),
]);

const TEXT: Schema = Schema::Text(anything);
const TEXTS: Schema = Schema::List(UNLIMITED, &TEXT);
const ACCOUNTS: Schema = Schema::List(MOST_REFERENCES, &Schema::Text(account));

const TARGET: Schema = Schema::Object {
    fields: &[
        ("group", TEXT),
        ("kind", TEXT),
        ("name", Schema::Text(not_empty)),
        ("namespace", Schema::Text(no_namespace)),
    ],
    required: &["kind", "name"],
};

const RULE: Schema = object(&[
    ("from", Schema::List(MOST_RULES, &FROM)),
    ("to", Schema::List(UNLIMITED, &TO)),
    ("when", Schema::List(UNLIMITED, &WHEN)),
]);

const FROM: Schema = object(&[("source", object(SOURCE))]);
const TO: Schema = object(&[("operation", object(OPERATION))]);

const SOURCE: &[(&str, Schema)] = &[
    ("principals", TEXTS),
    ("notPrincipals", TEXTS),
    ("requestPrincipals", TEXTS),
    ("notRequestPrincipals", TEXTS),
    ("namespaces", TEXTS),
    ("notNamespaces", TEXTS),
    ("ipBlocks", TEXTS),
    ("notIpBlocks", TEXTS),
    ("remoteIpBlocks", TEXTS),
    ("notRemoteIpBlocks", TEXTS),
    ("serviceAccounts", ACCOUNTS),
    ("notServiceAccounts", ACCOUNTS),
    ("trustDomains", TEXTS),
    ("notTrustDomains", TEXTS),
];

const OPERATION: &[(&str, Schema)] = &[
    ("hosts", TEXTS),
    ("notHosts", TEXTS),
    ("ports", TEXTS),
    ("notPorts", TEXTS),
    ("methods", TEXTS),
    ("notMethods", TEXTS),
    ("paths", TEXTS),
    ("notPaths", TEXTS),
];

/// Returns whether `source` or `operation` has a field.
pub(super) fn has_field(of: &str, name: &str) -> bool {
    let fields = if of == "source" { SOURCE } else { OPERATION };
    fields.iter().any(|(field, _)| *field == name)
}

const WHEN: Schema = Schema::Object {
    fields: &[("key", TEXT), ("values", TEXTS), ("notValues", TEXTS)],
    required: &["key"],
};

fn action(action: &str) -> Option<String> {
    let is_known = ["ALLOW", "DENY", "AUDIT", "CUSTOM"].contains(&action);
    (!is_known).then(|| format!("is `{action}`, expected ALLOW, DENY, AUDIT or CUSTOM"))
}

fn account(name: &str) -> Option<String> {
    (name.chars().count() > 320).then(|| "has more than 320 characters".to_owned())
}

fn not_empty(text: &str) -> Option<String> {
    text.is_empty().then(|| "is empty".to_owned())
}

fn no_namespace(namespace: &str) -> Option<String> {
    let reason = "refers to another namespace, which is not supported";
    (!namespace.is_empty()).then(|| reason.to_owned())
}

/// Returns whether a text is an address, or a network such as `10.0.0.0/8`.
pub(super) fn is_address_or_network(text: &str) -> bool {
    match text.rsplit_once('/') {
        Some((address, length)) => is_network(address, length),
        None => is_address(text),
    }
}

/// An IPv6 address may have a zone.
fn is_address(text: &str) -> bool {
    match text.split_once('%') {
        Some((address, zone)) => !zone.is_empty() && address.parse::<Ipv6Addr>().is_ok(),
        None => text.parse::<IpAddr>().is_ok(),
    }
}

fn is_network(address: &str, length: &str) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_plain = length.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = length.len() > 1 && length.starts_with('0');
    is_plain && !has_leading_zero && length.parse::<u8>().is_ok_and(|length| length <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_networks_are_read() {
        for valid in [
            "10.0.0.1",
            "10.1.2.3/8",
            "0.0.0.0/0",
            "::1",
            "fe80::1%eth0",
            "fd00::/64",
        ] {
            assert!(is_address_or_network(valid), "{valid}");
        }
        for invalid in [
            "",
            "*",
            "10.0.0",
            "010.0.0.1",
            "10.0.0.0/33",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "10.0.0.1%eth0",
            "fe80::1%eth0/64",
            "10.0.0.0/8/8",
        ] {
            assert!(!is_address_or_network(invalid), "{invalid}");
        }
    }
}
