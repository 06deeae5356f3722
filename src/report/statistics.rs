//! Counts findings per rule, for `--statistics`.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{RuleId, Severity};
use serde::Serialize;

use crate::engine::Outcome;
use crate::report::terminal_style::{TerminalStyle, Tone};

/// The number of findings of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    /// The id of the rule.
    pub rule: RuleId,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity note.
    pub notes: usize,
    /// Of these: findings with a fix that can be applied, safe or unsafe.
    pub fixable: usize,
    /// Suppressed findings, which the other counts do not include.
    pub suppressed: usize,
}

impl RuleCount {
    const fn reported(&self) -> usize {
        self.errors + self.warnings + self.notes
    }
}

/// Counts the findings of each rule, the most frequent first.
#[must_use]
pub fn statistics(outcome: &Outcome) -> Vec<RuleCount> {
    let mut counts: BTreeMap<RuleId, RuleCount> = BTreeMap::new();
    for finding in outcome.all() {
        let count = counts.entry(finding.rule).or_insert(RuleCount {
            rule: finding.rule,
            errors: 0,
            warnings: 0,
            notes: 0,
            fixable: 0,
            suppressed: 0,
        });
        if finding.suppressed.is_some() {
            count.suppressed += 1;
            continue;
        }
        match finding.severity {
            Severity::Error => count.errors += 1,
            Severity::Warning => count.warnings += 1,
            Severity::Note => count.notes += 1,
        }
        let fix = finding.fix.as_ref();
        let is_fixable = fix.is_some_and(|fix| !fix.applicability.is_display_only());
        count.fixable += usize::from(is_fixable);
    }
    let mut counts: Vec<RuleCount> = counts.into_values().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(count.reported()));
    counts
}

/// Returns the counts as a table.
#[must_use]
pub fn statistics_table(counts: &[RuleCount], style: TerminalStyle) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let width = counts
        .iter()
        .map(|count| count.rule.as_str().len())
        .max()
        .unwrap_or_default()
        .max("RULE".len());
    let line = |cells: [&str; 6]| {
        let [rule, numbers @ ..] = cells;
        let numbers = numbers.map(|cell| format!("  {cell:>10}"));
        format!("{rule:width$}{}", numbers.concat())
    };
    let heading = line([
        "RULE",
        "ERRORS",
        "WARNINGS",
        "NOTES",
        "FIXABLE",
        "SUPPRESSED",
    ]);
    let mut out = style.paint(Tone::Strong, &heading) + "\n";
    for count in counts {
        let numbers = [
            count.errors,
            count.warnings,
            count.notes,
            count.fixable,
            count.suppressed,
        ]
        .map(|number| number.to_string());
        let [errors, warnings, notes, fixable, suppressed] = &numbers;
        out.push_str(&line([
            count.rule.as_str(),
            errors,
            warnings,
            notes,
            fixable,
            suppressed,
        ]));
        out.push('\n');
    }
    out
}
