//! The values of switches.

/// Parses a switch; `None` for a value because of which the webhook rejects the pod.
pub(super) fn parse_switch(value: &str) -> Option<bool> {
    match value {
        "enabled" | "true" | "yes" => Some(true),
        "disabled" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns whether a value switches something off.
#[must_use]
pub fn switches_off(value: &str) -> bool {
    parse_switch(value) == Some(false)
}

/// Returns whether Kuma accepts a value of its label; it rejects pods with any other value.
#[must_use]
pub fn is_switch(value: &str) -> bool {
    parse_switch(value).is_some()
}
