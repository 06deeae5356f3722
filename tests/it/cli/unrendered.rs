//! A kustomization cannot hide a workload or a policy that is deployed by other means.

use crate::support::Run;
use crate::support::manifest::{INJECTED, OPT_OUT, Pod, STRICT, join};
use crate::support::project::Project;

/// A Deployment that the API server accepts.
fn rewritable() -> Pod {
    Pod::deployment("web")
        .within("shop")
        .field("image: registry.example/web:1")
        .probe("readinessProbe", "httpGet: {path: /ready, port: 8080}")
}

fn web() -> String {
    rewritable().annotations(OPT_OUT).to_string()
}

const STUB: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n";

const DELETE: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, $patch: delete}";

const ERROR: &str = "error[strict-probe-not-rewritten]";

/// A tree with one error, in `web.yaml`.
fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("web.yaml", &web()),
    ]);
    for (path, text) in files {
        project.write(path, text);
    }
    project
}

fn check(project: &Project) -> Run {
    project.run(&["check", "."])
}

/// Runs a check that reports the error in `web.yaml`; returns its output on one line.
#[track_caller]
fn error(project: &Project) -> String {
    let run = check(project)
        .exits(1)
        .stdout_contains(ERROR)
        .stdout_contains("web.yaml:");
    run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that the policy is reported as not taken into account, and that a warning fails the run.
#[track_caller]
fn assert_policy_left_out(run: &Run, severity: &str, reason: &str) {
    let output = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = format!(
        "{severity}[policy-left-out]: PeerAuthentication/default is not taken into account"
    );
    for part in [&*title, reason, "policy.yaml:3:"] {
        assert!(output.contains(part), "no {part:?} in {output}");
    }
    assert_eq!(run.code, i32::from(severity == "warning"), "{output}");
}

/// Returns the number of workloads with predictions.
fn workloads(project: &Project) -> usize {
    let run = project
        .run(&["predict", "--output-format", "json", "."])
        .exits(0);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    report["workloads"].as_array().unwrap().len()
}

#[test]
fn a_complete_workload_that_is_listed_as_a_patch_is_checked() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatchesStrategicMerge: [../web.yaml]\n";
    let pointless = "patches: [{path: ../web.yaml, target: {kind: Gateway}}]\n";
    let remote = "resources: ['https://example.test/x?ref=1']\npatches: [{path: ../web.yaml}]\n";
    let deleted = format!(
        "resources: [stub.yaml]\npatches: [{{path: ../web.yaml}}, {{patch: \"{DELETE}\"}}]\n"
    );
    for kustomization in [
        "patches: [{path: ../web.yaml}]\n",
        "patchesStrategicMerge: [../web.yaml]\n",
        component,
        pointless,
        remote,
        &deleted,
    ] {
        let project = project(&[
            ("junk/kustomization.yaml", kustomization),
            ("junk/stub.yaml", STUB),
        ]);
        let output = error(&project);
        let reason = "names this file as a patch, but no object that is rendered contains it";
        assert!(output.contains(reason), "{kustomization}\n{output}");
    }
}

#[test]
fn a_patch_of_a_kustomization_that_is_not_read_is_checked() {
    let project = project(&[("kustomization.yaml", "patches: [{path: web.yaml}]\n")]);
    let run = project.run(&["check", "mesh.yaml", "web.yaml"]).exits(1);
    run.stdout_contains(ERROR);
}

#[test]
fn a_workload_whose_only_use_is_a_patch_is_not_rewritten() {
    let rewritten = rewritable().to_string();
    let project = project(&[
        ("web.yaml", &rewritten),
        (
            "junk/kustomization.yaml",
            "patches: [{path: ../web.yaml}]\n",
        ),
    ]);
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
    run.exits(1)
        .stderr_contains("error[kustomize-patch]")
        .stderr_contains("Deployment/web is not rewritten");
    assert_eq!(project.read("web.yaml"), rewritten);
    let gate = project.run(&["check", "--require-rewritten", "."]).exits(1);
    gate.stdout_contains("error[not-rewritten-ahead]");
}

#[test]
fn patches_that_are_used_or_are_parts_are_not_manifests() {
    let applied = "resources: [stub.yaml]\npatches: [{path: ../web.yaml}]\n";
    let overlay = project(&[
        ("over/kustomization.yaml", applied),
        ("over/stub.yaml", STUB),
    ]);
    assert_eq!(workloads(&overlay), 1);
    for part in [
        web().replace("  selector: {matchLabels: {app: web}}\n", ""),
        web().replace("        image: registry.example/web:1\n", ""),
        format!("$patch: replace\n{}", web()),
    ] {
        let project = project(&[
            ("web.yaml", &part),
            (
                "over/kustomization.yaml",
                "patches: [{path: ../web.yaml}]\n",
            ),
        ]);
        let run = check(&project).exits(0);
        assert!(!run.stdout.contains("web.yaml:"), "{}", run.stdout);
    }
}

