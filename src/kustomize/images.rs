//! `images`: new names, tags and digests for the images of containers.
//!
//! Relevant only because `image: auto` and proxy images are evidence of a mesh.
//! Source: kustomize 5.8.2, `api/filters/imagetag` and `api/internal/image`.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use regex::bytes::Regex;

use crate::kustomize::image_list::LISTS;
use crate::kustomize::image_name::{Start, StartIndex, compile};
use crate::kustomize::node::{Node, Value};
use crate::kustomize::resource::Resource;

/// Common part of the keys in [`LISTS`].
const LISTS_SUFFIX: &str = "ontainers";

/// Entries of `images`, indexed by the start of their names.
pub(crate) struct Images<'n> {
    all: Vec<Image<'n>>,
    by_start: StartIndex,
}

impl<'n> Images<'n> {
    pub(crate) fn of(entries: &'n [Node]) -> Self {
        let all: Vec<Image<'n>> = entries.iter().map(Image::read).collect();
        let mut by_start = StartIndex::default();
        for (at, image) in all.iter().enumerate() {
            by_start.push(at, image.start);
        }
        Self { all, by_start }
    }

    /// Changes the images of an object. Applies the entries in order, as kustomize does: a later one sees the name that
    /// an earlier one set.
    pub(crate) fn apply(&self, resource: &mut Resource) {
        if self.all.is_empty() || !resource.body.may_mention(LISTS_SUFFIX) {
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

    /// Returns the first entry from `next` on that may match one of the images.
    fn first_for(&self, names: &BTreeSet<String>, next: usize) -> Option<(usize, &Image<'n>)> {
        let at = names
            .iter()
            .filter_map(|name| self.by_start.first_for(name, next))
            .min()?;
        Some((at, self.all.get(at)?))
    }
}

/// Entry of `images`.
struct Image<'n> {
    entry: &'n Node,
    start: Start<'n>,
    /// Compiled when the start of an image matches; `None` if the name is not a regular expression.
    pattern: OnceCell<Option<Regex>>,
}

impl<'n> Image<'n> {
    /// Parses an entry. A name that is not a regular expression changes nothing.
    fn read(entry: &'n Node) -> Self {
        Self {
            entry,
            start: Start::of(entry.text_below(&["name"])),
            pattern: OnceCell::new(),
        }
    }

    fn pattern(&self) -> Option<&Regex> {
        let name = || self.entry.text_below(&["name"]);
        self.pattern.get_or_init(|| compile(name())).as_ref()
    }

    fn matches(&self, container: &Node) -> bool {
        let image = container.text_below(&["image"]);
        let by_expression = || {
            let pattern = self.pattern();
            pattern.is_some_and(|pattern| pattern.is_match(image.as_bytes()))
        };
        !image.is_empty() && self.start.matches(image).unwrap_or_else(by_expression)
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
        if !self.matches(container) {
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

#[cfg(test)]
mod tests {
    use crate::kustomize::images::split;

    #[test]
    fn an_image_is_split_into_name_tag_and_digest() {
        assert_eq!(split("a"), ("a", "", ""));
        assert_eq!(split("h:5000/a:1"), ("h:5000/a", "1", ""));
        assert_eq!(split("h:5000/a@s:1"), ("h:5000/a", "", "s:1"));
        assert_eq!(split("a:1@s:2"), ("a", "1", "s:2"));
    }
}
