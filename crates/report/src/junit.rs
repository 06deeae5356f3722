//! `JUnit` XML: a suite per file, a case per finding, a passing case for a file without findings, and a skipped case for
//! each thing that is not judged. If nothing is judged, no file passes, and a skipped or failed case says so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::RequiredVerdicts;

use super::escape::{escape_control, starts_command};
use super::not_judged::{missing_verdicts, nothing_judged};
use super::report_root::source_path;
use super::results::Results;
use super::summary::left_out_sentences;
use super::text::{finding_lines, path_of, related_lines, subject};
use meshprobe_engine::engine::Summary;

/// The suites and the class of cases that are not about a file.
const RUN: &str = "meshprobe";

/// Returns the report of all findings. Findings that make the run fail are failures, and suppressed findings are skipped. All
/// others pass, with their text as output.
#[must_use]
pub fn junit(results: &Results<'_>) -> String {
    let about_run = [
        ("not judged", not_judged(results)),
        (RUN, nothing_judged_case(results).into_iter().collect()),
        (RUN, left_out(results).into_iter().collect()),
        ("notes", notes(results)),
    ];
    let about_run = about_run.into_iter().filter(|(_, cases)| !cases.is_empty());
    let suites: Vec<Suite> = files(results)
        .iter()
        .map(|(path, findings)| suite(results, path, findings))
        .chain(about_run.map(|(name, cases)| Suite {
            name: name.to_owned(),
            is_file: false,
            cases,
        }))
        .collect();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    let failures: usize = suites.iter().map(|suite| suite.count("failure")).sum();
    let suites: String = suites.into_iter().map(Suite::text).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"meshprobe\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n{suites}</testsuites>\n"
    )
}

struct Suite {
    name: String,
    is_file: bool,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    class: String,
    /// `None` for a case that passes.
    result: Option<CaseResult>,
}

/// The element below a case.
struct CaseResult {
    element: &'static str,
    attributes: Vec<(&'static str, String)>,
    lines: Vec<String>,
}

impl Suite {
    fn count(&self, element: &str) -> usize {
        let results = self.cases.iter().filter_map(|case| case.result.as_ref());
        results.filter(|result| result.element == element).count()
    }

    /// Returns the element. All names of its cases are different, because programs identify a case by its name.
    fn text(self) -> String {
        let (tests, name) = (self.cases.len(), xml(&self.name));
        let (failures, skipped) = (self.count("failure"), self.count("skipped"));
        let file = match self.is_file {
            true => format!(" file=\"{name}\""),
            false => String::new(),
        };
        let mut out = format!(
            "  <testsuite name=\"{name}\"{file} tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n"
        );
        let names = different_names(self.cases.iter().map(|case| xml(&case.name)));
        for (case, name) in self.cases.into_iter().zip(names) {
            let class = xml(&case.class);
            out.push_str(&format!(
                "    <testcase name=\"{name}\" classname=\"{class}\""
            ));
            let Some(result) = case.result else {
                out.push_str("/>\n");
                continue;
            };
            let element = result.element;
            let attributes = result.attributes.iter();
            let attributes: String = attributes
                .map(|(name, value)| format!(" {name}=\"{}\"", xml(value)))
                .collect();
            let lines: Vec<String> = result.lines.iter().map(|line| xml(line)).collect();
            let end = match lines.as_slice() {
                [] => "/>".to_owned(),
                lines => format!(">{}</{element}>", lines.join("\n")),
            };
            out.push_str(&format!(
                ">\n      <{element}{attributes}{end}\n    </testcase>\n"
            ));
        }
        out + "  </testsuite>\n"
    }
}

impl Case {
    fn skipped(name: &str, message: String) -> Self {
        Self {
            name: name.to_owned(),
            class: RUN.to_owned(),
            result: Some(CaseResult::skipped(message)),
        }
    }

