//! One document of a file, and what kind of content it has.

use std::sync::Arc;

use memchr::memmem;

use crate::yaml::{self, Ambiguity, AmbiguityKind, Kind, NodeRef, Span, SyntaxError, Tree};

use super::file::SourceFile;
use super::kustomization::is_kustomization;
use super::kustomization_fields;
use super::list;
use super::manifest_keys::looks_like_kubernetes;

/// What a document holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing but comments, `null` or `[]`: kubectl and kustomize skip it.
    Empty,
    /// A Kubernetes document, or a kustomization.
    Tree(Arc<Tree>),
    /// A mapping that is no Kubernetes object: Helm values, a `Chart.yaml`.
    Plain(Arc<Tree>),
    /// Some other YAML, or a JSON file without a sign of Kubernetes.
    NotKubernetes,
    /// The source of a template (Helm and the like), which is not YAML yet.
    Template,
    /// Not YAML.
    Broken {
        /// What is wrong, and where.
        error: SyntaxError,
        /// It has the marks of a Kubernetes manifest all the same, or it is a kustomization.
        kubernetes: bool,
    },
}

/// A document of a [`SourceFile`].
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, as shown to the user.
    pub path: Arc<str>,
    /// The number of the document within its file, from 0; empty documents count.
    pub index: usize,
    /// The bytes of the file that belong to it, with its `---` and the comments around.
    pub segment: Span,
    /// What it holds.
    pub content: Content,
    /// A kustomization uses the file as a patch: it is no object of its own.
    pub patch: bool,
    /// Encrypted by SOPS: any edit would break its checksum.
    pub encrypted: bool,
    /// Places that kubectl, kustomize and this tool read differently: those of a Kubernetes document, and those that
    /// hide one.
    pub ambiguities: Vec<Ambiguity>,
}

impl Document {
    pub(super) fn read(file: &SourceFile, index: usize, segment: Span, max_nodes: usize) -> Self {
        let (content, ambiguities) = read_content(file, segment, max_nodes);
        let root = match &content {
            Content::Tree(tree) => tree.root(),
            _ => None,
        };
        let encrypted = root.is_some_and(is_encrypted);
        Self {
            path: Arc::clone(&file.path),
            index,
            segment,
            content,
            patch: false,
            encrypted,
            ambiguities,
        }
    }

    /// Returns the nodes, if this is a Kubernetes document.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        match &self.content {
            Content::Tree(tree) => Some(tree),
            _ => None,
        }
    }

    /// Iterates over the places where text is hidden from some tools.
    pub fn hidden_syntax(&self) -> impl Iterator<Item = &Ambiguity> {
        let ambiguities = self.ambiguities.iter();
        ambiguities.filter(|one| one.kind == AmbiguityKind::HiddenSyntax)
    }

    /// Returns whether the document has more nodes than were to be read.
    pub(super) fn is_over_limit(&self) -> bool {
        matches!(&self.content, Content::Broken { error, .. } if error.is_over_limit())
    }

    /// Returns the nodes of anything that is a mapping.
    pub(super) fn any_tree(&self) -> Option<&Tree> {
        match &self.content {
            Content::Tree(tree) | Content::Plain(tree) => Some(tree),
            _ => None,
        }
    }
}

