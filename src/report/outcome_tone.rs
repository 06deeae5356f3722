//! The colours of outcomes.

use crate::report::terminal_style::Tone;

/// Returns the colour of an outcome.
pub(super) fn outcome_tone(outcome: &str) -> Tone {
    match outcome {
        "ok" => Tone::Good,
        "fails" | "always-passes" | "target-changed" | "refused" | "broken-without-mesh" => {
            Tone::Error
        }
        "unknown" => Tone::Warning,
        _ => Tone::Faint,
    }
}
