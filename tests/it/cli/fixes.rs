//! Fixes and rewrites, previewed and written.

use std::fs;

use crate::support::project::Project;

pub(crate) const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {istio-injection: enabled}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec:
  mtls: {mode: STRICT}
";

/// A probe that the mesh rewrites.
pub(crate) const WEB: &str = "\
# Web shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web   # the front
  namespace: shop
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: \"registry.example/web:1\"
          readinessProbe:
            # deep check
            httpGet: {path: /healthz, port: 8080}
";

/// A probe that fails under STRICT, because the rewrite is switched off.
pub(crate) fn opted_out() -> String {
    WEB.replace(
        "      labels: {app: web}\n    spec",
        "      labels: {app: web}\n      annotations:\n        # why?\n        sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n        keep: me\n    spec",
    )
}

fn project(web: &str) -> Project {
    Project::with(&[("infra/ns.yaml", NAMESPACE), ("apps/web.yaml", web)])
}

#[test]
fn a_run_without_fixes_changes_nothing() {
    let project = project(WEB);
    project
        .run(&["check", "--fix"])
        .exits(0)
        .stdout_contains("No findings");
    project
        .run(&["check", "--diff"])
        .exits(0)
        .stderr_contains("Nothing to fix");
    assert_eq!(project.read("apps/web.yaml"), WEB);
    let run = project
        .pipe(&["check", "--fix", "-"], WEB)
        .exits(0)
        .stderr_contains("No findings");
    assert_eq!(run.stdout, WEB);
}

