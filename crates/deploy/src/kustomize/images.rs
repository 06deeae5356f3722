//! `images`: new names, tags and digests for the images of containers.
//!
//! Relevant only because `image: auto` and proxy images are evidence of a mesh.
//! Source: kustomize 5.8.2, `api/filters/imagetag` and `api/internal/image`.

use std::cell::OnceCell;
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use crate::kustomize::node::{Node, Value};
use crate::kustomize::resource::Resource;

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// Common part of the keys in [`LISTS`].
const LISTS_SUFFIX: &str = "ontainers";

/// Pattern of an optional tag and an optional digest.
const TAG_AND_DIGEST: &str =
    "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?";

/// Returns the expression for images with a name; `None` if the name is not a regular expression.
fn compile(name: &str) -> Option<Regex> {
    RegexBuilder::new(&format!("^{name}{TAG_AND_DIGEST}$"))
        .unicode(false)
        .size_limit(1 << 20)
        .build()
        .ok()
}

/// Changes the images of objects. Applies the entries of `images` in order, as kustomize does: a later one sees the name
/// that an earlier one set.
pub(crate) fn apply<'r>(entries: &[Node], resources: impl Iterator<Item = &'r mut Resource>) {
    let images: Vec<Image<'_>> = entries.iter().map(Image::of).collect();
    for resource in resources.filter(|found| found.body.may_mention(LISTS_SUFFIX)) {
        for image in &images {
            if resource.body.may_mention(image.part)
                && let Some(changed) = image.applied(&resource.body)
            {
                *resource.change() = changed;
            }
        }
    }
}

/// Entry of `images`.
struct Image<'n> {
    entry: &'n Node,
    /// A regular expression, usually a plain name with dots, which match any byte.
    name: &'n str,
    /// Part of all images with the name.
    part: &'n str,
    /// `None` if the name is not a regular expression, and changes nothing.
    pattern: OnceCell<Option<Regex>>,
}

impl<'n> Image<'n> {
    fn of(entry: &'n Node) -> Self {
        let name = entry.text_below(&["name"]);
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ':' | '.');
        // The end of a name differs even if all images are in one registry.
        let part = name
            .rsplit('.')
            .next()
            .filter(|_| name.chars().all(is_plain));
        Self {
            entry,
            name,
            part: part.unwrap_or_default(),
            pattern: OnceCell::new(),
        }
    }

    fn matches(&self, image: &str) -> bool {
        let pattern = self.pattern.get_or_init(|| compile(self.name)).as_ref();
        !image.is_empty() && pattern.is_some_and(|pattern| pattern.is_match(image.as_bytes()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_split_into_name_tag_and_digest() {
        assert_eq!(split("a"), ("a", "", ""));
        assert_eq!(split("h:5000/a:1"), ("h:5000/a", "1", ""));
        assert_eq!(split("h:5000/a@s:1"), ("h:5000/a", "", "s:1"));
        assert_eq!(split("a:1@s:2"), ("a", "1", "s:2"));
    }
}
