//! Fixes of findings, and why a fix is not applied by default.

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_yaml::{Change, Span, Value};

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
    /// A document to add after this one.
    pub added_document: Option<Value>,
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
