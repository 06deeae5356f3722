//! The files that a run reads.

use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

/// Returns the files that `-v` lists, with their kinds.
fn read(project: &Project, arguments: &[&str]) -> Vec<String> {
    let arguments: Vec<&str> = [&["check", "-v", "--no-context"], arguments].concat();
    let run = project.run(&arguments).exits(0);
    run.stderr_without_times()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn git_ignored_files_are_read_only_when_named() {
    let project = Project::with(&[
        (".gitignore", "ignored.yaml\nbuild/\n"),
        ("a.yaml", POD),
        ("ignored.yaml", POD),
        ("build/b.yaml", POD),
        (".github/h.yaml", POD),
        (".git/config.yaml", POD),
        ("notes.txt", "apiVersion: v1\n"),
        (
            "list.json",
            "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": []}",
        ),
        ("tsconfig.json", "{ // comment\n}"),
        ("values.yaml", "a: 1\n"),
    ]);
    assert_eq!(
        read(&project, &[]),
        [
            ".github/h.yaml: Kubernetes",
            "a.yaml: Kubernetes",
            "list.json: Kubernetes",
            "tsconfig.json: not Kubernetes",
            "values.yaml: not Kubernetes"
        ]
    );
    assert_eq!(
        read(
            &project,
            &["ignored.yaml", "build", ".git", "./a.yaml", "a.yaml"]
        ),
        [
            ".git/config.yaml: Kubernetes",
            "a.yaml: Kubernetes",
            "build/b.yaml: Kubernetes",
            "ignored.yaml: Kubernetes"
        ]
    );
    let all = read(&project, &["--no-ignore"]);
    assert!(
        all.contains(&"ignored.yaml: Kubernetes".to_owned()),
        "{all:?}"
    );
    assert!(
        all.contains(&"build/b.yaml: Kubernetes".to_owned()),
        "{all:?}"
    );
}

#[test]
fn gitignore_applies_without_a_repository() {
    let project = Project::with(&[(".gitignore", "b.yaml\n"), ("a.yaml", POD), ("b.yaml", POD)]);
    std::fs::remove_dir(project.path(".git")).unwrap();
    assert_eq!(read(&project, &[]), ["a.yaml: Kubernetes"]);
}

#[test]
fn excluded_files_are_read_only_when_named_without_force() {
    let project = Project::with(&[
        ("a.yaml", POD),
        ("vendor/b.yaml", POD),
        ("c/vendor/b.yaml", POD),
    ]);
    assert_eq!(
        read(&project, &["--exclude", "vendor/"]),
        ["a.yaml: Kubernetes"]
    );
    let named = ["--exclude", "vendor/", "vendor/b.yaml"];
    assert_eq!(read(&project, &named), ["vendor/b.yaml: Kubernetes"]);
    let forced = [
        "--exclude",
        "vendor/",
        "--force-exclude",
        "vendor/b.yaml",
        "vendor",
        "a.yaml",
    ];
    assert_eq!(read(&project, &forced), ["a.yaml: Kubernetes"]);
    project
        .run(&["check", "--exclude", "a[z-a]"])
        .exits(2)
        .stderr_contains("--exclude");
    project
        .run(&["check", "--exclude", "["])
        .exits(2)
        .stderr_contains("invalid value for `--exclude`: error parsing glob '['");
}

#[test]
fn paths_are_shown_relative_to_the_working_directory() {
    let project = Project::with(&[("a/b.yaml", POD), ("c.yaml", POD)]);
    let absolute = project.path("c.yaml").canonicalize().unwrap();
    let run = project
        .run_in("a", &["check", "-v", "b.yaml", "../c.yaml"], "")
        .exits(0);
    assert_eq!(
        run.stderr_without_times(),
        "../c.yaml: Kubernetes\nb.yaml: Kubernetes\n"
    );
    let run = project
        .run(&["check", "-v", "--no-context", absolute.to_str().unwrap()])
        .exits(0);
    assert_eq!(run.stderr_without_times(), "c.yaml: Kubernetes\n");
}

#[test]
fn patches_of_a_kustomization_are_not_objects() {
    let project = Project::with(&[
        (
            "overlay/kustomization.yaml",
            "resources: [../base]\npatches:\n- path: patches/p.yaml\n- path: ../common/q.yaml\n",
        ),
        ("overlay/patches/p.yaml", POD),
        ("common/q.yaml", POD),
        (
            "base/kustomization.yml",
            "resources: [a.yaml]\npatchesStrategicMerge: [s.yaml]\n",
        ),
        ("base/a.yaml", POD),
        ("base/s.yaml", POD),
    ]);
    assert_eq!(
        read(&project, &[]),
        [
            "base/a.yaml: Kubernetes",
            "base/kustomization.yml: Kubernetes",
            "base/s.yaml: patch of a kustomization",
            "common/q.yaml: patch of a kustomization",
            "overlay/kustomization.yaml: Kubernetes",
            "overlay/patches/p.yaml: patch of a kustomization",
        ]
    );
    let named = ["overlay/patches/p.yaml", "base/s.yaml", "base/a.yaml"];
    assert_eq!(
        read(&project, &named),
        [
            "base/a.yaml: Kubernetes",
            "base/s.yaml: patch of a kustomization",
            "overlay/patches/p.yaml: patch of a kustomization"
        ]
    );
}

#[test]
fn encrypted_documents_are_recognized() {
    let project = Project::with(&[(
        "s.yaml",
        "apiVersion: v1\nkind: Secret\nsops: {mac: \"ENC[x]\"}\n",
    )]);
    assert_eq!(read(&project, &[]), ["s.yaml: encrypted"]);
}

#[test]
fn context_is_read_but_not_reported() {
    let broken = "apiVersion: v1\nkind: Pod\nx: [\n";
    let project = Project::with(&[("a.yaml", POD), ("ctx/b.yaml", broken)]);
    project
        .run(&["check", "a.yaml", "--context", "ctx"])
        .exits(0)
        .stdout_contains("in 1 file");
    project
        .run(&["check", "a.yaml", "ctx", "--context", "ctx"])
        .exits(1)
        .stdout_contains("in 1 of 2 files");
}

#[test]
fn a_tree_without_manifests_is_an_error() {
    let project = Project::with(&[("a.txt", "x")]);
    project
        .run(&["check"])
        .exits(2)
        .stderr_contains("error: no manifest found");
}
