//! The configuration file, and the options that override it.

use crate::support::predictions::{texts, workloads};
use crate::support::project::Project;

const BAD: &str = "apiVersion: v1\nkind: Pod\nx: [\n";

fn config(spec: &str) -> String {
    format!(
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: x}}\nspec:\n{spec}"
    )
}

#[test]
fn the_nearest_configuration_in_the_parent_folders_applies() {
    let project = Project::with(&[
        (
            ".meshprobe.yaml",
            &config("  rules: {syntax-error: note}\n"),
        ),
        ("a/b/bad.yaml", BAD),
    ]);
    project
        .run_in("a/b", &["check"], "")
        .exits(0)
        .stdout_contains("note[syntax-error]");
    project.run_in("a/b", &["check", "--isolated"], "").exits(1);
    project.write(
        "a/.meshprobe.yaml",
        config("  rules: {syntax-error: ignore}\n"),
    );
    project
        .run_in("a/b", &["check"], "")
        .exits(0)
        .stdout_contains("Nothing was judged");
    project
        .run_in("a/b", &["check", "--config", "../../.meshprobe.yaml"], "")
        .stdout_contains("note[syntax-error]");
}

#[test]
fn the_search_for_the_configuration_ends_at_the_root_of_the_repository() {
    let project = Project::with(&[
        (
            ".meshprobe.yaml",
            &config("  rules: {syntax-error: ignore}\n"),
        ),
        ("inner/bad.yaml", BAD),
        ("inner/.git/HEAD", ""),
    ]);
    project.run_in("inner", &["check"], "").exits(1);
}

#[test]
fn options_override_the_configuration() {
    let project = Project::with(&[
        (".meshprobe.yaml", &config("  failOn: never\n")),
        ("bad.yaml", BAD),
    ]);
    project.run(&["check"]).exits(0);
    project.run(&["check", "--fail-on", "error"]).exits(1);
}

#[test]
fn mistakes_in_the_file_have_their_place() {
    let project = Project::with(&[(".meshprobe.yaml", "")]);
    for (settings, error) in [
        (
            "  mesh: {versoin: '1.28'}\n",
            "5:10: unknown key `versoin`; did you mean `version`?",
        ),
        (
            "  ignore: {}\n",
            "5:11: `ignore`: invalid type: map, expected a sequence",
        ),
        (
            "  rules:\n    sintax-error: ignore\n",
            "6:5: unknown rule `sintax-error`; did you mean `syntax-error`?",
        ),
    ] {
        project.write(".meshprobe.yaml", config(settings));
        let run = project.run(&["check"]).exits(2);
        assert_eq!(run.stderr, format!("error: .meshprobe.yaml:{error}\n"));
    }
    project.write(
        ".meshprobe.yaml",
        config("  failOn: error\n  rules: {syntax-error: note, syntax-error: ignore}\n  failOn: note\n"),
    );
    let run = project.run(&["check"]).exits(2);
    insta::assert_snapshot!(run.stderr, @r"
    error: .meshprobe.yaml:6:11: duplicate key `syntax-error`: first occurrence
    error: .meshprobe.yaml:6:31: duplicate key `syntax-error`
    error: .meshprobe.yaml:5:3: duplicate key `failOn`: first occurrence
    error: .meshprobe.yaml:7:3: duplicate key `failOn`
    ");
    project.write(".meshprobe.yaml", "a: [\n");
    project
        .run(&["check"])
        .exits(2)
        .stderr_contains(".meshprobe.yaml:1:4: unclosed bracket");
    project
        .run(&["check", "--config", "nowhere"])
        .exits(2)
        .stderr_contains("cannot read `nowhere`");
    project
        .run(&["check", "--config", "x", "--isolated"])
        .exits(2);
}

#[test]
fn context_in_the_configuration_is_relative_to_the_file() {
    let project = Project::with(&[
        (".meshprobe.yaml", &config("  context: [infra]\n")),
        (
            "apps/a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
        ),
        (
            "infra/b.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n",
        ),
    ]);
    let run = project
        .run_in("apps", &["check", "-v", "--no-context"], "")
        .exits(0)
        .stdout_contains("in 1 file");
    assert_eq!(
        run.stderr_without_times(),
        "../infra/b.yaml: Kubernetes (context)\na.yaml: Kubernetes\n"
    );
}

#[test]
fn keys_and_values_of_facts_are_validated() {
    let project = Project::new();
    for (option, value, message) in [
        (
            "--assume",
            "injektion=all",
            "unknown key `injektion`; did you mean `injection`?",
        ),
        (
            "--override",
            "mtls=STRIKT",
            "unknown value of `mtls` `STRIKT`; did you mean `STRICT`?",
        ),
        (
            "--mesh-version",
            "new",
            "`new` is not a version such as 1.28",
        ),
    ] {
        project
            .run(&["check", option, value])
            .exits(2)
            .stderr_contains(&format!("invalid value '{value}' for '{option} <"))
            .stderr_contains(message);
    }
}

const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {sidecar.istio.io/inject: 'true'}
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}
spec:
  containers:
  - name: web
    readinessProbe: {httpGet: {path: /, port: 8080}}
