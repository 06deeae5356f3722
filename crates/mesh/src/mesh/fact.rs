//! A value, its certainty and its provenance.
//!
//! Findings that depend on facts.

use crate::finding::{Assumption, Certainty, Finding, Label};

/// One reason for a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The observation or assumption.
    pub message: String,
    /// The position in the tree, if there is one.
    pub place: Option<Label>,
    /// The option that settles it if the tree does not contain it.
    pub settle: Option<&'static str>,
    /// Whether it is an assumption that the user made with `--assume`.
    pub is_assumed_by_user: bool,
    /// The line that suggests an assumption, if there is one.
    pub evidence: Option<Label>,
}

impl Reason {
    /// Returns a reason that is written in the tree; its message is that of the label.
    #[must_use]
    pub fn written(place: Label) -> Self {
        Self {
            message: place.message.clone(),
            place: Some(place),
            settle: None,
            is_assumed_by_user: false,
            evidence: None,
        }
    }

    /// Returns a reason without a position in the tree.
    #[must_use]
    pub fn without_place(message: impl Into<String>, settle: Option<&'static str>) -> Self {
        Self {
            message: message.into(),
            place: None,
            settle,
            is_assumed_by_user: false,
            evidence: None,
        }
    }

    /// Returns an assumption that the user made with `--assume`.
    #[must_use]
    pub fn assumed_by_user(message: impl Into<String>) -> Self {
        Self {
            is_assumed_by_user: true,
            ..Self::without_place(message, None)
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
    /// Its provenance, with the deciding reason first.
    pub because: Vec<Reason>,
}

impl<T> Fact<T> {
    /// Returns whether the fact follows from the tree or from a default, or only from assumptions that the user made.
    #[must_use]
    pub fn is_proven_or_assumed_by_user(&self) -> bool {
        let because = &self.because;
        let is_assumed_by_user = because.iter().any(|reason| reason.is_assumed_by_user)
            && because.iter().all(|reason| reason.settle.is_none());
        self.certainty >= Certainty::Default || is_assumed_by_user
    }

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
        let because = vec![Reason::without_place(message, None)];
        Self {
            value,
            certainty: Certainty::Known,
            because,
        }
    }

    /// Returns the documented default of a release.
    #[must_use]
    pub fn default(value: T, message: impl Into<String>, settle: &'static str) -> Self {
        let because = vec![Reason::without_place(message, Some(settle))];
        Self {
            value,
            certainty: Certainty::Default,
            because,
        }
    }

    /// Returns an assumed fact, which nothing in the tree states.
    #[must_use]
    pub fn assumed(value: T, message: impl Into<String>, settle: Option<&'static str>) -> Self {
        let because = vec![Reason::without_place(message, settle)];
        Self {
            value,
            certainty: Certainty::Assumed,
            because,
        }
    }

    /// Returns a fact that the user set with `--assume`.
    #[must_use]
    pub fn assumed_by_user(value: T, message: impl Into<String>) -> Self {
        Self {
            value,
            certainty: Certainty::Assumed,
            because: vec![Reason::assumed_by_user(message)],
        }
    }

    /// Returns a fact that the user set with `--override`, or with `--assume`.
    #[must_use]
    pub fn set_by_user(value: T, message: impl Into<String>, is_override: bool) -> Self {
        if is_override {
            Self::settled(value, message)
        } else {
            Self::assumed_by_user(value, message)
        }
    }

    /// Returns a fact with an unknown value.
    #[must_use]
    pub fn unknown(value: T, message: impl Into<String>, settle: Option<&'static str>) -> Self {
        let because = vec![Reason::without_place(message, settle)];
        Self {
            value,
            certainty: Certainty::Unknown,
            because,
        }
    }

    /// Returns the fact with a converted value.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        Fact {
            value: change(self.value),
            certainty: self.certainty,
            because: self.because,
        }
    }

    /// Returns the fact with another reason before the others.
    #[must_use]
    pub fn preceded_by(mut self, reason: Reason) -> Self {
        self.because.insert(0, reason);
        self
    }

    /// Returns this fact with `other` as an additional basis: it is as certain as the weaker of both.
    #[must_use]
    pub fn depending_on<U>(mut self, other: &Fact<U>) -> Self {
        self.certainty = self.certainty.min(other.certainty);
        self.because.extend(other.because.iter().cloned());
        self
    }
}

impl Finding {
    /// Makes the finding depend on a fact: adds its places as related labels and its assumptions. An assumption
    /// lowers the severity by one step.
    pub fn depend_on<T>(&mut self, fact: &Fact<T>) {
        self.depend_on_reasons(fact.certainty, &fact.because);
    }

    pub fn depend_on_reasons(&mut self, certainty: Certainty, because: &[Reason]) {
        let was_certain = self.certainty > Certainty::Assumed;
        self.certainty = self.certainty.min(certainty);
        if was_certain && self.certainty <= Certainty::Assumed {
            self.severity = self.severity.lowered();
        }
        for reason in because {
            match (&reason.place, reason.settle) {
                (Some(place), _) => self.add_related(place),
                (None, Some(settle)) => self.assume(&reason.message, settle),
                (None, None) if reason.is_assumed_by_user => {
                    self.add_assumption(Assumption {
                        fact: reason.message.clone(),
                        option: None,
                    });
                }
                (None, None) => {}
            }
        }
    }

    fn add_assumption(&mut self, assumption: Assumption) {
        if !self.assumptions.contains(&assumption) {
            self.assumptions.push(assumption);
        }
    }

    /// Adds an assumption with the option that settles it, once per option.
    pub fn assume(&mut self, fact: &str, settle: &'static str) {
        let option = Some(settle.into());
        if !self.assumptions.iter().any(|known| known.option == option) {
            let fact = fact.to_owned();
            self.assumptions.push(Assumption { fact, option });
        }
    }

    /// Adds the places and assumptions of a fact without lowering the severity: for facts that hold by
    /// convention, such as the name of the root namespace.
    pub fn cite<T>(&mut self, fact: &Fact<T>) {
        let (severity, certainty) = (self.severity, self.certainty);
        self.depend_on(fact);
        self.severity = severity;
        self.certainty = certainty;
    }

    fn add_related(&mut self, place: &Label) {
        if !self.related.contains(place) && *place != self.primary {
            self.related.push(place.clone());
        }
    }
}
