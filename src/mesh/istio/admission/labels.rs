//! Labels in the metadata of a WorkloadGroup.
//!
//! Source: Istio 1.31, `Instance.Validate` in `pkg/config/labels/instance.go`.

/// The maximum length of the name in a key; a value has no maximum.
const MOST_OF_NAME: usize = 63;
/// The maximum length of the domain in a key.
const MOST_OF_DOMAIN: usize = 253;

/// Returns why istiod rejects the key of a label.
pub(super) fn key_fault(key: &str) -> Option<String> {
    let is_valid = match key.rsplit_once('/') {
        Some((domain, name)) => {
            domain.len() <= MOST_OF_DOMAIN
                && domain.split('.').all(is_domain_label)
                && is_name(name)
        }
        None => is_name(key),
    };
    (!is_valid).then(|| "is not a valid key of a label".to_owned())
}

/// Returns why istiod rejects the value of a label.
pub(super) fn value_fault(value: &str) -> Option<String> {
    let is_valid = value.is_empty() || is_qualified(value, "-_.");
    (!is_valid).then(|| "is not a valid value of a label".to_owned())
}

fn is_name(name: &str) -> bool {
    name.len() <= MOST_OF_NAME && is_qualified(name, "-_.")
}

fn is_domain_label(label: &str) -> bool {
    is_qualified(label, "-")
}

/// Returns whether a text starts and ends with a letter or a digit, with letters, digits and `others` in between.
fn is_qualified(text: &str, others: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(is_plain)
        && text.ends_with(is_plain)
        && text.chars().all(|c| is_plain(c) || others.contains(c))
}

#[cfg(test)]
mod tests {
    use super::{key_fault, value_fault};

    #[test]
    fn keys_and_values_are_checked() {
        for key in ["app", "a.b_c-d", "example.com/app", "App/x"] {
            assert_eq!(key_fault(key), None, "{key}");
        }
        for key in [
            "",
            "-a",
            "a/",
            "/a",
            "a b",
            "a/b/c",
            "a_b.c/d",
            &"x".repeat(64),
        ] {
            assert!(key_fault(key).is_some(), "{key}");
        }
        assert_eq!(value_fault(""), None);
        assert_eq!(value_fault("v1.2_x"), None);
        assert!(value_fault("*").is_some());
        assert!(value_fault("a-").is_some());
    }
}
