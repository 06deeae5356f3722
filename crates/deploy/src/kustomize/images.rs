//! `images`: new names, tags and digests for the images of containers.
//!
//! Relevant only because `image: auto` and proxy images are evidence of a mesh.
//! Source: kustomize 5.8.2, `api/filters/imagetag` and `api/internal/image`.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use meshprobe_yaml::NodeRef;
use regex::bytes::{Regex, RegexBuilder};

use crate::kustomize::node::{Node, Value};
use crate::kustomize::resource::Resource;

/// Common part of the keys in [`LISTS`].
const LISTS_SUFFIX: &str = "ontainers";

/// Pattern of an optional tag and an optional digest.
const TAG_AND_DIGEST: &str =
    "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?";

/// Expression for the text after the name of an image.
static AFTER_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| compile(""));

/// Returns the expression for images with a name; `None` if the name is not a regular expression.
fn compile(name: &str) -> Option<Regex> {
    RegexBuilder::new(&format!("^{name}{TAG_AND_DIGEST}$"))
        .unicode(false)
        .size_limit(1 << 20)
        .build()
        .ok()
}

/// Entries of `images`.
pub(crate) struct Images<'n>(Vec<Image<'n>>);

impl<'n> Images<'n> {
    pub(crate) fn of(entries: &'n [Node]) -> Self {
        let image = |entry: &'n Node| Image {
            entry,
            name: entry.text_below(&["name"]),
            pattern: OnceCell::new(),
        };
        Self(entries.iter().map(image).collect())
    }

    /// Changes the images of an object. Applies the entries in order, as kustomize does: a later one sees the name that
    /// an earlier one set.
    pub(crate) fn apply(&self, resource: &mut Resource) {
        if self.0.is_empty() || !resource.body.may_mention(LISTS_SUFFIX) {
            return;
        }
        let mut names = images_of(&resource.body);
        for image in &self.0 {
            if names.iter().any(|name| image.matches(name))
                && let Some(changed) = image.applied(&resource.body)
            {
                *resource.change() = changed;
                names = images_of(&resource.body);
            }
        }
    }
}

/// Entry of `images`.
struct Image<'n> {
    entry: &'n Node,
    /// A regular expression, usually a plain name with dots, which match any byte.
    name: &'n str,
    /// Compiled for names that are not plain; `None` if the name is not a regular expression, and changes nothing.
    pattern: OnceCell<Option<Regex>>,
}

impl Image<'_> {
    fn matches(&self, image: &str) -> bool {
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ':' | '.');
        if image.is_empty() {
            return false;
        }
        if !self.name.chars().all(is_plain) {
            let pattern = self.pattern.get_or_init(|| compile(self.name));
            return pattern
                .as_ref()
                .is_some_and(|pattern| pattern.is_match(image.as_bytes()));
        }
        let Some((start, rest)) = image.as_bytes().split_at_checked(self.name.len()) else {
            return false;
        };
        let mut pairs = self.name.bytes().zip(start);
        pairs.all(|(one, other)| one == *other || (one == b'.' && *other != b'\n'))
            && AFTER_NAME
                .as_ref()
                .is_some_and(|after| after.is_match(rest))
    }

    /// Returns an object with its images changed; `None` if no image matches. kustomize searches containers anywhere in
    /// the object, and then again in the pod spec and the pod template. Some changes, such as `tagSuffix`, are
    /// therefore applied twice.
    fn applied(&self, object: &Node) -> Option<Node> {
        let mut object = self.with_images_changed(object)?;
        for path in [&["spec"][..], &["spec", "template", "spec"]] {
            for list in LISTS {
                let spec = path
                    .iter()
                    .try_fold(&mut object, |node, key| node.get_mut(key));
                let list = spec.and_then(|spec| spec.get_mut(list));
                if let Some(Value::Seq(items)) = list.map(|list| &mut list.value) {
                    for item in Arc::make_mut(items).iter_mut() {
                        self.change(item);
                    }
                }
            }
        }
        Some(object)
    }

    /// Returns the value with the images of all its containers changed; `None` if no image matches.
    fn with_images_changed(&self, node: &Node) -> Option<Node> {
        node.with_children(&mut |key, child| {
            let below = self.with_images_changed(child);
            if !key.is_some_and(|key| LISTS.contains(&key)) {
                return below;
            }
            let list = below.as_ref().unwrap_or(child);
            let changed = list.with_children(&mut |key, item| {
                let mut changed = item.clone();
                (key.is_none() && self.change(&mut changed)).then_some(changed)
            });
            changed.or(below)
        })
    }

    /// Changes the image of a container if it matches. Returns whether it does.
    fn change(&self, container: &mut Node) -> bool {
        if !self.matches(container.text_below(&["image"])) {
            return false;
        }
        if let Some(image) = container.get_mut("image") {
            let changed = self.changed(image.text().unwrap_or_default());
            *image = Node::text_at(&changed, &self.entry.origin);
        }
        true
    }

    fn changed(&self, image: &str) -> String {
        let wanted = |key: &str| {
            let text = self.entry.text_below(&[key]);
            (!text.is_empty()).then_some(text)
        };
        let (name, tag, digest) = split(image);
        let (tag, digest) = match (wanted("newTag"), wanted("digest"), wanted("tagSuffix")) {
            (None, None, None) => (tag.to_owned(), digest),
            (None, None, Some(suffix)) => (format!("{tag}{suffix}"), ""),
            (tag, digest, _) => (
                tag.unwrap_or_default().to_owned(),
                digest.unwrap_or_default(),
            ),
        };
        let mut changed = wanted("newName").unwrap_or(name).to_owned();
        for (sign, part) in [(":", tag.as_str()), ("@", digest)] {
            if !part.is_empty() {
                changed.push_str(sign);
                changed.push_str(part);
            }
        }
        changed
    }
}

