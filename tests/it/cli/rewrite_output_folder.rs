//! `rewrite -o DIR`: a copy of the tree that can replace it.

use crate::support::manifest::{INJECTED, PROBED as WEB};
use crate::support::project::Project;

fn project() -> Project {
    Project::with(&[
        ("k8s/apps/web.yaml", WEB),
        ("k8s/apps/settings.properties", "a=b\n"),
        ("k8s/infra/ns.yaml", INJECTED),
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
fn the_copy_is_complete_and_the_tree_is_not_changed() {
    let project = project();
    project.write("k8s/blob.bin", [0xff, 0xfe, 0]);
    project
        .run(&["rewrite", "-o", "out", "k8s"])
        .exits(0)
        .stderr_contains("rewritten. Changed 1 file; applying the changes triggers rollouts. Copied 6 files to out.");
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
fn copied_paths_are_relative_to_the_common_folder_of_all_paths() {
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
fn a_copy_inside_the_tree_is_not_part_of_the_tree() {
    let project = project();
    for _ in 0..2 {
        project.run(&["rewrite", "-o", "out", "."]).exits(0);
    }
    assert!(project.path("out/k8s/apps/web.yaml").exists());
    assert!(!project.path("out/out").exists());
}

#[test]
fn a_copy_never_overwrites_its_original() {
    let project = project();
    let run = project.run(&["rewrite", "-o", "k8s", "k8s"]).exits(2);
    run.stderr_contains("help: use `--write` to rewrite in place");
    assert_eq!(project.read("k8s/apps/web.yaml"), WEB);
    for other in ["--write", "--diff"] {
        project
            .run(&["rewrite", "-o", "out", other, "k8s"])
            .exits(2);
    }
}

#[test]
fn standard_input_is_written_to_standard_output() {
    let project = project();
    let text = format!("{INJECTED}---\n{WEB}");
    let run = project.pipe(&["rewrite", "-o", "out", "-"], &text).exits(2);
    run.stderr_contains("`-o` cannot be used for standard input");
    assert!(!project.path("out").exists());
    let run = project
        .pipe(&["rewrite", "-o", "out", "-", "k8s/apps"], &text)
        .exits(0);
    assert!(project.path("out/web.yaml").exists());
    assert!(
        run.stdout.contains("/app-health/web/livez"),
        "{}",
        run.stdout
    );
}

#[cfg(unix)]
#[test]
fn permissions_are_copied_and_links_become_files() {
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
    // A folder has the name of a file to write.
    std::fs::remove_file(project.path("out/kustomization.yaml")).unwrap();
    std::fs::create_dir(project.path("out/kustomization.yaml")).unwrap();
    let run = project.run(&["rewrite", "-o", "out", "k8s"]).exits(2);
    run.stderr_contains("error: cannot write `out/kustomization.yaml`");
}

#[cfg(unix)]
#[test]
fn linked_folders_are_found_in_the_copy() {
    use std::os::unix::fs::symlink;
    let project = Project::with(&[
        ("ns.yaml", INJECTED),
        ("app/kustomization.yaml", "resources: [linked]\n"),
        ("common/kustomization.yaml", "resources: [web.yaml]\n"),
        ("common/web.yaml", WEB),
    ]);
    symlink("../common", project.path("app/linked")).unwrap();
    symlink("..", project.path("common/up")).unwrap();
    for _ in 0..2 {
        let run = project.run(&["rewrite", "-o", "out", "."]).exits(0);
        run.stderr_contains("Copied 6 files to out.");
    }
    // The target folder is copied too, so the link refers to the copy.
    let link = std::fs::symlink_metadata(project.path("out/app/linked")).unwrap();
    assert!(link.is_symlink());
    let copied = project.read("out/app/linked/web.yaml");
    assert!(copied.contains("/app-health/web/livez"), "{copied}");
    assert_eq!(project.read("common/web.yaml"), WEB);
    // The target folder is not copied, so its content is.
    let run = project
        .run(&["rewrite", "-o", "one", "--context", "ns.yaml", "app"])
        .exits(1);
    // Files outside of the given paths are not rewritten.
    let run = run.stderr_contains("error[context-only]");
    let run = run.stderr_contains("note: `app/linked/up` was not copied");
    assert!(!run.stderr.contains("cannot write"), "{}", run.stderr);
    let link = std::fs::symlink_metadata(project.path("one/linked")).unwrap();
    assert!(link.is_dir());
    assert!(project.path("one/linked/web.yaml").exists());
}

#[cfg(unix)]
#[test]
fn a_broken_link_is_reported() {
    let project = project();
    for name in ["k8s/gone.yaml", "k8s/gone"] {
        std::os::unix::fs::symlink("nowhere", project.path(name)).unwrap();
    }
    let run = project.run(&["rewrite", "-o", "out", "k8s"]).exits(0);
    let run = run.stderr_contains("note: `k8s/gone` was not copied: no such file or directory");
    run.stderr_contains("Copied 5 files to out.");
    project.run(&["rewrite", "--write", "k8s"]).exits(0);
}

#[test]
fn other_files_are_never_overwritten() {
    let project = project();
    project.write("out/apps/web.yaml", "mine\n");
    let run = project.run(&["rewrite", "-o", "out", "k8s"]).exits(2);
    run.stderr_contains("`out/apps/web.yaml` already exists, and is not a copy of an earlier run");
    assert_eq!(project.read("out/apps/web.yaml"), "mine\n");
    assert!(!project.path("out/kustomization.yaml").exists());
    std::fs::remove_file(project.path("out/apps/web.yaml")).unwrap();
    // A file with the same bytes is accepted, and an earlier copy is replaced.
    project.write("out/apps/settings.properties", "a=b\n");
    project.run(&["rewrite", "-o", "out", "k8s"]).exits(0);
    project.write("k8s/apps/settings.properties", "a=c\n");
    project.run(&["rewrite", "-o", "out", "k8s"]).exits(0);
    assert_eq!(project.read("out/apps/settings.properties"), "a=c\n");
    let list = project.read("out/.meshprobe-copy");
    assert!(list.contains("\napps/web.yaml\n"), "{list}");
    // A copy of the copy has its own list.
    project.run(&["rewrite", "-o", "again", "out"]).exits(0);
    assert_eq!(project.read("again/.meshprobe-copy"), list);
}

#[test]
fn files_that_are_not_written_are_not_counted() {
    let project = project();
    project.write("out", "a file\n");
    let run = project.run(&["rewrite", "-o", "out", "k8s"]).exits(2);
    let run = run.stderr_contains("error: invalid value `out` for `-o`: `out` is not a folder");
    assert!(!run.stderr.contains("Copied"), "{}", run.stderr);
    assert!(!run.stderr.contains("pod template"), "{}", run.stderr);
    // A folder has the name of one file to write.
    project.write("other/apps/web.yaml/x", "");
    project.write("other/.meshprobe-copy", "apps/web.yaml\n");
    let run = project.run(&["rewrite", "-o", "other", "k8s"]).exits(2);
    let run = run.stderr_contains("not written. Changed 0 of 1 file. Copied 4 files to other.");
    run.stderr_contains("error: cannot write `other/apps/web.yaml`");
}