/// The patch is applied, although the rendered object contains none of its values.
#[test]
fn an_applied_patch_without_a_value_in_the_object_is_not_a_manifest() {
    let base = "resources: [web.yaml]\nnamespace: legacy\n";
    let equal =
        "resources: [../base]\npatches: [{path: ../web.yaml, target: {kind: Deployment}}]\n";
    let replaced = "resources: [../base]\npatches:\n\
                    - {path: ../web.yaml, target: {kind: Deployment}}\n\
                    - target: {kind: Deployment}\n  \
                      patch: '- {op: replace, path: /spec, value: {template: {spec: {containers: []}}}}'\n";
    for (base_web, overlay) in [(web(), equal), (STUB.to_owned(), replaced)] {
        let project = project(&[
            ("base/kustomization.yaml", base),
            ("base/web.yaml", &base_web),
            ("over/kustomization.yaml", overlay),
        ]);
        let run = check(&project).exits(0);
        assert!(!run.stdout.contains("web.yaml:"), "{}", run.stdout);
        assert_eq!(workloads(&project), 1, "{overlay}");
    }
}

#[test]
fn a_policy_that_no_kustomization_can_use_as_a_patch_applies() {
    let policy = |kustomization: &str| {
        let project = project(&[
            ("mesh.yaml", INJECTED),
            ("policy.yaml", STRICT),
            ("junk/kustomization.yaml", kustomization),
        ]);
        check(&project)
    };
    for kustomization in [
        "patches: [{path: ../policy.yaml}]\n",
        "kind: Component\npatches: [{path: ../policy.yaml}]\n",
        "patches: [{path: ../policy.yaml, target: {kind: Gateway}}]\n",
    ] {
        policy(kustomization).exits(1).stdout_contains(ERROR);
    }
    // The patch may be for the remote object.
    let remote = "resources: ['https://example.test/x?ref=1']\npatches: [{path: ../policy.yaml}]\n";
    assert_policy_left_out(
        &policy(remote),
        "note",
        "`junk/kustomization.yaml` uses its file as a patch, and the object that it changes is not among the files",
    );
}

#[test]
fn a_workload_that_kustomizations_only_delete_is_checked() {
    let delete = format!("resources: [../web.yaml]\npatches:\n- patch: \"{DELETE}\"\n");
    let twice = "resources: [stub.yaml, ../web.yaml]\n";
    for kustomization in [&*delete, twice] {
        let project = project(&[
            ("junk/kustomization.yaml", kustomization),
            ("junk/stub.yaml", STUB),
        ]);
        let output = error(&project);
        let reason = "no kustomization that lists this object deploys it";
        assert!(output.contains(reason), "{kustomization}\n{output}");
        let fixed = project.run(&["check", "--fix", "--unsafe-fixes", "."]);
        assert_eq!(project.read("web.yaml"), web(), "{}", fixed.stdout);
    }
    // Another overlay deploys the workload: it is checked only there.
    let project = project(&[
        ("junk/kustomization.yaml", &delete),
        ("over/kustomization.yaml", "resources: [../web.yaml]\n"),
    ]);
    let output = error(&project);
    assert!(!output.contains("deploys it"), "{output}");
    assert_eq!(workloads(&project), 1);
}

#[test]
fn an_item_of_a_list_that_kustomizations_only_delete_is_checked() {
    let item = |text: &str| format!("- {}\n", text.trim_end().replace('\n', "\n  "));
    let other = web()
        .replace("name: web,", "name: other,")
        .replace("app: web", "app: other")
        .replace("'false'", "'true'");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n{}{}",
        item(&other),
        item(&web())
    );
    let delete = format!("resources: [../web.yaml]\npatches:\n- patch: \"{DELETE}\"\n");
    let project = project(&[("web.yaml", &list), ("junk/kustomization.yaml", &delete)]);
    let output = error(&project);
    assert_eq!(output.matches(ERROR).count(), 1, "{output}");
    assert!(output.contains("no kustomization that lists"), "{output}");
}

/// A kustomization that lists `policy.yaml` and the entries, and deletes the policy.
fn without_policy(entries: &str) -> String {
    let delete = "{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: default, namespace: shop}, $patch: delete}";
    format!("resources: [../policy.yaml{entries}]\npatches:\n- patch: \"{delete}\"\n")
}