fn read_content(file: &SourceFile, segment: Span, max_nodes: usize) -> (Content, Vec<Ambiguity>) {
    let source = segment.slice(&file.text);
    if file.chart_template {
        return (Content::Template, Vec::new());
    }
    if is_other_json(file, source.as_bytes()) {
        return (Content::NotKubernetes, Vec::new());
    }
    match yaml::parse_within(&file.text, segment, max_nodes).and_then(yaml::bounded) {
        Ok(None) => {
            let hidden = hidden_document(file, segment, None);
            (Content::Empty, hidden.into_iter().collect())
        }
        Ok(Some(tree)) => {
            let tree = Arc::new(tree);
            let mut content = classify(&tree, &file.path, source);
            if !matches!(content, Content::Tree(_)) {
                return (content, not_kubernetes(file, &tree));
            }
            let fault = yaml::tab_fault(&tree).or_else(|| yaml::byte_order_mark_fault(&tree));
            if let Some(error) = fault {
                let kubernetes = true;
                return (Content::Broken { error, kubernetes }, Vec::new());
            }
            let ambiguities = yaml::ambiguities(&tree);
            // Only `content` holds it from here on: it is not copied.
            drop(tree);
            if let Content::Tree(tree) = &mut content
                && is_kustomization(&file.path)
            {
                kustomization_fields::normalize(Arc::make_mut(tree));
            }
            (content, ambiguities)
        }
        Err(error) if error.is_over_limit() => {
            let kubernetes =
                is_kustomization(&file.path) || looks_like_kubernetes(source.as_bytes());
            (Content::Broken { error, kubernetes }, Vec::new())
        }
        Err(error) => (unparsed(&file.path, source, error), Vec::new()),
    }
}

/// The keys that every Kubernetes object has.
const OBJECT_KEYS: [&str; 2] = ["apiVersion", "kind"];

/// Classifies a text that only libyaml may be able to read, as kubectl does.
fn unparsed(path: &str, source: &str, error: SyntaxError) -> Content {
    let keys = yaml::first_document_keys(source).unwrap_or_default();
    let has_keys = OBJECT_KEYS
        .iter()
        .all(|key| keys.iter().any(|one| one == key));
    let kubernetes = has_keys || looks_like_kubernetes(source.as_bytes());
    // What libyaml is not given to read is a manifest if it looks like one.
    let is_manifest = has_keys || (kubernetes && yaml::has_too_many_brackets(source));
    if source.contains("{{") && !is_manifest {
        return Content::Template;
    }
    Content::Broken {
        error,
        // A kustomization needs neither of the keys.
        kubernetes: kubernetes || is_kustomization(path),
    }
}

/// Returns what makes a Kubernetes document of one that is not Kubernetes in YAML 1.2, and which of its values are not
/// read.
///
/// Only the root decides what a document is: a merge key there that is not followed to its end may bring in `apiVersion`
/// and `kind`. Merge keys below it can hide values at most, for example those of a chart.
fn not_kubernetes(file: &SourceFile, tree: &Tree) -> Vec<Ambiguity> {
    let hidden = hidden_document(file, tree.segment(), Some(tree));
    hidden
        .or_else(|| yaml::encoded_key(tree, &OBJECT_KEYS))
        .or_else(|| yaml::merge_limit_at_root(tree))
        .or_else(|| yaml::merge_limit(tree))
        .into_iter()
        .collect()
}

/// Returns what hides a manifest or a kustomization from YAML 1.2.
fn hidden_document(file: &SourceFile, segment: Span, tree: Option<&Tree>) -> Option<Ambiguity> {
    if tree.is_none() && is_kustomization(&file.path) {
        return yaml::hidden_in_comments(&file.text, segment);
    }
    yaml::hidden_mapping(&file.text, segment, tree, &OBJECT_KEYS)
}

fn classify(tree: &Arc<Tree>, path: &str, source: &str) -> Content {
    let Some(root) = tree.root() else {
        return Content::Empty;
    };
    if source.contains("{{") && holds_template_key(root) {
        return Content::Template;
    }
    let has_keys = OBJECT_KEYS.iter().all(|key| root.get(key).is_some());
    let is_object = has_keys || list::is_list_without_version(root);
    if is_object || (root.is_mapping() && is_kustomization(path)) {
        Content::Tree(Arc::clone(tree))
    } else if root.is_mapping() {
        Content::Plain(Arc::clone(tree))
    } else if root.is_null() || (root.is_sequence() && root.items().len() == 0) {
        Content::Empty
    } else {
        Content::NotKubernetes
    }
}

