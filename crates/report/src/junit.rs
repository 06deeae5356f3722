//! `JUnit` XML: a suite per file, a case per finding, a passing case for a file without findings, and a skipped case for
//! each thing that is not judged. If nothing is judged, no file passes, and a skipped or failed case says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::RequiredVerdicts;
use meshprobe_predict::context::NotJudged;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::escape::{escape_commands, escape_control};
use super::not_judged::{missing_verdicts, nothing_judged};
use super::report_root::source_path;
use super::results::Results;
use super::summary::left_out_sentences;
use super::text::{finding_lines, path_of, related_lines, subject};
use meshprobe_engine::engine::Summary;

/// The name of the report, and of the cases about the run.
const TOOL: &str = "meshprobe";

/// Returns the report of all findings. Findings that make the run fail are failures, and suppressed findings are skipped. All
/// others pass, with their text as output.
#[must_use]
pub fn junit(results: &Results<'_>) -> String {
    let mut report = Report::new(TOOL);
    report.add_test_suites(
        files(results)
            .iter()
            .map(|(path, findings)| suite_of_file(results, path, findings))
            .chain(not_judged(results))
            .chain(nothing_judged_case(results))
            .chain(left_out(results))
            .chain(notes(results)),
    );
    // Writing to memory cannot fail.
    report.to_string().unwrap_or_else(|error| error.to_string())
}

/// Returns a suite of cases, each with its name, its class and its result. All names are made different, because programs
/// identify a case by its name.
fn suite(name: &str, cases: Vec<(String, String, TestCase)>) -> TestSuite {
    let mut suite = TestSuite::new(safe(name));
    let names = different_names(cases.iter().map(|(name, ..)| safe(name)));
    let cases = cases.into_iter().zip(names);
    suite.add_test_cases(cases.map(|((_, class, mut case), name)| {
        case.name = name.into();
        case.set_classname(safe(&class));
        case
    }));
    suite
}

/// Returns a case without its name.
fn case(status: TestCaseStatus) -> TestCase {
    TestCase::new("", status)
}

fn skipped(why: &str) -> TestCase {
    let mut status = TestCaseStatus::skipped();
    status.set_message(safe(why));
    case(status)
}

fn failed(message: &str, kind: &str, lines: &[String]) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(safe(message)).set_type(kind);
    if !lines.is_empty() {
        status.set_description(text(lines));
    }
    case(status)
}

/// Returns lines as one text. Line breaks of manifests are escaped, so that each line stays one line.
fn text(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| safe(line)).collect();
    lines.join("\n")
}

/// Returns a text of one line without control characters, characters that XML cannot represent, and commands of CI systems.
fn safe(text: &str) -> String {
    let text = escape_control(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    escape_commands(&text).into_owned()
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
fn not_judged(results: &Results<'_>) -> Option<TestSuite> {
    let case = |found: &NotJudged| {
        let source = source_path(results.set, &found.place);
        let place = results.place(&found.place);
        let message = format!("{place}: {}: {}", found.place.message, found.help);
        let case = match results.required {
            RequiredVerdicts::All => failed(&message, "error", &[]),
            RequiredVerdicts::None | RequiredVerdicts::One => skipped(&message),
        };
        let class = results.root.path(results.set, &source);
        (not_judged_name(found), class, case)
    };
    let cases: Vec<_> = results.outcome.not_judged.iter().map(case).collect();
    (!cases.is_empty()).then(|| suite("not judged", cases))
}

/// Returns the name of a case: why something is not judged, and the object.
fn not_judged_name(found: &NotJudged) -> String {
    match &found.object {
        Some(object) => format!("not judged ({}): {}", found.reason.id(), path_of(object)),
        None => format!("not judged ({})", found.reason.id()),
    }
}

/// Returns a suite with one case about the run.
fn suite_of_run(name: &str, case: TestCase) -> TestSuite {
    suite(TOOL, vec![(name.to_owned(), TOOL.to_owned(), case)])
}

/// Returns a suite with one case that is skipped, or fails if verdicts are required; `None` if something is judged.
fn nothing_judged_case(results: &Results<'_>) -> Option<TestSuite> {
    if !results.outcome.summary.judges_nothing() {
        return None;
    }
    let commands = "The skipped test cases name the commands that would judge the workloads.";
    let sentences = nothing_judged(results.outcome, commands);
    let message = [vec!["no workloads.".to_owned()], sentences]
        .concat()
        .join(" ");
    let message = format!("nothing was judged: {message}");
    let case = match missing_verdicts(results.outcome, results.required) {
        Some(missing) => failed(&missing, "error", &[message]),
        None => skipped(&message),
    };
    Some(suite_of_run("nothing was judged", case))
}

/// Returns a suite with one skipped case that counts the findings that no other case shows; `None` if there are none.
fn left_out(results: &Results<'_>) -> Option<TestSuite> {
    let shown = Summary {
        suppressed: 0,
        ..results.outcome.summary.clone()
    };
    let sentences = left_out_sentences(results.set, &shown);
    (!sentences.is_empty()).then(|| suite_of_run("left out", skipped(&sentences.join(" "))))
}

/// Returns a suite with a skipped case for each note about the run; `None` if there are none.
fn notes(results: &Results<'_>) -> Option<TestSuite> {
    let notes = results.notes.iter();
    let cases: Vec<_> = notes
        .map(|note| ("note".to_owned(), TOOL.to_owned(), skipped(note)))
        .collect();
    (!cases.is_empty()).then(|| suite("notes", cases))
}

/// Returns the suite of a file, whose only case passes if there are no findings.
fn suite_of_file(results: &Results<'_>, path: &str, findings: &[&Finding]) -> TestSuite {
    let path = results.root.path(results.set, path);
    let mut cases: Vec<_> = findings
        .iter()
        .map(|finding| (case_name(finding), path.clone(), result(results, finding)))
        .collect();
    if cases.is_empty() {
        let passed = case(TestCaseStatus::success());
        cases.push(("no findings".to_owned(), path.clone(), passed));
    }
    let mut suite = suite(&path, cases);
    suite.extra.insert("file".into(), safe(&path).into());
    suite
}

/// Returns names, in the same order, of which equal ones are numbered.
fn different_names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut used = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let names = names.map(|first| {
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

fn result(results: &Results<'_>, finding: &Finding) -> TestCase {
    if let Some(suppression) = &finding.suppressed {
        return skipped(&match suppression.reason.as_str() {
            "" => "suppressed".to_owned(),
            reason => format!("suppressed: {reason}"),
        });
    }
    let severity = finding.severity.as_str();
    let place = results.place(&finding.primary);
    let mut lines = vec![format!("{place}: {severity}[{}]", finding.rule)];
    lines.extend(finding_lines(finding));
    let related = related_lines(finding).into_iter();
    lines.extend(related.map(|lines| lines.text(results)));
    if results.fails(finding) {
        return failed(&finding.message, severity, &lines);
    }
    let mut passed = case(TestCaseStatus::success());
    passed.set_system_out(text(&lines));
    passed
}
