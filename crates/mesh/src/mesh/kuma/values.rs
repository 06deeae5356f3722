//! The values of annotations, as `pkg/plugins/runtime/k8s/metadata/annotations.go` and
//! `pkg/transparentproxy/config` of v2.14.3 and 348b6528 parse them.

/// Parses an unsigned number without a sign (`GetUint32`).
pub(super) fn parse_uint(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Parses `KEY=VALUE;KEY=VALUE` (`GetMap`); `None` for a value because of which the webhook rejects the pod.
pub(super) fn parse_pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    text.split(';')
        .map(|pair| {
            pair.split_once('=')
                .filter(|(_, value)| !value.contains('='))
        })
        .collect()
}

/// Returns whether a value is a list of ports from 1 to 65535, without ranges (`Ports.append`). Empty items are skipped.
pub(super) fn are_ports(text: &str) -> bool {
    text.split(',')
        .map(str::trim)
        .filter(|port| !port.is_empty())
        .all(|port| parse_uint(port).is_some_and(|port| (1..=65535).contains(&port)))
}
