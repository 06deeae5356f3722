//! Findings that the user suppresses, and baselines.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fixes::{NAMESPACE, opted_out};
use crate::support::Run;
use crate::support::project::Project;

const RULE: &str = "strict-probe-not-rewritten";
const PROBE: &str = "          readinessProbe:\n";

/// The Deployment of the shop with a line above its probe.
fn above(line: &str) -> String {
    opted_out().replace(PROBE, &format!("          {line}\n{PROBE}"))
}

/// The Deployment of the shop with the given annotation.
fn annotated(annotation: &str) -> String {
    opted_out().replace(
        "  namespace: shop\nspec",
        &format!("  namespace: shop\n  annotations:\n    meshprobe.dev/ignore: {annotation}\nspec"),
    )
}

fn project(web: &str) -> Project {
    Project::with(&[("infra/ns.yaml", NAMESPACE), ("apps/web.yaml", web)])
}

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap()
}

/// Returns the reported rules with their severities, and the suppressed rules with source, reason and location.
fn judged(project: &Project, arguments: &[&str]) -> String {
    let mut all = vec!["check", "--output-format", "json"];
    all.extend(arguments);
    let run = project.run(&all);
    let report = report(&run);
    let mut lines = vec![format!("exit {}", run.code)];
    for finding in report["findings"].as_array().unwrap() {
        let suppressed = &finding["suppressed"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let place = format!("{}:{}", text(&finding["path"]), finding["line"]);
        lines.push(if suppressed.is_null() {
            format!(
                "{place} {}[{}]",
                text(&finding["severity"]),
                text(&finding["rule"])
            )
        } else {
            format!(
                "{place} [{}] suppressed by {} at {}:{}: {}",
                text(&finding["rule"]),
                text(&suppressed["by"]),
                text(&suppressed["path"]),
                suppressed["line"],
                text(&suppressed["reason"]),
            )
        });
    }
    lines.push(format!("suppressed {}", report["summary"]["suppressed"]));
    lines.join("\n")
}

#[test]
fn a_comment_above_or_after_a_line_suppresses() {
    let comment = format!("# meshprobe: ignore[{RULE}] known, ticket 7");
    insta::assert_snapshot!(judged(&project(&above(&comment)), &[]));
    let behind = opted_out().replace(PROBE, &format!("          readinessProbe:  {comment}\n"));
    insta::assert_snapshot!(judged(&project(&behind), &[]));
    // Other comments are allowed between the suppression and the probe.
    let stacked = above(&format!("{comment}\n          # deep"));
    assert!(judged(&project(&stacked), &[]).contains("suppressed by comment"));
    // The summary counts the suppressed finding.
    project(&above(&comment))
        .run(&["check"])
        .exits(0)
        .stdout_contains("No findings")
        .stdout_contains("1 finding suppressed");
}

#[test]
fn text_that_only_looks_like_a_comment_does_not_suppress() {
    let text = format!("# meshprobe: ignore[{RULE}] why");
    let quoted = opted_out().replace("keep: me", &format!("keep: '{text}'"));
    assert!(judged(&project(&quoted), &[]).contains(&format!("error[{RULE}]")));
    let scalar = above(&format!("command:\n            - |\n              {text}"));
    assert!(judged(&project(&scalar), &[]).contains(&format!("error[{RULE}]")));
    // A comment two lines above does not suppress either.
    let far = above(&format!("{text}\n          workingDir: /"));
    let lines = judged(&project(&far), &[]);
    assert!(lines.contains(&format!("error[{RULE}]")) && lines.contains("unused-suppression"));
}

#[test]
fn annotations_of_object_and_template_suppress() {
    let entry = annotated(&format!("'{RULE}: known'"));
    insta::assert_snapshot!(judged(&project(&entry), &[]));
    let several = annotated(&format!(
        "|\n      tcp-probe-always-passes: not here\n      {RULE}@web: known"
    ));
    insta::assert_snapshot!(judged(&project(&several), &[]));
    let other = annotated(&format!("'{RULE}@db: known'"));
    insta::assert_snapshot!(judged(&project(&other), &[]));
    let template = opted_out().replace(
        "keep: me",
        &format!("meshprobe.dev/ignore: '{RULE}: known'"),
    );
    assert!(judged(&project(&template), &[]).contains("suppressed by annotation"));
}

#[test]
fn items_of_lists_are_suppressed_separately() {
    let item = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<String> = lines.map(|line| format!("    {line}\n")).collect();
        lines.concat().replacen("    ", "  - ", 1)
    };
    let suppressed = item(&annotated(&format!("'{RULE}: known'")));
    let reported = item(&opted_out().replace("name: web", "name: api"));
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{suppressed}{reported}");
    insta::assert_snapshot!(judged(&project(&list), &[]));
}

