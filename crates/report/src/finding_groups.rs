//! Groups findings that have the same cause, for text formats, and words their common message.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, Fix, ObjectRef, RuleId};

use super::text::counted;

/// Findings of one rule that differ only in their probe.
#[derive(Debug)]
pub(super) struct FindingGroup<'f> {
    /// The first finding, whose facts all have.
    pub(super) first: &'f Finding,
    others: Vec<&'f Finding>,
}

/// What the messages of a group have in common: the rule, the text before the name of the probe, the text after it on both
/// sides of the port, and the file or overlay.
type GroupKey<'f> = (RuleId, &'f str, (&'f str, &'f str), &'f str);

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
    let probe = finding.probe.as_ref()?;
    let (before, after) = finding.message.split_once(&*probe.title)?;
    let place = finding.overlays.first().unwrap_or(&finding.primary.path);
    let predicate = match split_port(after).filter(|_| plural(after).is_some()) {
        Some((start, _, end)) => (start, end),
        None => (after, ""),
    };
    Some((finding.rule, before, predicate, place))
}

/// Splits a text at the number of its first port: "port ", the number, and the rest.
fn split_port(text: &str) -> Option<(&str, &str, &str)> {
    const PORT: &str = " port ";
    let (start, rest) = text.split_at_checked(text.find(PORT)? + PORT.len())?;
    let is_end = |c: char| !c.is_ascii_digit();
    let (port, end) = rest.split_at_checked(rest.find(is_end).unwrap_or(rest.len()))?;
    (!port.is_empty()).then_some((start, port, end))
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
        let Some((_, before, (start, end), _)) =
            group_key(self.first).filter(|_| !self.others.is_empty())
        else {
            return self.first.message.clone();
        };
        let mut ports: Vec<&str> = self.findings().filter_map(port).collect();
        ports.sort_unstable_by_key(|port| (port.len(), *port));
        ports.dedup();
        let after = match (start.strip_suffix("port "), &*ports) {
            (Some(start), [_, _, ..]) => {
                format!("{start}ports {}{}", listed(&ports), ports_verb(end))
            }
            _ => format!("{start}{}{end}", ports.concat()),
        };
        let subject = self.subject();
        match plural(&after) {
            Some(after) => format!("{before}{subject}{after}"),
            None => format!("{before}each of {subject}{after}"),
        }
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

/// Returns the port that the group omits from its common text.
fn port(finding: &Finding) -> Option<&str> {
    let title = finding.probe.as_ref().map(|probe| &*probe.title)?;
    let (_, after) = finding.message.split_once(title)?;
    let (_, port, _) = split_port(after).filter(|_| plural(after).is_some())?;
    Some(port)
}

/// Returns the name of the probe, such as `readinessProbe`.
fn slot(finding: &Finding) -> &str {
    let title = finding.probe.as_ref().map(|probe| &*probe.title);
    let title = title.unwrap_or_default();
    title.split_once(' ').map_or(title, |(slot, _)| slot)
}

/// Returns words as a list, such as "a, b and c".
fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// Verb forms that are not regular, or equal in the plural.
const IRREGULAR: &[(&str, &str)] = &[
    ("does", "do"),
    ("has", "have"),
    ("is", "are"),
    ("may", "may"),
    ("will", "will"),
];

/// Words that may precede the verb.
const ADVERBS: &[&str] = &["always", "also", "never", "only"];

/// Returns the predicate of a message for several subjects, such as " always succeed: …" for " always succeeds: …". Returns
/// `None` if the text refers to one probe, or if the verb is not recognized.
pub(super) fn plural(predicate: &str) -> Option<String> {
    let text = predicate.replace("the probe is", "the probes are");
    let is_singular = |word: &str| matches!(word, "it" | "its" | "itself" | "probe");
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '`');
    if words.any(is_singular) {
        return None;
    }
    let mut text = text.strip_prefix(' ')?;
    let mut start = String::from(" ");
    while let Some((adverb, rest)) = text.split_once(' ')
        && ADVERBS.contains(&adverb)
    {
        start.push_str(adverb);
        start.push(' ');
        text = rest;
    }
    let end = text.find([' ', ':', ',', ';']).unwrap_or(text.len());
    let (verb, rest) = text.split_at_checked(end)?;
    Some(format!("{start}{}{rest}", plural_verb(verb)?))
}

/// Returns the text after the number of a port for several ports, such as " require mutual TLS" for " requires mutual TLS".
pub(super) fn ports_verb(text: &str) -> String {
    for (singular, plural) in [(" requires ", " require "), (" is ", " are ")] {
        if let Some(rest) = text.strip_prefix(singular) {
            return format!("{plural}{rest}");
        }
    }
    text.to_owned()
}

fn plural_verb(verb: &str) -> Option<&str> {
    if let Some((_, plural)) = IRREGULAR.iter().find(|(singular, _)| *singular == verb) {
        return Some(plural);
    }
    let sibilant = ["sses", "shes", "ches"]
        .iter()
        .any(|end| verb.ends_with(end));
    let stem = verb.strip_suffix(if sibilant { "es" } else { "s" })?;
    let is_verb = !stem.is_empty() && stem.chars().all(|c| c.is_ascii_lowercase());
    (is_verb && !stem.ends_with('s') || sibilant).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_conjugated() {
        let plural = |text: &str| plural(text);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(plural(" will fail: x"), some(" will fail: x"));
        assert_eq!(plural(" always succeeds: x"), some(" always succeed: x"));
        assert_eq!(plural(" passes"), some(" pass"));
        assert_eq!(plural(" is denied: x"), some(" are denied: x"));
        assert_eq!(
            plural(" will fail: x, and the probe is not rewritten"),
            some(" will fail: x, and the probes are not rewritten")
        );
    }

    #[test]
    fn other_texts_are_left_out() {
        for text in [
            "",
            " sends its request",
            " fails: a, so it fails",
            " 8 x",
            " x",
            ": the probe",
        ] {
            assert_eq!(plural(text), None, "{text}");
        }
    }
}
