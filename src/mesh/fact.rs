//! A value together with how sure it is and where it comes from.

use crate::finding::{Certainty, Label};

/// One reason for a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What was seen or taken for granted.
    pub message: String,
    /// Where it is written, if it is.
    pub place: Option<Label>,
    /// The option that settles it, for what is not written anywhere.
    pub settle: Option<&'static str>,
}

impl Reason {
    /// Returns a reason that is written in the tree; the label's message is the reason.
    #[must_use]
    pub fn written(place: Label) -> Self {
        Self {
            message: place.message.clone(),
            place: Some(place),
            settle: None,
        }
    }

    /// Returns a reason without a place.
    #[must_use]
    pub fn said(message: impl Into<String>, settle: Option<&'static str>) -> Self {
        Self {
            message: message.into(),
            place: None,
            settle,
        }
    }
}

/// A value, its certainty and its provenance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact<T> {
    /// The value.
    pub value: T,
    /// How sure it is.
    pub certainty: Certainty,
    /// Where it comes from, the deciding reason first.
    pub because: Vec<Reason>,
}

impl<T> Fact<T> {
    /// Returns a fact that is written at `place`.
    #[must_use]
    pub fn known(value: T, place: Label) -> Self {
        Self {
            value,
            certainty: Certainty::Known,
            because: vec![Reason::written(place)],
        }
    }

    /// Returns a fact that follows from an option or from the facts around it.
    #[must_use]
    pub fn settled(value: T, message: impl Into<String>) -> Self {
        let because = vec![Reason::said(message, None)];
        Self {
            value,
            certainty: Certainty::Known,
            because,
        }
    }

    /// Returns the documented default of a release.
    #[must_use]
    pub fn default(value: T, message: impl Into<String>, settle: &'static str) -> Self {
        let because = vec![Reason::said(message, Some(settle))];
        Self {
            value,
            certainty: Certainty::Default,
            because,
        }
    }

    /// Returns a fact that nothing in the tree says.
    #[must_use]
    pub fn assumed(value: T, message: impl Into<String>, settle: Option<&'static str>) -> Self {
        let because = vec![Reason::said(message, settle)];
        Self {
            value,
            certainty: Certainty::Assumed,
            because,
        }
    }

    /// Returns a fact that nothing says anything about.
    #[must_use]
    pub fn unknown(value: T, message: impl Into<String>, settle: Option<&'static str>) -> Self {
        let because = vec![Reason::said(message, settle)];
        Self {
            value,
            certainty: Certainty::Unknown,
            because,
        }
    }

    /// Returns the fact with another value.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        Fact {
            value: change(self.value),
            certainty: self.certainty,
            because: self.because,
        }
    }

    /// Returns the fact with another reason in front.
    #[must_use]
    pub fn preceded_by(mut self, reason: Reason) -> Self {
        self.because.insert(0, reason);
        self
    }

    /// Returns this fact resting on `other` too: as sure as the weaker of both.
    #[must_use]
    pub fn resting_on<U>(mut self, other: &Fact<U>) -> Self {
        self.certainty = self.certainty.min(other.certainty);
        self.because.extend(other.because.iter().cloned());
        self
    }
}
