//! `rewrite -o DIR`: a copy of the tree that can be used in its place.

use crate::project::Project;

const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
";
const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: web
    livenessProbe: {httpGet: {path: /, port: 8080}}
";

fn project() -> Project {
    Project::with(&[
        ("k8s/apps/web.yaml", WEB),
        ("k8s/apps/settings.properties", "a=b\n"),
        ("k8s/infra/ns.yaml", NAMESPACE),
        (
            "k8s/kustomization.yaml",
            "resources: [apps/web.yaml, infra/ns.yaml]\n",
        ),
        ("k8s/broken.yaml", "a: [\n"),
        ("k8s/skipped.tmp", "x"),
        (".gitignore", "*.tmp\n"),
    ])
}

#[test]
fn the_copy_is_whole_and_the_tree_stays_as_it_is() {
    let project = project();
    project.write("k8s/blob.bin", [0xff, 0xfe, 0]);
    project
        .run(&["rewrite", "-o", "out", "k8s"])
        .exits(0)
        .complains("Rewrote 1 pod template in 1 file; each such workload rolls when applied. Copied 6 files to out.");
    assert!(
        project
            .read("out/apps/web.yaml")
            .contains("/app-health/web/livez")
    );
    for same in [
        "apps/settings.properties",
        "infra/ns.yaml",
        "kustomization.yaml",
        "broken.yaml",
    ] {
        assert_eq!(
            project.read(&format!("out/{same}")),
            project.read(&format!("k8s/{same}"))
        );
    }
    assert_eq!(
        std::fs::read(project.path("out/blob.bin")).unwrap(),
        [0xff, 0xfe, 0]
    );
    assert!(!project.path("out/skipped.tmp").exists());
    assert_eq!(project.read("k8s/apps/web.yaml"), WEB);
}

#[test]
fn places_are_relative_to_what_holds_all_paths() {
    let project = project();
    project
        .run(&["rewrite", "-o", "out", "k8s/apps", "k8s/infra"])
        .exits(0);
    assert!(project.path("out/apps/web.yaml").exists());
    assert!(project.path("out/infra/ns.yaml").exists());
    project
        .run(&[
            "rewrite",
            "-o",
            "one",
            "--context",
            "k8s/infra",
            "k8s/apps/web.yaml",
        ])
        .exits(0);
    assert!(
        project
            .read("one/web.yaml")
            .contains("/app-health/web/livez")
    );
    assert!(!project.path("one/ns.yaml").exists());
}

#[test]
fn a_copy_inside_the_tree_is_no_part_of_it() {
    let project = project();
    for _ in 0..2 {
        project.run(&["rewrite", "-o", "out", "."]).exits(0);
    }
    assert!(project.path("out/k8s/apps/web.yaml").exists());
    assert!(!project.path("out/out").exists());
}

#[test]
fn a_copy_never_takes_the_place_of_its_original() {
    let project = project();
    let run = project.run(&["rewrite", "-o", "k8s", "k8s"]).exits(2);
    run.complains("--write rewrites in place");
    assert_eq!(project.read("k8s/apps/web.yaml"), WEB);
    for other in ["--write", "--diff"] {
        project
            .run(&["rewrite", "-o", "out", other, "k8s"])
            .exits(2);
    }
}

#[test]
fn standard_input_goes_to_standard_output() {
    let project = project();
    let run = project
        .pipe(
            &["rewrite", "-o", "out", "-"],
            format!("{NAMESPACE}---\n{WEB}"),
        )
        .exits(0);
    assert!(
        run.stdout.contains("/app-health/web/livez"),
        "{}",
        run.stdout
    );
}

#[cfg(unix)]
#[test]
fn permissions_come_along_and_links_become_files() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let project = project();
    let locked = std::fs::Permissions::from_mode(0o440);
    std::fs::set_permissions(project.path("k8s/apps/web.yaml"), locked).unwrap();
    symlink("apps/web.yaml", project.path("k8s/link.yaml")).unwrap();
    for _ in 0..2 {
        project.run(&["rewrite", "-o", "out", "k8s"]).exits(0);
    }
    for name in ["out/apps/web.yaml", "out/link.yaml"] {
        let metadata = std::fs::symlink_metadata(project.path(name)).unwrap();
        assert!(metadata.is_file(), "{name}");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o440);
        assert!(
            project.read(name).contains("/app-health/web/livez"),
            "{name}"
        );
    }
    // A folder in the way.
    std::fs::remove_file(project.path("out/kustomization.yaml")).unwrap();
    std::fs::create_dir(project.path("out/kustomization.yaml")).unwrap();
    let run = project.run(&["rewrite", "-o", "out", "k8s"]).exits(2);
    run.complains("error: cannot write out/kustomization.yaml");
}
