//! The values of annotations that the injector rejects.
//!
//! Source: Istio 1.31, `pkg/kube/inject/validate.go`.
//!
//! The annotations that set the resources of the sidecar, and the names of network interfaces.
//!
//! Source: Istio 1.31, `validateResourceQuantity` in `pkg/kube/inject/validate.go` and `ValidateInterfaceNames` in
//! `pkg/util/net/ip.go`; Kubernetes 1.36, `parseQuantityString` in `apimachinery/pkg/api/resource/quantity.go`.

use core::net::IpAddr;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use super::keys;
use super::proxy_config::{ProxyConfig, Unreadable};
use super::rewrite::parse_bool;
use crate::kube::PodTemplate;
use crate::mesh::{ReleaseChange, Version};

/// The annotations that list network interfaces.
const INTERFACES: [&str; 3] = [
    "istio.io/reroute-virtual-interfaces",
    "traffic.sidecar.istio.io/excludeInterfaces",
    "traffic.sidecar.istio.io/kubevirtInterfaces",
];

/// Returns why the injector rejects a pod with this annotation, in a few words; `None` if it
/// accepts the value. `proxy.istio.io/config` depends on the release, and is not judged here.
#[must_use]
pub fn rejection_reason(key: &str, value: &str) -> Option<String> {
    match key {
        keys::INCLUDE_INBOUND_PORTS if value == "*" => None,
        keys::INCLUDE_INBOUND_PORTS
        | keys::EXCLUDE_INBOUND_PORTS
        | "traffic.sidecar.istio.io/excludeOutboundPorts" => port_list(value),
        keys::STATUS_PORT => not_a_port(value),
        keys::INTERCEPTION_MODE => (!matches!(value, "REDIRECT" | "TPROXY" | "NONE"))
            .then(|| "it must be REDIRECT, TPROXY or NONE".to_owned()),
        "readiness.status.sidecar.istio.io/initialDelaySeconds"
        | "readiness.status.sidecar.istio.io/periodSeconds"
        | "readiness.status.sidecar.istio.io/failureThreshold" => {
            let fits = is_digits(value) && value.parse::<u32>().is_ok();
            (!fits).then(|| "it must be a whole number".to_owned())
        }
        "traffic.sidecar.istio.io/includeOutboundIPRanges" if value == "*" => None,
        "traffic.sidecar.istio.io/includeOutboundIPRanges"
        | "traffic.sidecar.istio.io/excludeOutboundIPRanges" => address_ranges(value),
        keys::MERGE_METRICS => parse_bool(value)
            .is_none()
            .then(|| "it must be \"true\" or \"false\"".to_owned()),
        "sidecar.istio.io/proxyCPU"
        | "sidecar.istio.io/proxyCPULimit"
        | "sidecar.istio.io/proxyMemory"
        | "sidecar.istio.io/proxyMemoryLimit" => {
            (!is_quantity(value)).then(|| format!("`{value}` is not a quantity"))
        }
        _ if INTERFACES.contains(&key) => interface_fault(value),
        _ => None,
    }
}

/// Returns the change since which the injector rejects a value; `None` if all modelled releases reject it.
fn rejected_since(key: &str, value: &str) -> Option<&'static ReleaseChange> {
    let is_resource = key.starts_with("sidecar.istio.io/proxy");
    if is_resource && may_be_quantity_in_yaml(value) {
        return Some(&QUANTITIES_VALIDATED);
    }
    INTERFACES.contains(&key).then_some(&INTERFACES_VALIDATED)
}

/// An annotation because of which the injector rejects a pod.
#[derive(Clone, Debug)]
pub struct RejectedAnnotation<'t> {
    /// The annotation.
    pub entry: Entry<'t>,
    /// The reason, in a few words.
    pub reason: String,
    /// The change since which the injector rejects the value; `None` if all modelled releases reject it.
    pub since: Option<&'static ReleaseChange>,
}

