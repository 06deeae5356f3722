//! The output formats.

use crate::support::project::Project;

const BAD: &str = "# comment\napiVersion: v1\nkind: Pod\nmetadata:\n  name: größe: [\n";

fn project() -> Project {
    Project::with(&[
        ("apps/bad.yaml", BAD),
        (
            "apps/good.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
        ),
        ("other.yaml", "a: [\n"),
    ])
}

#[test]
fn full_shows_the_lines() {
    insta::assert_snapshot!(project().run(&["check"]).transcript());
}

#[test]
fn full_in_colour_has_box_drawing_characters() {
    let run = project().run(&["check", "--color", "always", "apps"]);
    insta::assert_snapshot!(run.transcript().replace('\u{1b}', "ESC"));
}

#[test]
fn concise_is_one_line_per_finding() {
    insta::assert_snapshot!(
        project()
            .run(&["check", "--output-format", "concise"])
            .transcript()
    );
}

#[test]
fn json_has_every_field() {
    insta::assert_snapshot!(
        project()
            .run(&["check", "--output-format", "json"])
            .transcript()
    );
}

#[test]
fn quiet_output_contains_results_only() {
    let run = project().run(&["check", "-q", "apps/good.yaml"]).exits(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

#[test]
fn the_fail_level_can_be_changed() {
    let project = project();
    for (fail_on, code) in [("note", 1), ("warning", 0), ("never", 0)] {
        project
            .run(&["check", "--fail-on", fail_on, "other.yaml"])
            .exits(code);
    }
    project
        .run(&["check", "--fail-on", "never", "apps"])
        .exits(0);
    project
        .run(&["check", "--fail-on", "error", "apps"])
        .exits(1);
}

#[test]
fn exit_codes_are_the_same_in_every_format() {
    let project = project();
    for format in ["full", "concise", "json"] {
        project.run(&["check", "--output-format", format]).exits(1);
        project
            .run(&["check", "--output-format", format, "apps/good.yaml"])
            .exits(0);
        project
            .run(&["check", "--output-format", format, "nowhere"])
            .exits(2);
    }
}

#[test]
fn the_number_of_threads_does_not_affect_the_output() {
    let project = Project::new();
    for number in 0..50 {
        project.write(&format!("{number}.yaml"), BAD);
    }
    let single = project.run(&["check", "--output-format", "json", "--threads", "1"]);
    let many = project.run(&["check", "--output-format", "json", "--threads", "8"]);
    assert_eq!(single.stdout, many.stdout);
}

#[test]
fn predict_prints_a_table_or_json() {
    let project = project();
    project
        .run(&["predict", "apps/good.yaml"])
        .exits(0)
        .stdout_contains("WORKLOAD");
    let run = project
        .run(&["predict", "--output-format", "json", "apps/good.yaml"])
        .exits(0);
    let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value["version"], 1);
    project
        .run(&["predict", "apps"])
        .exits(1)
        .stderr_contains("error[syntax-error]");
}
