//! Suggestions for misspelt words.
//!
//! Parses the ids of rules that a user writes in options, settings and suppressions.

use crate::finding::{GuardId, RuleId};

/// The length in bytes of the longest word that is compared: a comparison takes time in proportion to the length.
const LONGEST: usize = 128;

/// Returns the known word that is most similar to `given`; `None` if no word is similar enough.
#[must_use]
pub fn most_similar<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&given, &word.to_lowercase()), word))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// The maximum number of words that a message suggests.
const SUGGESTED: usize = 4;

/// Returns the known words that start with `given` and a hyphen; without one, those that contain it between hyphens.
fn with_words_of<'k>(given: &str, known: &[&'k str]) -> Vec<&'k str> {
    let given = given.to_lowercase();
    let starts = |word: &str| {
        let rest = word.strip_prefix(given.as_str());
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    let inner = format!("-{given}-");
    let contains = |word: &str| format!("-{word}-").contains(&inner);
    let select = |is_selected: &dyn Fn(&str) -> bool| -> Vec<&'k str> {
        let words = known.iter().copied();
        words.filter(|word| is_selected(word)).collect()
    };
    let first = select(&starts);
    match first.is_empty() && !given.is_empty() {
        true => select(&contains),
        false => first,
    }
}

/// The maximum number of words that a message lists. Only rules exceed it.
const LISTED: usize = 20;

/// Returns the message that `given` is not one of `known`, with the most similar word or all words.
#[must_use]
pub fn unknown_value_message(what: &str, given: &str, known: &[&str]) -> String {
    let mut likely = with_words_of(given, known);
    if likely.is_empty() || likely.len() > SUGGESTED {
        likely = most_similar(given, known.iter().copied())
            .into_iter()
            .collect();
    }
    let quoted: Vec<String> = likely.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => format!("unknown {what} `{given}`; did you mean {last}?"),
        Some((last, others)) => format!(
            "unknown {what} `{given}`; did you mean {} or {last}?",
            others.join(", ")
        ),
        None if known.len() > LISTED => {
            format!("unknown {what} `{given}`; run `meshprobe rule` to list all rules")
        }
        None => format!(
            "unknown {what} `{given}`; expected one of {}",
            listed(known)
        ),
    }
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

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
    fn similar_words_are_suggested() {
        let known = ["injection", "mtls", "root-namespace"];
        assert_eq!(most_similar("injektion", known), Some("injection"));
        assert_eq!(most_similar("rootNamespace", known), Some("root-namespace"));
        assert_eq!(most_similar("zzz", known), None);
        assert_eq!(
            unknown_value_message("key", "zzz", &known),
            "unknown key `zzz`; expected one of `injection`, `mtls`, `root-namespace`"
        );
        let rules = [
            "tcp-probe-always-passes",
            "tcp-probe-needs-1-12",
            "probe-host",
            "osm-tcp-host-lost",
        ];
        for (given, suggested) in [
            (
                "tcp-probe",
                "`tcp-probe-always-passes` or `tcp-probe-needs-1-12`",
            ),
            ("always-passes", "`tcp-probe-always-passes`"),
            ("tcp", "`tcp-probe-always-passes` or `tcp-probe-needs-1-12`"),
        ] {
            assert_eq!(
                unknown_value_message("rule", given, &rules),
                format!("unknown rule `{given}`; did you mean {suggested}?")
            );
        }
        assert_eq!(
            unknown_value_message("rule", "zzz", &["a"; 21]),
            "unknown rule `zzz`; run `meshprobe rule` to list all rules"
        );
    }

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
