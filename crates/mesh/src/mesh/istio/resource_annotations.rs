//! The annotations that set the resources of the sidecar, and the names of network interfaces.
//!
//! Source: Istio 1.31, `validateResourceQuantity` in `pkg/kube/inject/validate.go` and `ValidateInterfaceNames` in
//! `pkg/util/net/ip.go`; Kubernetes 1.36, `parseQuantityString` in `apimachinery/pkg/api/resource/quantity.go`.

use crate::mesh::{ReleaseChange, Version};

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
