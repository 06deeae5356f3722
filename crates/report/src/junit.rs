//! `JUnit` XML: a suite per file, a case per finding, a passing case for a file without findings, and a skipped case for
//! each thing that is not judged. If nothing is judged, no file passes, and a skipped or failed case says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::RequiredVerdicts;
use meshprobe_predict::context::NotJudged;

use super::escape::{escape_control, starts_command};
use super::not_judged::{missing_verdicts, nothing_judged};
use super::report_root::source_path;
use super::results::Results;
use super::summary::left_out_sentences;
use super::text::{finding_lines, path_of, related_lines, subject};
use meshprobe_engine::engine::Summary;

/// Returns the report of all findings. Findings that make the run fail are failures, and suppressed findings are skipped. All
/// others pass, with their text as output.
#[must_use]
pub fn junit(results: &Results<'_>) -> String {
    let suites: Vec<Suite> = files(results)
        .iter()
        .map(|(path, findings)| suite(results, path, findings))
        .chain(not_judged(results))
        .chain(nothing_judged_case(results))
        .chain(left_out(results))
        .chain(notes(results))
        .collect();
    let sum = |count: fn(&Suite) -> usize| suites.iter().map(count).sum::<usize>();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"meshprobe\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n",
        sum(|suite| suite.tests),
        sum(|suite| suite.failures),
    );
    for suite in &suites {
        out.push_str(&suite.text);
    }
    out.push_str("</testsuites>\n");
    out
}

struct Suite {
    tests: usize,
    failures: usize,
    text: String,
}

/// Returns every checked file with its findings. If nothing is judged, omits files without findings.
fn files<'a>(results: &Results<'a>) -> BTreeMap<Arc<str>, Vec<&'a Finding>> {
    let mut files: BTreeMap<Arc<str>, Vec<&Finding>> = results
        .set
        .targets()
        .filter(|_| !results.outcome.summary.judges_nothing())
        .filter(|file| {
            let mut documents = file.documents.iter();
            documents.any(|document| document.tree().is_some())
        })
        .map(|file| (Arc::clone(&file.path), Vec::new()))
        .collect();
    for finding in results.outcome.all() {
        files
            .entry(source_path(results.set, &finding.primary))
            .or_default()
            .push(finding);
    }
    files
}

/// Returns a suite with a case for each thing that is not judged, which is skipped, or fails if all verdicts are required;
/// `None` if everything is judged.
fn not_judged(results: &Results<'_>) -> Option<Suite> {
    let found = &results.outcome.not_judged;
    if found.is_empty() {
        return None;
    }
    let tests = found.len();
    let (result, failures) = match results.required {
        RequiredVerdicts::All => ("failure type=\"error\"", tests),
        RequiredVerdicts::None | RequiredVerdicts::One => ("skipped", 0),
    };
    let skipped = tests - failures;
    let mut text = format!(
        "  <testsuite name=\"not judged\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n"
    );
    let names = different_names(found.iter().map(not_judged_name));
    for (found, name) in found.iter().zip(&names) {
        let path = results
            .root
            .path(results.set, &source_path(results.set, &found.place));
        let place = results.place(&found.place);
        let message = format!("{place}: {}: {}", found.place.message, found.help);
        text.push_str(&format!(
            "    <testcase name=\"{name}\" classname=\"{}\">\n      <{result} message=\"{}\"/>\n    </testcase>\n",
            xml(&path),
            xml(&message)
        ));
    }
    text.push_str("  </testsuite>\n");
    Some(Suite {
        tests,
        failures,
        text,
    })
}

/// Returns the name of a case: why something is not judged, and the object.
fn not_judged_name(found: &NotJudged) -> String {
    match &found.object {
        Some(object) => format!("not judged ({}): {}", found.reason.id(), path_of(object)),
        None => format!("not judged ({})", found.reason.id()),
    }
}

/// Returns a suite with one case that is skipped, or fails if verdicts are required; `None` if something is judged.
fn nothing_judged_case(results: &Results<'_>) -> Option<Suite> {
    if !results.outcome.summary.judges_nothing() {
        return None;
    }
    let commands = "The skipped test cases name the commands that would judge the workloads.";
    let sentences = nothing_judged(results.outcome, commands);
    let message = [vec!["no workloads.".to_owned()], sentences]
        .concat()
        .join(" ");
    let message = xml(&format!("nothing was judged: {message}"));
    let missing = missing_verdicts(results.outcome, results.required);
    let failures = usize::from(missing.is_some());
    let result = match missing {
        Some(missing) => format!(
            "<failure message=\"{}\" type=\"error\">{message}</failure>",
            xml(&missing)
        ),
        None => format!("<skipped message=\"{message}\"/>"),
    };
    let text = format!(
        "  <testsuite name=\"meshprobe\" tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"{}\">\n    \
         <testcase name=\"nothing was judged\" classname=\"meshprobe\">\n      {result}\n    </testcase>\n  \
         </testsuite>\n",
        1 - failures
    );
    Some(Suite {
        tests: 1,
        failures,
        text,
    })
}

