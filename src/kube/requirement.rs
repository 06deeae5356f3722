//! Label selectors of the full kind: `matchLabels` and `matchExpressions`.
//!
//! Source: `k8s.io/apimachinery` 0.36, `pkg/apis/meta/v1/helpers.go` (LabelSelectorAsSelector) and
//! `pkg/labels/selector.go` (Requirement.Matches).

use crate::yaml::NodeRef;

/// What a label must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

/// A label selector, owned: it outlives the document that it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    all: Vec<(String, Test)>,
    /// An operator that the API does not know: the selector is refused, so it matches nothing.
    is_void: bool,
}

impl Requirements {
    /// Reads a `LabelSelector` of the API; nothing, null and `{}` ask for nothing.
    #[must_use]
    pub fn parse(node: Option<NodeRef<'_>>) -> Self {
        let mut read = Self::default();
        let Some(node) = node else { return read };
        for entry in node
            .get("matchLabels")
            .into_iter()
            .flat_map(NodeRef::effective_entries)
        {
            if let (Some(key), Some(value)) = (entry.key.text(), entry.value.text()) {
                read.all
                    .push((key.to_owned(), Test::In(vec![value.to_owned()])));
            }
        }
        let expressions = node.get("matchExpressions").into_iter();
        for item in expressions.flat_map(NodeRef::items) {
            match expression(item) {
                Some(one) => read.all.push(one),
                None => read.is_void = true,
            }
        }
        read
    }

    /// Tells whether the selector asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && !self.is_void
    }

    /// Tells whether the API server refuses the selector: it has an operator that is none.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.is_void
    }

    /// Tells whether labels meet every requirement that can be read; `label` gives the value of a
    /// label, if there is one.
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

    /// Tells whether labels meet every requirement; `label` gives the value of a label, if there
    /// is one.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.is_void && self.may_match(label)
    }

    /// Iterates over the labels that must be set to one of a list of values.
    pub fn required(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.all.iter().filter_map(|(key, test)| match test {
            Test::In(values) => Some((key.as_str(), values.as_slice())),
            Test::NotIn(_) | Test::Exists | Test::DoesNotExist => None,
        })
    }
}

fn contains(values: &[String], value: &str) -> bool {
    values.iter().any(|one| one == value)
}

fn expression(item: NodeRef<'_>) -> Option<(String, Test)> {
    let key = item.get("key")?.text()?.to_owned();
    let values = || {
        let items = item.get("values").into_iter().flat_map(NodeRef::items);
        items.filter_map(NodeRef::text).map(str::to_owned).collect()
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
    use crate::yaml::{Span, Tree, parse};

    fn matches(selector: &str, labels: &[(&str, &'static str)]) -> bool {
        let text: Arc<str> = Arc::from(selector);
        let tree = parse(&text, Span::new(0, text.len())).unwrap();
        let read = Requirements::parse(tree.as_ref().and_then(Tree::root));
        read.matches(|key| {
            labels
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, v)| *v)
        })
    }

    #[test]
    fn operators_follow_the_api() {
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
