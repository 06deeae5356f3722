//! What the tool says about a manifest: plain data, rendered by `report`.

use std::sync::Arc;

use crate::yaml::{Change, Span, Value};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information.
    Note,
    /// A setting is void, dangerous, or the verdict rests on an assumption.
    Warning,
    /// The probe fails, can never fail, or the manifest is rejected.
    Error,
}

impl Severity {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Returns the severity one step down; a note stays a note.
    #[must_use]
    pub const fn lowered(self) -> Self {
        match self {
            Self::Error => Self::Warning,
            Self::Warning | Self::Note => Self::Note,
        }
    }
}

/// How sure a fact, and so a verdict, is; a verdict is as sure as its weakest deciding fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Nothing says anything about it.
    Unknown,
    /// Nothing in the tree says so; an option or a convention does.
    Assumed,
    /// The documented default of the release.
    Default,
    /// Written in the tree.
    Known,
}

impl Certainty {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Assumed => "assumed",
            Self::Default => "default",
            Self::Known => "known",
        }
    }
}

/// The Kubernetes object a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// The namespace, where one is written.
    pub namespace: Option<String>,
    /// `metadata.name`, empty where none is written.
    pub name: String,
}

/// A place in a file with a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The file as shown to the user, with `/`.
    pub path: Arc<str>,
    /// Bytes of that file.
    pub span: Span,
    /// The remark; may be empty on a primary label.
    pub message: String,
}

impl Label {
    /// Tells whether both labels point at the same place, whatever they say about it.
    #[must_use]
    pub fn is_at(&self, other: &Self) -> bool {
        self.path == other.path && self.span == other.span
    }
}

/// Whether a fix may be applied without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Applicability {
    /// No probe tests anything else than before, no working pod stops working, comments stay.
    Safe,
    /// Changes behaviour: only with `--unsafe-fixes`.
    Unsafe,
    /// Shown, never applied.
    DisplayOnly,
}

impl Applicability {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
            Self::DisplayOnly => "display-only",
        }
    }
}

/// A way to mend a finding: intended changes to one document.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What the fix does, in the imperative.
    pub title: String,
    /// Whether it may be applied without asking.
    pub applicability: Applicability,
    /// The file to edit.
    pub path: Arc<str>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The changes, all or none.
    pub changes: Vec<Change>,
    /// A document to add behind this one.
    pub adds: Option<Value>,
    /// The same as bytes of the file; filled in by the engine.
    pub edits: Vec<FileEdit>,
}

/// A byte range of a file and what replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The file.
    pub path: Arc<str>,
    /// The bytes to replace.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// How the user has silenced a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuppressedBy {
    /// A comment `# meshprobe: ignore[…]`.
    Comment,
    /// An annotation `meshprobe.dev/ignore`.
    Annotation,
    /// An entry of `ignore` in the configuration.
    Configuration,
}

impl SuppressedBy {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Annotation => "annotation",
            Self::Configuration => "configuration",
        }
    }
}

/// What silences a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// How.
    pub by: SuppressedBy,
    /// Why, in the words of the user; empty where none were given.
    pub reason: String,
    /// The file that says so.
    pub path: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

/// One thing to tell the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The id of the rule, kebab-case.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// How sure it is.
    pub certainty: Certainty,
    /// What is wrong and why it matters, in one sentence.
    pub message: String,
    /// The key or value at fault.
    pub primary: Label,
    /// The lines that decide.
    pub related: Vec<Label>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The object it is about.
    pub object: Option<ObjectRef>,
    /// The container it is about.
    pub container: Option<String>,
    /// The kustomizations, or the Flux or Argo CD objects, in which it holds; empty for what
    /// stands for itself.
    pub overlays: Vec<Arc<str>>,
    /// The field path within the object.
    pub field: Option<String>,
    /// What the probe will do: an outcome of `predict`.
    pub outcome: Option<&'static str>,
    /// The text that the kubelet will print.
    pub kubelet: Option<String>,
    /// Facts that the tree does not hold, each with the option that settles it.
    pub assumptions: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// A way to do it by machine.
    pub fix: Option<Fix>,
    /// Set where the user has silenced it.
    pub suppressed: Option<Suppression>,
}

impl Finding {
    /// Returns a finding with the given essentials and nothing else.
    #[must_use]
    pub fn new(rule: &'static str, severity: Severity, primary: Label, message: String) -> Self {
        Self {
            rule,
            severity,
            certainty: Certainty::Known,
            message,
            primary,
            related: Vec::new(),
            document: 0,
            object: None,
            container: None,
            overlays: Vec::new(),
            field: None,
            outcome: None,
            kubelet: None,
            assumptions: Vec::new(),
            help: None,
            fix: None,
            suppressed: None,
        }
    }
}

/// Returns the address of a rule's documentation, or of a guard's.
#[must_use]
pub fn docs_url(rule: &str) -> String {
    format!("https://meshprobe.dev/rules/{rule}")
}
