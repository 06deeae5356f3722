//! Names and values in manifests never act as commands of the CI system that shows the log.

use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command as command_in, run};

const POD: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: \"::add-mask::e\", labels: {istio-injection: enabled}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: \"::add-mask::e\"}
spec: {mtls: {mode: STRICT}}
---
apiVersion: v1
kind: Pod
metadata:
  name: \"##[group]x\"
  namespace: \"::add-mask::e\"
  annotations:
    sidecar.istio.io/rewriteAppHTTPProbers: \"false\"
    note: |
      ::error::of a manifest
spec:
  containers:
  - name: \"##vso[task.complete]\"
    livenessProbe: {httpGet: {path: /, port: 8080}}
";

fn project() -> Project {
    Project::with(&[("::warning::x.yaml", POD)])
}

fn in_ci(project: &Project, variable: &str, arguments: &[&str]) -> Run {
    let mut program = command_in(PROGRAM.as_ref(), &project.path(""));
    run(program.env(variable, "true").args(arguments), b"")
}

fn commands(text: &str) -> Vec<&str> {
    let is_command = |line: &&str| {
        let lower = line.to_lowercase();
        line.trim_start().starts_with("::") || MARKS.iter().any(|mark| lower.contains(mark))
    };
    text.lines().filter(is_command).collect()
}

/// Markers that some CI system takes for a command anywhere in a line.
const MARKS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

const SYSTEMS: [&str; 3] = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

#[test]
fn text_output_contains_no_commands_in_ci() {
    let project = project();
    let runs: [&[&str]; 6] = [
        &["check", "--statistics"],
        &["check", "--diff", "--unsafe-fixes"],
        &["check", "--verbose"],
        &["predict", "--explain"],
        &["rewrite", "--diff", "."],
        &["check", "--", "::error::missing.yaml", "x\n::error::y"],
    ];
    for variable in SYSTEMS {
        for arguments in runs {
            let run = in_ci(&project, variable, arguments);
            assert_eq!(commands(&run.stdout), [""; 0], "{arguments:?}");
            assert_eq!(commands(&run.stderr), [""; 0], "{arguments:?}");
        }
    }
    let run = in_ci(&project, "GITHUB_ACTIONS", &["check", "--x\n::error::y"]);
    assert_eq!(commands(&run.stderr), [""; 0]);
    // Outside of CI the text is unchanged.
    let run = project
        .run(&["check", "--output-format", "concise"])
        .exits(1);
    run.stdout_contains("::warning::x.yaml:");
}

/// Returns the names in a section of a help text, such as the formats of a command.
fn names_in_help<'h>(help: &'h str, start: &str, end: &str, indent: &str) -> Vec<&'h str> {
    let (_, section) = help.split_once(start).unwrap_or_default();
    let (section, _) = section.split_once(end).unwrap_or((section, ""));
    let names = section
        .lines()
        .filter_map(|line| line.strip_prefix(indent)?.split([' ', ':']).next());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_format_of_every_command_contains_only_its_own_commands() {
    let hostile = POD
        .replace("##[group]x", "##[error]x ##vso[y]a ##teamcity[z]")
        .replace("path: /,", "path: \"/##[error]\",");
    let rewritten = hostile.replace("rewriteAppHTTPProbers: \"false\"", "x: \"\"");
    assert_ne!(rewritten, hostile);
    let name = "::error file=a,line=1::x ##vso[y].yaml";
    let project = Project::with(&[
        (&format!("old/{name}"), &*rewritten),
        (&format!("new/{name}"), &*hostile),
        (
            "new/::warning::##[c].yaml",
            "apiVersion: v1\nkind: Pod\na: {{ b\n",
        ),
    ]);
    let event = "Readiness probe failed: ::error::x ##[error]y: connection reset by peer";
    let help = project.run(&["--help"]).exits(0).stdout;
    let mut formats = Vec::new();
    let commands_in_help = names_in_help(&help, "Commands:\n", "\n\n", "  ").into_iter();
    for name in commands_in_help.filter(|name| *name != "help") {
        let help = project.run(&[name, "--help"]).exits(0).stdout;
        let names = names_in_help(
            &help,
            "--output-format <FORMAT>\n",
            "[default",
            "          - ",
        );
        formats.extend(
            names
                .into_iter()
                .map(|format| (name.to_owned(), format.to_owned())),
        );
    }
    let of = |command: &str| formats.iter().filter(|(name, _)| name == command).count();
    assert_eq!(
        ["check", "diff", "predict", "explain", "rule"].map(of),
        [9, 9, 3, 2, 2]
    );
    for ((command, format), variable) in formats
        .iter()
        .flat_map(|format| SYSTEMS.map(|system| (format, system)))
    {
        let given: &[&str] = match command.as_str() {
            "diff" => &["../old", "."],
            "explain" => &[event, "."],
            "rule" => &[],
            _ => &["."],
        };
        let mut program = command_in(PROGRAM.as_ref(), &project.path("new"));
        let options = [&[command, "--output-format", format], given].concat();
        let run = run(program.env(variable, "true").args(&options), b"");
        assert_ne!(run.stdout, "", "{options:?}");
        for line in commands(&run.stdout)
            .into_iter()
            .chain(commands(&run.stderr))
        {
            let lower = line.to_lowercase();
            let is_own = format == "github" && line.starts_with("::") && line.contains(" file=");
            let is_marked = MARKS.iter().any(|mark| lower.contains(mark));
            assert!(is_own && !is_marked, "{variable} {options:?}: {line}");
        }
    }
    let run = project.run(&["check", "--output-format", "json"]).exits(1);
    run.stdout_contains("\\u0023#[error]x");
}

