//! Findings that depend on facts.

use super::fact::{Fact, Reason};
use crate::finding::{Certainty, Finding, Label};

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
                    self.add_assumption(reason.message.clone());
                }
                (None, None) => {}
            }
        }
    }

    fn add_assumption(&mut self, assumption: String) {
        if !self.assumptions.contains(&assumption) {
            self.assumptions.push(assumption);
        }
    }

    /// Adds an assumption with the option that settles it, once per option.
    pub fn assume(&mut self, assumption: &str, settle: &str) {
        let option = format!("[{settle}]");
        if !self
            .assumptions
            .iter()
            .any(|known| known.ends_with(&option))
        {
            self.assumptions.push(format!("{assumption} {option}"));
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
