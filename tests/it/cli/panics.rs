//! A panic can be reported: one message with the version, the location, the payload, and where to
//! report it. It costs the file that caused it, and no other.
//!
//! `MESHPROBE_TEST_PANIC` plants the panics. It exists only with debug assertions, for the reasons in
//! `src/engine/planted_panic.rs`.

use std::path::Path;

#[cfg(debug_assertions)]
use super::fixes::{NAMESPACE, opted_out};
use crate::support::manifest::INJECTED;
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

/// A pod with an error of its own: the port name does not exist.
const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    ports: [{name: http, containerPort: 8080}]
    readinessProbe: {httpGet: {port: missing}}
";

fn files() -> Project {
    Project::with(&[("a.yaml", INJECTED), ("bad.yaml", POD), ("good.yaml", POD)])
}

fn planted(project: &Project, stage: &str, arguments: &[&str], stdin: &str) -> Run {
    let mut command = command(Path::new(PROGRAM), &project.path(""));
    command.env("MESHPROBE_TEST_PANIC", stage).args(arguments);
    run(&mut command, stdin.as_bytes())
}

#[cfg(not(debug_assertions))]
#[test]
fn a_release_has_no_switch() {
    for stage in ["main", "worker", "load:bad.yaml", "check:bad.yaml"] {
        let run = planted(&files(), stage, &["check"], "").exits(1);
        assert_eq!(run.stderr, "", "{stage}");
    }
}

#[cfg(debug_assertions)]
mod planted {
    use super::*;

    const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: web, namespace: shop}
  spec:
    containers:
    - name: web
      readinessProbe: {httpGet: {port: 8080}}
