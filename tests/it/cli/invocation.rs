//! Help, rules, the manual page, and `rewrite` without workloads.

use crate::support::project::Project;

#[test]
fn help_is_stable() {
    let project = Project::new();
    for command in [
        "check", "diff", "explain", "rewrite", "predict", "lsp", "rule",
    ] {
        let run = project.run(&[command, "--help"]).exits(0);
        insta::assert_snapshot!(format!("help-{command}"), run.stdout);
    }
    insta::assert_snapshot!("help", project.run(&["--help"]).exits(0).stdout);
}

#[test]
fn rule_documentation_is_printed() {
    let project = Project::new();
    project
        .run(&["rule", "syntax-error"])
        .exits(0)
        .stdout_contains("# syntax-error (error)");
    project
        .run(&["rule"])
        .exits(0)
        .stdout_contains("\nunrendered-template                  note     ")
        .stdout_contains("\n\nGuards of rewrite:\n");
    project
        .run(&["rule", "--all"])
        .exits(0)
        .stdout_contains("# duplicate-key (warning)");
}

#[test]
fn the_manual_page_is_printed() {
    let project = Project::new();
    let run = project
        .run(&["man"])
        .exits(0)
        .stdout_contains("meshprobe-check")
        .stdout_contains("Exit codes");
    assert!(
        run.stdout.contains("\\-\\-mesh\\-version"),
        "{}",
        run.stdout
    );
    // Each page that the first one refers to is printed.
    for name in run.stdout.split("meshprobe\\-").skip(1) {
        let Some((name, _)) = name.split_once("(1)") else {
            continue;
        };
        let run = project.run(&["man", name]).exits(0);
        run.stdout_contains(&format!(".TH meshprobe-{name} 1"));
    }
    project
        .run(&["man", "chek"])
        .exits(2)
        .stderr_contains("did you mean `check`?");
}

#[test]
fn only_one_file_can_be_written_to_standard_output() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
    let project = Project::with(&[("a.yaml", pod), ("b/c.yaml", pod)]);
    for paths in [
        &["rewrite", "a.yaml", "b/c.yaml"][..],
        &["rewrite", "b"],
        &["rewrite"],
    ] {
        project.run(paths).exits(2).stderr_contains("--write");
    }
    assert_eq!(project.run(&["rewrite", "a.yaml"]).exits(0).stdout, pod);
    assert_eq!(project.pipe(&["rewrite", "-"], pod).exits(0).stdout, pod);
    assert_eq!(project.run(&["rewrite", "--diff", "."]).exits(0).stdout, "");
    project.run(&["rewrite", "--diff", "--write", "."]).exits(2);
}

#[test]
fn standard_input_can_have_a_file_name() {
    Project::new()
        .pipe(
            &[
                "check",
                "--output-format",
                "concise",
                "--stdin-filename",
                "apps/x.yaml",
                "-",
            ],
            "kind: Pod\napiVersion: v1\nx: [\n",
        )
        .exits(1)
        .stdout_contains("apps/x.yaml:3:4: error[syntax-error]");
}

#[test]
fn verbose_output_contains_the_times() {
    let project = Project::with(&[("a.yaml", "apiVersion: v1\nkind: Pod\n")]);
    for command in ["check", "predict", "rewrite"] {
        let run = project.run(&[command, "-v", "a.yaml"]);
        let run = run.stderr_contains("time: reading files 0.");
        run.stderr_contains("time: analysing 0.");
        let run = project.run(&[command, "a.yaml"]);
        assert!(!run.stderr.contains("time: "), "{}", run.stderr);
    }
}
