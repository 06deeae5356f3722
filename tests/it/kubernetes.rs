//! Compares `check` and `predict` with the recorded verdicts of the API server of Kubernetes (`docs/oracles.md`).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{findings, meshprobe, predictions};

/// The recorded verdicts; `bash tests/oracle/kubernetes.sh --record` writes them.
const RECORDED: &str = "fixtures/kubernetes/handlers.txt";

/// The minimum number of handlers, so that a damaged record cannot pass.
const MINIMUM: usize = 5000;

/// Known differences: a part of the recorded line, and the reason. Each must still occur.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Handlers in one file, as in `tests/oracle/kubernetes/meshprobe.go`.
const HANDLERS_PER_FILE: usize = 100;

/// The verdict of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Refused,
    /// Another field is refused, or only strict field validation refuses the handler.
    Undecided,
}

/// A handler with its recorded verdict.
struct Handler<'a> {
    /// The kind of the object, the list of containers and the slot.
    place: [&'a str; 3],
    /// The verdict with its reason, as recorded.
    answer: &'a str,
    verdict: Verdict,
    /// The handler, the ports and the name of its container, and the grace period, as recorded.
    line: &'a str,
}

impl Handler<'_> {
    /// Returns the manifest, as `manifest` of `tests/oracle/kubernetes/handler.go`.
    fn manifest(&self, name: &str) -> String {
        let [kind, list, slot] = self.place;
        let mut columns = self.line.split('\t');
        let handler = columns.next().unwrap();
        let ports = columns.next().unwrap_or_default();
        let container = columns.next().filter(|name| !name.is_empty());
        let grace = columns.next();
        let (mut text, indent) = if kind == "Deployment" {
            let head = format!(
                "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  \
                 selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    \
                 spec:\n"
            );
            (head, "      ")
        } else {
            let head = format!(
                "---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n"
            );
            (head, "  ")
        };
        let mut line = |content: &str| writeln!(text, "{indent}{content}").unwrap();
        if let Some(grace) = grace {
            line(&format!("terminationGracePeriodSeconds: {grace}"));
        }
        if list != "containers" {
            line("containers: [{name: app, image: registry.example/app:1}]");
        }
        let field = if list == "sidecar" {
            "initContainers"
        } else {
            list
        };
        line(&format!("{field}:"));
        line(&format!("- name: {}", container.unwrap_or("web")));
        line("  image: registry.example/web:1");
        if list == "sidecar" {
            line("  restartPolicy: Always");
        }
        if !ports.is_empty() {
            let ports = ports.replacen("http", "{name: http, containerPort: 8080}", 1);
            line(&format!("  ports: {ports}"));
        }
        line(&match slot {
            "postStart" | "preStop" => format!("  lifecycle: {{{slot}: {handler}}}"),
            _ => format!("  {slot}: {handler}"),
        });
        text
    }
}

/// Parses the record: `@` starts a place, `+`, `- ` and `? ` a verdict, and other lines are handlers.
fn parse(text: &str) -> Vec<Handler<'_>> {
    let mut place = [""; 3];
    let mut answer = "";
    let mut verdict = Verdict::Undecided;
    let mut handlers = Vec::new();
    for line in text.lines().skip(1) {
        if let Some(words) = line.strip_prefix("@ ") {
            let words: Vec<&str> = words.split(' ').collect();
            place = words.try_into().unwrap();
            continue;
        }
        let starts = match line.get(..2).unwrap_or(line) {
            "+" => Some(Verdict::Accepted),
            "- " => Some(Verdict::Refused),
            "? " => Some(Verdict::Undecided),
            _ => None,
        };
        match starts {
            Some(starts) => (answer, verdict) = (line, starts),
            None => handlers.push(Handler {
                place,
                answer,
                verdict,
                line,
            }),
        }
    }
    handlers
}

/// What meshprobe reports about one handler.
#[derive(Default, Debug)]
struct Report {
    /// The errors of `check`: rule and message.
    errors: Vec<(String, String)>,
    /// The outcome of `predict`.
    outcome: String,
}

impl Report {
    /// Returns whether the handler is reported not to work.
    fn is_reported(&self) -> bool {
        !self.errors.is_empty()
            || matches!(self.outcome.as_str(), "refused" | "broken-without-mesh")
    }

    /// Returns whether the handler is reported as one that the API server refuses. It accepts some handlers that the
    /// kubelet cannot run.
    fn is_refused(&self) -> bool {
        let by_name = |(_, message): &(String, String)| message.contains("the API server refuses");
        self.outcome == "refused" || self.errors.iter().any(by_name)
    }
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Runs `check` and `predict` over a folder, and returns the reports by the names of the objects.
fn reports(folder: &Path) -> HashMap<String, Report> {
    let run = |command| {
        let options = ["--no-context", "--isolated", "--mesh", "none"];
        let arguments = [&[command], &options[..], &["--output-format", "json", "."]].concat();
        meshprobe(folder, &arguments, "")
    };
    let mut reports: HashMap<String, Report> = HashMap::new();
    for workload in predictions::workloads(&run("predict")) {
        let report = reports.entry(text(&workload, "/object/name")).or_default();
        for handler in workload["handlers"].as_array().unwrap() {
            report.outcome = text(handler, "/outcome");
        }
    }
    for finding in findings(&run("check")) {
        if text(&finding, "/severity") == "error" {
            let report = reports.entry(text(&finding, "/object/name")).or_default();
            let error = (text(&finding, "/rule"), text(&finding, "/message"));
            report.errors.push(error);
        }
    }
    reports
}

#[test]
fn handlers_are_refused_as_by_the_api_server() {
    let record = fs::read_to_string(RECORDED).unwrap();
    let handlers = parse(&record);
    assert!(handlers.len() >= MINIMUM, "{} handlers", handlers.len());
    let folder = tempfile::tempdir().unwrap();
    for (number, chunk) in handlers.chunks(HANDLERS_PER_FILE).enumerate() {
        let first = number * HANDLERS_PER_FILE;
        let manifests = chunk
            .iter()
            .enumerate()
            .map(|(at, handler)| handler.manifest(&format!("h{}", first + at)));
        let path = folder.path().join(format!("{number}.yaml"));
        fs::write(path, manifests.collect::<String>()).unwrap();
    }
    let mut reports = reports(folder.path());
    let mut excepted = vec![0; EXCEPTIONS.len()];
    let mut different = Vec::new();
    let mut counts = [0; 3];
    for (number, handler) in handlers.iter().enumerate() {
        let report = reports.remove(&format!("h{number}")).unwrap_or_default();
        counts[handler.verdict as usize] += 1;
        let difference = match handler.verdict {
            Verdict::Refused if !report.is_reported() => "missed",
            Verdict::Accepted if report.is_refused() => "false alarm",
            _ => continue,
        };
        let known = EXCEPTIONS
            .iter()
            .position(|(part, _)| handler.line.contains(part));
        match known {
            Some(known) => excepted[known] += 1,
            None => different.push(format!(
                "{difference}: {} {}\n  {}\n  {report:?}",
                handler.place.join(" "),
                handler.line,
                handler.answer
            )),
        }
    }
    let shown = different.len().min(20);
    assert!(
        different.is_empty(),
        "{} differences\n{}",
        different.len(),
        different[..shown].join("\n")
    );
    assert!(
        reports.is_empty(),
        "reports about other objects: {reports:?}"
    );
    assert!(!excepted.contains(&0), "unused exceptions: {EXCEPTIONS:?}");
    assert!(
        counts.iter().all(|&count| count > 100),
        "accepted, refused, undecided: {counts:?}"
    );
}