/// `{{ .Values.x }}` without quotes is a mapping whose key is a mapping: legal YAML, but nothing
/// that any Kubernetes tool accepts.
fn holds_template_key(node: NodeRef<'_>) -> bool {
    match node.kind() {
        Kind::Mapping => node
            .entries()
            .any(|entry| entry.key.kind() == Kind::Mapping || holds_template_key(entry.value)),
        Kind::Sequence => node.items().any(holds_template_key),
        Kind::Scalar | Kind::Alias => false,
    }
}

/// SOPS keeps its data under the key `sops`, with a checksum (`mac`) over all values.
fn is_encrypted(root: NodeRef<'_>) -> bool {
    root.get("sops")
        .is_some_and(|sops| sops.get("mac").is_some() || sops.get("lastmodified").is_some())
}

fn is_json(path: &str) -> bool {
    path.rsplit('.')
        .next()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
}

/// Returns whether a text is JSON that is not parsed: trees are full of JSON with comments (tsconfig.json) that no one
/// applies to a cluster.
pub(super) fn is_other_json(file: &SourceFile, source: &[u8]) -> bool {
    !file.explicit && is_json(&file.path) && !may_be_json_manifest(source)
}

fn mentions_kubernetes(source: &[u8]) -> bool {
    memmem::find(source, b"apiVersion").is_some()
}

/// Returns whether JSON can be a manifest: it contains the key `apiVersion`, or letters written as escapes (`\u0061`),
/// also those of YAML, as which kubectl reads what does not start with a brace.
fn may_be_json_manifest(source: &[u8]) -> bool {
    let escapes = memmem::find_iter(source, b"\\u00");
    let digit = |at: usize| source.get(at + 4).copied();
    let has = |part: &str| memmem::find(source, part.as_bytes()).is_some();
    mentions_kubernetes(source)
        || escapes
            .map(digit)
            .any(|digit| matches!(digit, Some(b'4'..=b'7')))
        || ["\\x", "\\U", "!!binary"].into_iter().any(has)
}

/// Returns whether a text contains the words of a manifest anywhere, because keys in JSON and flow style do not start a
/// line, or has the marks of a manifest whose letters are written as escapes.
pub(super) fn mentions_manifest(source: &[u8]) -> bool {
    let has_words = mentions_kubernetes(source) && memmem::find(source, b"kind").is_some();
    has_words || looks_like_kubernetes(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Vec<Content> {
        let file = SourceFile::new(Arc::from("x.yaml"), Arc::from(text));
        file.documents
            .into_iter()
            .map(|document| document.content)
            .collect()
    }

    #[test]
    fn documents_are_told_apart() {
        let all = contents(
            "# c\n---\na: 1\n---\napiVersion: v1\nkind: Pod\n---\na: [\n---\napiVersion: v1\nkind: Pod\nx: [\n---\n{{- if x }}\n---\nx: {{ y }}\n",
        );
        assert!(
            matches!(
                all.as_slice(),
                [
                    Content::Plain(_),
                    Content::Tree(_),
                    Content::Broken {
                        kubernetes: false,
                        ..
                    },
                    Content::Broken {
                        kubernetes: true,
                        ..
                    },
                    Content::Template,
                    Content::Template,
                ]
            ),
            "{all:?}"
        );
        for nothing in ["# only\n", "null\n", "~ # c\n", "[]\n"] {
            assert!(
                matches!(contents(nothing).as_slice(), [Content::Empty]),
                "{nothing}"
            );
        }
    }

    #[test]
    fn encrypted_documents_are_marked() {
        let text = "apiVersion: v1\nkind: Secret\nsops:\n  mac: ENC[AES256_GCM]\n";
        let file = SourceFile::new(Arc::from("x.yaml"), Arc::from(text));
        assert!(file.documents[0].encrypted);
    }
}
