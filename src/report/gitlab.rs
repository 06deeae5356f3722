//! GitLab Code Quality: the six fields of <https://docs.gitlab.com/ci/testing/code_quality/>.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::finding::{Finding, Severity};

use super::account::account;
use super::escape::json_safe;
use super::place::{Region, region, told_path};
use super::results::Results;

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

/// Writes the findings that are not silenced.
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
        .path(results.set, &told_path(results.set, &finding.primary));
    let identity = identity(finding, &path);
    let count = seen.entry(identity).or_default();
    *count += 1;
    Issue {
        description: account(finding).join("\n"),
        check_name: finding.rule,
        fingerprint: format!("{:032x}", hash(identity, &count.to_string())),
        severity: severity(finding.severity),
        location: Location {
            path,
            lines: Lines {
                begin: region(results.set, &finding.primary)
                    .unwrap_or(Region::START)
                    .line,
            },
        },
    }
}

/// What stays the same while lines above come and go, and while our wording changes. GitLab
/// compares the numbers of two branches to say which findings are new.
fn identity(finding: &Finding, path: &str) -> u128 {
    let object = finding.object.as_ref();
    let parts = [
        finding.rule,
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

/// FNV-1a of 128 bits, with an end mark behind each part: the same on every machine and in every
/// release, which std does not promise of its hashes.
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
