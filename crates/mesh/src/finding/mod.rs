//! Findings about manifests: plain data, which `report` renders.

mod environment;
mod rule_id;
mod sentence;

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use meshprobe_yaml::{Change, Span};
use serde::{Serialize, Serializer};

pub use environment::{
    Certainty, DifferentOutcome, Environment, environment_file, environment_id, environment_object,
    name_list, names_and_more, sentence_list, shortened,
};
pub use rule_id::{DOCS_URL, GuardId, RuleId, docs_url, page_url, rule_id};
pub use sentence::Sentence;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information.
    Note,
    /// A setting has no effect or is dangerous, or the verdict depends on an assumption.
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

/// The Kubernetes object that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// The API version, such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The namespace, if the manifest contains one.
    pub namespace: Option<String>,
    /// `metadata.name`; empty if it is missing.
    pub name: String,
}

/// A location in a file with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The file as shown to the user, with `/`.
    pub path: Arc<str>,
    /// The byte range in that file.
    pub span: Span,
    /// The message; may be empty for a primary label.
    pub message: String,
}

impl Label {
    /// Returns whether both labels have the same location, regardless of their messages.
    #[must_use]
    pub fn is_at(&self, other: &Self) -> bool {
        self.path == other.path && self.span == other.span
    }
}

/// A fact that nothing in the tree proves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assumption {
    /// What is assumed.
    pub fact: String,
    /// The option that settles it, such as `--assume mtls=STRICT`; `None` if the user has set it.
    pub option: Option<Cow<'static, str>>,
}

impl Display for Assumption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fact)?;
        let option = self.option.as_ref();
        option.map_or(Ok(()), |option| write!(f, " [{option}]"))
    }
}

impl Serialize for Assumption {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How the user has suppressed a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuppressedBy {
    /// A comment `# meshprobe: ignore[…]`.
    Comment,
    /// An annotation `meshprobe.dev/ignore`.
    Annotation,
    /// An entry of `ignore` in the configuration.
    Configuration,
    /// An entry of the file of `--baseline`.
    Baseline,
}

impl SuppressedBy {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::Annotation => "annotation",
            Self::Configuration => "configuration",
            Self::Baseline => "baseline",
        }
    }
}

/// The suppression that suppresses a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// How the user has suppressed the finding.
    pub by: SuppressedBy,
    /// The reason that the user gives; may be empty.
    pub reason: String,
    /// The file that contains the suppression.
    pub path: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

/// One reported problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The id of the rule, notice or guard.
    pub rule: RuleId,
    /// The severity.
    pub severity: Severity,
    /// The certainty.
    pub certainty: Certainty,
    /// What is wrong and why it matters, in one sentence.
    pub message: String,
    /// The key or value at fault.
    pub primary: Label,
    /// The lines that decide the finding.
    pub related: Vec<Label>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The object that the finding is about.
    pub object: Option<ObjectRef>,
    /// The container that the finding is about.
    pub container: Option<String>,
    /// The kustomizations, or the Flux or Argo CD objects, that the finding applies to; empty for objects that are not
    /// rendered.
    pub overlays: Vec<Arc<str>>,
    /// The environments that deploy the object, if there are several; those that the finding applies to first.
    pub environments: Vec<Environment>,
    /// The probe or hook whose outcome the finding reports.
    pub probe: Option<ProbeRef>,
    /// The parts of the message, if `rewrite` refuses the object.
    pub refusal: Option<Refusal>,
    /// The parts of the message, if it can hold in the same way for other probes or workloads.
    pub sentence: Option<Sentence>,
    /// The field path within the object.
    pub field: Option<String>,
    /// The outcome of `predict` for the probe.
    pub outcome: Option<&'static str>,
    /// The text that the kubelet will print.
    pub kubelet: Option<String>,
    /// The assumed facts, each with the option that settles it.
    pub assumptions: Vec<Assumption>,
    /// What to do.
    pub help: Option<String>,
    /// A fix that meshprobe can apply or show.
    pub fix: Option<Fix>,
    /// The suppression, if the user has suppressed the finding.
    pub suppressed: Option<Suppression>,
}

impl Finding {
    /// Returns a finding of certainty `Known` in the first document, with these fields and no others set.
    #[must_use]
    pub fn new(
        rule: impl Into<RuleId>,
        severity: Severity,
        primary: Label,
        message: String,
    ) -> Self {
        Self {
            rule: rule.into(),
            severity,
            certainty: Certainty::Known,
            message,
            primary,
            related: Vec::new(),
            document: 0,
            object: None,
            container: None,
            overlays: Vec::new(),
            environments: Vec::new(),
            probe: None,
            refusal: None,
            sentence: None,
            field: None,
            outcome: None,
            kubelet: None,
            assumptions: Vec::new(),
            help: None,
            fix: None,
            suppressed: None,
        }
    }

