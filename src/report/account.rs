//! All that is to be said of a finding, for reports that take one text.

use crate::finding::{Applicability, Finding, Fix};

/// Returns the message, then what the kubelet will print, what was taken for granted, and what to
/// do, a line each.
pub(super) fn account(finding: &Finding) -> Vec<String> {
    let mut lines = vec![finding.message.clone()];
    let kubelet = finding.kubelet.iter();
    lines.extend(kubelet.map(|text| format!("kubelet: {text}")));
    let assumptions = finding.assumptions.iter();
    lines.extend(assumptions.map(|text| format!("assumed: {text}")));
    let help = finding.help.iter();
    lines.extend(help.map(|text| format!("help: {text}")));
    let fix = finding.fix.iter();
    lines.extend(fix.map(|fix| format!("fix: {} ({})", fix.title, consent(fix))));
    lines
}

/// How to get a fix applied.
pub(super) const fn consent(fix: &Fix) -> &'static str {
    match fix.applicability {
        Applicability::Safe => "--fix",
        Applicability::Unsafe => "--fix --unsafe-fixes, as it changes behaviour",
        Applicability::DisplayOnly => "by hand",
    }
}

/// Names what a finding is about: the object and the container; empty where there is neither.
pub(super) fn subject(finding: &Finding) -> String {
    let object = finding.object.as_ref().map(|object| {
        let namespace = object.namespace.iter().map(String::as_str);
        let names = namespace.chain([object.kind.as_str(), object.name.as_str()]);
        names.collect::<Vec<_>>().join("/")
    });
    let container = finding
        .container
        .as_ref()
        .map(|name| format!("container {name}"));
    let parts: Vec<String> = object.into_iter().chain(container).collect();
    parts.join(", ")
}