/// Splits `host:5000/name:tag@digest` into name, tag and digest.
fn split(image: &str) -> (&str, &str, &str) {
    let (front, digest) = image.split_once('@').unwrap_or((image, ""));
    // A colon before the first slash belongs to the host.
    let path = front.find('/').unwrap_or_default();
    let colon = front.get(path..).and_then(|rest| rest.find(':'));
    match colon.map(|at| front.split_at(path + at)) {
        Some((name, tag)) => (name, tag.trim_start_matches(':'), digest),
        None => (front, "", digest),
    }
}

/// Returns the images of all containers in an object.
fn images_of(object: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![object];
    while let Some(node) = pending.pop() {
        if let Some(source) = node.source() {
            found.append(&mut of_tree(source));
            continue;
        }
        for field in node.fields() {
            if LISTS.contains(&&*field.key) {
                let items = field.value.items().iter();
                found.extend(items.map(|item| item.text_below(&["image"]).to_owned()));
            }
            pending.push(&field.value);
        }
        pending.extend(node.items());
    }
    found
}

/// Returns the images of all containers in an object of a file.
fn of_tree(object: NodeRef<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![object];
    while let Some(node) = pending.pop() {
        for entry in node.entries() {
            if entry.key.text().is_some_and(|key| LISTS.contains(&key)) {
                let images = entry
                    .value
                    .items()
                    .filter_map(|item| item.get("image")?.text());
                found.extend(images.map(str::to_owned));
            }
            pending.push(entry.value);
        }
        pending.extend(node.items());
    }
    found
}

const LISTS: [&str; 2] = ["containers", "initContainers"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::node::Origin;
    use meshprobe_yaml::Span;

    #[test]
    fn plain_names_match_the_same_images_as_the_expression() {
        let names = ["", "a", "a.b", "a.b/c", "h:5/a", "a-b", ".", "a."];
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
            let image = Image {
                entry: &Node::text_at(
                    "",
                    &Origin {
                        path: "".into(),
                        span: Span::default(),
                    },
                ),
                name,
                pattern: OnceCell::new(),
            };
            let expression = compile(name).unwrap();
            for text in images {
                assert_eq!(
                    image.matches(text),
                    expression.is_match(text.as_bytes()),
                    "{name} {text}"
                );
            }
        }
    }

    #[test]
    fn an_image_is_split_into_name_tag_and_digest() {
        assert_eq!(split("a"), ("a", "", ""));
        assert_eq!(split("h:5000/a:1"), ("h:5000/a", "1", ""));
        assert_eq!(split("h:5000/a@s:1"), ("h:5000/a", "", "s:1"));
        assert_eq!(split("a:1@s:2"), ("a", "1", "s:2"));
    }
}
