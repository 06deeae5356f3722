//! Groups findings that have the same cause, for text formats, and words their common message.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, Fix, ObjectRef, RuleId, Sentence};

use super::text::counted;

/// Findings of one rule that differ only in their probe.
#[derive(Debug)]
pub(super) struct FindingGroup<'f> {
    /// The first finding, whose facts all have.
    pub(super) first: &'f Finding,
    others: Vec<&'f Finding>,
}

/// What the findings of a group have in common: the rule, the file or overlay, and the sentence apart from its port.
type GroupKey<'f> = (RuleId, &'f str, Sentence);

/// Returns the groups in the order of their first findings.
pub(super) fn finding_groups(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    // Findings are sorted by position, so only the last group of a key can continue.
    let mut last: HashMap<GroupKey<'_>, usize> = HashMap::new();
    for finding in findings {
        let next = groups.len();
        if let Some(key) = group_key(finding) {
            let group = last.get(&key).and_then(|at| groups.get_mut(*at));
            if let Some(group) = group.filter(|group| has_same_cause(group.first, finding)) {
                group.others.push(finding);
                continue;
            }
            last.insert(key, next);
        }
        groups.push(FindingGroup {
            first: finding,
            others: Vec::new(),
        });
    }
    groups
}

fn group_key(finding: &Finding) -> Option<GroupKey<'_>> {
    finding.probe.as_ref()?;
    let place = finding.overlays.first().unwrap_or(&finding.primary.path);
    Some((
        finding.rule,
        place,
        finding.sentence.as_ref()?.without_port(),
    ))
}

/// Returns whether all facts of two findings with the same key are equal.
fn has_same_cause(a: &Finding, b: &Finding) -> bool {
    let fix = |fix: &Option<Fix>| {
        let fix = fix.as_ref();
        fix.map(|fix| (fix.applicability.clone(), fix.title.clone()))
    };
    (a.severity, a.certainty) == (b.severity, b.certainty)
        && a.related == b.related
        && a.overlays == b.overlays
        && a.environments == b.environments
        && a.assumptions == b.assumptions
        && a.help == b.help
        && fix(&a.fix) == fix(&b.fix)
}

impl<'f> FindingGroup<'f> {
    /// Returns all findings of the group.
    pub(super) fn findings(&self) -> impl Iterator<Item = &'f Finding> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// Returns the message, which names all probes.
    pub(super) fn message(&self) -> String {
        let sentence = self.first.sentence.as_ref();
        let Some(sentence) = sentence.filter(|_| !self.others.is_empty()) else {
            return self.first.message.clone();
        };
        let sentences = self
            .findings()
            .filter_map(|finding| finding.sentence.as_ref());
        let mut ports: Vec<i64> = sentences.filter_map(|sentence| sentence.port).collect();
        ports.sort_unstable();
        ports.dedup();
        sentence.about_several(&self.subject(), &ports)
    }

    /// Returns the texts of the kubelet. Of texts with the same reason, such as "connection reset by peer", only the first is
    /// returned, with the names of the other probes.
    pub(super) fn kubelet(&self) -> Vec<String> {
        let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
        let reason = |text: &'f str| text.rsplit(": ").next();
        for finding in self.findings() {
            let Some(text) = finding.kubelet.as_deref() else {
                continue;
            };
            match texts
                .iter_mut()
                .find(|(first, _)| reason(first) == reason(text))
            {
                Some((first, _)) if *first == text => {}
                Some((_, similar)) => similar.push(slot(finding)),
                None => texts.push((text, Vec::new())),
            }
        }
        let has_one_object = self.objects() == 1;
        let shown = |(text, mut similar): (&str, Vec<&str>)| {
            similar.dedup();
            match &*similar {
                [] => text.to_owned(),
                names if has_one_object => format!("{text} (similar for {})", listed(names)),
                _ => format!("{text} (similar for the others)"),
            }
        };
        texts.into_iter().map(shown).collect()
    }

    /// Returns the text at the key or value at fault.
    pub(super) fn primary_text(&self, finding: &Finding) -> String {
        let own = &finding.primary.message;
        let Some(probe) = finding.probe.as_ref().filter(|_| own.is_empty()) else {
            return if own.is_empty() { "here" } else { own }.to_owned();
        };
        if self.objects() > 1 {
            let object = finding.object.as_ref();
            let of = object.map(|object| format!(" of {} `{}`", object.kind, object.name));
            return format!("{}{}", probe.title, of.unwrap_or_default());
        }
        let is_key = finding.primary.path == probe.path && finding.primary.span == probe.span;
        let text = match is_key {
            true if slot(finding).ends_with("robe") => "this probe",
            true => "this hook",
            false => "here",
        };
        text.to_owned()
    }

    /// Returns the number of objects.
    fn objects(&self) -> usize {
        let mut objects: Vec<Option<&ObjectRef>> = self
            .findings()
            .map(|finding| finding.object.as_ref())
            .collect();
        objects.sort_unstable();
        objects.dedup();
        objects.len()
    }

    /// Returns the probes for the message, such as "readinessProbe and livenessProbe of container `web`".
    fn subject(&self) -> String {
        let objects = self.objects();
        if objects > 1 {
            let has_hooks = self
                .findings()
                .any(|finding| !slot(finding).ends_with("Probe"));
            let noun = if has_hooks { "handler" } else { "probe" };
            let probes = counted(1 + self.others.len(), noun);
            return format!("{probes} of {}", counted(objects, "workload"));
        }
        let mut containers: Vec<(&str, Vec<&str>)> = Vec::new();
        for finding in self.findings() {
            let container = finding.container.as_deref().unwrap_or_default();
            match containers.iter_mut().find(|(name, _)| *name == container) {
                Some((_, slots)) => slots.push(slot(finding)),
                None => containers.push((container, vec![slot(finding)])),
            }
        }
        let parts: Vec<String> = containers
            .into_iter()
            .map(|(container, slots)| format!("{} of container `{container}`", listed(&slots)))
            .collect();
        parts.join(", and ")
    }
}

/// Returns the name of the probe, such as `readinessProbe`.
fn slot(finding: &Finding) -> &str {
    finding.probe.as_ref().map_or("", |probe| probe.slot)
}

/// Returns words as a list, such as "a, b and c".
fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}
