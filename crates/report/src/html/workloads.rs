//! Groups the predictions of a report by namespace, workload and probe, and adds the findings about each probe.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::Outcome;

use crate::explanation::{Line, Noted, fact_lines, noted, own_certainty};
use crate::report_root::Places;
use meshprobe_engine::engine::{ProbeReport, WorkloadReport};

/// The prediction for a probe in one or more environments that do not differ.
#[derive(Clone, Debug)]
pub(super) struct Variant<'a> {
    /// The prediction, which all environments share.
    pub(super) probe: &'a ProbeReport,
    /// The workload in the first of them.
    pub(super) workload: &'a WorkloadReport,
    /// The place of the key.
    pub(super) place: String,
    /// The reasons that decide, the most important first.
    pub(super) deciding: Vec<DecidingLine>,
    /// The other facts, in the order in which they are consulted.
    pub(super) facts: Vec<Line>,
    /// The names of the environments; empty if the workload is deployed as it is written.
    pub(super) environments: Vec<Arc<str>>,
}

/// A reason for an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecidingLine {
    /// What it states, with the option that settles it.
    pub(super) message: String,
    /// The place, such as `apps/web.yaml:31`; `None` if no file states it.
    pub(super) place: Option<String>,
    /// The line of the file.
    pub(super) text: Option<String>,
    /// The certainty of the fact; empty if it is not known.
    pub(super) certainty: &'static str,
    /// The name and the value of the fact, such as `mTLS` and `STRICT`, if it has one.
    pub(super) fact: Option<(&'static str, String)>,
}

/// A probe of a workload, in all environments.
#[derive(Clone, Debug)]
pub(super) struct ProbeCard<'a> {
    /// The different predictions; not empty.
    pub(super) variants: Vec<Variant<'a>>,
    /// The findings about the probe, suppressed or not.
    pub(super) findings: Vec<&'a Finding>,
}

/// A workload with its probes.
#[derive(Clone, Debug)]
pub(super) struct WorkloadCard<'a> {
    /// Its name, such as `shop/Deployment/web`.
    pub(super) name: &'a str,
    /// Its namespace, if one is written.
    pub(super) namespace: Option<&'a str>,
    /// The place of its name.
    pub(super) place: String,
    /// Its probes.
    pub(super) probes: Vec<ProbeCard<'a>>,
}

/// The predictions of a report.
#[derive(Debug, Default)]
pub(super) struct Workloads<'a> {
    /// The workloads, by namespace, those with the worst probes first.
    pub(super) cards: Vec<WorkloadCard<'a>>,
    /// The findings that are not about one of the probes.
    pub(super) other_findings: Vec<&'a Finding>,
}

impl<'a> Workloads<'a> {
    pub(super) fn new(
        places: Places<'_>,
        reports: &'a [WorkloadReport],
        findings: &[&'a Finding],
    ) -> Self {
        let mut cards = cards(places, reports);
        let other_findings = add_findings(&mut cards, findings);
        cards.sort_by(|a, b| a.order().cmp(&b.order()));
        Self {
            cards,
            other_findings,
        }
    }

    /// Returns the namespaces, sorted; `None` for workloads without one comes last.
    pub(super) fn namespaces(&self) -> Vec<Option<&'a str>> {
        let mut names: Vec<Option<&str>> = self.cards.iter().map(|card| card.namespace).collect();
        names.sort_unstable_by_key(|name| (name.is_none(), *name));
        names.dedup();
        names
    }
}

fn cards<'a>(places: Places<'_>, reports: &'a [WorkloadReport]) -> Vec<WorkloadCard<'a>> {
    let mut cards: Vec<WorkloadCard<'_>> = Vec::new();
    let mut numbers = HashMap::new();
    for workload in reports {
        for probe in &workload.handlers {
            let key = (&workload.written_in, workload.title.as_str());
            let number = *numbers.entry(key).or_insert(cards.len());
            if number == cards.len() {
                cards.push(WorkloadCard {
                    name: &workload.title,
                    namespace: workload.object.namespace.as_deref(),
                    place: places.place(&workload.place),
                    probes: Vec::new(),
                });
            }
            if let Some(card) = cards.get_mut(number) {
                card.add(Variant::new(places, workload, probe));
            }
        }
    }
    cards
}

