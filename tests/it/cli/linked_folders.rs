//! Paths that lead through symbolic links to folders and files of the repository, as kustomize and Argo CD follow them.
#![cfg(unix)]

use std::os::unix::fs::symlink;

use crate::support::manifest::{ANNOTATED_WEB as WEB, INJECTED, STRICT, join};
use crate::support::project::Project;

const OPT_OUT: &str = "{op: add, path: /spec/template/metadata/annotations/sidecar.istio.io~1rewriteAppHTTPProbers, value: 'false'}";
const REPLACED: &str = "{op: replace, path: /spec/template/metadata/annotations, value: {c: d}}";

/// A folder `deep/real` with a kustomization, and links to it, to the folder above, and to its files.
fn project() -> Project {
    let project = Project::with(&[
        ("deep/real/web.yaml", WEB),
        ("deep/real/ns.yaml", &join(&[INJECTED, STRICT])),
        (
            "deep/real/kustomization.yaml",
            "resources: [ns.yaml, web.yaml]\n",
        ),
        ("dir/a.txt", ""),
        ("over/b.txt", ""),
    ]);
    symlink("deep/real", project.path("link")).unwrap();
    symlink("deep", project.path("outer")).unwrap();
    symlink("../link", project.path("over/again")).unwrap();
    symlink("../deep/real/web.yaml", project.path("over/w.yaml")).unwrap();
    symlink("../deep/real/ns.yaml", project.path("over/n.yaml")).unwrap();
    project
}

/// Entries of `resources` in `over` that lead to the base.
const ENTRIES: [&str; 7] = [
    "../link/../deep/real",
    "../link",
    "../outer/real",
    "again",
    "../dir/../link",
    "../nowhere/../deep/real",
    "w.yaml, n.yaml",
];

fn overlay(entry: &str, patch: &str) -> Project {
    let project = project();
    let text = format!(
        "resources: [{entry}]\npatches:\n- target: {{kind: Deployment}}\n  patch: |-\n    - {patch}\n"
    );
    project.write("over/kustomization.yaml", text);
    project
}

/// Paths of the base in a deploying object.
const PATHS: [&str; 4] = ["link", "outer/real", "dir/../deep/real", "./over/again/"];

fn deployed(path: &str, patch: &str) -> [(&'static str, Project); 2] {
    let change = format!("patches: [{{target: {{kind: Deployment}}, patch: \"- {patch}\"}}]");
    let argo = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: f, namespace: argocd}}\n\
         spec: {{destination: {{namespace: shop}}, source: {{repoURL: x, path: {path}, kustomize: {{{change}}}}}}}\n"
    );
    let flux = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: f, namespace: flux-system}}\n\
         spec: {{sourceRef: {{kind: GitRepository, name: x}}, path: {path}, {change}}}\n"
    );
    [("argo", argo), ("flux", flux)].map(|(name, text)| {
        let project = project();
        project.write("clusters/app.yaml", text);
        (name, project)
    })
}

#[track_caller]
fn assert_found(project: &Project, name: &str) {
    let run = project.run(&["check", "--output-format", "concise"]);
    let shown = run.exits(1).transcript();
    assert!(
        shown.contains("deep/real/web.yaml:13:") && shown.contains("strict-probe-not-rewritten"),
        "{name}\n{shown}"
    );
    assert!(!shown.contains("not among the files"), "{name}\n{shown}");
}

#[track_caller]
fn assert_refused(project: &Project, name: &str) {
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
    let run = run.exits(1);
    let message = &run.stderr;
    assert!(
        message.contains("error[kustomize-overlay]"),
        "{name}\n{message}"
    );
    assert_eq!(project.read("deep/real/web.yaml"), WEB, "{name}");
}

#[test]
fn an_overlay_of_a_linked_base_is_checked() {
    for entry in ENTRIES {
        assert_found(&overlay(entry, OPT_OUT), entry);
    }
}

#[test]
fn a_base_is_not_rewritten_below_an_overlay_that_names_a_link() {
    for entry in ENTRIES {
        assert_refused(&overlay(entry, REPLACED), entry);
    }
}

#[test]
fn workloads_deployed_through_a_link_are_checked_and_not_rewritten() {
    for path in PATHS {
        for (name, project) in deployed(path, OPT_OUT) {
            assert_found(&project, &format!("{name} {path}"));
        }
        for (name, project) in deployed(path, REPLACED) {
            assert_refused(&project, &format!("{name} {path}"));
        }
    }
}

