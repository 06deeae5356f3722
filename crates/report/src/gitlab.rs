//! GitLab Code Quality reports, with the six fields of <https://docs.gitlab.com/ci/testing/code_quality/>. The report of
//! `diff` also contains what is not judged and differs; notes without a line do not fit in the format.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_predict::context::NotJudged;
use serde::Serialize;

use super::json::json;
use super::report_root::{LineRegion, line_region};
use super::results::Results;
use super::text::finding_lines;

/// The name of the check that reports what is not judged.
const NOT_JUDGED: &str = "not-judged";

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
}

/// Returns the report of the findings that are not suppressed.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn gitlab(results: &Results<'_>) -> serde_json::Result<String> {
    let mut seen = BTreeMap::new();
    let findings = results.outcome.findings.iter();
    let mut issues: Vec<Issue> = findings
        .map(|finding| issue(results, finding, &mut seen))
        .collect();
    if results.baseline_state.is_some() {
        let not_judged = results.outcome.not_judged.iter();
        issues.extend(not_judged.map(|found| not_judged_issue(results, found, &mut seen)));
    }
    json(&issues)
}

fn issue(results: &Results<'_>, finding: &Finding, seen: &mut BTreeMap<u128, usize>) -> Issue {
    let location = location(results, &finding.primary);
    let identity = identity(finding, &location.path);
    Issue {
        description: finding_lines(finding).join("\n"),
        check_name: finding.rule.as_str(),
        fingerprint: fingerprint(identity, seen),
        severity: severity(finding.severity),
        location,
    }
}

/// Returns the issue about something that is not judged and differs.
fn not_judged_issue(
    results: &Results<'_>,
    found: &NotJudged,
    seen: &mut BTreeMap<u128, usize>,
) -> Issue {
    let location = location(results, &found.place);
    let parts = [NOT_JUDGED, found.reason.id(), &*location.path];
    let identity = parts.into_iter().fold(OFFSET, hash);
    Issue {
        description: format!("not judged: {}\nhelp: {}", found.place.message, found.help),
        check_name: NOT_JUDGED,
        fingerprint: fingerprint(identity, seen),
        severity: severity(Severity::Note),
        location,
    }
}

fn location(results: &Results<'_>, label: &Label) -> Location {
    let region = line_region(results.set, label).unwrap_or(LineRegion::START);
    Location {
        path: results.places().path(label),
        lines: Lines { begin: region.line },
    }
}

/// Returns the fingerprint of an issue. Issues with the same identity have different ones.
fn fingerprint(identity: u128, seen: &mut BTreeMap<u128, usize>) -> String {
    let count = seen.entry(identity).or_default();
    *count += 1;
    format!("{:032x}", hash(identity, &count.to_string()))
}

/// Returns a hash that does not change with the line or the wording of a finding. GitLab compares the fingerprints of two
/// branches to find new findings.
fn identity(finding: &Finding, path: &str) -> u128 {
    let object = finding.object.as_ref();
    let parts = [
        finding.rule.as_str(),
        path,
        object.map_or("", |object| &object.kind),
        object
            .and_then(|object| object.namespace.as_deref())
            .unwrap_or(""),
        object.map_or("", |object| &object.name),
        finding.container.as_deref().unwrap_or(""),
        finding.field.as_deref().unwrap_or(""),
    ];
    parts.into_iter().fold(OFFSET, hash)
}

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Adds a part, followed by an end mark, to an FNV-1a hash of 128 bits. The result is the same on every machine and in
/// every release, which the standard library does not guarantee for its hashes.
fn hash(state: u128, part: &str) -> u128 {
    let bytes = part.bytes().chain([0xff]);
    bytes.fold(state, |state, byte| {
        (state ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "critical",
        Severity::Warning => "minor",
        Severity::Note => "info",
    }
}
