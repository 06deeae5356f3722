//! The index and the pages of `docs/rules`.

use meshprobe::engine::{Notice, explained};
use meshprobe::rules::{self, FixAvailability, Rule};

/// The first lines of the generated index.
const GENERATED: &str = "<!-- Generated. -->\n\n";

fn kind(notice: &Notice) -> &'static str {
    match (notice.id.is_guard(), rule(notice)) {
        (true, _) => "guard",
        (false, Some(_)) => "rule",
        (false, None) => "notice",
    }
}

/// Returns the rule of a page; `None` for a notice or a guard.
fn rule(notice: &Notice) -> Option<&'static Rule> {
    let mut rules = rules::all().iter().copied();
    rules.find(|rule| rule.id == notice.id)
}

fn fix(notice: &Notice) -> &'static str {
    rule(notice)
        .map_or(FixAvailability::None, |rule| rule.fix)
        .as_str()
}

/// Returns the first paragraph of a page on one line.
fn paragraph(notice: &Notice) -> String {
    let docs = notice.docs();
    let lines = docs.lines().take_while(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the names and texts of the files of `docs/rules`: the index and one page per id.
///
/// The pages are written by hand. Their first lines follow from the code; the sections that tests generate
/// ([`rules::GENERATED_SECTIONS`]) are left out.
pub(crate) fn rule_docs() -> Vec<(String, String)> {
    let all = explained();
    let mut files = vec![("README.md".to_owned(), index(&all))];
    for notice in &all {
        files.push((format!("{}.md", notice.id), page_of_file(notice)));
    }
    files
}

fn page_of_file(notice: &Notice) -> String {
    let severity = notice.severity.as_str();
    let line = match kind(notice) {
        "rule" => format!("Severity: {severity}. Fix: {}.", fix(notice)),
        "notice" => format!("Severity: {severity}."),
        _ => format!("Severity: {severity}. A guard of `rewrite`."),
    };
    format!("# {}\n\n{line}\n\n{}\n", notice.id, notice.docs())
}

fn index(all: &[Notice]) -> String {
    let rows = |wanted: &str| {
        all.iter()
            .filter(|notice| kind(notice) == wanted)
            .map(row)
            .collect::<String>()
    };
    let table = "| id | severity | if assumed | fix | summary |\n|---|---|---|---|---|\n";
    format!(
        "{GENERATED}# Rules\n\n`meshprobe check` reports these problems. `meshprobe rule ID` prints the same pages.\n\n\
         The severity applies to findings whose facts are all known. An assumption lowers it by one step, but a finding about \
         something that fails if the pod is injected at all stays a warning (column \"if assumed\").\n\n{table}{}\n\
         ## Notices\n\nProblems that prevent the check of a file, and errors in suppressions.\n\n{table}{}\n\
         ## Guards of rewrite\n\nReasons why `meshprobe rewrite` does not rewrite a pod, and notes about rewritten pods.\n\n{table}{}",
        rows("rule"),
        rows("notice"),
        rows("guard"),
    )
}

fn row(notice: &Notice) -> String {
    let id = notice.id;
    let summary = paragraph(notice).replace('|', "\\|");
    let (severity, fix) = (notice.severity.as_str(), fix(notice));
    let assumed = rule(notice).map_or(severity, |rule| rule.assumed_severity().as_str());
    format!("| [{id}]({id}.md) | {severity} | {assumed} | {fix} | {summary} |\n")
}