/// Returns the annotations because of which the injector of a release rejects the pods of a template. Values that another
/// tool fills in are excluded.
pub fn rejections_in<'t>(
    template: &PodTemplate<'t>,
    release: Option<Version>,
) -> impl Iterator<Item = RejectedAnnotation<'t>> + use<'t> {
    template
        .annotations()
        .into_iter()
        .flat_map(NodeRef::effective_entries)
        .filter_map(move |entry| {
            let (key, value) = (entry.key.text()?, entry.value.as_str()?);
            let is_filled_in = placeholder::contains(value) || is_replacement_name(key, value);
            if is_filled_in {
                return None;
            }
            let (reason, since) = if key == keys::PROXY_CONFIG {
                proxy_config(value, release)?
            } else {
                (rejection_reason(key, value)?, rejected_since(key, value))
            };
            let is_rejected = since.is_none_or(|change| change.is_in(release));
            is_rejected.then_some(RejectedAnnotation {
                entry,
                reason,
                since,
            })
        })
}

/// Returns whether a value is a name such as `DB_PORT` that a later step replaces with a number, for
/// example `replacements` of a kustomization: no port has such a name.
pub(super) fn is_replacement_name(key: &str, value: &str) -> bool {
    let is_name = |word: &str| {
        let mut bytes = word.trim().bytes();
        word.contains('_')
            && bytes.all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    key != keys::PROXY_CONFIG && value.split(',').any(is_name)
}

/// Returns the ports of a list, in order; entries that are not ports are skipped.
pub fn ports(list: &str) -> impl Iterator<Item = i64> {
    list.split(',')
        .filter_map(|entry| entry.trim().parse().ok())
}

fn port_list(value: &str) -> Option<String> {
    let value = value.trim();
    if value.is_empty() {
        return None;
    }
    value.split(',').find_map(not_a_port)
}

fn not_a_port(entry: &str) -> Option<String> {
    let port = entry.trim();
    let fits = is_digits(port) && port.parse::<u16>().is_ok();
    (!fits).then(|| match port {
        "" => "an entry between two commas, or after the last one, is empty".to_owned(),
        _ => format!("`{entry}` is not a port number"),
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn address_ranges(value: &str) -> Option<String> {
    if value.is_empty() {
        return None;
    }
    let is_range = |range: &str| {
        let parts = range.split_once('/');
        parts.is_some_and(|(address, bits)| {
            let most = match address.parse() {
                Ok(IpAddr::V4(_)) => 32,
                Ok(IpAddr::V6(_)) => 128,
                Err(_) => return false,
            };
            is_digits(bits) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
        })
    };
    let wrong = value.split(',').find(|range| !is_range(range))?;
    Some(format!(
        "`{wrong}` is not an address range such as 10.0.0.0/8"
    ))
}

/// Returns why the injector of a release rejects `proxy.istio.io/config`, and the change since which it does.
fn proxy_config(
    value: &str,
    release: Option<Version>,
) -> Option<(String, Option<&'static ReleaseChange>)> {
    match ProxyConfig::parse(value) {
        Ok(config) => {
            let fault = config.fault(release)?;
            Some((fault.message, fault.since))
        }
        Err(Unreadable::Refused(reason)) => Some((reason, None)),
        Err(Unreadable::Differs(_)) => None,
    }
}

/// The releases that validate quantities. Earlier ones insert them into a YAML text between double quotes, and refuse the
/// pod if the result contains no quantity.
pub(super) const QUANTITIES_VALIDATED: ReleaseChange =
    ReleaseChange::new(Version::new(1, 29), &[(27, 6), (28, 4)]);
/// The releases that validate names of network interfaces.
pub(super) const INTERFACES_VALIDATED: ReleaseChange = ReleaseChange::new(Version::new(1, 30), &[]);

/// The maximum length of the name of an interface in Linux.
const MAX_NAME: usize = 15;

/// The suffixes of a quantity, except exponents.
const SUFFIXES: [&str; 15] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi",
];

/// Returns whether Kubernetes reads a text as a quantity. A sign or a suffix without digits is 0.
pub(super) fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_digit = |c: char| c.is_ascii_digit();
    let rest = unsigned.trim_start_matches(is_digit);
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    // Digits that follow others without a dot were removed above.
    let suffix = rest.trim_start_matches(is_digit);
    let exponent = suffix.strip_prefix(['e', 'E']);
    let is_exponent = exponent.is_some_and(|exponent| exponent.parse::<i64>().is_ok());
    !text.is_empty() && (SUFFIXES.contains(&suffix) || suffix == "Ei" || is_exponent)
}

/// Returns whether releases without the validation may accept a value: blanks around a quantity are dropped, and quotes
/// and escapes have their meaning in YAML.
pub(super) fn may_be_quantity_in_yaml(value: &str) -> bool {
    is_quantity(value.trim()) || value.contains(['"', '\\'])
}

/// Returns why the injector rejects a list of network interfaces; `None` if it accepts the list.
pub(super) fn interface_fault(list: &str) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    list.split(',').map(str::trim).find_map(|name| {
        let mut characters = name.chars();
        let is_name = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
            && characters.all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if name.is_empty() {
            Some("the name of an interface is empty".to_owned())
        } else if name.len() > MAX_NAME {
            Some(format!("`{name}` has more than {MAX_NAME} characters"))
        } else if is_name {
            None
        } else {
            Some(format!("`{name}` is not the name of an interface"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_injector_rejects_the_values_that_its_validator_rejects() {
        // Source of the verdicts: the injector of Istio 1.31 ran over them.
        for value in ["*", "8080,", "+8080", "http", " *", "none"] {
            assert!(
                rejection_reason(keys::EXCLUDE_INBOUND_PORTS, value).is_some(),
                "{value}"
            );
        }
        for value in ["", "8080, 9090", " 8080 "] {
            assert_eq!(
                rejection_reason(keys::EXCLUDE_INBOUND_PORTS, value),
                None,
                "{value}"
            );
        }
        for value in ["", "abc", "-1", "70000", "+15022"] {
            assert!(
                rejection_reason(keys::STATUS_PORT, value).is_some(),
                "{value}"
            );
        }
        for value in ["0", " 15022 "] {
            assert_eq!(rejection_reason(keys::STATUS_PORT, value), None, "{value}");
        }
        assert_eq!(rejection_reason(keys::INCLUDE_INBOUND_PORTS, "*"), None);
        assert!(rejection_reason(keys::INTERCEPTION_MODE, "none").is_some());
    }

    #[test]
    fn other_values_are_parsed_as_in_go() {
        let ranges = "traffic.sidecar.istio.io/excludeOutboundIPRanges";
        for value in ["", "10.0.0.0/8", "10.0.0.0/8,2001:db8::/32"] {
            assert_eq!(rejection_reason(ranges, value), None, "{value}");
        }
        for value in ["*", "10.0.0.1", "10.0.0.0/33", "10.0.0.0/8, 10.1.0.0/16"] {
            assert!(rejection_reason(ranges, value).is_some(), "{value}");
        }
        for value in ["100m", "0.5", "1", "128Mi", "1e3", "2.5G"] {
            assert_eq!(
                rejection_reason("sidecar.istio.io/proxyCPU", value),
                None,
                "{value}"
            );
        }
        for value in ["100 m", "1.2.3", "", "12MB"] {
            assert!(
                rejection_reason("sidecar.istio.io/proxyCPU", value).is_some(),
                "{value}"
            );
        }
        assert_eq!(proxy_config("statusPort: 15555", None), None);
        assert!(proxy_config("a: [", None).is_some());
        assert!(proxy_config("text", None).is_some());
    }

    /// Source of the verdicts: `resource.ParseQuantity` of Kubernetes 1.33.
    #[test]
    fn quantities_are_read_as_in_go() {
        for text in [
            "100m",
            "0.5",
            "1",
            "128Mi",
            "1e3",
            "2.5G",
            "1E-2",
            "1e+3",
            "5.",
            ".5",
            "+5",
            "-5",
            "Mi",
            "+",
            ".",
            "e5",
            "1Ei",
            "99999999999999999999999",
        ] {
            assert!(is_quantity(text), "{text}");
        }
        for text in [
            "", " ", " 1", "1 ", "100 m", "1.2.3", "12MB", "1e", "1e--3", "+-5", "1K", "1ki",
            "abc", "1_0", "0x1", "m1",
        ] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