#[test]
fn suppressions_of_a_base_apply_to_all_its_overlays() {
    let base = "resources: [web.yaml]\n";
    let overlay = "resources: [../../base]\n";
    let comment = above(&format!("# meshprobe: ignore[{RULE}] known"));
    let files = |web: &str| {
        Project::with(&[
            ("ns.yaml", NAMESPACE),
            ("base/kustomization.yaml", base),
            ("base/web.yaml", web),
            ("overlays/a/kustomization.yaml", overlay),
            ("overlays/b/kustomization.yaml", overlay),
        ])
    };
    insta::assert_snapshot!(judged(&files(&comment), &[]));
    let project = files(&opted_out());
    let patch = annotated(&format!("'{RULE}: only here'"));
    let patch = patch.split("spec:").next().unwrap();
    project.write("overlays/a/ignore.yaml", patch);
    let patched = format!("{overlay}patches: [{{path: ignore.yaml}}]\n");
    project.write("overlays/a/kustomization.yaml", &patched);
    // The finding is still reported in the other overlay.
    insta::assert_snapshot!(judged(&project, &[]));
    project.write("overlays/b/ignore.yaml", patch);
    project.write("overlays/b/kustomization.yaml", &patched);
    insta::assert_snapshot!(judged(&project, &[]));
}

#[test]
fn invalid_suppressions_are_reported() {
    let text = "\
# meshprobe: ignore[tcp-probe-always-passes] not any more
# meshprobe: ignore[strict-probe-not-rewriten] slip
# meshprobe: ignore[strict-probe-not-rewritten]
# meshprobe: ignroe[strict-probe-not-rewritten] slip
# meshprobe: ignore[knative] a guard";
    let text = text.replace('\n', "\n          ");
    let project = project(&above(&text));
    insta::assert_snapshot!(project.run(&["check"]).exits(1).transcript());
}

#[test]
fn unused_comments_are_deleted_and_nothing_else() {
    for end in ["\n", "\r\n"] {
        let good = opted_out().replace("sidecar.istio.io/rewriteAppHTTPProbers: 'false'", "a: b");
        let bad = good.replace(
            PROBE,
            &format!("          # meshprobe: ignore[{RULE}] old\n{PROBE}"),
        );
        let project = project(&bad.replace('\n', end));
        project
            .run(&["check", "--output-format", "concise"])
            .exits(0)
            .stdout_contains("note[unused-suppression]");
        project
            .run(&["check", "--fix"])
            .exits(0)
            .stdout_contains("Fixed 1 finding");
        assert_eq!(project.read("apps/web.yaml"), good.replace('\n', end));
    }
}

const CONFIG: &str =
    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: x}\nspec:\n";

#[test]
fn ignore_entries_match_paths_and_unused_ones_are_reported() {
    let project = project(&opted_out());
    let entry = |path: &str| {
        format!("{CONFIG}  ignore:\n    - {{rule: {RULE}, path: '{path}', reason: legacy}}\n")
    };
    project.write(".meshprobe.yaml", entry("apps/**"));
    insta::assert_snapshot!(judged(&project, &[]));
    project.write(".meshprobe.yaml", entry("infra/"));
    insta::assert_snapshot!(judged(&project, &[]));
    // A run of the whole folder shows that the entry is stale; in a run of a part, it may apply to files that were not read.
    project.write(".meshprobe.yaml", entry("elsewhere/"));
    let whole = project.run(&["check"]).stdout;
    assert!(
        whole.contains("the `ignore` entry in line 6 is unused: `elsewhere` matches no file"),
        "{whole}"
    );
    let part = project.run(&["check", "apps"]).transcript();
    assert!(!part.contains("matches no file"), "{part}");
}

#[test]
fn paths_of_scopes_that_match_no_file_are_reported() {
    let project = project(&opted_out());
    let scopes = "  scopes:\n    - paths:\n        - 'apps/**'\n        - elsewhere/\n      assume: {mtls: STRICT}\n";
    project.write(".meshprobe.yaml", format!("{CONFIG}{scopes}"));
    let whole = project.run(&["check", "--output-format", "concise"]).stdout;
    let stale = ".meshprobe.yaml:8:1: note[unused-suppression] the path `elsewhere` of `scopes` in line 8 matches no file";
    assert!(whole.contains(stale), "{whole}");
    assert_eq!(whole.matches("matches no file").count(), 1, "{whole}");
    let part = project.run(&["check", "apps"]).transcript();
    assert!(!part.contains("matches no file"), "{part}");
}

