//! Compares the handlers of two states.

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Finding, Severity, sentence_list};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use super::cause::{Cause, Causes, NOT_FOUND};
use super::change::{Change, Comparison, Subject};
use super::class::{Class, Side, is_fault};
use super::environments::{Environments, Relation};
use super::findings::{Pairing, Repeated};
use super::probe_state::ProbeState;
use super::state::State;

/// Compares the handlers of two states, and adds the changes.
pub(super) fn compare_probes(
    before: (&State, &SourceSet),
    after: (&State, &SourceSet),
    causes: &mut Causes<'_>,
    comparison: &mut Comparison,
) {
    let (old, new) = (&before.0.probes, &after.0.probes);
    let pairing = pair_probes(old, new);
    let mut probes = Probes {
        findings: HandlerFindings::of(after.0, after.1),
        environments: Environments::new(before, after),
        remaining: None,
        has_other_files: !std::ptr::eq(before.1, after.1),
        after: new,
        causes,
        comparison,
    };
    for &(old_index, new_index) in &pairing.pairs {
        if let Some((old, new)) = old.get(old_index).zip(new.get(new_index)) {
            probes.compare(old, new);
        }
    }
    let removed = pairing.only_before().iter();
    for old in removed.filter_map(|index| old.get(*index)) {
        let cause = probes.causes.of_removed(old);
        probes.remove(old, cause);
    }
    let added = pairing.only_after().iter();
    for new in added.filter_map(|index| new.get(*index)) {
        let cause = is_fault(new.outcome).then(|| probes.causes.of_added(new));
        probes.add(new, cause);
    }
}

/// The comparison of the handlers of two states.
struct Probes<'c, 'a, 'l> {
    findings: HandlerFindings<'a>,
    environments: Environments<'a>,
    /// What environments deploy in the second state; computed for the first removed handler.
    remaining: Option<Remaining<'a>>,
    /// Whether the states have different files. A supposed fact changes how certain others are.
    has_other_files: bool,
    /// The handlers of the second state.
    after: &'a [ProbeState],
    causes: &'c mut Causes<'l>,
    comparison: &'c mut Comparison,
}

impl Probes<'_, '_, '_> {
    /// Compares a handler that both states have.
    fn compare(&mut self, old: &ProbeState, new: &ProbeState) {
        let relation = self.environments.relation(old, new);
        let is_less_certain = self.has_other_files && old.is_proven_unlike(new);
        let is_same = old.is_same_prediction(new) && !is_less_certain;
        let class = match is_same {
            true => Class::Changed,
            false => Class::of(old.outcome, new.outcome),
        };
        let is_regression = class == Class::Regression;
        let has_fault = is_fault(new.outcome);
        match relation {
            Relation::Left if !is_regression => {
                let cause = self.causes.of_environment(old, Side::Before);
                self.remove(old, cause);
            }
            Relation::Entered if has_fault && !is_regression => {
                let cause = self.causes.of_environment(new, Side::After);
                self.add(new, Some(cause));
            }
            Relation::Entered if !has_fault && !is_fault(old.outcome) => self.add(new, None),
            Relation::Moved if is_same => {
                let cause = self.causes.of_move(old, new);
                self.change((old, new), class, cause);
            }
            Relation::New if is_same && has_fault => {
                let cause = self.causes.of_environment(new, Side::After);
                self.change((old, new), class, cause);
            }
            _ if is_same => {
                self.comparison.unchanged += 1;
                self.comparison.unchanged_faults += usize::from(has_fault);
                let is_renamed = new.renamed_from(old).is_some();
                self.comparison.renamed += usize::from(is_renamed);
            }
            _ => {
                let cause = self.cause(old, new, relation);
                self.change((old, new), class, cause);
            }
        }
    }

    /// Returns the cause of a difference between two predictions. If the environment differs and no line of the facts does,
    /// it is the environment.
    fn cause(&mut self, old: &ProbeState, new: &ProbeState, relation: Relation) -> Cause {
        if let Some(cause) = self.causes.of(old, new) {
            return cause;
        }
        match relation {
            Relation::Same => Cause::without_line(NOT_FOUND),
            Relation::Left => self.causes.of_environment(old, Side::Before),
            Relation::Moved => self.causes.of_move(old, new),
            Relation::Entered | Relation::New => self.causes.of_environment(new, Side::After),
        }
    }

    /// Adds a change of a handler that both states have, unless the user has suppressed it.
    fn change(&mut self, (old, new): (&ProbeState, &ProbeState), class: Class, cause: Cause) {
        let is_worse = class == Class::Regression;
        if is_worse && self.findings.is_suppressed(new) {
            self.comparison.suppressed += 1;
            return;
        }
        // The settings can lower the severity of a rule.
        let class = match self.findings.severity(new) {
            Some(Severity::Note) if is_worse => Class::Changed,
            _ => class,
        };
        self.push(class, Some(old), Some(new), Some(cause));
    }

    /// Adds a handler that does not exist any more, or that its environment does not deploy any more.
    fn remove(&mut self, old: &ProbeState, cause: Cause) {
        let after = self.after;
        let remaining = self.remaining.get_or_insert_with(|| Remaining::of(after));
        let remains = remaining.describe(old, &mut self.environments);
        self.push(Class::Removed, Some(old), None, Some(cause));
        if let Some(change) = self.comparison.changes.last_mut() {
            change.remains = remains;
        }
    }

    /// Adds a handler that is new, or that an environment deploys now, if it has a fault that is not suppressed.
    fn add(&mut self, new: &ProbeState, cause: Option<Cause>) {
        if !is_fault(new.outcome) {
            self.comparison.added_without_fault += 1;
        } else if self.findings.is_suppressed(new) {
            self.comparison.suppressed += 1;
        } else {
            self.push(Class::Added, None, Some(new), cause);
        }
    }

    fn push(
        &mut self,
        class: Class,
        before: Option<&ProbeState>,
        after: Option<&ProbeState>,
        cause: Option<Cause>,
    ) {
        self.comparison.changes.push(Change {
            class,
            cause,
            remains: None,
            subject: Subject::Probe {
                before: before.cloned().map(Box::new),
                after: after.cloned().map(Box::new),
            },
        });
    }
}

