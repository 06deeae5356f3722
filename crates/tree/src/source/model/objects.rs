//! List of the objects of a file, created once because a file may have a finding for each of them.
//!
//! Symbolic links of the tree, which map paths through links to the files that are read.
//!
//! Lists of objects, expanded as in kubectl.
//!
//! Source: apimachinery 0.32.3, `pkg/apis/meta/v1/unstructured`: `Unstructured.IsList` (`unstructured.go`) and
//! `unstructuredJSONScheme.decodeToList` (`helpers.go`); measured with `kubectl annotate --local` 1.32.4. kustomize
//! 5.8.2 expands only kinds that end with `List` and refuses items without a kind.

use std::collections::BTreeMap;

use meshprobe_yaml::{Kind, NodeRef, Span};

use super::document::{Content, Document};

/// Maximum depth of nested lists.
const LIST_DEPTH: usize = 8;

/// Objects of a file in order, as the numbers of the document and of the node in its tree.
#[derive(Clone, Debug)]
pub(in crate::source) struct Objects {
    all: Vec<(u32, u32)>,
}

impl Objects {
    /// Lists the objects of the documents of a file.
    pub(in crate::source) fn of(documents: &[Document]) -> Self {
        let all = (0_u32..)
            .zip(documents)
            .flat_map(|(number, document)| {
                let objects = objects_of(document).into_iter();
                objects.map(move |object| (number, object.id()))
            })
            .collect();
        Self { all }
    }

    /// Returns the number of objects.
    pub(in crate::source) const fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of the document that contains an object.
    pub(in crate::source) fn document(&self, number: usize) -> Option<usize> {
        let (document, _) = self.all.get(number)?;
        Some(*document as usize)
    }

    /// Returns an object by its number. `documents` must be the documents that were listed.
    pub(in crate::source) fn get<'f>(
        &self,
        documents: &'f [Document],
        number: usize,
    ) -> Option<NodeRef<'f>> {
        let (document, node) = self.all.get(number)?;
        match &documents.get(*document as usize)?.content {
            Content::Tree(tree) => tree.node(*node),
            _ => None,
        }
    }

    /// Returns the object of a document that contains `span`, with its number in the document, and the number of
    /// objects of the document.
    pub(in crate::source) fn around<'f>(
        &self,
        documents: &'f [Document],
        document: usize,
        span: Span,
    ) -> (Option<(usize, NodeRef<'f>)>, usize) {
        let start = self
            .all
            .partition_point(|(at, _)| (*at as usize) < document);
        let end = self.all.partition_point(|(at, _)| *at as usize <= document);
        let object = |index: usize| self.get(documents, start + index);
        let found = last_around(end - start, object, span);
        (found, end - start)
    }
}

/// Returns the node that contains `span`, of `count` nodes in order, with its number.
pub(in crate::source) fn last_around<'t>(
    count: usize,
    node: impl Fn(usize) -> Option<NodeRef<'t>>,
    span: Span,
) -> Option<(usize, NodeRef<'t>)> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if node(middle).is_some_and(|node| node.outer_span().start <= span.start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let index = low.checked_sub(1)?;
    let found = node(index).filter(|node| node.outer_span().contains(span));
    Some((index, found?))
}

/// Lists the objects of a document: itself, or the items of a list.
pub(in crate::source) fn objects_of(document: &Document) -> Vec<NodeRef<'_>> {
    let mut found = Vec::new();
    if let Content::Tree(tree) = &document.content
        && let Some(root) = tree.root()
    {
        collect(root, LIST_DEPTH, &mut found);
    }
    found
}

fn collect<'t>(node: NodeRef<'t>, depth: usize, found: &mut Vec<NodeRef<'t>>) {
    let kind = node.get("kind").and_then(NodeRef::text).unwrap_or_default();
    match (items(node, kind), depth.checked_sub(1)) {
        (Some(items), Some(depth)) => {
            // The target of an alias is an object at its own position. A chain of aliases is an attack.
            for item in items.items().filter(|item| item.kind() != Kind::Alias) {
                collect(item, depth, found);
            }
        }
        _ => found.push(node),
    }
}

/// Maximum number of links in a path, as in Linux.
const LINKS: usize = 40;

/// Map from links to their targets, both as displayed paths without `/` at the end.
#[derive(Clone, Debug, Default)]
pub struct Links(BTreeMap<String, String>);

impl Links {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a link, unless it leads to itself. The target `.` is the working directory.
    pub(in crate::source) fn add(&mut self, link: String, target: String) {
        let target = if target == "." { String::new() } else { target };
        if link != target {
            self.0.insert(link, target);
        }
    }