fn policy_project(kustomization: &str) -> Project {
    Project::with(&[
        ("mesh.yaml", INJECTED),
        ("policy.yaml", STRICT),
        ("web.yaml", &web()),
        ("junk/kustomization.yaml", kustomization),
    ])
}

#[test]
fn a_policy_that_only_kustomizations_without_pods_delete_applies() {
    let project = policy_project(&without_policy(""));
    check(&project).exits(1).stdout_contains(ERROR);
}

#[test]
fn a_policy_that_kustomizations_delete_for_their_own_pods_is_a_note() {
    let reason = "`junk/kustomization.yaml` lists it and does not deploy it";
    let project = policy_project(&without_policy(", ../web.yaml"));
    assert_policy_left_out(&check(&project), "note", reason);
    // Another overlay deploys the policy: it applies there.
    project.write(
        "over/kustomization.yaml",
        "resources: [../policy.yaml, ../web.yaml]\n",
    );
    let output = error(&project);
    assert!(!output.contains("policy-left-out"), "{output}");
    let run = project.run(&["check", "--exclude", "junk/kustomization.yaml", "."]);
    run.exits(1).stdout_contains(ERROR);
}

#[test]
fn a_policy_that_kustomizations_delete_is_a_warning_if_other_pods_are_in_its_namespace() {
    let reason = "`junk/kustomization.yaml` lists it and does not deploy it";
    let other = rewritable().to_string().replace("web", "other");
    let project = policy_project(&without_policy(", other.yaml"));
    project.write("junk/other.yaml", &other);
    assert_policy_left_out(&check(&project), "warning", reason);
    let elsewhere = web().replace("namespace: shop", "namespace: elsewhere");
    project.write("web.yaml", elsewhere);
    assert_policy_left_out(&check(&project), "note", reason);
}

/// A folder whose Deployment has no namespace, and an object that deploys the folder to `shop`.
fn deployed(application: &str, kustomization: &str) -> Project {
    let bare = web().replace(", namespace: shop", "");
    assert_ne!(bare, web());
    Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("apps/web/web.yaml", &bare),
        ("clusters/app.yaml", application),
        ("clusters/kustomization.yaml", kustomization),
    ])
}

const APPLICATION: &str = "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  destination: {namespace: shop, server: 'https://kubernetes.default.svc'}
  source: {repoURL: 'https://example.test/x', path: apps/web, targetRevision: main}
";

#[test]
fn a_complete_application_that_is_listed_as_a_patch_or_deleted_is_followed() {
    let delete = "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: web, namespace: argocd}, $patch: delete}";
    let deleted = format!("resources: [app.yaml]\npatches: [{{patch: \"{delete}\"}}]\n");
    let remote = "resources: ['https://example.test/x?ref=1']\npatches: [{path: app.yaml}]\n";
    for kustomization in [
        "patches: [{path: app.yaml}]\n",
        "patchesStrategicMerge: [app.yaml]\n",
        "resources: [app.yaml]\n",
        remote,
        &deleted,
    ] {
        let run = check(&deployed(APPLICATION, kustomization)).exits(1);
        run.stdout_contains(ERROR);
    }
    // A part of an Application has no effect on its own.
    for part in [
        APPLICATION.replace("  project: default\n", ""),
        APPLICATION.replace("repoURL: 'https://example.test/x', ", ""),
        format!("{APPLICATION}$patch: replace\n"),
    ] {
        let run = check(&deployed(&part, "patches: [{path: app.yaml}]\n"));
        assert!(!run.stdout.contains(ERROR), "{}", run.stdout);
    }
}

#[test]
fn a_complete_flux_kustomization_that_is_listed_as_a_patch_is_followed() {
    let flux = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec:
  interval: 10m
  prune: true
  path: apps/web
  sourceRef: {kind: GitRepository, name: x}
  targetNamespace: shop
";
    let named = "patches: [{path: app.yaml}]\n";
    check(&deployed(flux, named))
        .exits(1)
        .stdout_contains(ERROR);
    let part = flux.replace("  interval: 10m\n", "");
    let run = check(&deployed(&part, named));
    assert!(!run.stdout.contains(ERROR), "{}", run.stdout);
}

#[test]
fn an_application_that_is_a_patch_of_a_rendered_one_is_followed_once() {
    let base = APPLICATION.replace("namespace: shop, server", "namespace: elsewhere, server");
    let kustomization = "resources: [base.yaml]\npatches: [{path: app.yaml}]\n";
    let project = deployed(APPLICATION, kustomization);
    project.write("clusters/base.yaml", base);
    check(&project).exits(1).stdout_contains(ERROR);
    assert_eq!(workloads(&project), 1);
}