/// Returns a suite with one skipped case that counts the findings that no other case shows; `None` if there are none.
fn left_out(results: &Results<'_>) -> Option<Suite> {
    let summary = &results.outcome.summary;
    let shown = Summary {
        suppressed: 0,
        ..summary.clone()
    };
    let sentences = left_out_sentences(results.set, &shown);
    if sentences.is_empty() {
        return None;
    }
    let text = format!(
        "  <testsuite name=\"meshprobe\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n    \
         <testcase name=\"left out\" classname=\"meshprobe\">\n      \
         <skipped message=\"{}\"/>\n    </testcase>\n  </testsuite>\n",
        xml(&sentences.join(" "))
    );
    Some(Suite {
        tests: 1,
        failures: 0,
        text,
    })
}

/// Returns a suite with a skipped case for each note about the run; `None` if there are none.
fn notes(results: &Results<'_>) -> Option<Suite> {
    let tests = results.notes.len();
    if tests == 0 {
        return None;
    }
    let mut text = format!(
        "  <testsuite name=\"notes\" tests=\"{tests}\" failures=\"0\" errors=\"0\" skipped=\"{tests}\">\n"
    );
    let names = different_names(results.notes.iter().map(|_| "note".to_owned()));
    for (note, name) in results.notes.iter().zip(names) {
        text.push_str(&format!(
            "    <testcase name=\"{name}\" classname=\"meshprobe\">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
            xml(note)
        ));
    }
    text.push_str("  </testsuite>\n");
    Some(Suite {
        tests,
        failures: 0,
        text,
    })
}

fn suite(results: &Results<'_>, path: &str, findings: &[&Finding]) -> Suite {
    let shown = xml(&results.root.path(results.set, path));
    let is_reported = |finding: &&&Finding| finding.suppressed.is_none();
    let failures = findings
        .iter()
        .filter(is_reported)
        .filter(|finding| results.fails(finding))
        .count();
    let suppressed = findings.len() - findings.iter().filter(is_reported).count();
    let tests = findings.len().max(1);
    let mut text = format!(
        "  <testsuite name=\"{shown}\" file=\"{shown}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{suppressed}\">\n"
    );
    let names = different_names(findings.iter().map(|finding| case_name(finding)));
    for (finding, name) in findings.iter().zip(&names) {
        text.push_str(&case(results, finding, name, &shown));
    }
    if findings.is_empty() {
        let passed = format!("    <testcase name=\"no findings\" classname=\"{shown}\"/>\n");
        text.push_str(&passed);
    }
    text.push_str("  </testsuite>\n");
    Suite {
        tests,
        failures,
        text,
    }
}

/// Returns names of the cases of a suite as XML, in the same order. All are different, because programs identify a case by
/// its name.
fn different_names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let names = names.map(|name| {
        let first = xml(&name);
        let count = counts.entry(first.clone()).or_default();
        loop {
            *count += 1;
            let name = match *count {
                1 => first.clone(),
                count => format!("{first} ({count})"),
            };
            if used.insert(name.clone()) {
                return name;
            }
        }
    });
    names.collect()
}

/// Returns the rule, the object, the container and the field of a finding.
fn case_name(finding: &Finding) -> String {
    let field = finding.field.as_deref().map(short_field);
    let parts = [subject(finding), field.unwrap_or_default().to_owned()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.join(", ").as_str() {
        "" => finding.rule.to_string(),
        parts => format!("{}: {parts}", finding.rule),
    }
}

/// Returns a field path without the path of the container, which the name contains already.
fn short_field(field: &str) -> &str {
    let of_container = field
        .split_once("ontainers[")
        .and_then(|(_, rest)| rest.split_once("]."));
    of_container.map_or(field, |(_, field)| field)
}

fn case(results: &Results<'_>, finding: &Finding, name: &str, shown: &str) -> String {
    format!(
        "    <testcase name=\"{name}\" classname=\"{shown}\">\n{}    </testcase>\n",
        outcome(results, finding),
    )
}

fn outcome(results: &Results<'_>, finding: &Finding) -> String {
    let severity = finding.severity.as_str();
    if let Some(suppression) = &finding.suppressed {
        let why = match suppression.reason.as_str() {
            "" => "suppressed".to_owned(),
            reason => format!("suppressed: {reason}"),
        };
        return format!("      <skipped message=\"{}\"/>\n", xml(&why));
    }
    let body = text(results, finding);
    if results.fails(finding) {
        let message = xml(&finding.message);
        format!("      <failure message=\"{message}\" type=\"{severity}\">{body}</failure>\n")
    } else {
        format!("      <system-out>{body}</system-out>\n")
    }
}

fn text(results: &Results<'_>, finding: &Finding) -> String {
    let primary = &finding.primary;
    let mut lines = vec![format!(
        "{}: {}[{}]",
        results.place(primary),
        finding.severity.as_str(),
        finding.rule
    )];
    lines.extend(finding_lines(finding));
    let related = related_lines(finding).into_iter();
    lines.extend(related.map(|lines| lines.text(results)));
    // Line breaks of manifests are escaped, so that each line stays one line.
    let lines: Vec<String> = lines.iter().map(|line| xml(line)).collect();
    lines.join("\n")
}

/// Escapes a text of one line for use as content or as value of an attribute.
fn xml(text: &str) -> String {
    let text = escape_control(text);
    match text.trim_start().strip_prefix("::") {
        // At the start of a line, GitHub Actions would execute it.
        Some(rest) => format!("&#58;:{}", escaped(rest)),
        None => escaped(&text),
    }
}

/// Escapes special characters. XML 1.0 cannot represent U+FFFE and U+FFFF, so they are written as `\u{…}`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '#' if starts_command(rest.as_str()) => out.push_str("&#35;"),
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}