    /// Adds a line that decides the finding.
    pub fn relate(&mut self, label: Label) {
        self.related.push(label);
    }

    /// Sets the message to a sentence about a probe or a workload.
    pub fn set_sentence(&mut self, subject: &str, sentence: Sentence) {
        self.message = sentence.about(subject);
        self.sentence = Some(sentence);
    }

    /// Sets the message to that of a refusal.
    pub fn set_refusal(&mut self, refusal: Refusal) {
        self.message = refusal.message();
        self.refusal = Some(refusal);
    }

    /// Sorts the environments: those that the finding applies to, then the others by outcome, each by name. Those that
    /// share a name, because they have only a Namespace in common, are named after their paths.
    pub fn sort_environments(&mut self) {
        environment::make_names_unique(&mut self.environments);
        self.environments.sort_by(|a, b| a.order().cmp(&b.order()));
    }

    /// Returns the environments of the finding as one line, such as `prod-us; works in prod-eu; not known in staging`, for a field
    /// named `in`; `None` if the object is not deployed in several. A long list of names is cut.
    #[must_use]
    pub fn environments_line(&self) -> Option<String> {
        environment::environments_line(&self.environments)
    }
}

/// A probe or hook of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRef {
    /// The name for messages, such as "readinessProbe of container `web`".
    pub title: String,
    /// The field that contains it, such as `readinessProbe`.
    pub slot: &'static str,
    /// The file of its key, as shown to the user with `/`.
    pub path: Arc<str>,
    /// The byte range of its key in that file.
    pub span: Span,
}

/// A refusal to rewrite a workload, or to undo its rewrite. The message of the finding consists of both parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is not done: `Deployment/web is not rewritten: `.
    pub start: String,
    /// The reason, which continues the sentence.
    pub reason: String,
}

impl Refusal {
    /// Returns the message of the finding.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}{}", self.start, self.reason)
    }
}

/// Whether a fix is applied by default, and the reason if it is not.
///
/// A reason is a clause that continues "because", such as "the setting then takes effect".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applicability {
    /// All probes test the same as before, no working pod fails because of the fix, and comments are kept.
    Safe,
    /// The fix changes behaviour; applied only with `--unsafe-fixes`.
    Unsafe(Cow<'static, str>),
    /// The fix is shown and never applied. The reason is empty if the finding shows it.
    DisplayOnly(Cow<'static, str>),
}

impl Applicability {
    /// Returns `Unsafe` with a reason.
    #[must_use]
    pub fn unsafe_because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsafe(reason.into())
    }

    /// Returns `DisplayOnly` with a reason.
    #[must_use]
    pub fn display_only_because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::DisplayOnly(reason.into())
    }

    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe(_) => "unsafe",
            Self::DisplayOnly(_) => "display-only",
        }
    }

    /// Returns why the fix is not applied by default; `None` for a safe fix, and for a reason that the finding shows.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Safe => None,
            Self::Unsafe(reason) | Self::DisplayOnly(reason) => {
                (!reason.is_empty()).then_some(reason)
            }
        }
    }

    /// Returns whether the fix is applied by default.
    #[must_use]
    pub const fn is_safe(&self) -> bool {
        matches!(self, Self::Safe)
    }

    /// Returns whether the fix is applied only with `--unsafe-fixes`.
    #[must_use]
    pub const fn is_unsafe(&self) -> bool {
        matches!(self, Self::Unsafe(_))
    }

    /// Returns whether the fix is never applied.
    #[must_use]
    pub const fn is_display_only(&self) -> bool {
        matches!(self, Self::DisplayOnly(_))
    }

    /// Returns the more restrictive of both; `self` if both are equally restrictive.
    #[must_use]
    pub fn limited_to(self, limit: Self) -> Self {
        if limit.restriction() > self.restriction() {
            limit
        } else {
            self
        }
    }

    const fn restriction(&self) -> u8 {
        match self {
            Self::Safe => 0,
            Self::Unsafe(_) => 1,
            Self::DisplayOnly(_) => 2,
        }
    }
}

/// A fix for a finding: changes to one document.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// A description of the fix, in the imperative.
    pub title: String,
    /// Whether the fix is applied by default.
    pub applicability: Applicability,
    /// The file to edit.
    pub path: Arc<str>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The changes, of which all or none are applied.
    pub changes: Vec<Change>,
    /// The changes as edits of the file; set by the engine.
    pub edits: Vec<FileEdit>,
}

impl Fix {
    /// Makes the fix at least as restricted as `limit`. A fix that is already so restricted keeps its reason.
    pub fn limit_to(&mut self, limit: Applicability) {
        let own = std::mem::replace(&mut self.applicability, Applicability::Safe);
        self.applicability = own.limited_to(limit);
    }
}

/// A byte range of a file and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The file.
    pub path: Arc<str>,
    /// The bytes to replace.
    pub span: Span,
    /// The replacement.
    pub text: String,
}