/// Pairs the handlers of both states: by their whole identity, then by what remains if a folder, a namespace, a
/// container or an object is renamed.
pub(super) fn pair_probes<'p>(before: &'p [ProbeState], after: &'p [ProbeState]) -> Pairing {
    let mut pairing = Pairing::new(before.len(), after.len());
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((&state.id, &*state.file))
    });
    pairing.by(before, after, Repeated::InOrder, |state| Some(&state.id));
    // One of several clusters that deploy a folder remains, or was the only one.
    pairing.by(before, after, Repeated::InOrder, |state| {
        let id = &state.id;
        let object = (&id.kind, &id.namespace, &id.name, &*state.file);
        Some((state.deployer.as_ref()?, object, &id.container, id.slot))
    });
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        Some((&id.kind, &id.namespace, &id.name, &id.container, id.slot))
    });
    // The folder above several environments.
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.kind, &id.namespace, &id.name);
        Some((&state.environment_name, object, &id.container, id.slot))
    });
    // The number of environments: the others are new or removed. An added or removed kustomization can change the
    // environment and the namespace together. Of several candidates, one with the same prediction comes first, so that
    // an old fault is not paired with a probe that works.
    let prediction = |state: &'p ProbeState| (state.outcome.as_str(), state.why);
    let in_file = |state: &'p ProbeState| {
        let id = &state.id;
        (&id.kind, &id.name, &*state.file, &id.container, id.slot)
    };
    let in_namespace = |state: &'p ProbeState| (in_file(state), &state.id.namespace);
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((in_namespace(state), prediction(state)))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some(in_namespace(state))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((in_file(state), prediction(state)))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some(in_file(state))
    });
    // A renamed container or object has the same handler. One with another handler replaces it.
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.environment, &id.kind, &id.namespace, &id.name);
        Some((object, id.slot, &state.written))
    });
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.environment, &id.kind, &*state.file);
        Some((object, &id.container, id.slot, &state.written))
    });
    pairing
}

/// The file and the byte range of the key of a handler.
type Place<'s> = (&'s str, Span);

/// Findings that name no handler, by the file of their line.
type ByFile<'s> = HashMap<&'s str, Vec<&'s Finding>>;

/// The findings of `check` about the handlers of a state.
#[derive(Debug)]
pub(super) struct HandlerFindings<'s> {
    set: &'s SourceSet,
    /// The highest severity of the findings that the user has not suppressed.
    severities: HashMap<Place<'s>, Severity>,
    /// The findings that the user has not suppressed and that name no handler.
    of_pods: ByFile<'s>,
    /// The handlers of findings that the user has suppressed, or whose rule is switched off.
    suppressed: HashSet<Place<'s>>,
    /// Such findings that name no handler.
    suppressed_of_pods: ByFile<'s>,
}

