//! Help, rules, completions, the manual page; rewriting as far as it needs no workload.

use crate::support::project::Project;

#[test]
fn help_is_stable() {
    let project = Project::new();
    for command in ["check", "rewrite", "predict", "rule"] {
        let run = project.run(&[command, "--help"]).exits(0);
        insta::assert_snapshot!(format!("help-{command}"), run.stdout);
    }
    insta::assert_snapshot!("help", project.run(&["--help"]).exits(0).stdout);
}

#[test]
fn rules_are_explained() {
    let project = Project::new();
    project
        .run(&["rule", "syntax-error"])
        .exits(0)
        .says("# syntax-error (error)");
    project
        .run(&["rule"])
        .exits(0)
        .says("unrendered-template (note)");
    project
        .run(&["rule", "--all"])
        .exits(0)
        .says("# duplicate-key (warning)");
}

#[test]
fn shells_and_man_are_served() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        project
            .run(&["completions", shell])
            .exits(0)
            .says("meshprobe");
    }
    let run = project
        .run(&["man"])
        .exits(0)
        .says("meshprobe-check")
        .says("Exit codes");
    assert!(
        run.stdout.contains("\\-\\-mesh\\-version"),
        "{}",
        run.stdout
    );
}

#[test]
fn standard_output_takes_one_file_only() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
    let project = Project::with(&[("a.yaml", pod), ("b/c.yaml", pod)]);
    for paths in [
        &["rewrite", "a.yaml", "b/c.yaml"][..],
        &["rewrite", "b"],
        &["rewrite"],
    ] {
        project.run(paths).exits(2).complains("--write");
    }
    assert_eq!(project.run(&["rewrite", "a.yaml"]).exits(0).stdout, pod);
    assert_eq!(project.pipe(&["rewrite", "-"], pod).exits(0).stdout, pod);
    assert_eq!(project.run(&["rewrite", "--diff", "."]).exits(0).stdout, "");
    project.run(&["rewrite", "--diff", "--write", "."]).exits(2);
}

#[test]
fn standard_input_can_be_named() {
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
        .says("apps/x.yaml:3:4: error[syntax-error]");
}

#[test]
fn verbose_says_how_long_it_took() {
    let project = Project::with(&[("a.yaml", "apiVersion: v1\nkind: Pod\n")]);
    for command in ["check", "predict", "rewrite"] {
        let run = project.run(&[command, "-v", "a.yaml"]);
        let run = run.complains("time: reading files 0.");
        run.complains("time: judging 0.");
        let run = project.run(&[command, "a.yaml"]);
        assert!(!run.stderr.contains("time: "), "{}", run.stderr);
    }
}