    /// Makes the case fail, with the message that it is skipped with.
    fn failed(mut self) -> Self {
        if let Some(result) = &mut self.result {
            result.element = "failure";
            result.attributes.push(("type", "error".to_owned()));
        }
        self
    }
}

impl CaseResult {
    fn skipped(message: String) -> Self {
        Self {
            element: "skipped",
            attributes: vec![("message", message)],
            lines: Vec::new(),
        }
    }
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

/// Returns a case for each thing that is not judged, which is skipped, or fails if all verdicts are required.
fn not_judged(results: &Results<'_>) -> Vec<Case> {
    let found = results.outcome.not_judged.iter();
    let cases = found.map(|found| {
        let object = found.object.as_ref().map(path_of);
        let object = object.map_or_else(String::new, |object| format!(": {object}"));
        let name = format!("not judged ({}){object}", found.reason.id());
        let place = results.place(&found.place);
        let message = format!("{place}: {}: {}", found.place.message, found.help);
        let case = Case {
            class: results.places().path(&found.place),
            ..Case::skipped(&name, message)
        };
        match results.required {
            RequiredVerdicts::All => case.failed(),
            RequiredVerdicts::None | RequiredVerdicts::One => case,
        }
    });
    cases.collect()
}

/// Returns a case that is skipped, or fails if verdicts are required; `None` if something is judged.
fn nothing_judged_case(results: &Results<'_>) -> Option<Case> {
    if !results.outcome.summary.judges_nothing() {
        return None;
    }
    let commands = "The skipped test cases name the commands that would judge the workloads.";
    let mut message = "nothing was judged: no workloads.".to_owned();
    for sentence in nothing_judged(results.outcome, commands) {
        message.push_str(&format!(" {sentence}"));
    }
    let name = "nothing was judged";
    let Some(missing) = missing_verdicts(results.outcome, results.required) else {
        return Some(Case::skipped(name, message));
    };
    let mut case = Case::skipped(name, missing).failed();
    if let Some(result) = &mut case.result {
        result.lines.push(message);
    }
    Some(case)
}

/// Returns a skipped case that counts the findings that no other case shows; `None` if there are none.
fn left_out(results: &Results<'_>) -> Option<Case> {
    // Suppressed findings have cases.
    let shown = Summary {
        suppressed: 0,
        ..results.outcome.summary.clone()
    };
    let sentences = left_out_sentences(results.set, &shown);
    (!sentences.is_empty()).then(|| Case::skipped("left out", sentences.join(" ")))
}

/// Returns a skipped case for each note about the run.
fn notes(results: &Results<'_>) -> Vec<Case> {
    let notes = results.notes.iter();
    notes
        .map(|note| Case::skipped("note", note.clone()))
        .collect()
}

fn suite(results: &Results<'_>, path: &str, findings: &[&Finding]) -> Suite {
    let name = results.root.path(results.set, path);
    let case = |finding: &&Finding| Case {
        name: case_name(finding),
        class: name.clone(),
        result: Some(result(results, finding)),
    };
    let mut cases: Vec<Case> = findings.iter().map(case).collect();
    if cases.is_empty() {
        cases.push(Case {
            name: "no findings".to_owned(),
            class: name.clone(),
            result: None,
        });
    }
    Suite {
        name,
        is_file: true,
        cases,
    }
}

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

fn result(results: &Results<'_>, finding: &Finding) -> CaseResult {
    if let Some(suppression) = &finding.suppressed {
        let why = match suppression.reason.as_str() {
            "" => "suppressed".to_owned(),
            reason => format!("suppressed: {reason}"),
        };
        return CaseResult::skipped(why);
    }
    let severity = finding.severity.as_str();
    let place = results.place(&finding.primary);
    let mut lines = vec![format!("{place}: {severity}[{}]", finding.rule)];
    lines.extend(finding_lines(finding));
    let related = related_lines(finding).into_iter();
    lines.extend(related.map(|lines| lines.text(results)));
    let (element, attributes) = match results.fails(finding) {
        false => ("system-out", Vec::new()),
        true => (
            "failure",
            vec![
                ("message", finding.message.clone()),
                ("type", severity.to_owned()),
            ],
        ),
    };
    CaseResult {
        element,
        attributes,
        lines,
    }
}

/// Escapes a text of one line for use as content or as value of an attribute.
fn xml(text: &str) -> String {
    let text = escape_control(text);
    match text.trim_start().strip_prefix("::") {
        // CI systems read commands from the lines of their log, into which a report may be printed.
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
