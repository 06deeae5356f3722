//! Bad input is reported with its location, and does not prevent the checks of other input.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::project::Project;
use crate::support::{PROGRAM, command};

const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: good\n";

/// Runs `check` on one file next to a valid one, which must be counted in any case.
#[track_caller]
fn concise(text: impl AsRef<[u8]>) -> (i32, String) {
    let project = Project::with(&[("good.yaml", GOOD)]);
    project.write("bad.yaml", text);
    let run = project.run(&["check", "--output-format", "concise"]);
    assert_eq!(run.stderr, "");
    (run.code, run.stdout)
}

#[test]
fn a_missing_path_is_reported_and_the_other_paths_are_checked() {
    let project = Project::with(&[("bad.yaml", "apiVersion: v1\nkind: Pod\nx: [\n")]);
    project
        .run(&["check", "--output-format", "concise", "missing.yaml", "bad.yaml"])
        .exits(2)
        .stdout_contains("missing.yaml: error[unreadable-file] cannot read `missing.yaml`: no such file or directory\n")
        .stdout_contains("bad.yaml:3:4: error[syntax-error]");
    project
        .run(&["predict", "missing.yaml"])
        .exits(2)
        .stderr_contains("missing.yaml");
    project
        .run(&["rewrite", "missing.yaml"])
        .exits(2)
        .stderr_contains("missing.yaml");
    project
        .run(&["check", "--context", "nowhere", "."])
        .exits(2)
        .stdout_contains("nowhere");
}

#[test]
fn a_document_that_does_not_parse_costs_only_itself() {
    let (code, stdout) = concise(format!(
        "{GOOD}---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: [x\n---\nother: [\n---\n{GOOD}"
    ));
    assert_eq!(code, 1);
    insta::assert_snapshot!(stdout, @r"
    bad.yaml:9:9: error[syntax-error] the document is not YAML: unclosed bracket '['
    bad.yaml:11:8: note[syntax-error] the document is not YAML: unclosed bracket '['
    Found 1 error, 1 note in 1 of 2 files (0 workloads, 0 handlers).
    ");
}

#[test]
fn a_tab_used_as_indentation_is_reported_with_its_location() {
    let (code, stdout) = concise("apiVersion: v1\nkind: Pod\nmetadata:\n\tname: x\n");
    assert_eq!(code, 1);
    assert!(stdout.starts_with("bad.yaml:4:"), "{stdout}");
    Project::with(&[("a.yaml", "a:\n\tb: 1\n")])
        .run(&["check"])
        .exits(0)
        .stdout_contains("help: indent with spaces");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_is_reported() {
    // Every user may open this file, but reading its first byte fails.
    let project = Project::with(&[("good.yaml", GOOD)]);
    project
        .run(&["check", "/proc/self/mem", "good.yaml"])
        .exits(2)
        .stdout_contains("error[unreadable-file]: cannot read `/proc/self/mem`: Input/output error")
        .stdout_contains("in 1 file");
}

#[test]
fn bytes_that_are_not_utf_8_are_reported_with_their_location() {
    let (code, stdout) = concise(b"apiVersion: v1\nkind: Pod\nmetadata: {name: caf\xe9}\n");
    assert_eq!(code, 1);
    assert!(
        stdout.starts_with("bad.yaml:3:21: error[not-utf8]"),
        "{stdout}"
    );
    let project = Project::new();
    project.write("wide.yaml", b"\xff\xfeb\0i\0n\0");
    project.run(&["check"]).exits(0).stdout_contains(
        "note[not-utf8]: the file was not checked: the text is not UTF-8 from here on\n  --> wide.yaml\n",
    );
    let (code, stdout) = concise(b"\xff\xfeb\0i\0n\0");
    assert_eq!(code, 0);
    assert!(
        stdout.starts_with("bad.yaml:1:1: note[not-utf8]"),
        "{stdout}"
    );
}

#[test]
fn duplicate_keys_are_shown_at_both_places() {
    let project = Project::with(&[(
        "a.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {}\n  name: b\n",
    )]);
    let run = project.run(&["check", "a.yaml"]).exits(1);
    insta::assert_snapshot!(run.stdout);
    Project::with(&[("values.yaml", "a: 1\na: 2\n")])
        .run(&["check"])
        .exits(0)
        .stdout_contains("Nothing was judged");
}

/// Objects without a separator between them have one cause, and so one finding for each.
#[test]
fn objects_without_a_separator_are_reported_once() {
    let object = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{x: y}}\n")
    };
    let text = format!("{}{}# comment\n{}", object("a"), object("b"), object("c"));
    let (code, stdout) = concise(&text);
    assert_eq!(code, 1);
    let findings: Vec<&str> = stdout
        .lines()
        .filter(|line| line.contains("[duplicate-key]"))
        .collect();
    let [first, second] = findings.as_slice() else {
        panic!("{stdout}");
    };
    let message = "a second object starts at `apiVersion` without a separator";
    assert!(
        first.starts_with("bad.yaml:5:1:") && first.contains(message),
        "{first}"
    );
    assert!(
        second.starts_with("bad.yaml:10:1:") && second.contains(message),
        "{second}"
    );
    // Other keys of the objects, and one repeated key, are not a second object.
    for (text, count) in [
        (object("a") + "data: {x: y, x: z}\n", 2),
        (object("a") + "kind: ConfigMap\n", 1),
        (object("a") + "metadata: {name: b}\ndata: {x: z}\n", 2),
    ] {
        let (_, stdout) = concise(&text);
        assert_eq!(stdout.matches("duplicate key `").count(), count, "{stdout}");
    }
}

