//! Which objects a patch with a `target` is for.
//!
//! Source: kustomize 5.8.2, `api/types/selector.go` and `api/resmap/reswrangler.go` (`Select`);
//! label expressions as in `k8s.io/apimachinery/pkg/labels`.

use regex::bytes::{Regex, RegexBuilder};

use super::node::Node;
use super::resource::Resource;

/// The bytes a compiled expression may take.
const REGEX_SIZE: usize = 1 << 20;

/// A `target`.
#[derive(Debug, Default)]
pub(super) struct Target {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

impl Target {
    /// Reads a `target`; the error names what cannot be understood.
    pub(super) fn read(node: &Node) -> Result<Self, String> {
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

    /// Returns the name that an object must have or have had, where the target names one.
    pub(super) fn literal_name(&self) -> Option<&str> {
        match &self.name {
            Pattern::Literal(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn selects(&self, resource: &Resource) -> bool {
        let (now, first) = (resource.name(), resource.original());
        let (group, version) = resource.group_version();
        let holds = |requirements: &[Requirement], key: &str| {
            let map = resource.metadata(key);
            requirements.iter().all(|one| one.holds(map))
        };
        self.group.fits(group)
            && self.version.fits(version)
            && self.kind.fits(now.kind)
            && (self.name.fits(first.name) || self.name.fits(now.name))
            && (self.namespace.fits(first.namespace) || self.namespace.fits(now.namespace))
            && holds(&self.labels, "labels")
            && holds(&self.annotations, "annotations")
    }
}

/// A regular expression for a whole name; an empty one fits all.
#[derive(Debug, Default)]
enum Pattern {
    #[default]
    Any,
    Literal(String),
    /// A `.` fits any byte.
    Dotted(String),
    /// Literals with anything between them.
    Wild(Vec<String>),
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
        if text.chars().all(|c| is_plain(c) || c == '.') {
            return Ok(Self::Dotted(text.to_owned()));
        }
        // Most expressions are these; to compile one costs more than all that it is used for.
        if text.replace(".*", "").chars().all(is_plain) {
            let parts = text.split(".*").map(str::to_owned);
            return Ok(Self::Wild(parts.collect()));
        }
        let built = RegexBuilder::new(&format!("^(?:{text})$"))
            .unicode(false)
            .size_limit(REGEX_SIZE)
            .build();
        let built = built.map_err(|_| format!("`{text}` is no regular expression"))?;
        Ok(Self::Regex(built))
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => literal == text,
            Self::Dotted(dotted) => {
                let mut pairs = dotted.bytes().zip(text.bytes());
                dotted.len() == text.len()
                    && pairs.all(|(one, other)| one == other || (one == b'.' && other != b'\n'))
            }
            Self::Wild(parts) => fits_between(parts, text),
            Self::Regex(regex) => regex.is_match(text.as_bytes()),
        }
    }
}

/// Tells whether the parts stand in a text one after the other, the first at its start and the last
/// at its end. Anything but a line break may stand between them.
fn fits_between(parts: &[String], text: &str) -> bool {
    let Some((first, others)) = parts.split_first() else {
        return false;
    };
    let Some((last, inner)) = others.split_last() else {
        return first == text;
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else {
        return false;
    };
    for part in inner {
        let Some((_, behind)) = rest.split_once(part.as_str()) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last.as_str()) && !text.contains('\n')
}

/// One part of a label selector.
#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The values that are meant; none asks for the key alone.
    values: Vec<String>,
    /// What is said must not hold.
    negated: bool,
}

impl Requirement {
    /// A missing key fulfils what is negated.
    fn holds(&self, map: Option<&Node>) -> bool {
        let found = map.and_then(|map| map.get(&self.key)).and_then(Node::text);
        let said = found.is_some_and(|found| {
            self.values.is_empty() || self.values.iter().any(|value| value == found)
        });
        said != self.negated
    }

    fn read(text: &str) -> Option<Self> {
        let new = |key: &str, values: Vec<String>, negated: bool| Self {
            key: key.trim().to_owned(),
            values,
            negated,
        };
        let read = if let Some((key, value)) = text.split_once("!=") {
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
        let is_key = !read.key.is_empty() && !read.key.contains(char::is_whitespace);
        is_key.then_some(read)
    }
}

/// Reads `a=b,c in (d, e),!f`.
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
        Requirement::read(part.trim()).ok_or_else(|| format!("`{text}` is no label selector"))
    };
    parts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_as_a_whole() {
        for (pattern, text, fits) in [
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
                Pattern::read(pattern).unwrap().fits(text),
                fits,
                "{pattern} {text}"
            );
        }
        assert!(Pattern::read("(").is_err());
    }

    #[test]
    fn label_selectors_are_read() {
        let read = requirements("a=b, c!=d,e in (x, y),f notin (z),!g,h, i == j").unwrap();
        let said: Vec<_> = read
            .iter()
            .map(|one| (one.key.as_str(), one.values.join("|"), one.negated))
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
            said,
            expected.map(|(key, values, no)| (key, values.to_owned(), no))
        );
        assert_eq!(requirements(" ").unwrap(), Vec::new());
        for wrong in ["a b", "a near (b)", "=b", ",", "e in x"] {
            assert!(requirements(wrong).is_err(), "{wrong}");
        }
    }
}
