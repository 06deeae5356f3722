//! `images`: other names, tags and digests for the images of containers.
//!
//! Of interest here only because `image: auto` and proxy images tell something of a mesh.
//! Source: kustomize 5.8.2, `api/filters/imagetag` and `api/internal/image`.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use regex::bytes::Regex;

use crate::yaml::NodeRef;

use super::image_name::{Start, StartIndex, compile};
use super::node::{Node, Value};
use super::resource::Resource;

const LISTS: [&str; 2] = ["containers", "initContainers"];
/// What both lists have in their names.
const LISTS_HAVE: &str = "ontainers";

/// All entries of `images`, by the start of their names.
pub(super) struct Images<'n> {
    all: Vec<Image<'n>>,
    by_start: StartIndex,
}

impl<'n> Images<'n> {
    pub(super) fn of(entries: &'n [Node]) -> Self {
        let all: Vec<Image<'n>> = entries.iter().map(Image::read).collect();
        let mut by_start = StartIndex::default();
        for (at, image) in all.iter().enumerate() {
            by_start.push(at, image.start);
        }
        Self { all, by_start }
    }

    /// Changes the images of an object, one entry after the other as kustomize does: a later one meets the name that
    /// an earlier one wrote.
    pub(super) fn apply(&self, resource: &mut Resource) {
        if self.all.is_empty() || !resource.body.may_mention(LISTS_HAVE) {
            return;
        }
        let mut names = resource.body.images();
        let mut next = 0;
        while let Some((at, image)) = self.first_for(&names, next) {
            if let Some(changed) = image.applied(resource.body.read()) {
                *resource.change() = changed;
                names = resource.body.images();
            }
            next = at + 1;
        }
    }

    /// Returns the first entry from `next` on that may be for one of the images.
    fn first_for(&self, names: &BTreeSet<String>, next: usize) -> Option<(usize, &Image<'n>)> {
        let first = names
            .iter()
            .filter_map(|name| self.by_start.first_for(name, next));
        let at = first.min()?;
        Some((at, self.all.get(at)?))
    }
}

/// Returns the images of all containers in a copied object.
pub(super) fn of_node(object: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![object];
    while let Some(node) = open.pop() {
        for field in node.fields() {
            if LISTS.contains(&&*field.key) {
                let items = field.value.items().iter();
                found.extend(items.map(|item| item.text_below(&["image"]).to_owned()));
            }
            open.push(&field.value);
        }
        open.extend(node.items());
    }
    found
}

/// Returns the images of all containers in an object as it is written.
pub(super) fn of_tree(object: NodeRef<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![object];
    while let Some(node) = open.pop() {
        for entry in node.entries() {
            if entry.key.text().is_some_and(|key| LISTS.contains(&key)) {
                let images = entry
                    .value
                    .items()
                    .filter_map(|item| item.get("image")?.text());
                found.extend(images.map(str::to_owned));
            }
            open.push(entry.value);
        }
        open.extend(node.items());
    }
    found
}

/// An entry of `images`.
struct Image<'n> {
    entry: &'n Node,
    start: Start<'n>,
    /// Compiled once an image starts as it does; `None` if it is not an expression.
    pattern: OnceCell<Option<Regex>>,
}

impl<'n> Image<'n> {
    /// Reads an entry; a name that is no regular expression changes nothing.
    fn read(entry: &'n Node) -> Self {
        Self {
            entry,
            start: Start::of(entry.text_below(&["name"])),
            pattern: OnceCell::new(),
        }
    }

    fn pattern(&self) -> Option<&Regex> {
        let name = || self.entry.text_below(&["name"]);
        let compiled = self.pattern.get_or_init(|| compile(name()));
        compiled.as_ref()
    }

    fn is_of(&self, container: &Node) -> bool {
        let image = container.text_below(&["image"]);
        let by_expression = || {
            let pattern = self.pattern();
            pattern.is_some_and(|pattern| pattern.is_match(image.as_bytes()))
        };
        !image.is_empty() && self.start.matches(image).unwrap_or_else(by_expression)
    }

    /// Returns an object with its images changed; nothing where no container has one that is meant.
    /// kustomize looks for containers anywhere, and then once more in the usual places, which shows
    /// where a change can be made twice.
    fn applied(&self, object: &Node) -> Option<Node> {
        let mut object = self.anywhere(object)?;
        for way in [&["spec"][..], &["spec", "template", "spec"]] {
            for list in LISTS {
                let spec = way
                    .iter()
                    .try_fold(&mut object, |node, key| node.get_mut(key));
                let list = spec.and_then(|spec| spec.get_mut(list));
                if let Some(Value::Seq(items)) = list.map(|list| &mut list.value) {
                    for item in Arc::make_mut(items) {
                        self.change(item);
                    }
                }
            }
        }
        Some(object)
    }

    /// Returns the value with the images of all containers in it changed; nothing where there are none.
    fn anywhere(&self, node: &Node) -> Option<Node> {
        node.with_children(&mut |key, child| {
            let below = self.anywhere(child);
            if !key.is_some_and(|key| LISTS.contains(&key)) {
                return below;
            }
            let list = below.as_ref().unwrap_or(child);
            let own = list.with_children(&mut |key, item| {
                let mut changed = item.clone();
                (key.is_none() && self.change(&mut changed)).then_some(changed)
            });
            own.or(below)
        })
    }

    /// Changes the image of a container that is meant, and tells whether it is.
    fn change(&self, container: &mut Node) -> bool {
        let is_meant = self.is_of(container);
        if !is_meant {
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

/// Splits `host:5000/name:tag@digest`.
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

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn images_are_split() {
        assert_eq!(split("a"), ("a", "", ""));
        assert_eq!(split("h:5000/a:1"), ("h:5000/a", "1", ""));
        assert_eq!(split("h:5000/a@s:1"), ("h:5000/a", "", "s:1"));
        assert_eq!(split("a:1@s:2"), ("a", "1", "s:2"));
    }
}
