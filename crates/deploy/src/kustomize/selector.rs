//! Selection of the objects of a patch with a `target`.
//!
//! Source: kustomize 5.8.2, `api/types/selector.go` and `api/resmap/reswrangler.go` (`Select`);
//! label expressions as in `k8s.io/apimachinery/pkg/labels`.

use regex::bytes::{Regex, RegexBuilder};

use crate::kustomize::node::Node;
use crate::kustomize::resource::Resource;

/// Maximum size of a compiled expression in bytes.
const REGEX_SIZE: usize = 1 << 20;

/// Parsed `target` of a patch.
#[derive(Debug, Default)]
pub(crate) struct Target {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

impl Target {
    /// Returns the objects of a kind, which is literal; all objects if it is empty.
    pub(crate) fn of_kind(kind: &str) -> Self {
        Self {
            kind: match kind {
                "" => Pattern::Any,
                kind => Pattern::Literal(kind.to_owned()),
            },
            ..Self::default()
        }
    }

    /// Parses a `target`.
    ///
    /// # Errors
    /// An expression or a label selector is invalid; the error contains it.
    pub(crate) fn read(node: &Node) -> Result<Self, String> {
        let pattern = |key: &str| Pattern::read(node.text_below(&[key]));
        Ok(Self {
            group: pattern("group")?,
            version: pattern("version")?,
            kind: pattern("kind")?,
            name: pattern("name")?,
            namespace: pattern("namespace")?,
            labels: requirements(node.text_below(&["labelSelector"]))?,
            annotations: requirements(node.text_below(&["annotationSelector"]))?,
        })
    }

    /// Returns the name that an object must have or have had, if the target has a literal name.
    pub(crate) fn literal_name(&self) -> Option<&str> {
        match &self.name {
            Pattern::Literal(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn selects(&self, resource: &Resource) -> bool {
        let (current, original) = (resource.name(), resource.original());
        let (group, version) = resource.group_version();
        let holds = |requirements: &[Requirement], key: &str| {
            let map = resource.metadata(key);
            requirements
                .iter()
                .all(|requirement| requirement.holds(map))
        };
        self.group.matches(group)
            && self.version.matches(version)
            && self.kind.matches(current.kind)
            && (self.name.matches(original.name) || self.name.matches(current.name))
            && (self.namespace.matches(original.namespace)
                || self.namespace.matches(current.namespace))
            && holds(&self.labels, "labels")
            && holds(&self.annotations, "annotations")
    }
}

/// Regular expression for a whole name; an empty one matches every name.
#[derive(Debug, Default)]
enum Pattern {
    #[default]
    Any,
    Literal(String),
    Regex(Regex),
}

impl Pattern {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
        if text.chars().all(is_plain) {
            return Ok(Self::Literal(text.to_owned()));
        }
        let built = RegexBuilder::new(&format!("^(?:{text})$"))
            .unicode(false)
            .size_limit(REGEX_SIZE)
            .build();
        let built = built.map_err(|_| format!("`{text}` is not a regular expression"))?;
        Ok(Self::Regex(built))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => literal == text,
            Self::Regex(regex) => regex.is_match(text.as_bytes()),
        }
    }
}

/// Condition of a label selector.
#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The accepted values; empty if any value is accepted.
    values: Vec<String>,
    /// Whether the condition must not hold.
    negated: bool,
}

impl Requirement {
    /// Returns whether labels or annotations meet the condition. A missing key meets a negated one.
    fn holds(&self, map: Option<&Node>) -> bool {
        let found = map.and_then(|map| map.get(&self.key)).and_then(Node::text);
        let is_accepted = found.is_some_and(|found| {
            self.values.is_empty() || self.values.iter().any(|value| value == found)
        });
        is_accepted != self.negated
    }

    fn read(text: &str) -> Option<Self> {
        let new = |key: &str, values: Vec<String>, negated: bool| Self {
            key: key.trim().to_owned(),
            values,
            negated,
        };
        let requirement = if let Some((key, value)) = text.split_once("!=") {
            new(key, vec![value.trim().to_owned()], true)
        } else if let Some((key, value)) = text.split_once('=') {
            let value = value.strip_prefix('=').unwrap_or(value);
            new(key, vec![value.trim().to_owned()], false)
        } else if let Some((front, values)) = text.split_once('(') {
            let values = values.trim_end().strip_suffix(')')?;
            let values = values.split(',').map(|value| value.trim().to_owned());
            let mut words = front.split_whitespace();
            let (key, operator) = (words.next()?, words.next()?);
            let negated = match operator {
                "in" => false,
                "notin" => true,
                _ => return None,
            };
            new(key, values.collect(), negated)
        } else if let Some(key) = text.strip_prefix('!') {
            new(key, Vec::new(), true)
        } else {
            new(text, Vec::new(), false)
        };
        let key = &requirement.key;
        let is_key = !key.is_empty() && !key.contains(char::is_whitespace);
        is_key.then_some(requirement)
    }
}

/// Parses a label selector such as `a=b,c in (d, e),!f`.
fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parts: Vec<String> = Vec::new();
    let (mut part, mut depth) = (String::new(), 0_u32);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let read = |part: &String| {
        Requirement::read(part.trim()).ok_or_else(|| format!("`{text}` is not a label selector"))
    };
    parts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use crate::kustomize::selector::*;

    #[test]
    fn names_are_matched_as_a_whole() {
        for (pattern, text, matches) in [
            ("web", "web", true),
            ("web", "web-2", false),
            ("web.*", "web-2", true),
            ("a.io", "a.io", true),
            ("a.io", "a-io", true),
            ("a.io", "a.iota", false),
            (".", "é", false),
            ("..", "é", true),
            ("a|b", "ab", false),
            ("a|b", "b", true),
            (r"v\d+", "v1", true),
            ("", "anything", true),
            (".*", "anything", true),
            ("a.*b", "a-b", true),
            ("a.*b", "ab", true),
            ("a.*a", "a", false),
            ("a.*b.*c", "abxbc", true),
            ("a.*b.*c", "acb", false),
            (".*-web", "my-web-2", false),
        ] {
            assert_eq!(
                Pattern::read(pattern).unwrap().matches(text),
                matches,
                "{pattern} {text}"
            );
        }
        assert!(Pattern::read("(").is_err());
    }

    #[test]
    fn label_selectors_are_parsed() {
        let parsed: Vec<_> = requirements("a=b, c!=d,e in (x, y),f notin (z),!g,h, i == j")
            .unwrap()
            .into_iter()
            .map(|requirement| {
                let values = requirement.values.join("|");
                (requirement.key, values, requirement.negated)
            })
            .collect();
        let expected = [
            ("a", "b", false),
            ("c", "d", true),
            ("e", "x|y", false),
            ("f", "z", true),
            ("g", "", true),
            ("h", "", false),
            ("i", "j", false),
        ];
        assert_eq!(
            parsed,
            expected.map(|(key, values, negated)| (key.to_owned(), values.to_owned(), negated))
        );
        assert_eq!(requirements(" ").unwrap(), Vec::new());
        for wrong in ["a b", "a near (b)", "=b", ",", "e in x"] {
            assert!(requirements(wrong).is_err(), "{wrong}");
        }
    }
}