#[test]
fn predict_shows_an_overlay_of_a_linked_base_like_any_other() {
    let linked = overlay("../link", OPT_OUT)
        .run(&["predict", "."])
        .transcript();
    let plain = overlay("../deep/real", OPT_OUT)
        .run(&["predict", "."])
        .transcript();
    assert_eq!(linked, plain);
}

/// The base is read only because of the overlay, by the name of its real folder.
#[test]
fn a_linked_base_outside_of_the_paths_of_the_run_is_read() {
    for (entry, paths) in [("../link", &["over"][..]), ("../link", &["over", "deep"])] {
        let project = overlay(entry, OPT_OUT);
        // These name the same files.
        for link in ["over/w.yaml", "over/n.yaml"] {
            std::fs::remove_file(project.path(link)).unwrap();
        }
        let arguments = [&["check", "--output-format", "concise"], paths].concat();
        let shown = project.run(&arguments).exits(1).transcript();
        assert!(
            shown.contains("deep/real/web.yaml:13:"),
            "{paths:?}\n{shown}"
        );
    }
}

#[test]
fn a_link_out_of_the_repository_is_not_followed() {
    let outer = Project::with(&[
        ("home/web.yaml", WEB),
        ("home/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    outer.write("repo/over/kustomization.yaml", "resources: [../link]\n");
    std::fs::create_dir(outer.path("repo/.git")).unwrap();
    symlink("../home", outer.path("repo/link")).unwrap();
    let run = outer
        .run_in("repo", &["check", "--fail-on", "note"], "")
        .exits(1);
    let shown = run.transcript();
    assert!(
        shown.contains("`../link` is not among the files read"),
        "{shown}"
    );
    assert!(!shown.contains("web.yaml"), "{shown}");
}

/// The paths of the run start in the folder of the overlay.
#[test]
fn a_linked_base_of_an_overlay_in_the_working_directory_is_checked() {
    let project = overlay("../link", OPT_OUT);
    let remove = |name| std::fs::remove_file(project.path(name)).unwrap();
    for link in ["over/again", "over/w.yaml", "over/n.yaml"] {
        remove(link);
    }
    for arguments in [
        &["check"][..],
        &["check", "."],
        &["check", "kustomization.yaml"],
    ] {
        let run = project.run_in("over", arguments, "");
        let shown = run.exits(1).transcript();
        assert!(
            shown.contains("../deep/real/web.yaml:13:"),
            "{arguments:?}\n{shown}"
        );
        assert!(
            !shown.contains("not among the files"),
            "{arguments:?}\n{shown}"
        );
    }
    project.write(".gitignore", "link\ndeep\n");
    let text = project.read("over/kustomization.yaml");
    remove("over/kustomization.yaml");
    project.write("kustomization.yaml", text.replace("../link", "link"));
    assert_found(&project, "in the root");
}

/// The first path of the run is a link, which names the files of the base.
#[test]
fn a_base_whose_link_is_a_path_of_the_run_is_checked() {
    for entry in ["../link", "../deep/real", "../outer/real", "again"] {
        let project = overlay(entry, OPT_OUT);
        for paths in [
            &["link", "--context", "."][..],
            &["link", "."],
            &["link/web.yaml", "."],
            &["outer", "."],
            &["outer/real", "--context", "."],
            &["over/again", "."],
        ] {
            let arguments = [&["check", "--output-format", "concise"], paths].concat();
            let shown = project.run(&arguments).exits(1).transcript();
            assert!(
                shown.contains("/web.yaml:13:") && shown.contains("strict-probe-not-rewritten"),
                "{entry} {paths:?}\n{shown}"
            );
            assert!(
                !shown.contains("not among the files"),
                "{entry} {paths:?}\n{shown}"
            );
        }
    }
    for path in ["link", "outer/real", "deep/real"] {
        for (name, project) in deployed(path, OPT_OUT) {
            let arguments = ["check", "--output-format", "concise", "link", "."];
            let shown = project.run(&arguments).exits(1).transcript();
            assert!(
                shown.contains("link/web.yaml:13:"),
                "{name} {path}\n{shown}"
            );
        }
    }
}
