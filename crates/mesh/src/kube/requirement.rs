//! Label selectors with `matchLabels` and `matchExpressions`.
//!
//! Source: `k8s.io/apimachinery` 0.36, `pkg/apis/meta/v1/helpers.go` (LabelSelectorAsSelector) and
//! `pkg/labels/selector.go` (Requirement.Matches).

use meshprobe_yaml::NodeRef;

/// Condition on the value of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

/// Owned label selector, which outlives its document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    all: Vec<(String, Test)>,
    /// Whether an operator is unknown to the API, which rejects the selector: it matches nothing.
    is_void: bool,
}

impl Requirements {
    /// Parses a `LabelSelector` of a custom resource, from which the API server removes null. A missing selector, null
    /// and `{}` have no requirements.
    #[must_use]
    pub fn parse(node: Option<NodeRef<'_>>) -> Self {
        Self::with_null(node, None)
    }

    /// Parses a `LabelSelector` of an object of Kubernetes itself, in which null is the empty text.
    #[must_use]
    pub fn parse_builtin(node: Option<NodeRef<'_>>) -> Self {
        Self::with_null(node, Some(""))
    }

    fn with_null(node: Option<NodeRef<'_>>, null: Option<&str>) -> Self {
        let mut requirements = Self::default();
        let Some(node) = node else {
            return requirements;
        };
        for entry in node
            .get("matchLabels")
            .into_iter()
            .flat_map(NodeRef::effective_entries)
        {
            let value = match entry.value.is_null() {
                true => null,
                false => entry.value.text(),
            };
            if let (Some(key), Some(value)) = (entry.key.text(), value) {
                requirements
                    .all
                    .push((key.to_owned(), Test::In(vec![value.to_owned()])));
            }
        }
        let expressions = node.get("matchExpressions").into_iter();
        for item in expressions.flat_map(NodeRef::items) {
            match expression(item) {
                Some(requirement) => requirements.all.push(requirement),
                None => requirements.is_void = true,
            }
        }
        requirements
    }

    /// Returns the selector of objects with a label, with any value if none is given.
    #[must_use]
    pub fn of_label(key: &str, value: Option<&str>) -> Self {
        let test = value.map_or(Test::Exists, |value| Test::In(vec![value.to_owned()]));
        Self {
            all: vec![(key.to_owned(), test)],
            is_void: false,
        }
    }

    /// Returns whether the selector has no requirements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && !self.is_void
    }

    /// Returns whether the API server rejects the selector because of an unknown operator.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.is_void
    }

    /// Returns whether labels meet every requirement that could be parsed. `label` returns the value
    /// of a label, if there is one.
    pub fn may_match<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.all.iter().all(|(key, test)| {
            let value = label(key);
            match test {
                Test::In(values) => value.is_some_and(|value| contains(values, value)),
                Test::NotIn(values) => value.is_none_or(|value| !contains(values, value)),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
            }
        })
    }

    /// Returns whether labels meet every requirement. `label` returns the value of a label, if there
    /// is one.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.is_void && self.may_match(label)
    }

    /// Iterates over the labels that the requirements are about.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(key, _)| key.as_str())
    }
}

fn contains(values: &[String], value: &str) -> bool {
    values.iter().any(|candidate| candidate == value)
}

fn expression(item: NodeRef<'_>) -> Option<(String, Test)> {
    let key = item.get("key")?.text()?.to_owned();
    let values = || {
        item.get("values")
            .into_iter()
            .flat_map(NodeRef::items)
            .filter_map(NodeRef::text)
            .map(str::to_owned)
            .collect()
    };
    let test = match item.get("operator")?.text()? {
        "In" => Test::In(values()),
        "NotIn" => Test::NotIn(values()),
        "Exists" => Test::Exists,
        "DoesNotExist" => Test::DoesNotExist,
        _ => return None,
    };
    Some((key, test))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use meshprobe_yaml::{Span, Tree, parse};

    fn matches(selector: &str, labels: &[(&str, &'static str)]) -> bool {
        let text: Arc<str> = Arc::from(selector);
        let tree = parse(&text, Span::new(0, text.len())).unwrap();
        let requirements = Requirements::parse(tree.as_ref().and_then(Tree::root));
        requirements.matches(|key| {
            labels
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, v)| *v)
        })
    }

    #[test]
    fn operators_match_as_in_the_api() {
        let not_false = "matchExpressions: [{key: inject, operator: NotIn, values: ['false']}]";
        assert!(matches(not_false, &[]));
        assert!(matches(not_false, &[("inject", "true")]));
        assert!(!matches(not_false, &[("inject", "false")]));
        let both = "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}";
        assert!(matches(both, &[("a", "b"), ("c", "")]));
        assert!(!matches(both, &[("a", "b")]));
        assert!(!matches(both, &[("c", "x")]));
        let absent = "matchExpressions: [{key: c, operator: DoesNotExist}]";
        assert!(matches(absent, &[]));
        assert!(!matches(absent, &[("c", "x")]));
        let within = "matchExpressions: [{key: c, operator: In, values: [x, y]}]";
        assert!(matches(within, &[("c", "y")]));
        assert!(!matches(within, &[]));
    }

    #[test]
    fn an_unknown_operator_matches_nothing() {
        assert!(!matches(
            "matchExpressions: [{key: c, operator: Gt, values: ['1']}]",
            &[("c", "2")]
        ));
        assert!(matches("{}", &[]));
    }
}
