//! The `ResourceList` as it came in.

use crate::settings::{Layer, Problem};
use crate::source::{Content, Fault, SourceFile, SourceSet};
use crate::yaml::{self, Edit, NodeRef, Span, Tree};

use super::config::{self, at};

/// The name that standard input is shown under.
pub(super) const NAME: &str = "stdin";

/// A list without items.
pub(super) const EMPTY: &str =
    "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

/// Set by `kustomize build` alone on everything that it passes to a function.
const BUILD_ID: &str = "kustomize.config.k8s.io/id";

/// The list, and the file that it is.
pub(super) struct List<'t> {
    file: &'t SourceFile,
    tree: &'t Tree,
    root: NodeRef<'t>,
}

impl<'t> List<'t> {
    /// Finds the one list of standard input.
    pub(super) fn of(set: &'t SourceSet) -> Result<Self, Vec<String>> {
        let file = set.file(NAME).ok_or_else(nothing)?;
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
                        &error.told("the input"),
                    )]);
                }
                Content::Plain(_) | Content::NotKubernetes | Content::Template => {
                    return Err(not_a_list());
                }
            }
        }
        match lists.as_slice() {
            [] => Err(nothing()),
            [(_, root)]
                if is_list(*root)
                    && let Some(items) = no_items(*root) =>
            {
                let said = "`items` is not a list of resources";
                Err(vec![at(NAME, &file.text, items.span().start, said)])
            }
            [(tree, root)] if is_list(*root) => Ok(Self {
                file,
                tree,
                root: *root,
            }),
            _ => Err(not_a_list()),
        }
    }

    /// Reads the functionConfig.
    pub(super) fn configuration(&self, known_rules: &[&str]) -> Result<Layer, Vec<String>> {
        let config = self
            .root
            .get("functionConfig")
            .filter(|config| !config.is_null());
        let Some(config) = config else {
            return Ok(Layer::default());
        };
        let told = |problem: &Problem| {
            let message = format!("functionConfig: {}", problem.message);
            at(NAME, &self.file.text, problem.span.start, &message)
        };
        config::layer(config, known_rules)
            .map_err(|problems| problems.iter().map(told).collect::<Vec<_>>())
    }

    pub(super) const fn tree(&self) -> &'t Tree {
        self.tree
    }

    pub(super) fn items(&self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        self.root.get("items").into_iter().flat_map(NodeRef::items)
    }

    /// Tells whether `items` is written as a list; without it the caller takes the answer for a
    /// resource.
    pub(super) fn has_items(&self) -> bool {
        self.root.get("items").is_some_and(NodeRef::is_sequence)
    }

    /// Tells whether the list brings results of its own along.
    pub(super) fn has_results(&self) -> bool {
        let results = self.root.get("results");
        results.is_some_and(|results| results.items().len() > 0)
    }

    pub(super) fn comes_from_kustomize_build(&self) -> bool {
        self.items()
            .all(|item| annotation(item, BUILD_ID).is_some())
    }

    /// The one document, and nothing around it: the caller unwraps the list only when it is
    /// alone in the stream.
    pub(super) fn text(&self) -> &'t str {
        without_directives(self.tree.segment().slice(&self.file.text))
    }

    pub(super) fn text_with(&self, edits: &[Edit]) -> String {
        let segment = self.tree.segment();
        let whole = yaml::splice(&self.file.text, edits);
        let behind = self.file.text.len() - segment.end;
        let end = whole.len().saturating_sub(behind);
        without_directives(Span::new(segment.start, end).slice(&whole)).to_owned()
    }
}

/// kustomize takes no `%YAML` back.
fn without_directives(text: &str) -> &str {
    let blank = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let first = text.split_inclusive('\n').find(|line| !blank(line));
    if !first.is_some_and(|line| line.starts_with('%')) {
        return text;
    }
    let lines = text.split_inclusive('\n');
    let head = lines.take_while(|line| !line.starts_with("---"));
    let start = head.map(str::len).sum();
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

/// What stands where the list of resources belongs, if it is anything else.
fn no_items(root: NodeRef<'_>) -> Option<NodeRef<'_>> {
    root.get("items")
        .filter(|items| !items.is_sequence() && !items.is_null())
}

fn nothing() -> Vec<String> {
    vec!["standard input is empty: expected a ResourceList (config.kubernetes.io/v1); see `meshprobe --help`".into()]
}

fn not_a_list() -> Vec<String> {
    vec![
        "standard input is not one ResourceList (config.kubernetes.io/v1); for plain manifests use `meshprobe check -` or `meshprobe rewrite -`".into(),
    ]
}
