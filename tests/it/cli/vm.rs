//! Files for virtual machines: `rewrite --vm`.

use crate::support::project::Project;

const GROUP: &str = "\
apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: reviews, namespace: bookinfo}
spec:
  template: {serviceAccount: reviews}
  probe:
    failureThreshold: 3
    httpGet: {path: /healthz, port: 8080}
";

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    metadata:
      labels: {app: web, version: \"on\"}
    spec:
      serviceAccountName: web
      containers:
        - name: web
          image: registry.example/web:1
          ports:
            - {name: http, containerPort: 8080}
            - {name: admin, containerPort: 9090}
          livenessProbe:
            httpGet: {path: /livez, port: admin}
          readinessProbe:
            timeoutSeconds: 3
            httpGet:
              path: /readyz
              port: admin
              httpHeaders:
                - {name: X-Probe, value: \"1\"}
";

fn group_named(name: &str) -> String {
    GROUP.replace("name: reviews", &format!("name: {name}"))
}

#[test]
fn the_file_of_one_group_is_written_to_standard_output_or_to_a_folder() {
    let project = Project::with(&[("group.yaml", GROUP)]);
    let text = "defaultConfig:\n  readinessProbe:\n    failureThreshold: 3\n    httpGet:\n      \
                path: /healthz\n      port: 8080\n";
    let run = project.run(&["rewrite", "--vm", "-q"]).exits(0);
    assert_eq!(run.stdout, text);
    project
        .run(&["rewrite", "--vm", "group.yaml", "-o", "out"])
        .exits(0)
        .stderr_contains("Wrote 1 file to out.");
    assert_eq!(project.read("out/mesh.yaml"), text);
    // Writes over the existing file.
    project
        .run(&["rewrite", "--vm", "group.yaml", "-o", "out"])
        .exits(0);
    assert_eq!(project.read("out/mesh.yaml"), text);
}

#[test]
fn several_groups_need_a_folder() {
    let both = format!("{GROUP}---\n{}", group_named("ratings"));
    let project = Project::with(&[("groups.yaml", &both)]);
    project
        .run(&["rewrite", "--vm"])
        .exits(2)
        .stderr_contains("cannot print 2 mesh.yaml files to standard output; expected one");
    project.run(&["rewrite", "--vm", "-o", "out"]).exits(0);
    for name in ["ratings", "reviews"] {
        let text = project.read(&format!("out/bookinfo/{name}/mesh.yaml"));
        assert!(text.contains("path: /healthz"), "{text}");
    }
}

#[test]
fn two_groups_with_one_name_do_not_overwrite_each_other() {
    let other = GROUP.replace("8080", "9090");
    let project = Project::with(&[("a.yaml", GROUP), ("b.yaml", &other)]);
    project
        .run(&["rewrite", "--vm", "-o", "out"])
        .exits(2)
        .stderr_contains("two files have the path");
    assert!(!project.path("out").exists());
}

#[test]
fn names_of_groups_cannot_lead_out_of_the_output_folder() {
    let both = format!("{}---\n{}", group_named("../../evil"), group_named(".."));
    let project = Project::with(&[("groups.yaml", &both)]);
    project
        .run(&["rewrite", "--vm", "groups.yaml", "-o", "deep/out"])
        .exits(0);
    assert!(
        project
            .path("deep/out/bookinfo/.._.._evil/mesh.yaml")
            .exists()
    );
    assert!(project.path("deep/out/bookinfo/_/mesh.yaml").exists());
}

#[test]
fn no_file_is_written_for_context() {
    let project = Project::with(&[
        ("group.yaml", GROUP),
        ("ctx/other.yaml", &group_named("ratings")),
    ]);
    let run = project
        .run(&["rewrite", "--vm", "-q", "--context", "ctx", "group.yaml"])
        .exits(0);
    assert!(run.stdout.contains("/healthz"));
    project
        .run(&[
            "rewrite",
            "--vm",
            "--context",
            "group.yaml",
            "ctx/none.yaml",
        ])
        .exits(2);
}

#[test]
fn placeholders_and_a_missing_group_are_reported() {
    let open = GROUP.replace("8080", "\"${PORT}\"");
    let project = Project::with(&[("group.yaml", &open), ("none/web.yaml", DEPLOYMENT)]);
    project
        .run(&["rewrite", "--vm", "group.yaml"])
        .exits(1)
        .stderr_contains("error[placeholder]: nothing is written for WorkloadGroup `reviews`");
    project
        .run(&["rewrite", "--vm", "none"])
        .exits(0)
        .stderr_contains("Nothing written: found no WorkloadGroup for mesh.yaml.");
}

/// If several mesh configurations differ, none is assumed.
#[test]
fn the_nearest_mesh_configuration_applies() {
    let mesh = |address: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: istio, namespace: istio-system}}\n\
             data:\n  mesh: |\n    defaultConfig:\n      discoveryAddress: {address}\n"
        )
    };
    let project = Project::with(&[
        ("a/group.yaml", GROUP),
        ("a/mesh.yaml", &mesh("a:15012")),
        ("b/group.yaml", &group_named("ratings")),
        ("c/mesh.yaml", &mesh("c:15012")),
        ("d/mesh.yaml", &mesh("d:15012")),
    ]);
    project
        .run(&["rewrite", "--vm", "-o", "out"])
        .exits(0)
        .stderr_contains("mesh.yaml for WorkloadGroup `ratings` contains only its readinessProbe");
    let near = project.read("out/bookinfo/reviews/mesh.yaml");
    assert!(near.contains("discoveryAddress: a:15012"), "{near}");
    let open = project.read("out/bookinfo/ratings/mesh.yaml");
    assert!(!open.contains("discoveryAddress"), "{open}");
}

#[test]
fn options_for_manifests_cannot_be_used_for_virtual_machines() {
    let project = Project::with(&[("group.yaml", GROUP)]);
    for other in ["--write", "--diff", "--undo", "--form=container"] {
        project
            .run(&["rewrite", "--vm", other])
            .exits(2)
            .stderr_contains("cannot be used with");
    }
}

#[test]
fn a_self_referencing_probe_is_refused() {
    let probe = "  probe: &probe\n    failureThreshold: 3\n    httpGet: *probe\n";
    let (head, _) = GROUP.split_once("  probe:").unwrap();
    let project = Project::with(&[("group.yaml", &format!("{head}{probe}"))]);
    project
        .run(&["check"])
        .exits(1)
        .stdout_contains("error[vm-port]");
    project
        .run(&["rewrite", "--vm"])
        .exits(1)
        .stderr_contains("error[vm-probe-refused]");
}