/// `--isolated` reads no configuration file; suppressions in manifests belong to the manifests.
#[test]
fn an_isolated_run_applies_suppressions_in_manifests_and_no_configuration() {
    let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  rules:\n    \
                  strict-probe-not-rewritten: ignore\n";
    let check = |web: &str, isolated: &[&str]| {
        let project = project(web);
        project.write(".meshprobe.yaml", config);
        project.run(&[&["check"], isolated].concat())
    };
    check(&opted_out(), &[])
        .exits(0)
        .stdout_contains("1 finding ignored");
    check(&opted_out(), &["--isolated"])
        .exits(1)
        .stdout_contains(RULE);
    for web in [
        above("# meshprobe: ignore[strict-probe-not-rewritten] known"),
        annotated("'strict-probe-not-rewritten: known'"),
    ] {
        check(&web, &["--isolated"])
            .exits(0)
            .stdout_contains("Not shown: 1 finding suppressed.");
    }
}

#[test]
fn formats_without_suppressed_findings_count_them() {
    let project = project(&above(
        "# meshprobe: ignore[strict-probe-not-rewritten] known",
    ));
    let counted = "Not shown: 1 finding suppressed.\n";
    let run = project
        .run(&["check", "--output-format", "github"])
        .exits(0);
    assert!(run.stdout.ends_with(counted), "{}", run.stdout);
    let run = project
        .run(&["check", "--output-format", "gitlab"])
        .exits(0);
    assert_eq!(report(&run), Value::Array(Vec::new()));
    run.stderr_contains(counted.trim_end());
    let quiet = ["check", "--quiet", "--output-format", "gitlab"];
    assert_eq!(project.run(&quiet).exits(0).stderr, "");
    // The message appears only if something is suppressed.
    std::fs::write(project.path("apps/web.yaml"), opted_out()).unwrap();
    for format in ["github", "gitlab"] {
        let run = project.run(&["check", "--output-format", format]).exits(1);
        assert!(
            !run.transcript().contains("Not shown"),
            "{}",
            run.transcript()
        );
    }
}

#[test]
fn levels_may_apply_to_some_folders_only() {
    let project = Project::with(&[("ns.yaml", NAMESPACE)]);
    project.write("apps/web.yaml", opted_out());
    let scoped = format!(
        "{CONFIG}  rules: {{{RULE}: warning}}\n  scopes:\n    - {{paths: [apps], rules: {{{RULE}: note}}}}\n"
    );
    project.write(".meshprobe.yaml", &scoped);
    project.write("other/web.yaml", opted_out());
    insta::assert_snapshot!(judged(&project, &[]));
    // The command line overrides the configuration.
    assert!(!judged(&project, &["--ignore", RULE]).contains(RULE));
    project.write(
        ".meshprobe.yaml",
        scoped
            .replace("warning", "ignore")
            .replace("note", "ignore"),
    );
    assert!(!judged(&project, &[]).contains(RULE));
    assert_eq!(
        judged(&project, &["--select", RULE]).matches(RULE).count(),
        2
    );
}

#[test]
fn rules_can_be_selected_and_mistakes_are_reported() {
    let broken = "apiVersion: v1\nkind: Pod\nmetadata: [\n";
    let project = project(&above(&format!("# meshprobe: ignore[{RULE}] known")));
    project.write("broken.yaml", broken);
    // Suppressions of a rule that does not run are not reported as unused.
    let lines = judged(
        &project,
        &["--select", "https-probe-strict,tcp-probe-always-passes"],
    );
    assert!(
        !lines.contains(RULE) && !lines.contains("unused"),
        "{lines}"
    );
    assert!(lines.contains("error[syntax-error]"), "{lines}");
    let lines = judged(&project, &["--ignore", RULE, "--ignore", "syntax-error"]);
    assert_eq!(lines, "exit 0\nsuppressed 0");
    for (option, rule, message) in [
        (
            "--select",
            "strict-probe-not-rewriten",
            "unknown rule `strict-probe-not-rewriten`; did you mean",
        ),
        ("--ignore", "knative", "unknown rule `knative`"),
    ] {
        project
            .run(&["check", option, rule])
            .exits(2)
            .stderr_contains(&format!("invalid value '{rule}' for '{option} <RULE>'"))
            .stderr_contains(message);
    }
}

#[test]
fn findings_below_the_minimum_severity_are_counted_and_not_shown() {
    let project = project(&opted_out());
    project.write(
        ".meshprobe.yaml",
        format!("{CONFIG}  rules: {{{RULE}: warning}}\n"),
    );
    project
        .run(&["check", "--min-severity", "error"])
        .exits(0)
        .stdout_contains("1 finding below `--min-severity`");
    project
        .run(&["check", "--min-severity", "warning"])
        .exits(1)
        .stdout_contains(RULE);
}

