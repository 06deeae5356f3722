//! Applies fixes in rounds until no fix is left.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_mesh::finding::{Fix, RuleId};
use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::SourceSet;

use super::analysis::check;
use super::fix_history::FixHistory;
use super::fix_round::{FoundFindings, apply_round, is_wanted};
use super::outcome::Outcome;
use super::write::{Changed, WriteFailure};

/// The maximum number of rounds: a fix can reveal findings whose fixes are applied in the next round.
const MAX_ROUNDS: usize = 20;

/// The result of applying fixes.
#[derive(Debug)]
pub struct Fixed {
    /// The remaining findings, with their locations in the fixed text.
    pub outcome: Outcome,
    /// The fixed files.
    pub set: SourceSet,
    /// The files whose text has changed.
    pub changed: Vec<Changed>,
    /// How many findings were removed in all rounds; one fix can remove several.
    pub cured: usize,
    /// The findings of all rounds.
    pub(super) found: FoundFindings,
    /// Rules whose fixes undo each other; their files are not changed.
    pub unsettled: Vec<RuleId>,
}

impl Fixed {
    /// Reverts the files that could not be written, and reports their findings again.
    #[must_use]
    pub fn without(
        mut self,
        failures: &[WriteFailure],
        original: &SourceSet,
        settings: &Settings,
        suppress_known: impl Fn(&SourceSet, &mut Outcome),
    ) -> Self {
        let check = |set: &SourceSet| check_unknown(set, settings, &suppress_known);
        for failure in failures {
            let old = original.file(&failure.path);
            if let (Some(old), Some(new)) = (old, self.set.file_mut(&failure.path)) {
                *new = old.clone();
            }
        }
        self.outcome = check(&self.set);
        self.changed = Changed::between(original, &self.set);
        self.cured = self.found.fixed(&self.outcome, &self.changed);
        self
    }
}

/// Applies safe fixes and, if `also_unsafe` is set, unsafe ones, in memory.
#[must_use]
pub fn fix(original: &SourceSet, settings: &Settings, also_unsafe: bool) -> Fixed {
    fix_with(original, also_unsafe, |set| check(set, settings))
}

/// Applies fixes as [`fix`] does, except those of the findings that `suppress_known` suppresses.
#[must_use]
pub fn fix_unknown(
    original: &SourceSet,
    settings: &Settings,
    also_unsafe: bool,
    suppress_known: impl Fn(&SourceSet, &mut Outcome),
) -> Fixed {
    fix_with(original, also_unsafe, |set| {
        check_unknown(set, settings, &suppress_known)
    })
}

fn check_unknown(
    set: &SourceSet,
    settings: &Settings,
    suppress_known: &impl Fn(&SourceSet, &mut Outcome),
) -> Outcome {
    let mut outcome = check(set, settings);
    suppress_known(set, &mut outcome);
    outcome
}

fn fix_with(
    original: &SourceSet,
    also_unsafe: bool,
    check: impl Fn(&SourceSet) -> Outcome,
) -> Fixed {
    let mut set = original.clone();
    let mut outcome = check(&set);
    let mut unsettled = Vec::new();
    let mut history = FixHistory::new(&outcome);
    let mut found = FoundFindings::new(&outcome);
    for round in 0..=MAX_ROUNDS {
        let mut next = set.clone();
        if !apply_round(&mut next, &outcome, also_unsafe, &mut history) {
            break;
        }
        if round == MAX_ROUNDS {
            unsettled = revert_unsettled(original, &mut set, &next, &outcome, also_unsafe);
        } else {
            set = next;
        }
        outcome = check(&set);
        found.add(&outcome);
    }
    let changed = Changed::between(original, &set);
    Fixed {
        cured: found.fixed(&outcome, &changed),
        changed,
        found,
        outcome,
        set,
        unsettled,
    }
}