#[test]
fn a_scalar_of_ten_megabytes_is_read_and_not_printed() {
    let long = "x".repeat(10 << 20);
    let text =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {long}}}\n");
    let (code, stdout) = concise(&text);
    assert_eq!((code, stdout.lines().count()), (0, 3), "{stdout}");
    let project = Project::with(&[(
        "a.yaml",
        &format!("apiVersion: v1\nkind: Pod\nx: {{{long}: [}}\n"),
    )]);
    let run = project
        .run(&["check", "a.yaml"])
        .exits(1)
        .stdout_contains("error[syntax-error]");
    assert!(run.stdout.len() < 2000, "{} bytes", run.stdout.len());
}

#[test]
fn excessive_nesting_is_rejected_immediately() {
    let start = Instant::now();
    for text in [
        "[".repeat(20_000),
        "- ".repeat(20_000),
        "{a: ".repeat(20_000),
    ] {
        let (code, stdout) = concise(&text);
        assert_eq!(code, 0);
        assert!(stdout.starts_with("bad.yaml:1:"), "{stdout}");
        assert!(stdout.contains("note[syntax-error]"), "{stdout}");
    }
    let nested: String = (0..300)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let (code, stdout) = concise(format!("apiVersion: v1\nkind: Pod\n{nested}"));
    assert_eq!(code, 1);
    assert!(stdout.contains("error[syntax-error]"), "{stdout}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_alias_bomb_is_rejected_immediately() {
    let mut bomb = String::from("apiVersion: v1\nkind: Pod\nmetadata: {name: bomb}\na0: &a0 [x]\n");
    for level in 1..40 {
        let below = level - 1;
        bomb.push_str(&format!(
            "a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}]\n"
        ));
    }
    bomb.push_str("spec: *a39\n");
    let start = Instant::now();
    let (code, stdout) = concise(&bomb);
    assert_eq!(code, 1);
    assert!(stdout.contains("the document is too large"), "{stdout}");
    let project = Project::with(&[("a.yaml", &bomb)]);
    project.run(&["predict"]).exits(1);
    project.run(&["rewrite", "a.yaml"]).exits(1);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_directory_with_the_name_of_a_manifest_is_searched() {
    let project = Project::with(&[("x.yaml/inner.yaml", "apiVersion: v1\nkind: Pod\nx: [\n")]);
    for arguments in [["check", "."], ["check", "x.yaml"]] {
        project
            .run(&arguments)
            .exits(1)
            .stdout_contains("x.yaml/inner.yaml:3:4");
    }
}

#[test]
fn an_empty_standard_input_is_a_note() {
    let project = Project::new();
    for stdin in ["", "\n \n"] {
        for arguments in [&["check", "-"][..], &["predict", "-"], &["rewrite", "-"]] {
            let message = "note: standard input is empty\nhelp: check whether the command before `|` failed\n";
            project
                .pipe(arguments, stdin)
                .exits(0)
                .stderr_contains(message);
            // Nothing is checked, so the note is visible in every case.
            let quiet = [arguments, &["--quiet"]].concat();
            project
                .pipe(&quiet, stdin)
                .exits(0)
                .stderr_contains(message);
        }
        project
            .pipe(&["check", "--require-workloads", "-"], stdin)
            .exits(1)
            .stderr_contains("`--require-workloads` requires one");
        assert_eq!(project.pipe(&["rewrite", "-"], stdin).stdout, stdin);
    }
    project
        .pipe(&["check", "-", "-"], GOOD)
        .exits(2)
        .stderr_contains("only once");
}

#[test]
fn an_unknown_option_or_command_is_reported_with_a_suggestion() {
    let project = Project::new();
    project
        .run(&["check", "--outptu-format", "json"])
        .exits(2)
        .stderr_contains("--output-format");
    project.run(&["chek"]).exits(2).stderr_contains("check");
    project
        .run(&["check", "--mesh", "istoi"])
        .exits(2)
        .stderr_contains("istio");
    project
        .run(&["check", "--unsafe-fixes"])
        .exits(2)
        .stderr_contains("--fix|--diff");
    project
        .run(&["rule", "sintax-error"])
        .exits(2)
        .stderr_contains("did you mean `syntax-error`");
}

#[test]
fn a_closed_output_pipe_is_not_an_error() {
    let project = Project::new();
    for number in 0..2000 {
        project.write(
            &format!("{number}.yaml"),
            "apiVersion: v1\nkind: Pod\nx: [\n",
        );
    }
    let mut child = command(PROGRAM.as_ref(), &project.path(""))
        .args(["check", "--fail-on", "never"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let project = Project::with(&[(
        "a\u{1b}[31m.yaml",
        "apiVersion: v1\nkind: Pod\n\"\u{85}\u{9b}31m\": [\n",
    )]);
    for format in ["full", "concise"] {
        let run = project.run(&["check", "--output-format", format]).exits(1);
        assert!(run.stdout.contains("a\\u{1b}[31m.yaml"), "{}", run.stdout);
        assert!(!run.stdout.contains(['\u{1b}', '\u{9b}']));
    }
    project
        .run(&["check", "no\u{7}pe"])
        .exits(2)
        .stdout_contains("no\\u{7}pe");
    let run = project.run(&["check", "-v"]).exits(1);
    assert!(!run.stderr.contains('\u{1b}'));
}

#[test]
fn templates_are_noted_once_with_the_way_to_render_them() {
    let project = Project::with(&[
        ("chart/Chart.yaml", "name: x\n"),
        (
            "chart/templates/a.yaml",
            "{{- if .x }}\napiVersion: v1\nkind: Pod\n{{- end }}\n---\nname: {{ .y }}\n",
        ),
    ]);
    let run = project
        .run(&["check", "--output-format", "concise"])
        .exits(0);
    insta::assert_snapshot!(run.stdout);
    project
        .run(&["check"])
        .stdout_contains("meshprobe check --helm auto chart");
    let run = project.run(&["check", "--output-format", "json"]);
    assert!(run.stdout.contains("\"template\": 1"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn a_directory_walk_does_not_open_pipes_and_devices() {
    let project = Project::with(&[("good.yaml", GOOD)]);
    project.pipe_file("pipe.yaml");
    project
        .run(&["check"])
        .exits(0)
        .stdout_contains("in 1 file");
    project
        .run(&["check", "--no-ignore"])
        .exits(0)
        .stdout_contains("in 1 file");
    project
        .run(&["check", "/dev/zero"])
        .exits(2)
        .stdout_contains("it is a device");
}

#[cfg(unix)]
#[test]
fn circular_links_are_not_followed() {
    let project = Project::with(&[("a/good.yaml", GOOD)]);
    std::os::unix::fs::symlink("..", project.path("a/up")).unwrap();
    std::os::unix::fs::symlink("nowhere", project.path("a/broken.yaml")).unwrap();
    for option in ["--no-ignore", "--quiet"] {
        project.run(&["check", option]).exits(0);
    }
    project
        .run(&["check"])
        .exits(0)
        .stdout_contains("in 1 file");
    project
        .run(&["check", "a/up/a"])
        .exits(0)
        .stdout_contains("in 1 file");
    project
        .run(&["check", "a/broken.yaml"])
        .exits(2)
        .stdout_contains("no such file");
}

#[test]
fn no_temporary_file_remains_next_to_the_written_files() {
    let project = Project::with(&[("a.yaml", GOOD)]);
    project.run(&["rewrite", "--write", "."]).exits(0);
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 2);
}

#[test]
fn a_broken_kustomization_is_an_error_without_api_version_and_kind() {
    for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
        for (text, rule) in [
            (&b"resources: [\n"[..], "syntax-error"),
            (b"resources: [good.yaml]\nresources\n", "syntax-error"),
            (b"resources: [good.yaml]\n-\tx: y\n", "syntax-error"),
            (b"resources: [good.yaml] # \xff\n", "not-utf8"),
        ] {
            let project = Project::with(&[("good.yaml", GOOD)]);
            project.write(name, text);
            let run = project.run(&["check", "--output-format", "concise"]);
            run.exits(1).stdout_contains(&format!("error[{rule}]"));
        }
    }
    // A kustomization that is still a template is not an error.
    let project = Project::with(&[("good.yaml", GOOD)]);
    project.write("kustomization.yaml", "resources: [{{ cookiecutter.x }}\n");
    let run = project.run(&["check"]).exits(0);
    assert!(!run.stdout.contains("error"), "{}", run.stdout);
}