";

    const ISSUES: &str = "https://github.com/meshprobe/meshprobe/issues";

    /// Standard error has exactly the two lines, without control characters and line breaks of the
    /// payload.
    fn is_reported(run: Run, stage: &str) {
        let run = run.exits(2);
        assert_eq!(run.stdout, "");
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{}", run.stderr);
        let (error, help) = (lines[0], lines[1]);
        let version = env!("CARGO_PKG_VERSION");
        let location = format!("error: meshprobe {version} panicked: src/engine/planted_panic.rs:");
        assert!(error.starts_with(&location), "{error}");
        let payload = format!(": planted panic: {stage} \\u{{1b}}[31m second line");
        assert!(error.ends_with(&payload), "{error}");
        assert!(
            help.starts_with("help: this is a bug in meshprobe "),
            "{help}"
        );
        for part in [version, ISSUES, "RUST_BACKTRACE=1", "the command", "input"] {
            assert!(help.contains(part), "no {part} in {help}");
        }
    }

    #[test]
    fn of_the_main_thread() {
        is_reported(planted(&files(), "main", &["check"], ""), "main");
    }

    #[test]
    fn of_a_worker_thread() {
        for threads in ["1", "4"] {
            let run = planted(&files(), "worker", &["check", "--threads", threads], "");
            is_reported(run, "worker");
        }
    }

    /// The proof of fixes panics, so a run without a panic proves none.
    #[test]
    fn only_fixes_of_reported_findings_are_proven() {
        let rule = "strict-probe-not-rewritten";
        let project = Project::with(&[
            ("ns.yaml", NAMESPACE),
            ("web.yaml", &opted_out()),
            (
                ".meshprobe.yaml",
                &format!(
                    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: shop}}\nspec:\n  \
                     rules: {{{rule}: warning}}\n"
                ),
            ),
        ]);
        let stage = "fix:web.yaml";
        let panic = planted(&project, stage, &["check"], "").exits(2);
        panic.complains("planted panic: fix");
        let shown = planted(&project, stage, &["check", "--min-severity", "error"], "");
        shown.exits(0);
        let ignored = planted(&project, stage, &["check", "--ignore", rule], "");
        ignored.exits(0);
    }

    #[test]
    fn a_stack_trace_on_demand() {
        let project = files();
        let mut command = command(Path::new(PROGRAM), &project.path(""));
        command
            .args(["check"])
            .env("MESHPROBE_TEST_PANIC", "main")
            .env("RUST_BACKTRACE", "1");
        let run = run(&mut command, b"")
            .exits(2)
            .complains("stack backtrace:");
        // With line tables the name of a function comes without its module.
        let names = ["planted_panic::trip\n", ": trip\n"];
        let is_named = names.iter().any(|name| run.stderr.contains(name));
        assert!(is_named, "{}", run.stderr);
    }

    fn report_of(arguments: &[&str], stage: &str) -> serde_json::Value {
        let all = [&["check", "--output-format", "json"], arguments].concat();
        let run = planted(&files(), stage, &all, "").exits(1);
        assert_eq!(run.stderr, "");
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// The panic is a finding of its file; the other file is checked.
    #[test]
    fn of_one_file() {
        for stage in ["load:bad.yaml", "check:bad.yaml"] {
            let report = report_of(&[], stage);
            let findings = report["findings"].as_array().unwrap();
            let of = |path: &str| -> Vec<&serde_json::Value> {
                let all = findings.iter();
                all.filter(|one| one["path"] == path).collect()
            };
            let internal = of("bad.yaml");
            assert_eq!(internal.len(), 1, "{stage}: {findings:#?}");
            let internal = internal[0];
            assert_eq!(internal["rule"], "internal-error");
            assert_eq!(internal["severity"], "error");
            let message = internal["message"].as_str().unwrap();
            assert!(
                message.contains("src/engine/planted_panic.rs:"),
                "{message}"
            );
            assert!(message.contains(": planted panic: "), "{message}");
            let help = internal["help"].as_str().unwrap();
            assert!(help.contains(ISSUES) && help.contains("the file"), "{help}");
            assert_eq!(
                of("good.yaml")[0]["rule"],
                "named-port-unresolved",
                "{stage}"
            );
        }
    }

    /// No option of a run hides it from the exit code.
    #[test]
    fn a_selection_of_rules_does_not_hide_it() {
        let report = report_of(&["--select", "osm-archived"], "check:bad.yaml");
        assert_eq!(report["findings"][0]["rule"], "internal-error");
    }

    #[test]
    fn it_fails_the_run_whatever_the_limit_is() {
        let arguments = ["check", "--fail-on", "never"];
        planted(&files(), "check:bad.yaml", &arguments, "").exits(1);
        let list = format!(
            "{LIST}functionConfig: {{apiVersion: meshprobe.dev/v1alpha1, kind: MeshProbe, spec: {{failOn: never}}}}\n"
        );
        planted(&Project::new(), "check:stdin", &["krm"], &list).exits(1);
    }

    #[test]
    fn no_report_has_its_control_characters() {
        for format in [
            "full", "concise", "github", "gitlab", "junit", "summary", "sarif",
        ] {
            let arguments = ["check", "--output-format", format];
            let run = planted(&files(), "check:bad.yaml", &arguments, "").exits(1);
            assert!(
                run.stdout.contains("[31mbad.yaml"),
                "{format}: {}",
                run.stdout
            );
            let control = |c: char| c.is_control() && c != '\n';
            assert!(!run.stdout.contains(control), "{format}: {}", run.stdout);
        }
    }

    /// Every command that goes over files reports it and fails.
    #[test]
    fn of_each_command() {
        let commands: [&[&str]; 7] = [
            &["check", "--fix"],
            &["predict"],
            &["predict", "--output-format", "json"],
            &["rewrite", "--diff"],
            &["rewrite", "--undo", "--diff"],
            &["rewrite", "--emit-envoy"],
            &["rewrite", "-o", "out"],
        ];
        for stage in ["load:bad.yaml", "check:bad.yaml"] {
            for arguments in commands {
                let run = planted(&files(), stage, arguments, "").exits(1);
                let shown = run.stdout + &run.stderr;
                assert!(shown.contains("internal-error"), "{arguments:?}: {shown}");
                assert!(shown.contains("[31mbad.yaml"), "{arguments:?}: {shown}");
            }
        }
    }

    /// The caller would delete what is missing in a list: there is none.
    #[test]
    fn of_reading_a_resource_list() {
        let run = planted(&Project::new(), "load:stdin", &["krm"], LIST).exits(2);
        assert_eq!(run.stdout, "");
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        for part in [
            "error: meshprobe panicked on standard input: ",
            "planted_panic.rs:",
            ISSUES,
        ] {
            assert!(run.stderr.contains(part), "{}", run.stderr);
        }
        assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    }

    /// The same through the protocol of legacy plugins.
    #[test]
    fn of_reading_the_stream_of_a_plugin() {
        let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: x}\n";
        let project = Project::with(&[("config.yaml", config)]);
        let arguments = ["krm", "config.yaml"];
        let run = planted(&project, "load:stdin", &arguments, POD).exits(2);
        assert_eq!(run.stdout, "");
        run.complains("error: meshprobe panicked on standard input: ");
    }

    /// The list is given back unchanged, with the panic among its results.
    #[test]
    fn of_checking_a_resource_list() {
        let run = planted(&Project::new(), "check:stdin", &["krm"], LIST).exits(1);
        let (items, results) = run.stdout.split_once("results:").unwrap();
        assert_eq!(items, LIST);
        assert!(results.contains("rule: internal-error"), "{results}");
        assert!(results.contains("planted panic: "), "{results}");
        run.complains("planted panic: ");
    }
}
