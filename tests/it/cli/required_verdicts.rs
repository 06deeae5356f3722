//! Runs that judge nothing, or not everything, and the options that make them fail.

use super::fixes::WEB;
use crate::support::manifest::INJECTED;
use crate::support::project::Project;

const POLICY: &str = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: strict, namespace: shop}
spec: {mtls: {mode: STRICT}}
";

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec: {chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: main}}}}
";

/// A pod that another tool puts into a mesh or not.
const FILLED_IN: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {sidecar.istio.io/inject: '${INJECT}'}}
spec: {containers: [{name: web, readinessProbe: {httpGet: {path: /, port: 8080}}}]}
";

const CONFIG: &str = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n";

const NOTHING_READ: &str = "error: no manifest found";

#[test]
fn a_run_that_reads_no_file_is_an_error() {
    let project = Project::new();
    std::fs::create_dir(project.path("empty")).unwrap();
    project.write("docs/page.md", "text");
    for path in [".", "empty", "docs"] {
        for command in [
            &["check"][..],
            &["check", "--fail-on", "never", "--quiet"],
            &["check", "--fix"],
            &["check", "--output-format", "json"],
            &["predict"],
            &["rewrite", "--diff"],
            &["rewrite", "--vm"],
            &[
                "explain",
                "Readiness probe failed: HTTP probe failed with statuscode: 500",
            ],
        ] {
            let run = project.run(&[command, &[path]].concat()).exits(2);
            let run = run
                .stderr_contains(NOTHING_READ)
                .stderr_contains("help: pass the files");
            assert_eq!(run.stdout, "", "{command:?}");
        }
    }
    let run = project.run(&["diff", "empty", "docs"]).exits(2);
    run.stderr_contains("error: neither state contains a manifest");
}

/// A pre-commit hook names the changed files, which may all be excluded.
#[test]
fn files_that_a_hook_names_may_all_be_excluded() {
    let project = Project::with(&[("web.yaml", WEB)]);
    let hook = [
        "check",
        "--force-exclude",
        "--exclude",
        "*.yaml",
        "--",
        "web.yaml",
    ];
    project
        .run(&hook)
        .exits(0)
        .stdout_contains("Nothing was judged");
}

#[test]
fn not_judged_makes_a_run_fail_that_does_not_judge_everything() {
    for (file, why) in [
        (RELEASE, "1 HelmRelease"),
        (FILLED_IN, "1 workload without a verdict"),
        (POLICY, "the files contain no workload that can be judged"),
    ] {
        let project = Project::with(&[("a.yaml", file)]);
        project.run(&["check"]).exits(0);
        project.run(&["check", "--fail-on", "never"]).exits(0);
        for level in ["not-judged", "never,not-judged", "not-judged,error"] {
            let run = project.run(&["check", "--fail-on", level]).exits(1);
            run.stderr_contains("`not-judged` fails the run")
                .stderr_contains(why);
        }
        project.write(
            ".meshprobe.yaml",
            format!("{CONFIG}  failOn: [error, not-judged]\n"),
        );
        project.run(&["check"]).exits(1).stderr_contains(why);
        project.run(&["check", "--fail-on", "error"]).exits(0);
    }
    let project = Project::with(&[("ns.yaml", INJECTED), ("web.yaml", WEB)]);
    project.run(&["check", "--fail-on", "not-judged"]).exits(0);
}

#[test]
fn not_judged_is_added_to_the_severity() {
    let warning = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {sidecar.istio.io/rewriteAppHTTPProbers: yes}}\nspec: {containers: [{name: web}]}\n";
    let project = Project::with(&[("web.yaml", warning)]);
    let codes = |project: &Project, levels: &[(&str, i32)]| {
        for (level, code) in levels {
            let run = project.run(&["check", "--fail-on", level]);
            run.exits(*code);
        }
    };
    let json = project.run(&["check", "--output-format", "json"]);
    let is_failing = i32::from(
        json.stdout.contains("\"severity\": \"warning\"")
            || json.stdout.contains("\"severity\": \"error\""),
    );
    assert_eq!(is_failing, 1, "{}", json.stdout);
    codes(
        &project,
        &[
            ("not-judged", 1),
            ("warning,not-judged", 1),
            ("never,not-judged", 0),
            ("never,note", 1),
        ],
    );
    // Alone, it does not replace the severity of the configuration.
    project.write(".meshprobe.yaml", format!("{CONFIG}  failOn: never\n"));
    codes(&project, &[("not-judged", 0)]);
    for (wrong, message) in [
        ("[]", "`failOn`: must not be empty"),
        ("[error, nope]", "unknown level `nope`"),
        ("error,not-judged", "unknown level `error,not-judged`"),
    ] {
        project.write(".meshprobe.yaml", format!("{CONFIG}  failOn: {wrong}\n"));
        project.run(&["check"]).exits(2).stderr_contains(message);
    }
}

#[test]
fn reports_name_the_missing_verdicts() {
    let project = Project::with(&[
        ("a.yaml", RELEASE),
        ("ns.yaml", INJECTED),
        ("web.yaml", WEB),
    ]);
    let run = |format: &str| {
        let options = [
            "check",
            "--fail-on",
            "not-judged",
            "--output-format",
            format,
        ];
        project.run(&options).exits(1)
    };
    run("github").stdout_contains(
        "::error title=meshprobe::not everything is judged, and `not-judged` fails the run: 1 HelmRelease\n",
    );
    run("junit")
        .stdout_contains("failures=\"1\"")
        .stdout_contains("<failure message=\"a.yaml:3: HelmRelease/web");
    let project = Project::with(&[("a.yaml", POLICY)]);
    let required = ["check", "--require-workloads", "--output-format", "github"];
    project
        .run(&required)
        .exits(1)
        .stdout_contains("::error title=meshprobe::the files contain no workload");
}

#[test]
fn a_function_fails_on_missing_verdicts() {
    let list = |items: &str, level: &str| {
        format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {items}\nfunctionConfig:\n  apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  metadata: {{name: m}}\n  spec: {{actions: [check], failOn: {level}}}\n"
        )
    };
    let release = "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web}, spec: {chart: {spec: {chart: web}}}}";
    let project = Project::new();
    project.pipe(&["krm"], list(release, "error")).exits(0);
    let run = project
        .pipe(&["krm"], list(release, "[error, not-judged]"))
        .exits(1);
    run.stderr_contains(
        "meshprobe: not everything is judged, and `not-judged` fails the run: 1 HelmRelease",
    )
    .stdout_contains("message: \"not everything is judged");
}

/// A hook that gets only a policy of a commit passes, and names the hook that judges the workloads.
#[test]
fn files_that_only_state_facts_lead_to_diff() {
    for file in [
        POLICY,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80, name: http}]}\n",
    ] {
        let project = Project::with(&[("a.yaml", file), ("web.yaml", WEB)]);
        let run = project.run(&["check", "--", "a.yaml"]).exits(0);
        run.stdout_contains("The files contain facts about other workloads, such as ")
            .stdout_contains("`meshprobe diff`")
            .stdout_contains("hook `meshprobe-diff`");
    }
    let project = Project::with(&[(
        "a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    )]);
    let run = project.run(&["check"]).exits(0);
    assert!(!run.stdout.contains("meshprobe diff"), "{}", run.stdout);
}
