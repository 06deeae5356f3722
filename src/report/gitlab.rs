//! GitLab Code Quality reports, with the six fields of <https://docs.gitlab.com/ci/testing/code_quality/>.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::finding::{Finding, Severity};

use super::escape::json_safe;
use super::results::Results;
use super::source_location::{LineRegion, line_region, source_path};
use crate::report::text::finding_lines;

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
    let issues: Vec<Issue> = results
        .outcome
        .findings
        .iter()
        .map(|finding| issue(results, finding, &mut seen))
        .collect();
    Ok(json_safe(&serde_json::to_string_pretty(&issues)?) + "\n")
}

fn issue(results: &Results<'_>, finding: &Finding, seen: &mut BTreeMap<u128, usize>) -> Issue {
    let path = results
        .root
        .path(results.set, &source_path(results.set, &finding.primary));
    let identity = identity(finding, &path);
    let count = seen.entry(identity).or_default();
    *count += 1;
    Issue {
        description: finding_lines(finding).join("\n"),
        check_name: finding.rule.as_str(),
        fingerprint: format!("{:032x}", hash(identity, &count.to_string())),
        severity: severity(finding.severity),
        location: Location {
            path,
            lines: Lines {
                begin: line_region(results.set, &finding.primary)
                    .unwrap_or(LineRegion::START)
                    .line,
            },
        },
    }
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
