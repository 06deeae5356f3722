//! `images`: other names, tags and digests for the images of containers.
//!
//! Of interest here only because `image: auto` and proxy images tell something of a mesh.
//! Source: kustomize 5.8.2, `api/filters/imagetag` and `api/internal/image`.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use regex::bytes::{Regex, RegexBuilder};

use crate::yaml::NodeRef;

use super::node::{Node, Value};
use super::resource::Resource;

const LISTS: [&str; 2] = ["containers", "initContainers"];
/// What both lists have in their names.
const LISTS_HAVE: &str = "ontainers";
const TAG_AND_DIGEST: &str =
    "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?";

/// All entries of `images`, by what the images that they are for begin with.
pub(super) struct Images<'n> {
    all: Vec<Image<'n>>,
    by_beginning: HashMap<&'n str, Vec<usize>>,
    /// How long the beginnings are.
    lengths: BTreeSet<usize>,
}

impl<'n> Images<'n> {
    pub(super) fn of(entries: &'n [Node]) -> Self {
        let all: Vec<Image<'n>> = entries.iter().map(Image::read).collect();
        let mut by_beginning: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, image) in all.iter().enumerate() {
            by_beginning.entry(image.beginning).or_default().push(at);
        }
        let lengths = by_beginning
            .keys()
            .map(|beginning| beginning.len())
            .collect();
        Self {
            all,
            by_beginning,
            lengths,
        }
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
        let beginnings = names
            .iter()
            .flat_map(|name| self.lengths.iter().filter_map(|end| name.get(..*end)));
        let entries = beginnings.filter_map(|beginning| self.by_beginning.get(beginning));
        let first = entries.filter_map(|found| {
            let from = found.partition_point(|&at| at < next);
            found.get(from).copied()
        });
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
    /// Compiled once an image begins as it does; `None` if it is no expression.
    pattern: OnceCell<Option<Regex>>,
    /// What all images begin with that it fits.
    beginning: &'n str,
}

impl<'n> Image<'n> {
    /// Reads an entry; a name that is no regular expression changes nothing.
    fn read(entry: &'n Node) -> Self {
        Self {
            entry,
            pattern: OnceCell::new(),
            beginning: beginning(entry.text_below(&["name"])),
        }
    }

    fn pattern(&self) -> Option<&Regex> {
        let compiled = self.pattern.get_or_init(|| {
            let name = self.entry.text_below(&["name"]);
            RegexBuilder::new(&format!("^{name}{TAG_AND_DIGEST}$"))
                .unicode(false)
                .size_limit(1 << 20)
                .build()
                .ok()
        });
        compiled.as_ref()
    }

    fn is_of(&self, container: &Node) -> bool {
        let image = container.text_below(&["image"]);
        let is_match = |pattern: &Regex| pattern.is_match(image.as_bytes());
        !image.is_empty()
            && image.starts_with(self.beginning)
            && self.pattern().is_some_and(is_match)
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

/// Returns the characters at the start of an expression that stand for themselves.
fn beginning(expression: &str) -> &str {
    if expression.contains('|') {
        return "";
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    let Some(end) = expression.find(|c| !is_plain(c)) else {
        return expression;
    };
    let (plain, rest) = expression.split_at_checked(end).unwrap_or_default();
    // What follows may say how often the last one comes.
    let is_counted = rest.starts_with(['*', '?', '+', '{']);
    let end = plain.len() - usize::from(is_counted && !plain.is_empty());
    plain.get(..end).unwrap_or_default()
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
    use super::{beginning, split};

    #[test]
    fn expressions_begin_with_what_stands_for_itself() {
        for (expression, expected) in [
            ("library/nginx", "library/nginx"),
            ("quay.io/app", "quay"),
            ("ab*c", "a"),
            ("a+", ""),
            ("(a|b)", ""),
            ("a|b", ""),
            ("*", ""),
            ("", ""),
        ] {
            assert_eq!(beginning(expression), expected, "{expression}");
        }
    }

    #[test]
    fn images_are_split() {
        assert_eq!(split("a"), ("a", "", ""));
        assert_eq!(split("h:5000/a:1"), ("h:5000/a", "1", ""));
        assert_eq!(split("h:5000/a@s:1"), ("h:5000/a", "", "s:1"));
        assert_eq!(split("a:1@s:2"), ("a", "1", "s:2"));
    }
}