    /// Adds the links of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Adds the reverse of each link for which `has_files` returns `true`: the files of its target have paths through
    /// the link, because the user named the link first.
    pub(in crate::source) fn reverse(&mut self, mut has_files: impl FnMut(&str) -> bool) {
        let named = self.0.iter().filter(|(link, target)| {
            let is_reversed = self.0.contains_key(*target);
            !is_reversed && has_files(link)
        });
        let reversed: Vec<_> = named
            .map(|(link, target)| (target.clone(), link.clone()))
            .collect();
        self.0.extend(reversed);
    }

    /// Returns the names of a path without `.` and `..`: the path itself, and the paths to which its links lead step by
    /// step. Stops at a repeated name, because links can form a cycle.
    pub(in crate::source) fn names(&self, path: String) -> Vec<String> {
        let mut names = vec![path];
        while names.len() <= LINKS
            && let Some(next) = names.last().and_then(|last| self.step(last))
            && !names.contains(&next)
        {
            names.push(next);
        }
        names
    }

    /// Replaces the first link on a path.
    fn step(&self, path: &str) -> Option<String> {
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        ends.filter_map(|end| path.split_at_checked(end))
            .find_map(|(link, rest)| {
                let target = self.0.get(link)?;
                let rest = rest.trim_start_matches('/');
                Some(match (target.as_str(), rest) {
                    (target, "") => target.to_owned(),
                    ("", rest) => rest.to_owned(),
                    (target, rest) => format!("{target}/{rest}"),
                })
            })
    }
}

/// `apiVersion` and `kind` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMeta<'t> {
    /// `apiVersion`; empty for a list that has none.
    pub api_version: &'t str,
    /// `kind`.
    pub kind: &'t str,
}

impl<'t> TypeMeta<'t> {
    /// Returns the type of a node. If it has neither `apiVersion` nor `kind`, derives the type from its list.
    ///
    /// `list` is the type of the list that contains the node. Returns `None` if kubectl refuses the node: it has no kind,
    /// or it has no `apiVersion` and is not a list of objects.
    #[must_use]
    pub fn of(node: NodeRef<'t>, list: Option<Self>) -> Option<Self> {
        let text = |key: &str| node.get(key).and_then(NodeRef::as_str);
        match (text("apiVersion"), text("kind")) {
            (None | Some(""), None | Some("")) => list?.of_items(),
            (Some(api_version), Some(kind)) => Some(Self { api_version, kind }),
            (None, Some(kind)) => items(node, kind).map(|_| Self {
                api_version: "",
                kind,
            }),
            (Some(_), None) => None,
        }
    }

    /// Returns the type of items without a type: `Pod` for a `PodList`.
    fn of_items(self) -> Option<Self> {
        let kind = self.kind.strip_suffix("List").unwrap_or(self.kind);
        let is_complete = !kind.is_empty() && !self.api_version.is_empty();
        is_complete.then_some(Self { kind, ..self })
    }
}

/// Returns the field `items` of an object if kubectl expands the object.
///
/// kubectl expands any kind, but refuses a document with an item that is not an object; in that case, only kinds that
/// end with `List` are expanded here.
#[must_use]
pub fn items<'t>(object: NodeRef<'t>, kind: &str) -> Option<NodeRef<'t>> {
    let items = object.get("items").filter(|items| items.is_sequence())?;
    let is_object = |item: NodeRef<'_>| item.is_mapping() || item.is_null();
    (kind.ends_with("List") || items.items().all(is_object)).then_some(items)
}

/// Returns whether a document without `apiVersion` is a list of objects: an item has `apiVersion` and `kind`.
pub(in crate::source) fn is_list_without_version(root: NodeRef<'_>) -> bool {
    let has = |node: NodeRef<'_>, key: &str| node.get(key).and_then(NodeRef::as_str).is_some();
    let kind = root.get("kind").and_then(NodeRef::as_str);
    kind.filter(|kind| !kind.is_empty())
        .and_then(|kind| items(root, kind))
        .is_some_and(|items| {
            items
                .items()
                .any(|item| has(item, "apiVersion") && has(item, "kind"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_path_follow_several_links() {
        let mut links = Links::default();
        for (link, target) in [
            ("a/b", "c"),
            ("c/d", "e"),
            ("x", ""),
            ("y", "z"),
            ("z", "y"),
        ] {
            links.add(link.to_owned(), target.to_owned());
        }
        let names = |path: &str| links.names(path.to_owned());
        assert_eq!(names("a/b"), ["a/b", "c"]);
        assert_eq!(names("a/b/d/f"), ["a/b/d/f", "c/d/f", "e/f"]);
        assert_eq!(names("x/a/b"), ["x/a/b", "a/b", "c"]);
        assert_eq!(names("a/bc"), ["a/bc"]);
        assert_eq!(names("y/a"), ["y/a", "z/a"]);
    }
}
