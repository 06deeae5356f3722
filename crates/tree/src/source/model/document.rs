//! A document of a file, with its kind of content.

use std::sync::Arc;

use meshprobe_yaml::{Ambiguity, Span, SyntaxError, Tree};

/// Content of a document.
#[derive(Clone, Debug)]
pub enum Content {
    /// Nothing but comments, `null` or `[]`: kubectl and kustomize skip it.
    Empty,
    /// A Kubernetes document, or a kustomization.
    Tree(Arc<Tree>),
    /// A mapping that is not a Kubernetes object: Helm values, a `Chart.yaml`.
    Plain(Arc<Tree>),
    /// Other YAML, or a JSON file without signs of Kubernetes.
    NotKubernetes,
    /// The source of a template (Helm and the like), which is not YAML yet.
    Template,
    /// Not YAML.
    Broken {
        /// The error with its location.
        error: SyntaxError,
        /// Whether it nevertheless looks like a Kubernetes manifest, or is a kustomization.
        kubernetes: bool,
    },
}

/// Document of a [`SourceFile`](crate::source::SourceFile).
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, as shown to the user.
    pub path: Arc<str>,
    /// The number of the document in its file, from 0, including empty documents.
    pub index: usize,
    /// The bytes of the file that belong to it, with its `---` and the surrounding comments.
    pub segment: Span,
    /// Its content.
    pub content: Content,
    /// Whether a kustomization uses the file as a patch: then it is not an object itself.
    pub patch: bool,
    /// Whether SOPS has encrypted it: any edit would invalidate its checksum.
    pub encrypted: bool,
    /// Keys that kubectl and kustomize read differently, in a Kubernetes document.
    pub ambiguities: Vec<Ambiguity>,
}

impl Document {
    /// Returns the nodes, if this is a Kubernetes document.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        match &self.content {
            Content::Tree(tree) => Some(tree),
            _ => None,
        }
    }

    /// Returns whether the document has more nodes than the limit of the parser.
    pub(in crate::source) fn is_over_limit(&self) -> bool {
        matches!(&self.content, Content::Broken { error, .. } if error.is_over_limit())
    }

    /// Returns the nodes, if the root is a mapping of any kind.
    pub(in crate::source) fn any_tree(&self) -> Option<&Tree> {
        match &self.content {
            Content::Tree(tree) | Content::Plain(tree) => Some(tree),
            _ => None,
        }
    }
}
