//! Faults in names: of files, objects, containers, entries of kustomizations.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use super::page::{self, Row};
use super::scene::{NAMESPACE, check, check_with, deployment, rewrite, row, shell, shop};
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

/// A name that controls a terminal, ends a line, changes the text direction, and contains invisible characters.
const HOSTILE_NAME: &str = "a\u{1b}[31m\n::error::x\u{202e}\u{61c}\u{2028}\u{200b}\u{9b}";

const FORMATS: [&str; 8] = [
    "full", "concise", "json", "sarif", "github", "gitlab", "junit", "summary",
];

/// A tree with hostile names of files, objects, containers, keys and paths.
fn hostile_tree() -> Project {
    let project = Project::with(&[("ns.yaml", NAMESPACE)]);
    let escaped = "w\\e[31m\\n::error::\\u202e\\u061c\\u2028\\u200b\\u009b\\0";
    let web = deployment("web").replace("- name: web", &format!("- name: \"{escaped}\""));
    let web = web.replace("path: /healthz", &format!("path: \"{escaped}\""));
    project.write(
        &format!("{HOSTILE_NAME}.yaml"),
        web.replace("name: web, n", &format!("name: \"{escaped}\", n")),
    );
    project.write(
        "broken.yaml",
        format!("apiVersion: v1\nkind: Pod\n\"{}\": [\n", "\u{9b}\u{202e}"),
    );
    let entries =
        format!("resources: [\"{escaped}\", \"../../{escaped}\", \"https://x/{escaped}\"]\n");
    project.write("k/kustomization.yaml", entries);
    project
}

/// Runs one format, and checks that its output is escaped.
fn run_escaped(project: &Project, format: &str) -> Run {
    let run = project.run(&["check", "--output-format", format]);
    assert_escaped(&run.stdout);
    assert_escaped(&run.stderr);
    run
}

#[track_caller]
fn assert_escaped(text: &str) {
    let unescaped = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(
                c,
                '\u{61c}' | '\u{200b}' | '\u{2028}' | '\u{202e}' | '\u{feff}'
            )
    };
    assert!(!text.contains(unescaped), "{text:?}");
    // Values of a manifest must not start a line: the runner would execute a workflow command.
    assert!(
        !text.lines().any(|line| line.starts_with("::error::")),
        "{text}"
    );
}

#[test]
fn every_format_escapes_names() {
    let project = hostile_tree();
    for format in FORMATS {
        run_escaped(&project, format);
        let report = format!("{format}=report.txt");
        project.run(&["check", "--report", &report]);
        assert_escaped(&project.read("report.txt"));
        fs::remove_file(project.path("report.txt")).unwrap();
    }
    for arguments in [
        &["predict"][..],
        &["predict", "--explain"],
        &["predict", "--output-format", "json"],
        &["rewrite", "--diff", "."],
        &["rewrite", "--write", "."],
        &["check", "-v"],
        &["check", "--fix"],
        &["check", "--statistics"],
    ] {
        let run = project.run(arguments);
        assert_escaped(&run.stdout);
        assert_escaped(&run.stderr);
    }
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {{apiVersion: v1, kind: Pod, metadata: {{name: \"{0}\", annotations: {{sidecar.istio.io/inject: 'true', config.kubernetes.io/path: \"{0}\"}}}}, spec: {{containers: [{{name: \"{0}\", readinessProbe: {{httpGet: {{port: 80}}}}}}]}}}}\n",
        "\\e\\u202e\\0\\n::error::"
    );
    let run = project.pipe(&["krm"], list);
    assert_escaped(&run.stdout);
    assert_escaped(&run.stderr);
}

#[test]
fn names() {
    let project = hostile_tree();
    page::check(
        "Names",
        &[
            row(
                "control characters, line breaks and bidirectional control characters in a file name",
                &project,
                1,
                "::error::x",
                |project| run_escaped(project, "concise"),
            ),
            row(
                "the same in a container name",
                &project,
                1,
                "container-name-invalid",
                |project| run_escaped(project, "concise"),
            ),
            row(
                "the same, as an annotation on GitHub",
                &project,
                1,
                "container-name-invalid",
                |project| run_escaped(project, "github"),
            ),
            row(
                "the same in `resources` of a kustomization",
                &project,
                1,
                "k/kustomization.yaml",
                |project| run_escaped(project, "concise"),
            ),
            row(
                "a file that is named like an option, with control characters",
                &Project::new(),
                2,
                "unexpected argument",
                |project| project.run(&["check", "--x\u{1b}[31m.yaml"]),
            ),
            row(
                "a file that is named like a workflow command, in the log of GitHub Actions",
                &command_name(),
                1,
                "error::x.yaml",
                |project| {
                    let mut program = command(PROGRAM.as_ref(), &project.path(""));
                    program.args(["check", "--output-format", "concise"]);
                    run(program.env("GITHUB_ACTIONS", "true"), b"")
                },
            ),
            row(
                "the same in a rule name",
                &Project::new(),
                2,
                "unknown rule",
                |project| project.run(&["rule", "x\u{1b}[31m"]),
            ),
            two_names(),
            row("a file name of 255 bytes", &long(), 0, "", rewrite),
            deep(),
            row(
                "a container name of 1 MB",
                &Project::with(&[
                    ("ns.yaml", NAMESPACE),
                    (
                        "web.yaml",
                        &deployment("web")
                            .replace("- name: web", &format!("- name: {}", "w".repeat(1 << 20))),
                    ),
                ]),
                1,
                "Found",
                check,
            ),
        ],
    );
}

fn command_name() -> Project {
    let text = deployment("web").replace("port: 8080", "port: 0");
    Project::with(&[("ns.yaml", NAMESPACE), ("::error::x.yaml", &text)])
}

fn two_names() -> Row {
    let project = shop();
    for byte in [b'\xfe', b'\xff'] {
        let name = [b"x", &[byte][..], b".yaml"].concat();
        let text = deployment(&format!("w{byte}"));
        fs::write(project.path("").join(OsStr::from_bytes(&name)), text).unwrap();
    }
    row(
        "two names that differ only in a byte that is not UTF-8",
        &project,
        0,
        "x\\xff.yaml",
        |project| project.run(&["check", "-v"]),
    )
}

fn long() -> Project {
    let project = shop();
    project.write(&format!("{}.yaml", "n".repeat(250)), deployment("long"));
    project
}

/// Nested folders whose path exceeds the limit of the system.
fn deep() -> Row {
    let project = shop();
    let name = "d".repeat(250);
    let made = shell(
        &project,
        &format!(
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mkdir {name} && cd -P {name} || exit 1; done; echo 'a: 1' > x.yaml"
        ),
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    row(
        "nested folders with a path longer than the system allows",
        &project,
        0,
        "too long",
        |project| {
            let mut run = check_with(project, &[]);
            let short = run.stdout.replace(&format!("{name}/"), "");
            run.stdout = short.replace(&name, "…");
            run
        },
    )
}
