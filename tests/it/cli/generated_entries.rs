//! An entry of a kustomization that does not exist is a warning, unless the tree shows that it is generated.

use crate::support::project::Project;

const WARNING: &str = "does not exist: kustomize refuses to build it";

fn post_renderer(entry: &str) -> Project {
    let kustomization =
        format!("resources: [{entry}]\npatches: [{{patch: 'a: 1', target: {{kind: Pod}}}}]\n");
    Project::with(&[("render/kustomization.yaml", &kustomization)])
}

/// Checks that the entry is a note, and still not judged.
#[track_caller]
fn assert_note(project: &Project) {
    let run = project
        .run(&["check", "--output-format", "concise"])
        .exits(0);
    assert!(!run.stdout.contains(WARNING), "{}", run.stdout);
    run.stdout_contains("is not among the files read")
        .stdout_contains("not judged: 1 kustomization");
}

#[track_caller]
fn assert_warning(project: &Project) {
    let run = project
        .run(&["check", "--output-format", "concise"])
        .exits(1);
    run.stdout_contains("warning[kustomization-not-modelled]")
        .stdout_contains(WARNING);
}

#[test]
fn an_ignored_entry_is_generated() {
    for (ignore, entry) in [
        (".gitignore", "all.yaml"),
        ("render/.gitignore", "all.yaml"),
        (".gitignore", "out/all.yaml"),
    ] {
        let project = post_renderer(entry);
        assert_warning(&project);
        project.write(ignore, "/render/other.yaml\n");
        assert_warning(&project);
        project.write(ignore, format!("{}\n", entry.split('/').next().unwrap()));
        assert_note(&project);
    }
}
