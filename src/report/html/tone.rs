//! The classes of the style sheet for outcomes, severities and changes, and the words of hops.

use meshprobe_mesh::finding::Severity;
use meshprobe_predict::predict::{HopState, Outcome};

use crate::diff::Class;

/// Returns the class of an outcome.
pub(super) const fn outcome_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "good",
        Outcome::NotInMesh => "calm",
        Outcome::Unknown => "warn",
        Outcome::Fails
        | Outcome::AlwaysPasses
        | Outcome::TargetChanged
        | Outcome::Refused
        | Outcome::InvalidManifest => "bad",
    }
}

/// Returns the class of a severity.
pub(super) const fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "bad",
        Severity::Warning => "warn",
        Severity::Note => "note",
    }
}

/// Returns the class of the style sheet for a class of changes.
pub(super) const fn change_class(class: Class) -> &'static str {
    match class {
        Class::Regression | Class::Added => "bad",
        Class::Changed => "note",
        Class::Improvement => "good",
        Class::Removed => "calm",
    }
}

/// Returns the class of a hop.
pub(super) const fn hop_class(state: HopState) -> &'static str {
    match state {
        HopState::Passed => "hop passed",
        HopState::Bypassed => "hop bypassed",
        HopState::Fault => "hop fault",
        HopState::Unknown => "hop unknown",
        HopState::NotReached => "hop missed",
    }
}

/// Returns what happens at a hop, for a probe with this outcome; empty if the request passes, which the style sheet marks.
pub(super) const fn hop_text(state: HopState, outcome: Outcome) -> &'static str {
    match (state, outcome) {
        (HopState::Passed, _) => "",
        (HopState::Bypassed, _) => "bypassed",
        (HopState::Unknown, _) => "not known",
        (HopState::NotReached, _) => "not reached",
        (HopState::Fault, Outcome::AlwaysPasses) => "always passes here",
        (HopState::Fault, Outcome::TargetChanged) => "target changes here",
        (HopState::Fault, Outcome::Refused) => "refused here",
        (HopState::Fault, _) => "fails here",
    }
}
