//! The `name` of an entry of `images`: a regular expression, usually a plain name with dots.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hashbrown::HashMap;
use regex::bytes::{Regex, RegexBuilder};

/// Pattern of an optional tag and an optional digest.
const TAG_AND_DIGEST: &str =
    "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?";

/// Expression for the text after the name of an image.
static AFTER_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| compile(""));

/// Returns the expression for images with a name; `None` if the name is not a regular expression.
pub(crate) fn compile(name: &str) -> Option<Regex> {
    RegexBuilder::new(&format!("^{name}{TAG_AND_DIGEST}$"))
        .unicode(false)
        .size_limit(1 << 20)
        .build()
        .ok()
}

/// Start of an expression, up to the first character that is neither a literal nor a `.`, which matches any byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start<'n> {
    text: &'n str,
    /// Whether this is the whole expression, which then need not be compiled.
    is_whole: bool,
}

impl<'n> Start<'n> {
    /// Parses the start of an expression.
    pub(crate) fn of(expression: &'n str) -> Self {
        let partial = |text| Self {
            text,
            is_whole: false,
        };
        if expression.contains('|') {
            return partial("");
        }
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ':' | '.');
        let Some(end) = expression.find(|c| !is_plain(c)) else {
            return Self {
                text: expression,
                is_whole: true,
            };
        };
        let (plain, rest) = expression.split_at_checked(end).unwrap_or_default();
        // The rest may repeat the last character.
        let is_counted = rest.starts_with(['*', '?', '+', '{']);
        let end = plain.len() - usize::from(is_counted && !plain.is_empty());
        partial(plain.get(..end).unwrap_or_default())
    }

    /// Returns whether the expression matches an image; `None` if only the whole expression can decide.
    pub(crate) fn matches(self, image: &str) -> Option<bool> {
        let Some((start, rest)) = image.as_bytes().split_at_checked(self.text.len()) else {
            return Some(false);
        };
        let mut pairs = self.text.bytes().zip(start);
        if !pairs.all(|(one, other)| one == *other || (one == b'.' && *other != b'\n')) {
            return Some(false);
        }
        let after = AFTER_NAME.as_ref().filter(|_| self.is_whole)?;
        Some(after.is_match(rest))
    }

    fn shape(self) -> Shape {
        let dots = self.text.match_indices('.').map(|(at, _)| at);
        Shape {
            length: self.text.len(),
            dots: dots.collect(),
            is_whole: self.is_whole,
        }
    }
}

/// Length of a start and the positions of its dots. Entries of equal length for one registry share a shape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    length: usize,
    dots: Vec<usize>,
    is_whole: bool,
}

impl Shape {
    /// Returns the start that an entry of this shape needs to match the image.
    fn start_of(&self, image: &str) -> Option<Vec<u8>> {
        let (start, rest) = image.as_bytes().split_at_checked(self.length)?;
        if self.is_whole && !matches!(rest.first(), None | Some(b':' | b'@')) {
            return None;
        }
        let mut start = start.to_vec();
        for &dot in &self.dots {
            *start.get_mut(dot)? = b'.';
        }
        Some(start)
    }
}

/// Positions of entries by the start of their names.
#[derive(Debug, Default)]
pub(crate) struct StartIndex(BTreeMap<Shape, HashMap<Vec<u8>, Vec<usize>>>);

impl StartIndex {
    /// Adds the entry at a position.
    pub(crate) fn push(&mut self, at: usize, start: Start<'_>) {
        let by_start = self.0.entry(start.shape()).or_default();
        let positions = by_start.entry_ref(start.text.as_bytes()).or_default();
        positions.push(at);
    }

    /// Returns the position of the first entry from `next` on that may match an image.
    pub(crate) fn first_for(&self, image: &str, next: usize) -> Option<usize> {
        let positions = self.0.iter().filter_map(|(shape, by_start)| {
            let positions = by_start.get(&shape.start_of(image)?)?;
            let from = positions.partition_point(|&at| at < next);
            positions.get(from).copied()
        });
        positions.min()
    }
}

#[cfg(test)]
mod tests {
    use crate::kustomize::image_name::{Start, StartIndex, compile};

    #[test]
    fn expressions_start_with_literals_and_dots() {
        for (expression, expected, is_whole) in [
            ("library/nginx", "library/nginx", true),
            ("quay.io/app", "quay.io/app", true),
            ("ab*c", "a", false),
            ("quay.*", "quay", false),
            ("quay.io/(a)", "quay.io/", false),
            ("a+", "", false),
            ("(a|b)", "", false),
            ("a|b", "", false),
            ("*", "", false),
            ("", "", true),
        ] {
            let start = Start::of(expression);
            assert_eq!((start.text, start.is_whole), (expected, is_whole));
        }
    }

    #[test]
    fn starts_match_the_same_images_as_the_expression() {
        let names = [
            "", "a", "a.b", "a.b/c", "h:5/a", "a.*", "a.?b", "a-b", ".", "a.",
        ];
        let images = [
            "a",
            "a:1",
            "a@sha256:0",
            "a:1@sha256:0",
            "a.b",
            "a-b:1",
            "axb/c",
            "axb/cd",
            "h:5/a:1",
            "h:5",
            "ab",
            "a\nb",
            "é",
            "é:1",
            ":1",
            "a:1:2",
            "a@",
            "a@b:c@d:e",
        ];
        for name in names {
            let expression = compile(name).unwrap();
            let mut index = StartIndex::default();
            index.push(0, Start::of(name));
            for image in images {
                let expected = expression.is_match(image.as_bytes());
                let found = Start::of(name).matches(image);
                assert!(
                    found.is_none_or(|found| found == expected),
                    "{name} {image}"
                );
                let may_match = index.first_for(image, 0).is_some();
                assert!(may_match || !expected, "{name} {image}");
            }
        }
    }
}
