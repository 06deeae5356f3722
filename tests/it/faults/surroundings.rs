//! Faults in the environment of a run: limits, streams, environment variables.

use std::fs;
use std::process::Stdio;

use super::page::{self, Row};
use super::scene::{
    NAMESPACE, after, as_user, check, deployment, for_user, row, shell, shop, started,
};
use crate::support::project::Project;
use crate::support::{PROGRAM, Run, command, run};

const CONCISE: [&str; 3] = ["check", "--output-format", "concise"];

/// Five hundred Deployments, some of them deeply nested.
fn large() -> Project {
    let project = Project::with(&[("ns.yaml", NAMESPACE)]);
    for number in 0..500 {
        let text = deployment(&format!("web{number}"));
        project.write(&format!("{}/{number}.yaml", number % 20), text);
    }
    let deep = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\nx: {}1{}\n",
        "{a: ".repeat(240),
        "}".repeat(240)
    );
    project.write("deep.yaml", deep);
    project
}

/// A list of many short values.
fn deep_list() -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, x: {}1{}}}\n",
        "{a: ".repeat(240),
        "}".repeat(240)
    )
}

fn after_command(first: &'static str) -> impl Fn(&Project) -> Run {
    move |project| after(first, project, &CONCISE, b"")
}

fn with_environment(variables: &'static [(&str, &str)]) -> impl Fn(&Project) -> Run {
    move |project| {
        let mut command = command(PROGRAM.as_ref(), &project.path(""));
        run(command.args(["check"]).envs(variables.iter().copied()), b"")
    }
}

#[test]
fn surroundings() {
    let large = for_user(large());
    let broken = Project::with(&[("a.yaml", "apiVersion: v1\nkind: Pod\nx: [\n")]);
    let many = Project::new();
    for number in 0..300 {
        many.write(
            &format!("{number}.yaml"),
            "apiVersion: v1\nkind: Pod\nx: [\n",
        );
    }
    page::check(
        "Surroundings",
        &[
            row(
                "32 open files",
                &large,
                0,
                "in 502 files",
                after_command("ulimit -n 32"),
            ),
            row(
                "8 open files",
                &large,
                0,
                "in 502 files",
                after_command("ulimit -n 8"),
            ),
            row(
                "400 MB of address space",
                &large,
                0,
                "in 502 files",
                after_command("ulimit -v 400000"),
            ),
            row(
                "256 KB of stack",
                &large,
                0,
                "in 502 files",
                after_command("ulimit -s 256"),
            ),
            row(
                "256 KB of stack, KRM function",
                &Project::new(),
                0,
                "kind: ResourceList",
                |project| after("ulimit -s 256", project, &["krm"], deep_list().as_bytes()),
            ),
            row(
                "`RUST_MIN_STACK=1000`",
                &large,
                0,
                "in 502 files",
                with_environment(&[("RUST_MIN_STACK", "1000")]),
            ),
            row(
                "a user without a home folder",
                &large,
                0,
                "in 502 files",
                |project| as_user(project, &CONCISE),
            ),
            row(
                "the working directory was removed",
                &shop(),
                2,
                "working directory",
                |project| {
                    shell(
                        project,
                        "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" check",
                    )
                },
            ),
            row(
                "standard output is full",
                &broken,
                2,
                "standard output",
                |project| shell(project, "exec \"$0\" check > /dev/full"),
            ),
            row(
                "standard output is full, KRM function",
                &Project::new(),
                2,
                "standard output",
                |project| {
                    after(
                        "exec > /dev/full",
                        project,
                        &["krm"],
                        deep_list().as_bytes(),
                    )
                },
            ),
            row(
                "the reader of standard output has ended (`| head`)",
                &many,
                0,
                "",
                closed_reader,
            ),
            row("standard output is closed", &broken, 1, "", |project| {
                shell(project, "exec \"$0\" check >&-")
            }),
            row("standard error is full", &shop(), 0, "", |project| {
                shell(project, "exec \"$0\" rewrite --write . 2> /dev/full")
            }),
            row(
                "a locale that does not exist",
                &broken,
                1,
                "error[syntax-error]",
                with_environment(&[("LC_ALL", "xx_YY.unknown"), ("LANG", "C")]),
            ),
            row(
                "an unknown `TERM`, `COLUMNS=1`",
                &broken,
                1,
                "error[syntax-error]",
                with_environment(&[("TERM", "nothing"), ("COLUMNS", "1"), ("LINES", "0")]),
            ),
            narrow_terminal("a terminal of one column", "stty cols 1"),
            narrow_terminal("a terminal of size zero", "stty cols 0 rows 0"),
        ],
    );
    // The rows above must not pass because of an empty output.
    assert_eq!(check(&large).code, 0);
}

/// The reader closes the stream before anything is written.
fn closed_reader(project: &Project) -> Run {
    let mut child = started(project, &["check"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().expect("ended by a signal"),
        stdout: String::new(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs in a terminal that `script` (util-linux) creates; without it the published row is kept.
fn narrow_terminal(fault: &'static str, size: &str) -> Row {
    let project = Project::with(&[("a.yaml", "apiVersion: v1\nkind: Pod\nx: [\n")]);
    let line = format!("{size}; NO_COLOR=1 TERM=dumb '{PROGRAM}' check; echo exit $?");
    let mut script = command("script".as_ref(), &project.path(""));
    script.env("PATH", std::env::var_os("PATH").unwrap());
    script
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null());
    let Ok(output) = script.output() else {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "`script` is not installed"
        );
        eprintln!("skipped: {fault}: there is no `script` (util-linux)");
        return Row::Skipped(fault);
    };
    let shown = String::from_utf8(output.stdout).unwrap().replace('\r', "");
    assert!(shown.contains("exit 1"), "{shown}");
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 2);
    row(fault, &project, 1, "error[syntax-error]", |_| Run {
        code: 1,
        stdout: shown,
        stderr: String::new(),
    })
}