/// Reverts the files that another round would change again, and returns the rules whose fixes do so.
fn revert_unsettled(
    original: &SourceSet,
    set: &mut SourceSet,
    next: &SourceSet,
    outcome: &Outcome,
    also_unsafe: bool,
) -> Vec<RuleId> {
    let unsettled: BTreeSet<Arc<str>> = Changed::between(set, next)
        .into_iter()
        .map(|file| file.path)
        .collect();
    for path in &unsettled {
        if let (Some(old), Some(new)) = (original.file(path), set.file_mut(path)) {
            *new = old.clone();
        }
    }
    let is_unsettled = |fix: &Fix| unsettled.contains(&fix.path) && is_wanted(fix, also_unsafe);
    let rules: BTreeSet<RuleId> = outcome
        .findings
        .iter()
        .filter(|finding| finding.fix.as_ref().is_some_and(is_unsettled))
        .map(|finding| finding.rule)
        .collect();
    rules.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshprobe_mesh::finding::{Applicability, FileEdit, Finding, Label, Severity, rule_id};
    use meshprobe_yaml::{Change, FieldPath, Span, Value};

    use super::super::place_fixes::place_fixes;

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a # why\n  labels: {b: c}\n";

    fn finding(rule: RuleId, changes: Vec<Change>) -> Finding {
        let label = Label {
            path: "a.yaml".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let mut finding = Finding::new(rule, Severity::Warning, label, String::new());
        finding.fix = Some(Fix {
            title: "do it".into(),
            applicability: Applicability::Safe,
            path: "a.yaml".into(),
            document: 0,
            changes,
            edits: Vec::new(),
        });
        finding
    }

    fn set(keys: &[&'static str], value: &str) -> Change {
        let route = FieldPath::keys(keys);
        Change::Set {
            route,
            value: Value::Str(value.to_owned()),
        }
    }

    fn remove(keys: &[&'static str]) -> Change {
        Change::Remove {
            route: FieldPath::keys(keys),
        }
    }

    fn fixed(findings: impl Fn(&str) -> Vec<Finding>) -> Fixed {
        fix_with(&SourceSet::from_text("a.yaml", POD), false, |set| Outcome {
            findings: findings(&set.files[0].text),
            ..Outcome::default()
        })
    }

    #[test]
    fn overlapping_fixes_are_applied_in_successive_rounds() {
        // The first fix changes a label that the second one deletes, so it is applied first.
        let done = fixed(|text| {
            let mut found = Vec::new();
            if text.contains("b: c") {
                found.push(finding(
                    rule_id!("one"),
                    vec![set(&["metadata", "labels", "b"], "d")],
                ));
            }
            if text.contains("labels") {
                found.push(finding(
                    rule_id!("two"),
                    vec![remove(&["metadata", "labels"])],
                ));
            }
            if text.contains("name: a") {
                found.push(finding(
                    rule_id!("three"),
                    vec![set(&["metadata", "name"], "z")],
                ));
            }
            found
        });
        let text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: z # why\n";
        assert_eq!(&*done.set.files[0].text, text);
        assert_eq!((done.cured, done.unsettled.len()), (3, 0));
    }

    #[test]
    fn fixes_that_undo_each_other_do_not_change_the_file() {
        let done = fixed(|text| {
            let mut found = vec![finding(
                rule_id!("to-a"),
                vec![set(&["metadata", "name"], "a")],
            )];
            if text.contains("name: a") {
                found.insert(
                    0,
                    finding(rule_id!("to-b"), vec![set(&["metadata", "name"], "b")]),
                );
            }
            found
        });
        assert_eq!(&*done.set.files[0].text, POD);
        assert!(done.changed.is_empty());
        assert_eq!(done.unsettled, [rule_id!("to-a"), rule_id!("to-b")]);
    }

    #[test]
    fn a_finding_that_a_fix_reveals_does_not_undo_the_fix() {
        let done = fixed(|text| {
            let (rule, to) = if text.contains("name: a") {
                (rule_id!("to-b"), "b")
            } else {
                (rule_id!("to-a"), "a")
            };
            vec![finding(rule, vec![set(&["metadata", "name"], to)])]
        });
        assert!(done.set.files[0].text.contains("name: b # why"));
        assert_eq!(done.outcome.findings.len(), 1);
    }

    #[test]
    fn a_fix_that_breaks_the_document_is_not_applied() {
        let set = SourceSet::from_text(
            "a.yaml",
            &format!("# meshprobe: ignore[syntax-error] x\n{POD}"),
        );
        let settings = Settings::default();
        let good = fix(&set, &settings, false);
        assert_eq!(&*good.set.files[0].text, POD);
        let mut broken = finding(rule_id!("break"), Vec::new());
        let edit = FileEdit {
            path: "a.yaml".into(),
            span: Span::new(0, POD.len()),
            text: "a: [\n".into(),
        };
        if let Some(fix) = &mut broken.fix {
            fix.edits.push(edit);
        }
        let set = SourceSet::from_text("a.yaml", POD);
        place_fixes(&set, std::slice::from_mut(&mut broken));
        assert!(broken.fix.unwrap().applicability.is_display_only());
        // A change that cannot be applied is skipped; the others are applied.
        let done = fixed(|text| {
            if text.contains("name: a") {
                return vec![
                    finding(rule_id!("bad"), vec![set_in_scalar()]),
                    finding(
                        rule_id!("good"),
                        vec![super::tests::set(&["metadata", "name"], "z")],
                    ),
                ];
            }
            vec![finding(rule_id!("bad"), vec![set_in_scalar()])]
        });
        assert!(done.set.files[0].text.contains("name: z # why"));
        assert_eq!(done.unsettled.len(), 0);
    }

    fn set_in_scalar() -> Change {
        set(&["kind", "deeper"], "x")
    }
}
