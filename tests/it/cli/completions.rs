//! Completions, as shells request them.

use std::path::Path;

use crate::support::project::Project;
use crate::support::{PROGRAM, command, run};

/// Two overlays of one base, and a file whose name is a command.
fn project() -> Project {
    let overlay = |name: &str| format!("namePrefix: {name}-\nresources: [../../base]\n");
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      \
                      containers:\n      - {name: web, image: a, livenessProbe: {httpGet: {path: /, port: 80}}}\n";
    let project = Project::with(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", deployment),
        ("bait;touch pwned.yaml", "a: b\n"),
    ]);
    for name in ["prod", "staging"] {
        let path = format!("overlays/{name}/kustomization.yaml");
        project.write(&path, overlay(name));
    }
    project
}

/// Returns what the program prints for the words of a line, of which the last is completed.
fn completed(project: &Project, shell: &str, words: &[&str]) -> Vec<String> {
    let mut program = command(Path::new(PROGRAM), &project.path("."));
    program
        .env("MESHPROBE_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_IFS", "\n")
        .arg("--")
        .args(words);
    let run = run(&mut program, b"").exits(0);
    assert_eq!(run.stderr, "", "{words:?}");
    let lines = run.stdout.lines();
    lines
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

#[test]
fn names_of_environments_are_completed() {
    let project = project();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        for (words, expected) in [
            (&["check", "--cluster", ""][..], &["prod", "staging"][..]),
            (&["predict", "overlays", "--overlay", "s"], &["staging"]),
            (&["diff", "--cluster", "pr"], &["prod"]),
            (&["lsp", "--overlay", "pr"], &["prod"]),
            // No renderer is run, and standard input is not read.
            (
                &[
                    "check",
                    "--helm",
                    "auto",
                    "--kustomize",
                    "base",
                    "overlays",
                    "-",
                    "--overlay",
                    "pr",
                ],
                &["prod"],
            ),
            (&["check", "-", "--overlay", ""], &[]),
            (&["check", "--kustomize", "base", "--overlay", ""], &[]),
            (&["check", "nonexistent", "--overlay", ""], &[]),
        ] {
            let words = [&["meshprobe"], words].concat();
            assert_eq!(
                completed(&project, shell, &words),
                expected,
                "{shell} {words:?}"
            );
        }
    }
}

#[test]
fn a_path_can_have_the_name_of_a_command() {
    let project = project();
    project.write("lsp/kustomization.yaml", "resources: [web.yaml]\n");
    project.write("lsp/web.yaml", project.read("base/web.yaml"));
    let words = ["meshprobe", "check", "lsp", "--cluster", ""];
    let names = completed(&project, "fish", &words);
    assert!(names.contains(&"lsp".to_owned()), "{names:?}");
}

#[test]
fn words_that_bash_splits_are_joined() {
    let project = project();
    for (words, expected) in [
        (&["--cluster", "=", "pr"][..], &["prod"][..]),
        (&["--assume", "mtls", "=", "S"], &["STRICT"]),
        (&["--assume", "=", "mtls", "=", "S"], &["STRICT"]),
        (
            &["--assume", "mtls", "="],
            &["DISABLE", "PERMISSIVE", "STRICT"],
        ),
        (
            &["--assume", "mtls", "=", "STRICT", "--overlay", "s"],
            &["staging"],
        ),
    ] {
        let words = [&["meshprobe", "check"], words].concat();
        assert_eq!(completed(&project, "bash", &words), expected, "{words:?}");
    }
}

#[test]
fn ids_and_facts_are_completed() {
    let project = project();
    for (words, expected) in [
        (
            &["rule", "duplicate-c"][..],
            &["duplicate-container-name"][..],
        ),
        (
            &["check", "--select", "no-rule,duplicate-k"],
            &["no-rule,duplicate-key"],
        ),
        // Guards can be explained, but not selected.
        (&["check", "--ignore", "duplicate-c"], &[]),
        (
            &["explain", "connection-re"],
            &["connection-reset", "connection-refused"],
        ),
        (&["check", "--assume", "mt"], &["mtls="]),
        (&["predict", "--override", "mtls=S"], &["mtls=STRICT"]),
        (&["diff", "--to", "mesh-v"], &["mesh-version="]),
        (&["check", "--mesh", "link"], &["linkerd"]),
    ] {
        let words = [&["meshprobe"], words].concat();
        assert_eq!(completed(&project, "fish", &words), expected, "{words:?}");
    }
}

