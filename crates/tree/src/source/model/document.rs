//! A document of a file, with its kind of content.
//!
//! Reasons why the text of a file is missing.

use std::sync::Arc;

use meshprobe_yaml::{Ambiguity, Span, SyntaxError, Tree};

use crate::git::GitError;

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

/// Reason why the text of a file is missing or incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It could not be read, for this reason.
    Unreadable(String),
    /// It is `.git` of a repository, and git cannot list the files that it tracks. Ignore files hide nothing then, so that
    /// every file is read.
    UnlistedIndex(GitError),
    /// It is a symbolic link to a path that does not exist.
    DanglingLink,
    /// It exceeds a limit.
    TooLarge {
        /// The limit.
        limit: FileLimit,
        /// Whether it looks like a Kubernetes manifest.
        kubernetes: bool,
    },
    /// It is not UTF-8; `text` ends before the first invalid byte.
    NotUtf8 {
        /// Whether it nevertheless looks like a Kubernetes manifest.
        kubernetes: bool,
    },
    /// meshprobe panicked while it read the file: the location and the message of the panic.
    Panicked(String),
    /// The renderer that should have produced it failed.
    NotRendered {
        /// The message of the renderer.
        reason: String,
        /// The file that it had to render, as shown to the user.
        asked: Arc<str>,
    },
}

/// Limit that a file exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileLimit {
    /// The size of a file.
    Size,
    /// The values of a file.
    Values,
    /// The values of all files.
    AllValues,
}

impl Fault {
    /// Returns whether no text of the file could be read.
    #[must_use]
    pub const fn is_without_text(&self) -> bool {
        !matches!(self, Self::NotUtf8 { .. })
    }
}
