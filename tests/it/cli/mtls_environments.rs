//! Mutual TLS that differs between environments, for files that belong to none of these.

use crate::support::manifest::{INJECTED, Manifest, NOT_REWRITTEN, PROBED, STRICT};
use crate::support::project::Project;
use crate::support::{Run, findings};

fn permissive() -> String {
    STRICT.replace("STRICT", "PERMISSIVE")
}

/// Returns a repository with a pod in no environment.
fn tree(policies: &[(&str, &str)]) -> Project {
    let project = Project::with(&[
        ("infra/namespace.yaml", INJECTED),
        ("apps/web.yaml", NOT_REWRITTEN),
    ]);
    for (path, text) in policies {
        project.write(path, text);
    }
    project
}

fn check(project: &Project, format: &str) -> Run {
    let format = format!("--output-format={format}");
    project.run(&["check", "--fail-on=never", &format, "apps"])
}

/// Returns the severity and the assumptions of the only finding.
fn finding(project: &Project) -> Option<(String, String)> {
    let run = check(project, "json");
    let found = findings(&run);
    let strict: Vec<_> = found
        .iter()
        .filter(|finding| finding["rule"] == "strict-probe-not-rewritten")
        .collect();
    let [finding] = strict[..] else {
        assert!(strict.is_empty(), "{}", run.stdout);
        return None;
    };
    let severity = finding["severity"].as_str().unwrap().to_owned();
    Some((severity, finding["assumptions"].to_string()))
}

/// Returns the findings about mutual TLS in a folder, as `"PATH" "SEVERITY"`.
fn strict_probes(project: &Project, folder: &str) -> Vec<String> {
    let run = project.run(&["check", "--fail-on=never", "--output-format=json", folder]);
    findings(&run)
        .iter()
        .filter(|finding| finding["rule"] == "strict-probe-not-rewritten")
        .map(|finding| format!("{} {}", finding["path"], finding["severity"]))
        .collect()
}

fn differ(modes: &str) -> String {
    format!("mutual TLS differs between environments ({modes})")
}

#[test]
fn environments_that_differ_are_named() {
    let project = tree(&[
        ("clusters/prod/mtls.yaml", STRICT),
        ("clusters/staging/mtls.yaml", &permissive()),
    ]);
    let (severity, assumptions) = finding(&project).unwrap();
    assert_eq!(severity, "warning");
    let expected = differ("prod: STRICT, staging: PERMISSIVE");
    assert!(assumptions.contains(&expected), "{assumptions}");
    check(&project, "full").stdout_contains(&expected);
}

#[test]
fn names_of_policies_do_not_matter() {
    let project = tree(&[
        (
            "clusters/prod/mtls.yaml",
            &STRICT.replace("name: default", "name: strict"),
        ),
        ("clusters/staging/mtls.yaml", &permissive()),
    ]);
    let (_, assumptions) = finding(&project).unwrap();
    let expected = differ("prod: STRICT, staging: PERMISSIVE");
    assert!(assumptions.contains(&expected), "{assumptions}");
    assert!(!assumptions.contains("older"), "{assumptions}");
}

#[test]
fn environments_that_agree_are_not_an_assumption() {
    let project = tree(&[
        ("clusters/prod/mtls.yaml", STRICT),
        ("clusters/staging/mtls.yaml", STRICT),
    ]);
    let (severity, assumptions) = finding(&project).unwrap();
    assert_eq!((&*severity, &*assumptions), ("error", "[]"));
    let project = tree(&[
        ("clusters/prod/mtls.yaml", &permissive()),
        ("clusters/staging/mtls.yaml", &permissive()),
    ]);
    assert_eq!(finding(&project), None);
}

#[test]
fn only_environments_with_policies_count() {
    let namespace = INJECTED.replace("shop", "other");
    let project = tree(&[
        ("clusters/prod/mtls.yaml", STRICT),
        ("clusters/prod/namespace.yaml", &namespace),
        ("clusters/staging/namespace.yaml", &namespace),
    ]);
    let (severity, assumptions) = finding(&project).unwrap();
    assert_eq!((&*severity, &*assumptions), ("error", "[]"));
}

#[test]
fn environments_next_to_the_folder_of_the_workload_apply_if_all_have_policies() {
    let project = tree(&[
        ("prod/mtls.yaml", STRICT),
        ("staging/mtls.yaml", &permissive()),
    ]);
    let (severity, assumptions) = finding(&project).unwrap();
    assert_eq!(severity, "warning");
    let expected = differ("prod: STRICT, staging: PERMISSIVE");
    assert!(assumptions.contains(&expected), "{assumptions}");

    // The folders may be unrelated to the workload.
    let namespace = INJECTED.replace("shop", "other");
    project.write("test/namespace.yaml", &namespace);
    project.write("prod/namespace.yaml", &namespace);
    assert_eq!(finding(&project), None);
}

