//! Names, variables and files that users know from other tools.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::manifest::{ANNOTATED_WEB, INJECTED, OPT_OUT, STRICT};
use crate::support::project::Project;
use crate::support::rust_code::crate_folders;
use crate::support::{PROGRAM, command, findings, run};

#[test]
fn a_call_without_arguments_explains_itself() {
    let project = Project::new();
    let run = project.run(&[]).exits(2);
    assert_eq!(
        run.stderr,
        "error: expected a command, such as `meshprobe check .`, or a ResourceList on standard input\n\
         help: `meshprobe --help` lists the commands\n"
    );
    assert_eq!(run.stdout, "");
    // A pipe that stays open.
    let mut child = command(Path::new(PROGRAM), &project.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    assert!(
        line.starts_with("note: waiting for a ResourceList"),
        "{line}"
    );
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn variables_switch_colours() {
    let project = Project::with(&[("a.yaml", "apiVersion: v1\nkind: Pod\nx: [\n")]);
    let is_colored = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut check = command(Path::new(PROGRAM), &project.path(""));
        check.arg("check").args(arguments);
        run(check.envs(variables.iter().copied()), b"")
            .stdout
            .contains('\u{1b}')
    };
    assert!(!is_colored(&[], &[]));
    assert!(is_colored(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_colored(
        &[],
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
    assert!(!is_colored(
        &["--color", "never"],
        &[("CLICOLOR_FORCE", "1")]
    ));
    assert!(is_colored(&["--color", "always"], &[("NO_COLOR", "1")]));
}

#[test]
fn variables_are_documented_in_the_help_and_the_manual_page() {
    let project = Project::new();
    let help = project.run(&["--help"]).exits(0).stdout;
    let page = project.run(&["man"]).exits(0).stdout;
    let page = page.replace("\\fB", " ");
    assert_eq!(page.matches(".SH ENVIRONMENT").count(), 1);
    let mut names = variables();
    names.insert("PATH".to_owned());
    let is_documented = |text: &str, name: &str| {
        let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.split(|c: char| !is_part_of_name(c))
            .any(|word| word == name)
    };
    for name in &names {
        assert!(is_documented(&help, name), "{name}");
        assert!(is_documented(&page, name), "{name}");
    }
    for name in ["HOME", "COLUMNS", "TERM", "LANG", "TF_BUILD"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
}

/// Returns the environment variables that the program reads. Only a session reads them: their names are the literals in
/// capital letters in the code of the command line.
fn variables() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, text) in sources() {
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        let reads = code.contains("env::var");
        // The variable of `run.rs` only exists in tests.
        let may_read = path.ends_with("cli/session.rs") || path.ends_with("cli/run.rs");
        assert!(
            may_read || !reads,
            "{path} reads a variable without a session"
        );
        let is_cli = path.contains("src/cli/") && !path.contains("src/cli/args/");
        if !is_cli {
            continue;
        }
        for line in code.lines().filter(|line| !line.contains("env!(")) {
            let literals = line.split('"').skip(1).step_by(2);
            let is_name = |text: &&str| {
                text.len() > 1 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            };
            names.extend(literals.filter(is_name).map(str::to_owned));
        }
    }
    names
}

/// Returns all source files of the program, each with its path.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = crate_folders();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let shown = path
                    .to_string_lossy()
                    .replace(std::path::MAIN_SEPARATOR, "/");
                found.push((shown, text));
            }
        }
    }
    found
}

/// A workload whose probe fails with mutual TLS.
fn web() -> String {
    ANNOTATED_WEB.replace("a: b", OPT_OUT)
}

const CONFIG: &str = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {assume: {injection: all, mtls: STRICT}}\n";

#[test]
fn the_configuration_may_end_in_yml() {
    let project = Project::with(&[("apps/web.yaml", &web()), (".meshprobe.yml", CONFIG)]);
    let is_strict = |arguments: &[&str]| {
        let all = [&["check", "--output-format", "concise"][..], arguments].concat();
        let run = project.run(&all);
        run.stdout.contains("strict-probe-not-rewritten")
    };
    assert!(is_strict(&[]));
    assert!(!is_strict(&["--isolated"]));
    project.write(".meshprobe.yaml", CONFIG);
    project
        .run(&["check"])
        .exits(2)
        .stderr_contains(
            "error: found two configuration files, `.meshprobe.yaml` and `.meshprobe.yml`",
        )
        .stderr_contains("help: delete one of them");
    assert!(is_strict(&["--config", ".meshprobe.yml"]));
}

#[test]
fn an_isolated_run_ignores_roots_that_configurations_declare() {
    let root = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {root: true}\n";
    for name in [".meshprobe.yaml", ".meshprobe.yml"] {
        let project = Project::with(&[
            ("mesh/namespace.yaml", INJECTED),
            ("mesh/strict.yaml", STRICT),
            ("apps/web.yaml", &web()),
            (&format!("apps/{name}"), root),
        ]);
        let found = |arguments: &[&str]| {
            let all = [&["check", "--output-format", "json"][..], arguments].concat();
            let findings = findings(&project.run(&all)).into_iter();
            let is_strict = |finding: &Value| finding["rule"] == "strict-probe-not-rewritten";
            findings.filter(is_strict).count()
        };
        // Facts of `mesh` do not apply to `apps`, unless the configuration is ignored.
        assert_eq!(found(&["apps"]), 0, "{name}");
        assert_eq!(found(&["apps", "--isolated"]), 1, "{name}");
        // A tree of its own states no facts about the others.
        project.write("apps/strict.yaml", STRICT.replace("shop", "other"));
        let is_read = |arguments: &[&str]| {
            let all = [&["check", "mesh", "-v"][..], arguments].concat();
            project.run(&all).stderr.contains("apps/strict.yaml")
        };
        assert!(!is_read(&[]));
        assert!(is_read(&["--isolated"]));
    }
}
