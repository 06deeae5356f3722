//! Groups the predictions of a report by namespace, workload and probe, and adds the findings about each probe.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::Outcome;

use crate::report::prediction::ProbeView;

/// The prediction for a probe in one or more environments that do not differ.
#[derive(Clone, Debug)]
pub(super) struct Variant<'a> {
    /// The prediction, which all environments share.
    pub(super) view: &'a ProbeView,
    /// The names of the environments; empty if the workload is deployed as it is written.
    pub(super) environments: Vec<Arc<str>>,
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
    pub(super) place: &'a str,
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
    pub(super) fn new(views: &'a [ProbeView], findings: &[&'a Finding]) -> Self {
        let mut cards = cards(views);
        let other_findings = add_findings(&mut cards, findings);
        cards.sort_by(|a, b| a.order().cmp(&b.order()));
        Self {
            cards,
            other_findings,
        }
    }

    /// Returns the names of all environments, sorted.
    pub(super) fn environments(&self) -> Vec<&str> {
        let variants = self.cards.iter().flat_map(WorkloadCard::variants);
        let mut names: Vec<&str> = variants
            .flat_map(|variant| variant.environments.iter().map(|name| &**name))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the namespaces, sorted; `None` for workloads without one comes last.
    pub(super) fn namespaces(&self) -> Vec<Option<&'a str>> {
        let mut names: Vec<Option<&str>> = self.cards.iter().map(|card| card.namespace).collect();
        names.sort_unstable_by_key(|name| (name.is_none(), *name));
        names.dedup();
        names
    }
}

fn cards(views: &[ProbeView]) -> Vec<WorkloadCard<'_>> {
    let mut cards: Vec<WorkloadCard<'_>> = Vec::new();
    let mut numbers = HashMap::new();
    for view in views {
        let key = (&view.document, view.row.workload.as_str());
        let number = *numbers.entry(key).or_insert(cards.len());
        if number == cards.len() {
            cards.push(WorkloadCard {
                name: &view.row.workload,
                namespace: view.namespace.as_deref(),
                place: &view.workload_place,
                probes: Vec::new(),
            });
        }
        if let Some(card) = cards.get_mut(number) {
            card.add(view);
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
                let key = &variant.view.key;
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
    fn add(&mut self, view: &'a ProbeView) {
        let environments: Vec<Arc<str>> = view.environment.iter().cloned().collect();
        let same = self.probes.iter_mut().find(|probe| probe.is_of(view));
        let Some(probe) = same else {
            return self.probes.push(ProbeCard {
                variants: vec![Variant { view, environments }],
                findings: Vec::new(),
            });
        };
        let equal = probe
            .variants
            .iter_mut()
            .find(|variant| variant.is_equal(view));
        match equal {
            Some(variant) => variant.environments.extend(environments),
            None => probe.variants.push(Variant { view, environments }),
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
            .map(|variant| rank(variant.view.outcome))
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
    fn is_of(&self, view: &ProbeView) -> bool {
        self.variants
            .iter()
            .any(|variant| variant.view.row.is_of(&view.row))
    }

    /// Returns whether a finding is about this probe, in one of its environments.
    fn is_subject_of(&self, finding: &Finding) -> bool {
        self.variants.iter().any(|variant| {
            let overlay = variant.view.overlay.as_ref();
            finding.overlays.is_empty()
                || overlay.is_none_or(|overlay| finding.overlays.contains(overlay))
        })
    }
}

impl Variant<'_> {
    /// Returns whether a view has the same prediction, with the same reasons, in another environment.
    fn is_equal(&self, other: &ProbeView) -> bool {
        let view = self.view;
        let is_new = other
            .environment
            .as_ref()
            .is_some_and(|name| !self.environments.contains(name));
        is_new
            && view.row.is_same_probe(&other.row)
            && (view.outcome, &view.row.why) == (other.outcome, &other.row.why)
            && (&view.place, &view.deciding, &view.kubelet)
                == (&other.place, &other.deciding, &other.kubelet)
            && (&view.facts, &view.otherwise, view.route)
                == (&other.facts, &other.otherwise, other.route)
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
