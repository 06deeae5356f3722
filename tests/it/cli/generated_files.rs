//! Files that generators of kustomizations copy are not rewritten: the content of the generated object would change.

use crate::support::manifest::{ANNOTATED_WEB, INJECTED};
use crate::support::project::Project;

const REWRITE: [&str; 5] = ["rewrite", "--write", "--mesh-version", "1.28", "."];

/// A folder with a manifest and a kustomization with the given text.
fn project(kustomization: &str) -> Project {
    Project::with(&[
        ("ns.yaml", INJECTED),
        ("apps/web.yaml", ANNOTATED_WEB),
        ("over/kustomization.yaml", kustomization),
    ])
}

#[test]
fn a_file_that_a_generator_copies_is_not_rewritten() {
    for (generator, object) in [
        (
            "configMapGenerator: [{name: c, files: [../apps/web.yaml]}]\n",
            "ConfigMap `c`",
        ),
        (
            "secretGenerator:\n- name: s\n  files:\n  - key.yaml=../apps/web.yaml\n",
            "Secret `s`",
        ),
        // In addition to the resource itself.
        (
            "resources: [../apps/web.yaml]\nconfigMapGenerator: [{name: c, files: [../apps/web.yaml]}]\n",
            "ConfigMap `c`",
        ),
    ] {
        let project = project(generator);
        let run = project.run(&REWRITE).exits(1);
        let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "error[kustomize-overlay]: Deployment/web is not rewritten",
            &format!(
                "`over/kustomization.yaml` copies the file into {object}, whose content would change"
            ),
            "leave it out with `--exclude over/kustomization.yaml`",
        ] {
            assert!(message.contains(part), "{part}\n{message}");
        }
        assert_eq!(project.read("apps/web.yaml"), ANNOTATED_WEB);
        project
            .run(&[&REWRITE[..], &["--exclude", "over/"]].concat())
            .exits(0);
        let rewritten = project.read("apps/web.yaml");
        assert_ne!(rewritten, ANNOTATED_WEB);
        let undo = ["rewrite", "--undo", "--write", "."];
        project
            .run(&undo)
            .exits(1)
            .stderr_contains("whose content would");
        assert_eq!(project.read("apps/web.yaml"), rewritten);
    }
}

#[test]
fn a_generator_of_other_files_does_not_prevent_a_rewrite() {
    for generator in [
        "resources: [../apps/web.yaml]\nconfigMapGenerator: [{name: c, files: [web.yaml, apps/web.yaml]}]\n",
        "resources: [../apps/web.yaml]\nconfigMapGenerator: [{name: c, literals: [a=../apps/web.yaml]}]\n",
    ] {
        let project = project(generator);
        project.run(&REWRITE).exits(0);
        assert_ne!(project.read("apps/web.yaml"), ANNOTATED_WEB);
    }
}
