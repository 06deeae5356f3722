//! Notices that name several files at once.

use super::fixes::WEB;
use crate::support::project::Project;

const TRANSFORMER: &str = "apiVersion: example.com/v1\nkind: Transformer\nmetadata: {name: t}\n";

#[test]
fn files_that_exceed_a_limit_are_one_finding() {
    let project = Project::new();
    for at in 0..6 {
        project.write(
            &format!("f{at}.yaml"),
            format!("{WEB}# {}\n", "x".repeat(16 << 20)),
        );
    }
    let run = project.run(&["check", "--output-format", "concise"]);
    let found: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("error[file-left-out]"))
        .collect();
    assert_eq!(found.len(), 1, "{}", run.stdout);
    assert!(found[0].contains("16 MiB"), "{}", found[0]);
    assert!(
        found[0].contains("`f0.yaml`, `f1.yaml`, `f2.yaml` and 3 more"),
        "{}",
        found[0]
    );
}

#[test]
fn encrypted_files_are_one_note() {
    let project = Project::with(&[("web.yaml", WEB)]);
    for at in 0..5 {
        project.write(&format!("s{at}.yaml"), b"CHARTMART-ENCRYPTED\xff\xfe\x80");
    }
    project.write("broken.yaml", b"a: b\xff\n");
    let run = project.run(&["check", "--output-format", "concise"]);
    let found: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.contains("[not-utf8]"))
        .collect();
    assert_eq!(found.len(), 2, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("`s0.yaml`, `s1.yaml`, `s2.yaml` and 2 more; they are encrypted")
    );
}

#[test]
fn deployed_folders_with_a_placeholder_are_named_once() {
    let project = Project::with(&[("web.yaml", WEB)]);
    project.git("", &["init", "--quiet"]);
    project.git(
        "",
        &["remote", "add", "origin", "https://git.example/shop.git"],
    );
    for at in 0..4 {
        let application = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: a{at}}}\nspec: {{source: {{repoURL: \
             https://git.example/shop.git, path: registry/<CLUSTER_NAME>/a{at}}}}}\n"
        );
        project.write(&format!("argo/a{at}.yaml"), application);
    }
    let run = project.run(&["check", "--output-format", "concise"]);
    assert_eq!(
        run.stdout.matches("which another tool fills in").count(),
        1,
        "{}",
        run.stdout
    );
    run.stdout_contains("Not judged: 3 more");
}

/// Files that nothing deploys together may be alternatives.
#[test]
fn policies_in_unrelated_files_of_a_folder_are_a_note() {
    let policy = |name: &str, mode: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {{name: {name}, namespace: shop}}\n\
             spec: {{mtls: {{mode: {mode}}}}}\n"
        )
    };
    let project = Project::with(&[
        ("a.yaml", &policy("a", "STRICT")),
        ("b.yaml", &policy("b", "PERMISSIVE")),
    ]);
    let check = || project.run(&["check", "--output-format", "concise"]);
    check().stdout_contains("note[peerauth-duplicate-scope]");
    project.write("kustomization.yaml", "resources: [a.yaml, b.yaml]\n");
    check().stdout_contains("warning[peerauth-duplicate-scope]");
}

#[test]
fn a_note_about_a_shared_base_is_reported_once() {
    let base = "resources: [web.yaml]\ntransformers: [t.yaml]\n";
    let project = Project::with(&[
        ("base/web.yaml", WEB),
        ("base/kustomization.yaml", base),
        ("base/t.yaml", TRANSFORMER),
        ("a/kustomization.yaml", "resources: [../base]\n"),
        ("b/kustomization.yaml", "resources: [../base]\n"),
    ]);
    let run = project.run(&["check", "--output-format", "concise"]);
    assert_eq!(
        run.stdout.matches("`transformers` is not modelled").count(),
        1,
        "{}",
        run.stdout
    );
}