#[test]
fn policies_of_one_folder_still_conflict() {
    let project = tree(&[
        (
            "infra/strict.yaml",
            &STRICT.replace("name: default", "name: strict"),
        ),
        ("infra/permissive.yaml", &permissive()),
    ]);
    let (_, assumptions) = finding(&project).unwrap_or_default();
    assert!(!assumptions.contains("environments"), "{assumptions}");
}

#[test]
fn a_workload_of_an_environment_has_the_mode_of_that_environment() {
    let project = tree(&[
        ("clusters/prod/mtls.yaml", STRICT),
        ("clusters/prod/web.yaml", NOT_REWRITTEN),
        ("clusters/staging/mtls.yaml", &permissive()),
        ("clusters/staging/web.yaml", NOT_REWRITTEN),
    ]);
    assert_eq!(
        strict_probes(&project, "clusters"),
        [r#""clusters/prod/web.yaml" "error""#]
    );
}

#[test]
fn an_environment_with_the_name_of_the_folder_applies() {
    let project = tree(&[
        ("clusters/prod/mtls.yaml", STRICT),
        ("clusters/staging/mtls.yaml", &permissive()),
        (
            "tenants/prod/web.yaml",
            &NOT_REWRITTEN.replace("name: web\n  namespace", "name: api\n  namespace"),
        ),
        (
            "tenants/staging/web.yaml",
            &NOT_REWRITTEN.replace("name: web\n  namespace", "name: api\n  namespace"),
        ),
    ]);
    assert_eq!(
        strict_probes(&project, "tenants"),
        [r#""tenants/prod/web.yaml" "error""#]
    );
}

#[test]
fn a_run_for_one_environment_has_the_mode_of_that_environment() {
    let project = tree(&[
        ("clusters/prod/mtls.yaml", STRICT),
        ("clusters/staging/mtls.yaml", &permissive()),
    ]);
    let severities = |cluster: &str| -> Vec<String> {
        let format = "--output-format=json";
        let run = project.run(&[
            "check",
            "--fail-on=never",
            format,
            "--cluster",
            cluster,
            "apps",
        ]);
        let found = findings(&run);
        let strict = found
            .iter()
            .filter(|finding| finding["rule"] == "strict-probe-not-rewritten");
        strict
            .map(|finding| finding["severity"].to_string())
            .collect()
    };
    assert_eq!(severities("staging"), [""; 0]);
    assert_eq!(severities("prod"), [r#""error""#]);
}

/// Returns a repository whose clusters deploy a base from files outside of their folders, with a file of each cluster.
fn deployed_from_outside(eu: &str, us: &str) -> Project {
    let project = Project::with(&[
        ("clusters/eu/mesh.yaml", eu),
        ("clusters/us/mesh.yaml", us),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", NOT_REWRITTEN),
    ]);
    for cluster in ["eu", "us"] {
        project.write(
            &format!("clusters/{cluster}/apps/kustomization.yaml"),
            "resources: [../../../base]\n",
        );
        project.write(
            &format!("flux/{cluster}.yaml"),
            format!(
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                 metadata: {{name: {cluster}, namespace: flux-system}}\n\
                 spec: {{path: ./clusters/{cluster}/apps}}\n"
            ),
        );
    }
    project
}

#[test]
fn a_deployed_folder_has_the_namespace_and_the_control_plane_of_its_environment() {
    let disabled = INJECTED.replace("enabled", "disabled");
    let project = deployed_from_outside(INJECTED, &disabled);
    let explained = |path: &str| project.run(&["predict", "--explain", path]).exits(0).stdout;
    assert!(explained("flux/eu.yaml").contains("dataplane   sidecar (known)"));
    assert!(explained("flux/us.yaml").contains("dataplane   none (known)"));

    let operator = |rewrite: bool| {
        format!(
            "{INJECTED}---\napiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {{name: istio}}\n\
             spec: {{values: {{sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {rewrite}}}}}}}\n"
        )
    };
    let project = deployed_from_outside(&operator(true), &operator(false));
    project.write("base/web.yaml", PROBED);
    let explained = |path: &str| project.run(&["predict", "--explain", path]).exits(0).stdout;
    assert!(explained("flux/eu.yaml").contains("rewrite     on (known)"));
    let of_us = explained("flux/us.yaml");
    assert!(of_us.contains("rewrite     off (known)"), "{of_us}");
}

#[test]
fn what_one_file_deploys_belongs_together() {
    // The cluster `eu` deploys its Namespace from its folder, and the workload from a shared folder.
    let namespace = |mode: &str| INJECTED.replace("enabled", mode);
    let project = Project::with(&[
        ("eu/namespace.yaml", &namespace("enabled")),
        ("us/namespace.yaml", &namespace("disabled")),
        ("eu/other.yaml", STRICT),
        ("us/other.yaml", STRICT),
        ("base/web.yaml", PROBED),
    ]);
    for cluster in ["eu", "us"] {
        let resources =
            format!("resources: [../../{cluster}/namespace.yaml, ../../base/web.yaml]\n");
        let path = format!("deploy/{cluster}/kustomization.yaml");
        project.write(&path, resources);
    }
    let dataplane = |path: &str| project.run(&["predict", "--explain", path]).exits(0).stdout;
    assert!(dataplane("deploy/eu").contains("dataplane   sidecar (known)"));
    let of_us = dataplane("deploy/us");
    assert!(of_us.contains("dataplane   none (known)"), "{of_us}");
}

#[test]
fn a_deployed_folder_is_in_its_environment_wherever_it_is_deployed_from() {
    let mesh = |mode: &str| format!("{INJECTED}---\n{}", STRICT.replace("STRICT", mode));
    let project = deployed_from_outside(&mesh("STRICT"), &mesh("PERMISSIVE"));
    let severities = |path: &str| -> Vec<String> {
        let run = project.run(&["check", "--fail-on=never", "--output-format=json", path]);
        let found = findings(&run);
        let strict = found
            .iter()
            .filter(|finding| finding["rule"] == "strict-probe-not-rewritten");
        strict
            .map(|finding| finding["severity"].to_string())
            .collect()
    };
    assert_eq!(severities("."), [r#""error""#]);
    assert_eq!(severities("clusters/eu"), [r#""error""#]);
    assert_eq!(severities("clusters/us"), [""; 0]);
    assert_eq!(severities("flux/us.yaml"), [""; 0]);
}

/// The AuthorizationPolicies, Services and Sidecars of a deployed folder are those of its environment.
#[test]
fn a_deployed_folder_has_the_policies_and_services_of_its_environment() {
    let explained = |project: &Project, path: &str| {
        let run = project.run(&["predict", "--explain", path]).exits(0);
        run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let deny = Manifest::authorization_policy("deny", "action: DENY, rules: [{}]").within("shop");
    let denies = format!("{INJECTED}---\n{deny}");
    let project = deployed_from_outside(&denies, INJECTED);
    assert!(explained(&project, "flux/eu.yaml").contains("outcome fails"));
    let of_us = explained(&project, "flux/us.yaml");
    assert!(of_us.contains("outcome ok"), "{of_us}");

    let root = deny.within("istio-system");
    let project = deployed_from_outside(&format!("{INJECTED}---\n{root}"), INJECTED);
    assert!(explained(&project, "flux/eu.yaml").contains("outcome fails"));
    let of_us = explained(&project, "flux/us.yaml");
    assert!(of_us.contains("outcome ok"), "{of_us}");

    let service = |protocol: &str| {
        let port = format!("port: 80, targetPort: 8080, appProtocol: {protocol}");
        let service = Manifest::service(
            "web",
            &format!("selector: {{app: web}}, ports: [{{{port}}}]"),
        );
        format!("{INJECTED}---\n{}", service.within("shop"))
    };
    let project = deployed_from_outside(&service("http"), &service("http2"));
    let pod = NOT_REWRITTEN.replace("namespace: shop", "namespace: shop\n  labels: {app: web}");
    project.write("base/web.yaml", pod);
    assert!(explained(&project, "flux/eu.yaml").contains("outcome ok"));
    let of_us = explained(&project, "flux/us.yaml");
    assert!(of_us.contains("outcome fails"), "{of_us}");

    // A Sidecar is evidence of the mesh in its environment only.
    let sidecar = Manifest::new("networking.istio.io/v1", "Sidecar", "default").within("shop");
    let other = Manifest::service("other", "ports: [{port: 80}]")
        .within("shop")
        .to_string();
    let with_sidecar = format!("{other}---\n{sidecar}");
    let project = deployed_from_outside(&with_sidecar, &other);
    project.write("base/web.yaml", PROBED);
    let of_eu = explained(&project, "flux/eu.yaml");
    assert!(of_eu.contains("dataplane sidecar (assumed)"), "{of_eu}");
    let of_us = explained(&project, "flux/us.yaml");
    assert!(!of_us.contains("dataplane sidecar"), "{of_us}");
}