impl<'s> HandlerFindings<'s> {
    /// Prepares the search in the findings of a state, given its files.
    pub(super) fn of(state: &'s State, set: &'s SourceSet) -> Self {
        let mut severities: HashMap<Place<'s>, Severity> = HashMap::new();
        for finding in &state.findings {
            if let Some(place) = place(finding) {
                let known = severities.entry(place).or_insert(finding.severity);
                *known = finding.severity.max(*known);
            }
        }
        let suppressed = || state.suppressed.iter().chain(&state.switched_off);
        Self {
            set,
            severities,
            of_pods: by_file(state.findings.iter()),
            suppressed: suppressed().filter_map(place).collect(),
            suppressed_of_pods: by_file(suppressed()),
        }
    }

    /// Returns whether the user has suppressed what `check` reports about a handler, or switched its rule off.
    pub(super) fn is_suppressed(&self, probe: &ProbeState) -> bool {
        if self.severity(probe).is_some() {
            return false;
        }
        let mut of_pod = of_pod(&self.suppressed_of_pods, probe, self.set);
        self.suppressed.contains(&place_of(probe)) || of_pod.next().is_some()
    }

    /// Returns the highest severity of the findings of `check` about a handler; `None` if there is none.
    pub(super) fn severity(&self, probe: &ProbeState) -> Option<Severity> {
        let own = self.severities.get(&place_of(probe)).copied();
        own.or_else(|| {
            let findings = of_pod(&self.of_pods, probe, self.set);
            findings.map(|finding| finding.severity).max()
        })
    }
}

/// Returns the findings that name no handler and are about the line that decides the fault of this one.
fn of_pod<'f>(
    findings: &'f ByFile<'f>,
    probe: &'f ProbeState,
    set: &'f SourceSet,
) -> impl Iterator<Item = &'f Finding> {
    let in_file = findings.get(&*probe.place.path).into_iter().flatten();
    in_file
        .copied()
        .filter(move |finding| probe.is_decided_at(finding, set))
}

fn by_file<'s>(findings: impl Iterator<Item = &'s Finding>) -> ByFile<'s> {
    let mut files = ByFile::new();
    for finding in findings.filter(|finding| finding.probe.is_none()) {
        files
            .entry(&finding.primary.path)
            .or_default()
            .push(finding);
    }
    files
}

fn place(finding: &Finding) -> Option<Place<'_>> {
    let probe = finding.probe.as_ref()?;
    Some((&probe.path, probe.span))
}

fn place_of(probe: &ProbeState) -> Place<'_> {
    (&probe.place.path, probe.place.span)
}

/// What identifies a handler in all environments.
type Key<'p> = (&'p str, &'p str, &'p str, &'p str, &'p str);

fn key(probe: &ProbeState) -> Key<'_> {
    let id = &probe.id;
    (&id.kind, &id.name, &probe.file, &id.container, id.slot)
}

/// The handlers of the second state, in all environments.
#[derive(Debug)]
pub(super) struct Remaining<'p>(HashMap<Key<'p>, Vec<&'p ProbeState>>);

impl<'p> Remaining<'p> {
    /// Indexes the handlers of the second state.
    pub(super) fn of(probes: &'p [ProbeState]) -> Self {
        let mut found: HashMap<Key<'p>, Vec<&'p ProbeState>> = HashMap::new();
        for probe in probes {
            found.entry(key(probe)).or_default().push(probe);
        }
        Self(found)
    }

    /// Returns what still contains a handler of the first state that its environment does not deploy any more; `None` if
    /// nothing does.
    pub(super) fn describe(
        &self,
        old: &ProbeState,
        environments: &mut Environments<'_>,
    ) -> Option<String> {
        let found = self.0.get(&key(old))?;
        let deployed = found.iter().filter(|new| {
            let is_deployed = new.id.environment.is_some() || new.deployer.is_some();
            is_deployed && !environments.is_only_base(old, new)
        });
        let titles = deployed.filter_map(|new| new.environment_title());
        let mut titles: Vec<String> = titles.map(|title| format!("`{title}`")).collect();
        titles.sort_unstable();
        titles.dedup();
        Some(match titles.as_slice() {
            [] => "nothing deploys it now".to_owned(),
            [title] => format!("{title} deploys it"),
            titles => format!("{} deploy it", sentence_list(titles)),
        })
    }
}
