//! Parses the ids of rules that a user writes in options, settings and suppressions.

use crate::finding::{GuardId, RuleId};

use super::suggest::unknown_value_message;

/// The ids that a user may write.
#[derive(Clone, Debug)]
pub struct RuleNames {
    all: Vec<RuleId>,
    reported: Vec<RuleId>,
}

/// Why a text is not the id of a rule or notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule {
    /// The message, with the most similar id.
    pub message: String,
    /// The guard with this id.
    pub guard: Option<GuardId>,
}

impl RuleNames {
    /// Collects the ids of rules and notices, which `check` reports, and those of the guards of `rewrite`.
    #[must_use]
    pub fn new(reported: impl IntoIterator<Item = RuleId>) -> Self {
        let mut reported: Vec<RuleId> = reported.into_iter().collect();
        reported.sort_unstable();
        let guards = GuardId::ALL.iter().map(|guard| guard.rule());
        let mut all: Vec<RuleId> = reported.iter().copied().chain(guards).collect();
        all.sort_unstable();
        Self { all, reported }
    }

    /// Returns the ids of all rules, notices and guards, sorted.
    #[must_use]
    pub fn all(&self) -> &[RuleId] {
        &self.all
    }

    /// Returns the ids of the rules and notices that `check` reports, sorted.
    #[must_use]
    pub fn reported(&self) -> &[RuleId] {
        &self.reported
    }

    /// Returns the rule, notice or guard with this id.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<RuleId> {
        find(&self.all, text)
    }

    /// Parses the id of a rule, notice or guard.
    ///
    /// # Errors
    /// The message for an unknown id, with the most similar one.
    pub fn parse(&self, text: &str) -> Result<RuleId, String> {
        self.find(text).ok_or_else(|| unknown(text, &self.all))
    }

    /// Parses the id of a rule or notice that `check` reports.
    ///
    /// # Errors
    /// The message for any other text, with the most similar id.
    pub fn parse_reported(&self, text: &str) -> Result<RuleId, UnknownRule> {
        find(&self.reported, text).ok_or_else(|| UnknownRule {
            message: unknown(text, &self.reported),
            guard: GuardId::named(text),
        })
    }
}

impl UnknownRule {
    /// Returns the message; for a guard, one that names the setting for guards.
    #[must_use]
    pub fn or_setting_of_guard(self) -> String {
        match self.guard {
            Some(guard) => format!(
                "`{guard}` is a guard of `rewrite`, which `check` does not report; use `rules: {{{guard}: ignore}}`"
            ),
            None => self.message,
        }
    }
}

fn find(sorted: &[RuleId], text: &str) -> Option<RuleId> {
    let at = sorted.binary_search_by(|id| id.as_str().cmp(text)).ok()?;
    sorted.get(at).copied()
}

fn unknown(text: &str, known: &[RuleId]) -> String {
    let known: Vec<&str> = known.iter().map(|id| id.as_str()).collect();
    unknown_value_message("rule", text, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_parsed_with_suggestions_for_similar_ones() {
        let rule = RuleId::from_static("strict-probe").unwrap();
        let names = RuleNames::new([rule]);
        assert_eq!(names.parse("strict-probe"), Ok(rule));
        assert_eq!(names.parse("probe-host"), Ok(GuardId::PROBE_HOST.rule()));
        assert_eq!(
            names.parse("prob-host").unwrap_err(),
            "unknown rule `prob-host`; did you mean `probe-host`?"
        );
        assert_eq!(names.parse_reported("strict-probe"), Ok(rule));
        let error = names.parse_reported("probe-host").unwrap_err();
        assert_eq!(error.guard, Some(GuardId::PROBE_HOST));
        let error = names.parse_reported("strikt-probe").unwrap_err();
        assert_eq!(
            error.or_setting_of_guard(),
            "unknown rule `strikt-probe`; did you mean `strict-probe`?"
        );
    }
}
