//! The ids of rules, notices and guards.

use std::borrow::Borrow;
use std::fmt::{self, Display, Formatter};

use serde::{Serialize, Serializer};

/// The id of a rule, a notice or a guard, in kebab case. All three share one set of ids.
///
/// Only [`RuleNames`](crate::settings::RuleNames) converts text that a user wrote into an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(&'static str);

impl RuleId {
    /// Returns the id with this text; `None` if the text is not in kebab case.
    #[must_use]
    pub const fn from_static(id: &'static str) -> Option<Self> {
        if is_kebab_case(id.as_bytes()) {
            Some(Self(id))
        } else {
            None
        }
    }

    /// Returns the text of the id.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// Returns whether a text consists of lower-case words and digits, each separated by one hyphen.
const fn is_kebab_case(text: &[u8]) -> bool {
    let mut rest = text;
    let mut after_hyphen = true;
    while let [first, others @ ..] = rest {
        let is_hyphen = *first == b'-';
        let is_allowed = if is_hyphen {
            !after_hyphen
        } else {
            first.is_ascii_lowercase() || first.is_ascii_digit()
        };
        if !is_allowed {
            return false;
        }
        after_hyphen = is_hyphen;
        rest = others;
    }
    !after_hyphen
}

impl Display for RuleId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// Allows lookups by the text of an id.
impl Borrow<str> for RuleId {
    fn borrow(&self) -> &str {
        self.0
    }
}

/// Creates the id of a rule, a notice or a guard. A literal that is not in kebab case does not compile.
#[macro_export]
macro_rules! rule_id {
    ($id:literal) => {
        const { $crate::finding::RuleId::from_static($id).expect("the id is in kebab case") }
    };
}
pub use rule_id;

#[cfg(test)]
mod tests {
    use super::RuleId;

    #[test]
    fn ids_are_in_kebab_case() {
        for id in ["a", "probe-host", "grpc-probe-needs-1-13"] {
            assert_eq!(RuleId::from_static(id).map(RuleId::as_str), Some(id));
        }
        for text in ["", "-", "a-", "-a", "a--b", "Probe", "a_b", "a b", "ä"] {
            assert_eq!(RuleId::from_static(text), None, "{text}");
        }
    }

    #[test]
    fn ids_are_aligned_like_texts() {
        let id = RuleId::from_static("a-b").unwrap();
        assert_eq!(format!("{id:<5}|"), "a-b  |");
    }
}
