//! The `ResourceList` of standard input.

use meshprobe_mesh::settings::{ConfigError, Layer};
use meshprobe_tree::source::{Content, Fault, SourceFile, SourceSet};
use meshprobe_yaml::{self as yaml, Edit, NodeRef, Span, Tree};

use super::config::{self, at};

/// The name of standard input in messages.
pub(super) const NAME: &str = "stdin";

/// A list without items.
pub(super) const EMPTY: &str =
    "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

/// The annotation that only `kustomize build` sets, on every resource that it passes to a function.
const BUILD_ID: &str = "kustomize.config.k8s.io/id";

/// The list, and the file that contains it.
pub(super) struct List<'t> {
    file: &'t SourceFile,
    tree: &'t Tree,
    root: NodeRef<'t>,
}

impl<'t> List<'t> {
    /// Finds the list of standard input.
    ///
    /// # Errors
    /// The input is empty, cannot be parsed, or is not exactly one list.
    pub(super) fn of(set: &'t SourceSet) -> Result<Self, Vec<String>> {
        let file = set.file(NAME).ok_or_else(empty_input)?;
        if let Some(Fault::NotUtf8 { .. }) = file.fault {
            return Err(vec!["standard input is not UTF-8".into()]);
        }
        if let Some(Fault::TooLarge { .. }) = file.fault {
            return Err(vec!["standard input is too large to be parsed".into()]);
        }
        let mut lists = Vec::new();
        for document in &file.documents {
            match &document.content {
                Content::Empty => {}
                Content::Tree(tree) => lists.extend(tree.root().map(|root| (tree, root))),
                Content::Broken { error, .. } => {
                    return Err(vec![at(
                        NAME,
                        &file.text,
                        error.offset,
                        &error.describe("the input"),
                    )]);
                }
                Content::Plain(_) | Content::NotKubernetes | Content::Template => {
                    return Err(not_a_list());
                }
            }
        }
        match lists.as_slice() {
            [] => Err(empty_input()),
            [(_, root)]
                if is_list(*root)
                    && let Some(items) = invalid_items(*root) =>
            {
                let message = "`items` is not a list of resources";
                Err(vec![at(NAME, &file.text, items.span().start, message)])
            }
            [(tree, root)] if is_list(*root) => Ok(Self {
                file,
                tree,
                root: *root,
            }),
            _ => Err(not_a_list()),
        }
    }

    /// Parses the functionConfig.
    ///
    /// # Errors
    /// One message with its position per error.
    pub(super) fn configuration(&self) -> Result<Layer, Vec<String>> {
        let config = self
            .root
            .get("functionConfig")
            .filter(|config| !config.is_null());
        let Some(config) = config else {
            return Ok(Layer::default());
        };
        let message = |problem: &ConfigError| {
            let message = format!("functionConfig: {}", problem.message);
            at(NAME, &self.file.text, problem.span.start, &message)
        };
        config::layer(config).map_err(|problems| problems.iter().map(message).collect::<Vec<_>>())
    }

    pub(super) const fn tree(&self) -> &'t Tree {
        self.tree
    }

    pub(super) fn items(&self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        self.root.get("items").into_iter().flat_map(NodeRef::items)
    }

    /// Returns whether `items` is a list. Without a list, the caller would read the output as a resource.
    pub(super) fn has_items(&self) -> bool {
        self.root.get("items").is_some_and(NodeRef::is_sequence)
    }

    /// Returns whether the list already contains results.
    pub(super) fn has_results(&self) -> bool {
        self.root
            .get("results")
            .is_some_and(|results| results.items().len() > 0)
    }

    pub(super) fn comes_from_kustomize_build(&self) -> bool {
        self.items()
            .all(|item| annotation(item, BUILD_ID).is_some())
    }

    /// Returns the document of the list, without other documents of the stream: the caller unwraps the list only if it is
    /// the only document.
    pub(super) fn text(&self) -> &'t str {
        without_directives(self.tree.segment().slice(&self.file.text))
    }

    /// Returns the document of the list with edits.
    pub(super) fn text_with(&self, edits: &[Edit]) -> String {
        let segment = self.tree.segment();
        let whole = yaml::splice(&self.file.text, edits);
        let length_after = self.file.text.len() - segment.end;
        let end = whole.len().saturating_sub(length_after);
        without_directives(Span::new(segment.start, end).slice(&whole)).to_owned()
    }
}

/// Removes directives, because kustomize does not accept `%YAML` in the output.
fn without_directives(text: &str) -> &str {
    let blank = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let first = text.split_inclusive('\n').find(|line| !blank(line));
    if !first.is_some_and(|line| line.starts_with('%')) {
        return text;
    }
    let start = text
        .split_inclusive('\n')
        .take_while(|line| !line.starts_with("---"))
        .map(str::len)
        .sum();
    text.get(start..).unwrap_or(text)
}

/// Returns the value of an annotation.
pub(super) fn annotation<'t>(item: NodeRef<'t>, key: &str) -> Option<&'t str> {
    item.get("metadata")?.get("annotations")?.get(key)?.text()
}

fn is_list(root: NodeRef<'_>) -> bool {
    let text = |key: &str| root.get(key).and_then(NodeRef::text);
    text("kind") == Some("ResourceList")
        && text("apiVersion").is_some_and(|version| version.starts_with("config.kubernetes.io/"))
}

/// Returns the value of `items` if it is not a list.
fn invalid_items(root: NodeRef<'_>) -> Option<NodeRef<'_>> {
    root.get("items")
        .filter(|items| !items.is_sequence() && !items.is_null())
}

fn empty_input() -> Vec<String> {
    vec!["standard input is empty; expected a ResourceList (config.kubernetes.io/v1); see `meshprobe --help`".into()]
}

fn not_a_list() -> Vec<String> {
    vec![
        "standard input is not a single ResourceList (config.kubernetes.io/v1); for plain manifests, use `meshprobe check -` or `meshprobe rewrite -`".into(),
    ]
}