#[test]
fn a_name_of_the_tree_is_not_a_command() {
    let project = project();
    let words = ["meshprobe", "check", "bait"];
    for (shell, expected) in [
        ("bash", "bait\\;touch\\ pwned.yaml"),
        ("powershell", "bait`;touch` pwned.yaml"),
    ] {
        assert_eq!(completed(&project, shell, &words), [expected]);
    }
}

#[test]
#[cfg(unix)]
fn a_name_with_a_control_character_is_not_completed() {
    let project = project();
    for separator in ["\t", "\n", "\u{b}", "\u{1b}"] {
        let name = format!("prod{separator}$(touch pwned)");
        let path = format!("overlays/{name}/kustomization.yaml");
        project.write(&path, "namePrefix: a-\nresources: [../../base]\n");
        project.write(&format!("{name}.yaml"), "a: b\n");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let words = ["meshprobe", "check", "--cluster", "p"];
        assert_eq!(completed(&project, shell, &words), ["prod"], "{shell}");
        let words = ["meshprobe", "check", "p"];
        assert!(completed(&project, shell, &words).is_empty(), "{shell}");
    }
}

#[test]
#[cfg(unix)]
fn completion_does_not_wait_for_a_file() {
    let project = project();
    project.pipe_file("fifo");
    for words in [
        &["fifo", "--overlay", ""][..],
        &["/dev/zero", "--overlay", ""],
        &["overlays", "--config", "fifo", "--overlay", ""],
    ] {
        let words = [&["meshprobe", "check"], words].concat();
        assert!(completed(&project, "fish", &words).is_empty(), "{words:?}");
    }
    let words = [
        "meshprobe",
        "check",
        "overlays",
        "--context",
        "fifo",
        "--overlay",
        "s",
    ];
    assert_eq!(completed(&project, "fish", &words), ["staging"]);
}

#[test]
fn a_variable_that_no_script_has_set_does_not_change_a_command() {
    for (shell, arguments) in [
        ("", &["check", "nonexistent"][..]),
        ("0", &["check", "nonexistent"]),
        ("unknown", &["--", "meshprobe", "check", ""]),
        ("bash", &["check", "nonexistent"]),
    ] {
        let project = Project::new();
        let mut program = command(Path::new(PROGRAM), &project.path("."));
        let program = program.env("MESHPROBE_COMPLETE", shell).args(arguments);
        run(program, b"").exits(2);
    }
}

#[test]
#[cfg(unix)]
fn the_script_of_bash_completes() {
    let project = project();
    // The second argument of the function is the word at the cursor, which is empty if the line ends with `=`.
    for (line, word, expected) in [
        ("--cluster p", "p", "prod\n"),
        ("--assume mtls '='", "", "DISABLE\nPERMISSIVE\nSTRICT\n"),
    ] {
        let script = format!(
            "source <(meshprobe completions bash); COMP_WORDS=(meshprobe check {line}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _clap_complete_meshprobe meshprobe '{word}'; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        );
        let mut bash = command(Path::new("/bin/bash"), &project.path("."));
        let folder = Path::new(PROGRAM).parent().unwrap();
        let bash = bash.env("PATH", folder).args(["-c", &script]);
        assert_eq!(run(bash, b"").exits(0).stdout, expected);
    }
}

#[test]
fn the_script_of_zsh_can_be_loaded_at_the_first_completion() {
    let run = Project::new().run(&["completions", "zsh"]).exits(0);
    assert!(run.stdout.starts_with("#compdef meshprobe\n"));
    run.stdout_contains("if [ \"$funcstack[1]\" = \"_meshprobe\" ]; then");
}

#[test]
fn each_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = Project::new().run(&["completions", shell]);
        run.exits(0).stdout_contains("MESHPROBE_COMPLETE");
    }
}

#[test]
fn a_line_that_is_wrong_completes_nothing() {
    let project = project();
    for (shell, words) in [
        (
            "fish",
            &["meshprobe", "check", "--color", "x", "--overlay", ""][..],
        ),
        (
            "zsh",
            &[
                "meshprobe",
                "check",
                "--config",
                "nonexistent",
                "--overlay",
                "",
            ],
        ),
    ] {
        assert!(completed(&project, shell, words).is_empty(), "{words:?}");
    }
}