#[test]
fn workflow_commands_contain_no_commands_of_other_systems() {
    let hostile = POD
        .replace("##[group]x", "##teamcity[x]")
        .replace("path: /,", "path: \"/##[error]\",");
    let names = [
        "##vso[task.setvariable]a.yaml",
        "##[b]/c.yaml",
        "::error::##Vso[d].yaml",
    ];
    let project = Project::with(&names.map(|name| (name, hostile.as_str())));
    for variable in SYSTEMS {
        for command in [
            &["check", "--output-format", "github"][..],
            &["predict", "--output-format", "json"],
            &["rewrite", "--write", "--mesh-version", "1.28", "."],
            &["rewrite", "--undo", "--write", "."],
            &["check", "--fix", "--unsafe-fixes"],
        ] {
            let run = in_ci(&project, variable, command);
            for line in run.stdout.lines().chain(run.stderr.lines()) {
                let lower = line.to_lowercase();
                let is_marked = MARKS.iter().any(|mark| lower.contains(mark));
                assert!(!is_marked, "{variable} {command:?}: {line}");
            }
        }
    }
    let run = in_ci(
        &project,
        "TF_BUILD",
        &["check", "--output-format", "github"],
    );
    let own = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("::error file="));
    assert!(own.count() >= 3, "{}", run.stdout);
    run.stdout_contains("\\u{23}#vso[task.setvariable]a.yaml")
        .stdout_contains("\\u{23}#[b]/c.yaml");
}

#[test]
fn manifests_are_printed_unchanged() {
    let project = project();
    let run = in_ci(
        &project,
        "GITHUB_ACTIONS",
        &["rewrite", "::warning::x.yaml"],
    );
    run.exits(0)
        .stdout_contains("      ::error::of a manifest\n");
}

#[test]
fn invisible_characters_are_shown() {
    let hidden = "a\u{ad}b\u{e0041}c\u{fe0f}d\u{200d}e";
    let project = Project::with(&[("x.yaml", &POD.replace("##[group]x", hidden))]);
    let shown = "a\\u{ad}b\\u{e0041}c\\u{fe0f}d\\u{200d}e";
    project.run(&["predict"]).stdout_contains(shown);
    let run = project.run(&["check", "--output-format", "sarif"]).exits(1);
    assert!(run.stdout.is_ascii() || !run.stdout.contains('\u{e0041}'));
    run.stdout_contains("a\\u00adb\\udb40\\udc41c\\ufe0fd\\u200de");
}

#[test]
fn a_sarif_message_contains_no_link() {
    let project = Project::with(&[(
        "x.yaml",
        &POD.replace("##vso[task.complete]", "[l](https://x)"),
    )]);
    let run = project.run(&["check", "--output-format", "sarif"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let results = report["runs"][0]["results"].as_array().unwrap();
    let texts = results.iter().map(|result| &result["message"]["text"]);
    let texts: Vec<&str> = texts.filter_map(serde_json::Value::as_str).collect();
    assert!(
        texts.iter().any(|text| text.contains("[l\\](https://x)")),
        "{texts:?}"
    );
    assert!(!texts.iter().any(|text| text.contains("[l](")), "{texts:?}");
}

#[test]
fn the_krm_function_prints_no_commands_in_ci() {
    let item = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: '::error::x'\n  \
                annotations:\n    internal.config.kubernetes.io/path: \"::add-mask::x\"\n\
                spec:\n  containers:\n  - name: '##[group]'\n    \
                livenessProbe: {httpGet: {port: 0}}\n";
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}",
        item.replace('\n', "\n  ")
    );
    let project = Project::new();
    let mut program = command_in(PROGRAM.as_ref(), &project.path(""));
    let run = run(
        program.env("GITHUB_ACTIONS", "true").arg("krm"),
        list.as_bytes(),
    );
    assert!(!run.stderr.is_empty(), "{}", run.stdout);
    assert_eq!(commands(&run.stderr), [""; 0]);
}