/// Adds each finding to the first probe that it is about, and returns the others.
fn add_findings<'a>(cards: &mut [WorkloadCard<'a>], findings: &[&'a Finding]) -> Vec<&'a Finding> {
    let mut places: HashMap<_, Vec<(usize, usize)>> = HashMap::new();
    for (card_number, card) in cards.iter().enumerate() {
        for (number, probe) in card.probes.iter().enumerate() {
            for variant in &probe.variants {
                let key = &variant.probe.place;
                let known = places.entry((Arc::clone(&key.path), key.span)).or_default();
                if known.last() != Some(&(card_number, number)) {
                    known.push((card_number, number));
                }
            }
        }
    }
    let mut others = Vec::new();
    for finding in findings {
        let key = finding
            .probe
            .as_ref()
            .map(|probe| (Arc::clone(&probe.path), probe.span));
        let candidates = key
            .and_then(|key| places.get(&key))
            .map_or(&[][..], Vec::as_slice);
        let applies = |(card, number): &&(usize, usize)| {
            let probe = cards.get(*card).and_then(|card| card.probes.get(*number));
            probe.is_some_and(|probe| probe.is_subject_of(finding))
        };
        let found = candidates.iter().find(applies).copied();
        let probe = found.and_then(|(card, number)| cards.get_mut(card)?.probes.get_mut(number));
        match probe {
            Some(probe) => probe.findings.push(finding),
            None => others.push(*finding),
        }
    }
    others
}

impl<'a> WorkloadCard<'a> {
    fn add(&mut self, new: Variant<'a>) {
        let mut probes = self.probes.iter_mut();
        let Some(probe) = probes.find(|probe| probe.is_of(new.probe)) else {
            return self.probes.push(ProbeCard {
                variants: vec![new],
                findings: Vec::new(),
            });
        };
        let mut variants = probe.variants.iter_mut();
        match variants.find(|variant| variant.is_equal(&new)) {
            Some(variant) => variant.environments.extend(new.environments),
            None => probe.variants.push(new),
        }
    }

    /// Returns all predictions.
    pub(super) fn variants(&self) -> impl Iterator<Item = &Variant<'a>> {
        self.probes.iter().flat_map(|probe| &probe.variants)
    }

    /// Returns the key that sorts workloads: by namespace, then the worst ones first, then by name.
    fn order(&self) -> impl Ord + '_ {
        let worst = self
            .variants()
            .map(|variant| rank(variant.probe.outcome))
            .max();
        (
            self.namespace.is_none(),
            self.namespace,
            std::cmp::Reverse(worst),
            self.name,
        )
    }
}

impl ProbeCard<'_> {
    fn is_of(&self, probe: &ProbeReport) -> bool {
        self.variants
            .iter()
            .any(|variant| variant.probe.is_of(probe))
    }

    /// Returns whether a finding is about this probe, in one of its environments.
    fn is_subject_of(&self, finding: &Finding) -> bool {
        self.variants.iter().any(|variant| {
            let overlay = variant.workload.overlay.as_deref();
            let mut overlays = finding.overlays.iter();
            finding.overlays.is_empty()
                || overlay.is_none_or(|overlay| overlays.any(|known| **known == *overlay))
        })
    }
}

impl<'a> Variant<'a> {
    fn new(places: Places<'_>, workload: &'a WorkloadReport, probe: &'a ProbeReport) -> Self {
        let place = |label: &_| places.place(label);
        let mut facts = fact_lines(probe, &place);
        let mut deciding: Vec<DecidingLine> = Vec::new();
        let mut shown: Vec<Noted> = Vec::new();
        for reason in probe.because.iter().map(|entry| &entry.reason) {
            let own = noted(&place, reason);
            let fact = facts.iter().find(|line| line.because.contains(&own));
            let label = reason.place.as_ref();
            let line = DecidingLine {
                certainty: fact.map_or_else(|| own_certainty(reason), |line| line.certainty),
                fact: fact.map(|line| (line.name, line.value.to_string())),
                place: label.map(place),
                text: label.and_then(|label| places.line(label)),
                message: own.text.to_string(),
            };
            if !deciding.contains(&line) {
                deciding.push(line);
            }
            shown.push(own);
        }
        facts.retain(|line| !line.because.iter().any(|reason| shown.contains(reason)));
        Self {
            probe,
            workload,
            place: place(&probe.place),
            deciding,
            facts,
            environments: workload.environment.iter().cloned().collect(),
        }
    }

    /// Returns why the probe has its outcome.
    pub(super) fn why(&self) -> String {
        format!("{}{}", self.probe.why, self.workload.claims)
    }

    /// Returns whether another environment has the same prediction, with the same reasons.
    fn is_equal(&self, other: &Self) -> bool {
        let mut names = other.environments.iter();
        let (probe, same) = (self.probe, other.probe);
        names.any(|name| !self.environments.contains(name))
            && probe.is_same_probe(same)
            && (probe.outcome, self.why()) == (same.outcome, other.why())
            && (&self.place, &self.deciding, &probe.kubelet)
                == (&other.place, &other.deciding, &same.kubelet)
            && (&self.facts, &probe.otherwise, probe.route)
                == (&other.facts, &same.otherwise, same.route)
    }
}

/// Returns how bad an outcome is.
pub(super) const fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NotInMesh => 0,
        Outcome::Ok => 1,
        Outcome::Unknown => 2,
        _ => 3,
    }
}
