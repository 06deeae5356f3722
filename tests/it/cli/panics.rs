//! A panic is reported in one message with the version, the location, the payload, and the address for
//! bug reports. It affects only the file that caused it.
//!
//! `MESHPROBE_TEST_PANIC` plants the panics. It exists only with debug assertions, for the reasons in
//! `crates/engine/src/engine/planted_panic.rs`.

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
fn a_release_build_cannot_plant_a_panic() {
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

    /// Checks that standard error contains exactly the two lines, without control characters and line breaks of the
    /// payload.
    fn assert_reported(run: Run, stage: &str) {
        let run = run.exits(2);
        assert_eq!(run.stdout, "");
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{}", run.stderr);
        let (error, help) = (lines[0], lines[1]);
        let version = env!("CARGO_PKG_VERSION");
        let location = format!(
            "error: meshprobe {version} panicked: crates/engine/src/engine/planted_panic.rs:"
        );
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
    fn a_panic_of_the_main_thread_is_reported() {
        assert_reported(planted(&files(), "main", &["check"], ""), "main");
    }

    #[test]
    fn a_panic_of_a_worker_thread_is_reported() {
        for threads in ["1", "4"] {
            let run = planted(&files(), "worker", &["check", "--threads", threads], "");
            assert_reported(run, "worker");
        }
    }

    /// The check of a fix panics, so a run without a panic has checked no fix.
    #[test]
    fn only_fixes_of_reported_findings_are_checked() {
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
        panic.stderr_contains("planted panic: fix");
        let shown = planted(&project, stage, &["check", "--min-severity", "error"], "");
        shown.exits(0);
        let ignored = planted(&project, stage, &["check", "--ignore", rule], "");
        ignored.exits(0);
    }

    #[test]
    fn a_stack_trace_is_printed_on_request() {
        let project = files();
        let mut command = command(Path::new(PROGRAM), &project.path(""));
        command
            .args(["check"])
            .env("MESHPROBE_TEST_PANIC", "main")
            .env("RUST_BACKTRACE", "1");
        let run = run(&mut command, b"")
            .exits(2)
            .stderr_contains("stack backtrace:");
        // With line tables the name of a function appears without its module.
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

    /// The panic is a finding about its file; the other file is checked.
    #[test]
    fn a_panic_of_one_file_is_a_finding() {
        for stage in ["load:bad.yaml", "check:bad.yaml"] {
            let report = report_of(&[], stage);
            let findings = report["findings"].as_array().unwrap();
            let of = |path: &str| -> Vec<&serde_json::Value> {
                findings
                    .iter()
                    .filter(|finding| finding["path"] == path)
                    .collect()
            };
            let internal = of("bad.yaml");
            assert_eq!(internal.len(), 1, "{stage}: {findings:#?}");
            let internal = internal[0];
            assert_eq!(internal["rule"], "internal-error");
            assert_eq!(internal["severity"], "error");
            let message = internal["message"].as_str().unwrap();
            assert!(
                message.contains("crates/engine/src/engine/planted_panic.rs:"),
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

    /// No option removes the panic from the exit code.
    #[test]
    fn a_selection_of_rules_does_not_hide_a_panic() {
        let report = report_of(&["--select", "osm-archived"], "check:bad.yaml");
        assert_eq!(report["findings"][0]["rule"], "internal-error");
    }

    #[test]
    fn a_panic_fails_the_run_at_every_fail_level() {
        let arguments = ["check", "--fail-on", "never"];
        planted(&files(), "check:bad.yaml", &arguments, "").exits(1);
        let list = format!(
            "{LIST}functionConfig: {{apiVersion: meshprobe.dev/v1alpha1, kind: MeshProbe, spec: {{failOn: never}}}}\n"
        );
        planted(&Project::new(), "check:stdin", &["krm"], &list).exits(1);
    }

    #[test]
    fn reports_do_not_contain_the_control_characters_of_a_panic() {
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

    /// Every command that reads files reports the panic and fails.
    #[test]
    fn every_command_reports_a_panic() {
        let commands: [&[&str]; 6] = [
            &["check", "--fix"],
            &["predict"],
            &["predict", "--output-format", "json"],
            &["rewrite", "--diff"],
            &["rewrite", "--undo", "--diff"],
            &["rewrite", "--emit-envoy"],
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

    /// The caller would delete resources that are missing from the output, so there is no output.
    #[test]
    fn a_panic_while_reading_a_resource_list_prevents_output() {
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

    /// The same check through the protocol of legacy plugins.
    #[test]
    fn a_panic_while_reading_the_stream_of_a_plugin_prevents_output() {
        let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: x}\n";
        let project = Project::with(&[("config.yaml", config)]);
        let arguments = ["krm", "config.yaml"];
        let run = planted(&project, "load:stdin", &arguments, POD).exits(2);
        assert_eq!(run.stdout, "");
        run.stderr_contains("error: meshprobe panicked on standard input: ");
    }

    /// The list is returned unchanged, with the panic in its results.
    #[test]
    fn a_panic_while_checking_a_resource_list_is_a_result() {
        let run = planted(&Project::new(), "check:stdin", &["krm"], LIST).exits(1);
        let (items, results) = run.stdout.split_once("results:").unwrap();
        assert_eq!(items, LIST);
        assert!(results.contains("rule: internal-error"), "{results}");
        assert!(results.contains("planted panic: "), "{results}");
        run.stderr_contains("planted panic: ");
    }
}