#[test]
fn a_finding_shows_the_probe_and_the_deciding_lines() {
    let project = project(&opted_out());
    insta::assert_snapshot!(project.run(&["check"]).exits(1).transcript());
    let run = project.run(&[
        "check",
        "apps/web.yaml",
        "--context",
        "infra",
        "--output-format",
        "json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&run.exits(1).stdout).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(finding["rule"], "strict-probe-not-rewritten");
    let related: Vec<_> = finding["related"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| place["path"].as_str().unwrap())
        .collect();
    assert!(related.contains(&"infra/ns.yaml"), "{related:?}");
    let edit = &finding["fix"]["edits"][0];
    let offset = |name: &str| usize::try_from(edit[name].as_u64().unwrap()).unwrap();
    let text = opted_out();
    assert_eq!(text.get(offset("start")..offset("end")), Some("'false'"));
    assert_eq!(edit["text"], "'true'");
    assert_eq!(report["summary"]["handlers"], 1);
}

#[test]
fn fixes_are_previewed_then_applied_and_leave_no_findings() {
    let project = project(&opted_out());
    let shown = project.run(&["check", "--diff"]).exits(1);
    insta::assert_snapshot!(shown.transcript());
    assert_eq!(project.read("apps/web.yaml"), opted_out());
    project
        .run(&["check", "--fix"])
        .exits(0)
        .stdout_contains("Fixed 1 finding.");
    let fixed = project.read("apps/web.yaml");
    assert!(
        fixed.contains("        # why?\n        sidecar.istio.io/rewriteAppHTTPProbers: 'true'\n")
    );
    assert!(fixed.contains("        keep: me\n"));
    project
        .run(&["check", "--fix"])
        .exits(0)
        .stdout_contains("No findings");
    assert_eq!(project.read("apps/web.yaml"), fixed);
}

#[test]
fn fixes_of_standard_input_are_written_to_standard_output() {
    let project = Project::new();
    let input = format!("{NAMESPACE}---\n{}", opted_out());
    let run = project
        .pipe(&["check", "--fix", "-"], &input)
        .exits(0)
        .stderr_contains("Fixed 1 finding.");
    assert!(run.stdout.starts_with(NAMESPACE) && run.stdout.contains("Probers: 'true'"));
}

#[test]
fn a_rewrite_is_previewed_then_written_and_the_second_changes_nothing() {
    let project = project(WEB);
    insta::assert_snapshot!(
        project
            .run(&["rewrite", "--diff", "."])
            .exits(1)
            .transcript()
    );
    project
        .run(&["rewrite", "--write", "."])
        .exits(0)
        .stderr_contains("1 of 1 workload rewritten. Changed 1 file");
    let rewritten = project.read("apps/web.yaml");
    assert_ne!(rewritten, WEB);
    assert_eq!(project.read("infra/ns.yaml"), NAMESPACE);
    project
        .run(&["rewrite", "--write", "."])
        .exits(0)
        .stderr_contains("Nothing to rewrite (1 workload).");
    assert_eq!(project.run(&["rewrite", "--diff", "."]).exits(0).stdout, "");
    assert_eq!(project.read("apps/web.yaml"), rewritten);
    project
        .run(&["check"])
        .exits(0)
        .stdout_contains("No findings");
    project.run(&["predict"]).exits(0).stdout_contains("ok");
}

#[test]
fn one_file_is_written_to_standard_output() {
    let project = project(WEB);
    let run = project
        .run(&["rewrite", "apps/web.yaml", "--context", "infra"])
        .exits(0);
    assert!(run.stdout.contains("/app-health/web/readyz"));
    assert_eq!(project.read("apps/web.yaml"), WEB);
    let input = format!("{NAMESPACE}---\n{WEB}");
    let piped = project.pipe(&["rewrite", "-"], &input).exits(0);
    assert_eq!(piped.stdout, format!("{NAMESPACE}---\n{}", run.stdout));
    assert_eq!(
        project
            .pipe(&["rewrite", "--write", "-"], &input)
            .exits(0)
            .stdout,
        piped.stdout
    );
}

#[test]
fn a_file_is_never_printed_in_part() {
    let project = Project::new();
    let input = b"apiVersion: v1\nkind: Pod\nx: \xff\n";
    for command in [
        &["rewrite", "-"][..],
        &["rewrite", "--write", "-"],
        &["check", "--fix", "-"],
    ] {
        let run = project
            .pipe(command, input)
            .exits(2)
            .stderr_contains("not-utf8");
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn line_endings_byte_order_marks_and_a_missing_final_line_break_are_kept() {
    let crlf = format!("\u{feff}{}", WEB.trim_end().replace('\n', "\r\n"));
    let project = project(&crlf);
    project.run(&["rewrite", "--write", "."]).exits(0);
    let rewritten = project.read("apps/web.yaml");
    assert!(rewritten.starts_with('\u{feff}') && rewritten.contains("app-health"));
    assert_eq!(
        rewritten.matches('\n').count(),
        rewritten.matches("\r\n").count()
    );
    assert!(!rewritten.ends_with('\n'));
}

#[test]
fn an_invalid_document_in_the_same_file_is_kept_unchanged() {
    let both = format!("{WEB}---\napiVersion: v1\nkind: Pod\nx: [\n");
    let project = project(&both);
    project
        .run(&["rewrite", "--write", "."])
        .exits(1)
        .stderr_contains("error[syntax-error]");
    let rewritten = project.read("apps/web.yaml");
    assert!(rewritten.contains("app-health") && rewritten.ends_with("kind: Pod\nx: [\n"));
}

#[cfg(unix)]
#[test]
fn a_read_only_file_is_not_changed_and_the_others_are_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = project(WEB);
    project.write("apps/locked.yaml", WEB.replace("name: web ", "name: two "));
    let locked = project.path("apps/locked.yaml");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).unwrap();
    let run = project.run(&["rewrite", "--write", "."]).exits(2);
    run.stderr_contains("error: cannot write `apps/locked.yaml`: it is read-only")
        .stderr_contains("1 of 2 workloads rewritten, 1 not written. Changed 1 of 2 files.");
    assert!(project.read("apps/web.yaml").contains("app-health"));
    assert!(!project.read("apps/locked.yaml").contains("app-health"));
    assert_eq!(fs::read_dir(project.path("apps")).unwrap().count(), 2);
}

#[test]
fn patches_and_encrypted_documents_are_never_edited() {
    let project = project(WEB);
    project.write(
        "apps/kustomization.yaml",
        "resources: []\npatches: [{path: web.yaml}]\n",
    );
    project.write(
        "secret/web.yaml",
        format!(
            "{}sops: {{mac: x}}\n",
            WEB.replace("name: web ", "name: two ")
        ),
    );
    let before = (
        project.read("apps/web.yaml"),
        project.read("secret/web.yaml"),
    );
    project.run(&["rewrite", "--write", "."]);
    project.run(&["rewrite", "--write", "apps/web.yaml", "--context", "infra"]);
    assert_eq!(
        (
            project.read("apps/web.yaml"),
            project.read("secret/web.yaml")
        ),
        before
    );
}

#[test]
fn guards_that_cannot_be_overridden_are_rejected_in_allow() {
    let project = project(WEB);
    project
        .run(&["rewrite", "--diff", "--allow", "knative", "."])
        .exits(1);
    project
        .run(&["rewrite", "--diff", "--allow", "sops", "."])
        .exits(2)
        .stderr_contains("knative");
}

#[test]
fn predict_explains_every_fact() {
    let project = project(&opted_out());
    insta::assert_snapshot!(project.run(&["predict", "--explain"]).exits(0).transcript());
}

#[test]
fn predict_shows_the_outcome_of_each_probe() {
    let project = project(&opted_out());
    project.write("apps/api.yaml", WEB.replace("name: web", "name: api"));
    insta::assert_snapshot!(project.run(&["predict"]).exits(0).transcript());
    let run = project.run(&[
        "predict",
        "--output-format",
        "json",
        "apps",
        "--context",
        "infra",
    ]);
    let report: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
    let workloads = report["workloads"].as_array().unwrap();
    let outcomes: Vec<_> = workloads
        .iter()
        .map(|workload| &workload["handlers"][0]["outcome"])
        .collect();
    assert_eq!(outcomes, ["ok", "fails"]);
}

#[test]
fn a_self_referencing_alias_does_not_block_the_run() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: &a\n  template: *a\n  items: [*a]\n";
    let project = Project::with(&[("a.yaml", text)]);
    project.run(&["check"]);
    project.run(&["predict"]);
    let run = project.run(&["rewrite", "a.yaml"]);
    assert_eq!(run.stdout, text);
}