";

/// Returns `path mtls outcome` of all workloads.
fn outcomes(project: &Project, directory: &str, arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["predict", "--output-format", "json"];
    all.extend(arguments);
    let run = project.run_in(directory, &all, "").exits(0);
    let fields = ["/path", "/handlers/0/mtls", "/handlers/0/outcome"];
    workloads(&run)
        .into_iter()
        .map(|workload| texts(&workload, &fields))
        .collect()
}

#[test]
fn scopes_apply_only_to_their_files() {
    let project = Project::with(&[
        (
            ".meshprobe.yaml",
            &config("  scopes: [{paths: [\"clusters/prod/**\"], assume: {mtls: STRICT}}]\n"),
        ),
        ("clusters/prod/web.yaml", WEB),
        ("clusters/stage/web.yaml", WEB),
    ]);
    assert_eq!(
        outcomes(&project, "", &[]),
        [
            "clusters/prod/web.yaml STRICT fails",
            "clusters/stage/web.yaml PERMISSIVE ok"
        ]
    );
    // The globs are relative to the file, not to the working directory.
    let strict = ["web.yaml STRICT fails", "../stage/web.yaml PERMISSIVE ok"];
    let mut found = outcomes(&project, "clusters/prod", &["web.yaml", "../stage"]);
    found.sort_by_key(|line| line.starts_with(".."));
    assert_eq!(found, strict);
    // The command line overrides every line of the file.
    let overridden = outcomes(&project, "clusters", &["--assume", "mtls=DISABLE", "prod"]);
    assert_eq!(overridden, ["prod/web.yaml DISABLE ok"]);
}

#[test]
fn later_scopes_override_earlier_scopes_and_the_global_facts() {
    let project = Project::with(&[
        (
            ".meshprobe.yaml",
            &config(
                "  assume: {mtls: STRICT}\n  scopes:\n  - {paths: [clusters], assume: {mtls: DISABLE}}\n  - {paths: [nowhere, clusters/*/a/], override: {mtls: STRICT}}\n  - {paths: ['**/b/*'], assume: {mtls: PERMISSIVE}}\n",
            ),
        ),
        ("clusters/prod/a/web.yaml", WEB),
        ("clusters/prod/b/web.yaml", WEB),
        ("clusters/prod/web.yaml", WEB),
        ("web.yaml", WEB),
    ]);
    assert_eq!(
        outcomes(&project, "", &[]),
        [
            "clusters/prod/a/web.yaml STRICT fails",
            "clusters/prod/b/web.yaml PERMISSIVE ok",
            "clusters/prod/web.yaml DISABLE ok",
            "web.yaml STRICT fails"
        ]
    );
}

#[test]
fn an_overlay_belongs_to_the_scope_of_its_folder() {
    let kustomization = "resources: [../../base]\n";
    let project = Project::with(&[
        (
            ".meshprobe.yaml",
            &config("  scopes: [{paths: [envs/prod], assume: {mtls: STRICT}}]\n"),
        ),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", WEB),
        ("envs/prod/kustomization.yaml", kustomization),
        ("envs/stage/kustomization.yaml", kustomization),
    ]);
    let mut found = outcomes(&project, "", &[]);
    found.sort();
    assert_eq!(
        found,
        ["base/web.yaml PERMISSIVE ok", "base/web.yaml STRICT fails"]
    );
}

#[test]
fn mistakes_in_scopes_have_their_place() {
    let project = Project::with(&[(".meshprobe.yaml", "")]);
    for (scope, error) in [
        (
            "{paths: [\"a/[\"]}",
            "6:14: `scopes[0].paths[0]`: `a/[` is not a valid glob: unclosed character class; missing ']'",
        ),
        (
            "{paths: [a, ../b]}",
            "6:17: `scopes[0].paths[1]`: `../b` is not a path below the folder of the configuration file",
        ),
        (
            "{paths: [a], assume: {mtsl: STRICT}}",
            "6:27: unknown key `mtsl`; did you mean `mtls`?",
        ),
        (
            "{path: [a]}",
            "6:6: unknown key `path`; did you mean `paths`?",
        ),
        ("{rules: {}}", "6:5: `scopes[0]`: missing field `paths`"),
    ] {
        project.write(
            ".meshprobe.yaml",
            config(&format!("  scopes:\n  - {scope}\n")),
        );
        let run = project.run(&["check"]).exits(2);
        assert_eq!(run.stderr, format!("error: .meshprobe.yaml:{error}\n"));
    }
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec:\n    scopes: [{paths: [a], assume: {mtls: STRICT}}]\nitems: []\n";
    project
        .pipe(&["krm"], list)
        .stderr_contains("7:5: functionConfig: `scopes` is only allowed in the configuration file");
}