#[test]
fn statistics_count_per_rule() {
    let project = project(&opted_out());
    project.write(
        "apps/silent.yaml",
        above(&format!("# meshprobe: ignore[{RULE}] known")).replace("name: web", "name: api"),
    );
    insta::assert_snapshot!(
        project
            .run(&["check", "--statistics"])
            .exits(1)
            .transcript()
    );
    let run = project.run(&["check", "--statistics", "--output-format", "json"]);
    insta::assert_snapshot!(report(&run)["statistics"].to_string());
}

/// Returns the lines of `text` that are not suppressions.
fn without_suppressions(text: &str) -> String {
    let lines = text
        .split_inclusive('\n')
        .filter(|line| !line.contains("# meshprobe: ignore["));
    lines.collect()
}

#[test]
fn a_baseline_suppresses_all_findings_and_keeps_every_other_byte() {
    for (end, mark) in [("\n", ""), ("\r\n", "\u{feff}")] {
        let web = format!("{mark}{}", opted_out().replace('\n', end));
        let project = project(&web);
        project.write(
            "apps/list.json",
            r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
        );
        project
            .run(&["check", "--add-ignore", "known since May"])
            .exits(0)
            .stdout_contains("No findings")
            .stderr_contains("Suppressed 1 finding in 1 file");
        let text = project.read("apps/web.yaml");
        assert!(text.contains(&format!(
            "          # meshprobe: ignore[{RULE}] known since May{end}          readinessProbe:"
        )));
        assert_eq!(without_suppressions(&text), web);
        project.run(&["check"]).exits(0);
        project
            .run(&["check", "--add-ignore", "again"])
            .stderr_contains("Suppressed 0 findings");
        assert_eq!(project.read("apps/web.yaml"), text);
    }
}

#[test]
fn a_baseline_skips_findings_that_comments_cannot_suppress_and_ignored_rules() {
    let flow = "{apiVersion: v1, kind: Pod, metadata: {name: f, namespace: shop, annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}},\nspec: {containers: [{name: web,\nreadinessProbe: {httpGet: {port: 80}}}]}}\n";
    let project = project(&opted_out());
    project.write("apps/flow.yaml", flow);
    project
        .run(&["check", "--add-ignore", "x", "--ignore", RULE])
        .exits(0)
        .stderr_contains("Suppressed 0");
    project
        .run(&["check", "--add-ignore", "x"])
        .exits(1)
        .stdout_contains("apps/flow.yaml")
        .stderr_contains("apps/flow.yaml: comments cannot suppress");
    assert_eq!(project.read("apps/flow.yaml"), flow);
    for bad in ["", " ", "a\nb"] {
        project
            .run(&["check", "--add-ignore", bad])
            .exits(2)
            .stderr_contains("expected a reason");
    }
    // Piped input is written to standard output.
    let stream = format!("{NAMESPACE}---\n{}", opted_out());
    let run = project
        .pipe(&["check", "--add-ignore", "x", "-"], &stream)
        .exits(0);
    assert_eq!(without_suppressions(&run.stdout), stream);
    assert_ne!(run.stdout, stream);
}

#[test]
fn findings_in_files_that_are_only_context_are_suppressed_if_the_file_is_given() {
    let project = Project::with(&[
        (
            "base/kustomization.yaml",
            "resources: [web.yaml, ns.yaml]\n",
        ),
        ("base/web.yaml", &opted_out()),
        ("base/ns.yaml", NAMESPACE),
        ("prod/kustomization.yaml", "resources: [../base]\n"),
    ]);
    let arguments = ["check", "--add-ignore", "known", "prod"];
    let run = project.run(&arguments).exits(1).stderr_contains(
        "base/web.yaml: this file is only read as context; add it to the paths to suppress its findings",
    );
    assert!(!run.stderr.contains("comments cannot"), "{}", run.stderr);
    project
        .run(&[&arguments[..], &["base/web.yaml"]].concat())
        .exits(0)
        .stderr_contains("Suppressed 1 finding in 1 file.");
}

#[test]
fn a_baseline_can_be_written_for_every_fixture() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules");
    let mut rules = BTreeSet::new();
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        for file in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("bad") || !name.ends_with(".yaml") {
                continue;
            }
            let before = std::fs::read_to_string(&path).unwrap();
            let project = Project::with(&[(&name, &before)]);
            let first = before.lines().next().unwrap();
            let own: Vec<&str> = match first.strip_prefix("# meshprobe check ") {
                Some(arguments) => arguments.split_whitespace().collect(),
                None => Vec::new(),
            };
            let mut write = vec!["check", "--add-ignore", "a reason: known"];
            write.extend(&own);
            let run = project.run(&write);
            assert_eq!(run.code, 0, "{}: {}", path.display(), run.stdout);
            let after = project.read(&name);
            assert_eq!(without_suppressions(&after), before, "{}", path.display());
            rules.insert(folder.clone());
        }
    }
    assert!(rules.len() >= 9, "{rules:?}");
}
