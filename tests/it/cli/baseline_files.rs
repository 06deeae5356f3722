//! `--write-baseline` and `--baseline`: later runs report only new findings.

use serde_json::Value;

use crate::support::manifest::{ANNOTATED_WEB, INJECTED, OPT_OUT, STRICT};
use crate::support::project::Project;

fn project() -> Project {
    let web = ANNOTATED_WEB.replace("a: b", OPT_OUT);
    Project::with(&[
        ("apps/web.yaml", &web),
        ("apps/api.yaml", &web.replace("web", "api")),
        ("mesh/mesh.yaml", &format!("{INJECTED}---\n{STRICT}")),
    ])
}

fn count(project: &Project, arguments: &[&str]) -> (usize, u64) {
    let mut all = vec![
        "check",
        "--output-format",
        "json",
        "--baseline",
        "known.json",
    ];
    all.extend(arguments);
    let report: Value = serde_json::from_str(&project.run(&all).stdout).unwrap();
    let suppressed = report["summary"]["suppressed"].as_u64().unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let new = findings.filter(|finding| finding["suppressed"].is_null());
    (new.count(), suppressed)
}

#[test]
fn later_runs_report_only_new_findings() {
    let project = project();
    project
        .run(&["check", "--write-baseline", "known.json"])
        .exits(0)
        .stderr_contains("Wrote 2 findings to `known.json`.");
    let text = project.read("known.json");
    assert!(
        text.contains("strict-probe-not-rewritten") && !text.contains("line"),
        "{text}"
    );
    assert_eq!(count(&project, &[]), (0, 2));
    let run = project.run(&["check", "--baseline", "known.json"]).exits(0);
    assert!(!run.stderr.contains("note:"), "{}", run.stderr);
    // Other lines, another working directory, other paths.
    let moved = format!("# moved\n\n\n{}", project.read("apps/web.yaml"));
    project.write("apps/web.yaml", moved);
    assert_eq!(count(&project, &[]), (0, 2));
    let inside = ["check", "--baseline", "../known.json", "."];
    project.run_in("apps", &inside, "").exits(0);
    // A new finding.
    let new = project.read("apps/web.yaml").replace("web", "new");
    project.write("apps/new.yaml", new);
    assert_eq!(count(&project, &[]), (1, 2));
    project.run(&["check", "--baseline", "known.json"]).exits(1);
}

#[test]
fn entries_that_no_longer_occur_are_counted() {
    let project = project();
    project
        .run(&["check", "--write-baseline", "known.json"])
        .exits(0);
    let fixed = project.read("apps/web.yaml").replace(OPT_OUT, "a: b");
    project.write("apps/web.yaml", fixed);
    let note = "note: 1 finding of the baseline `known.json` no longer occurs; \
                run `meshprobe check --write-baseline known.json`";
    let check = |arguments: &[&str]| {
        let all = [&["check", "--baseline", "known.json"][..], arguments].concat();
        project.run(&all).exits(0).stderr
    };
    assert!(check(&[]).contains(note), "{}", check(&[]));
    assert!(check(&["apps/web.yaml"]).contains(note));
    // Files that are not given, and rules that do not run, are not stale.
    for arguments in [
        &["apps/api.yaml"][..],
        &["mesh"],
        &["--select", "syntax-error"],
        &["-q"],
    ] {
        assert!(!check(arguments).contains("no longer"), "{arguments:?}");
    }
    // A deleted file.
    std::fs::remove_file(project.path("apps/web.yaml")).unwrap();
    assert!(check(&["apps"]).contains("no longer occurs"));
    // A partial run keeps the entries of other files.
    project
        .run(&["check", "--write-baseline", "known.json", "mesh"])
        .exits(0)
        .stderr_contains("Wrote 2 findings");
    project
        .run(&["check", "--write-baseline", "known.json"])
        .stderr_contains("Wrote 1 finding to");
    assert!(!check(&[]).contains("no longer"));
}

#[test]
fn entries_that_no_longer_occur_are_listed_by_every_command() {
    let project = project();
    project
        .run(&["check", "--write-baseline", "known.json"])
        .exits(0);
    let fixed = project.read("apps/web.yaml").replace(OPT_OUT, "a: b");
    project.write("apps/web.yaml", fixed);
    let expected = "note: 1 finding of the baseline `known.json` no longer occurs; run `meshprobe check --write-baseline \
                    known.json`\n  apps/web.yaml: strict-probe-not-rewritten (Deployment/shop/web)\n";
    for arguments in [
        &[][..],
        &["--fix"],
        &["--diff"],
        &["--add-ignore", "why"],
        &["--output-format", "json"],
        &["--output-format", "sarif"],
    ] {
        let all = [&["check", "--baseline", "known.json"][..], arguments].concat();
        project.run(&all).exits(0).stderr_contains(expected);
    }
    // A long list is cut.
    let entry = |number: usize| {
        format!("{{\"path\": \"apps/{number:02}.yaml\", \"rule\": \"syntax-error\"}}")
    };
    let entries: Vec<String> = (1..=12).chain([1]).map(entry).collect();
    let text = format!("{{\"version\": 1, \"findings\": [{}]}}", entries.join(", "));
    project.write("known.json", text);
    let run = project.run(&["check", "--baseline", "known.json", "apps"]);
    run.stderr_contains("note: 13 findings of the baseline")
        .stderr_contains("\n  apps/01.yaml: syntax-error, 2 times\n")
        .stderr_contains("\n  apps/10.yaml: syntax-error\n  and 2 more\n");
}

/// The probe of a base targets another port in each overlay, so that it has a finding for each.
#[test]
fn a_partial_run_keeps_the_larger_number_of_findings_of_other_files() {
    let web = ANNOTATED_WEB
        .replace("a: b", OPT_OUT)
        .replace(
            "[{containerPort: 8080}]",
            "[{name: http, containerPort: 8080}]",
        )
        .replace("port: 8080}}", "port: http}}");
    let patch = "resources: [../../base]\npatches:\n- target: {kind: Deployment}\n  patch: |\n    - {op: replace, path: \
                 /spec/template/spec/containers/0/ports/0/containerPort, value: 9090}\n";
    let project = Project::with(&[
        ("base/web.yaml", &web),
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("clusters/a/kustomization.yaml", "resources: [../../base]\n"),
        ("clusters/b/kustomization.yaml", patch),
        ("mesh/mesh.yaml", &format!("{INJECTED}---\n{STRICT}")),
    ]);
    let write = ["check", "--write-baseline", "known.json"];
    let entries = |project: &Project| {
        let text = project.read("known.json");
        text.matches("strict-probe-not-rewritten").count()
    };
    project.run(&write).exits(0);
    assert_eq!(entries(&project), 2, "{}", project.read("known.json"));
    // The overlay `a` alone shows one of the two, in a file that is not among the given paths.
    project
        .run(&[&write[..], &["clusters/a"]].concat())
        .exits(0);
    assert_eq!(entries(&project), 2, "{}", project.read("known.json"));
    assert_eq!(count(&project, &[]).0, 0);
    // A baseline of the one grows to both, and with the file itself, a smaller number replaces a larger one.
    std::fs::remove_file(project.path("known.json")).unwrap();
    project
        .run(&[&write[..], &["clusters/a"]].concat())
        .exits(0);
    assert_eq!(entries(&project), 1, "{}", project.read("known.json"));
    project.run(&[&write[..], &["clusters"]].concat()).exits(0);
    assert_eq!(entries(&project), 2, "{}", project.read("known.json"));
    project.write("clusters/b/kustomization.yaml", "resources: [../../base]\n");
    project.run(&write).exits(0);
    assert_eq!(entries(&project), 1, "{}", project.read("known.json"));
}

#[test]
fn each_occurrence_is_counted() {
    let project = project();
    project
        .run(&["check", "--write-baseline", "known.json"])
        .exits(0);
    let twice = format!("{0}---\n{0}", project.read("apps/web.yaml"));
    project.write("apps/web.yaml", twice);
    assert_eq!(count(&project, &["apps"]), (1, 2));
}

#[test]
fn other_files_are_not_baselines() {
    let project = project();
    for option in ["--baseline", "--write-baseline"] {
        project
            .run(&["check", option, "apps/web.yaml"])
            .exits(2)
            .stderr_contains(&format!(
                "error: `apps/web.yaml` for `{option}` is not a baseline"
            ));
    }
    assert!(project.read("apps/web.yaml").starts_with("apiVersion"));
    project
        .run(&["check", "--baseline", "none.json"])
        .exits(2)
        .stderr_contains("error: cannot read `none.json` for `--baseline`")
        .stderr_contains("help: write it with `--write-baseline none.json`");
    project.write("old.json", "{\"version\": 2, \"findings\": []}");
    project
        .run(&["check", "--baseline", "old.json"])
        .exits(2)
        .stderr_contains("expected version 1, found 2");
}

#[test]
fn the_configuration_can_name_a_baseline() {
    let config = |path: &str| {
        format!("apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {{baseline: {path}}}\n")
    };
    let project = project();
    project
        .run(&["check", "--write-baseline", "ci/known.json"])
        .exits(2);
    std::fs::create_dir(project.path("ci")).unwrap();
    project
        .run(&["check", "--write-baseline", "ci/known.json"])
        .exits(0);
    project.write(".meshprobe.yaml", config("ci/known.json"));
    project
        .run(&["check"])
        .exits(0)
        .stdout_contains("Not shown: 2 findings suppressed.");
    project.run_in("apps", &["check"], "").exits(0);
    project.run(&["check", "--isolated"]).exits(1);
    project.write(".meshprobe.yaml", config("../known.json"));
    project
        .run(&["check"])
        .exits(2)
        .stderr_contains("cannot read `../known.json` for `baseline`");
}

const IN_FOLDER: &str =
    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {baseline: ci/known.json}\n";

/// Writes a baseline into the folder `ci`.
fn with_baseline_in_folder(project: &Project) {
    std::fs::create_dir(project.path("ci")).unwrap();
    project
        .run(&["check", "--write-baseline", "ci/known.json"])
        .exits(0);
}

#[test]
fn a_baseline_in_another_folder_has_no_absolute_paths() {
    let first = project();
    with_baseline_in_folder(&first);
    let text = first.read("ci/known.json");
    assert!(text.contains("\"path\": \"../apps/web.yaml\""), "{text}");
    // The same files in another place.
    let copy = project();
    std::fs::create_dir(copy.path("ci")).unwrap();
    let unusual = text.replace("../apps/web.yaml", "./../ci/../apps/web.yaml");
    for text in [text, unusual] {
        copy.write("ci/known.json", text);
        let run = copy.run(&["check", "--baseline", "ci/known.json"]).exits(0);
        assert!(!run.stderr.contains("note:"), "{}", run.stderr);
    }
    // Entries that no longer occur are removed.
    let fixed = copy.read("apps/web.yaml").replace(OPT_OUT, "a: b");
    copy.write("apps/web.yaml", fixed);
    copy.run(&["check", "--baseline", "ci/known.json", "apps"])
        .stderr_contains("note: 1 finding of the baseline `ci/known.json` no longer occurs");
    copy.run(&["check", "--write-baseline", "ci/known.json", "apps"])
        .stderr_contains("Wrote 1 finding to");
    assert!(!copy.read("ci/known.json").contains("web.yaml"));
}

#[test]
fn fixes_and_comments_leave_known_findings_unchanged() {
    let project = project();
    with_baseline_in_folder(&project);
    project.write(".meshprobe.yaml", IN_FOLDER);
    let (web, new) = ("apps/web.yaml", "apps/new.yaml");
    let known = project.read(web);
    project
        .run(&["check", "--diff", "--unsafe-fixes"])
        .exits(0)
        .stderr_contains("Nothing to fix.");
    for arguments in [&["--fix", "--unsafe-fixes"][..], &["--add-ignore", "why"]] {
        project.write(new, known.replace("web", "new"));
        let all = [&["check"][..], arguments].concat();
        project.run(&all).exits(0);
        assert_eq!(project.read(web), known, "{arguments:?}");
        assert_ne!(
            project.read(new),
            known.replace("web", "new"),
            "{arguments:?}"
        );
    }
    let option = [
        "check",
        "--isolated",
        "--fix",
        "--unsafe-fixes",
        "--baseline",
    ];
    let option = [&option[..], &["ci/known.json"]].concat();
    project.run(&option);
    assert_eq!(project.read(web), known);
    // Without the baseline, the finding is fixed.
    project.run(&["check", "--isolated", "--fix", "--unsafe-fixes"]);
    assert_ne!(project.read(web), known);
}

#[test]
fn errors_name_the_key_of_the_configuration() {
    let project = project();
    project.write(
        ".meshprobe.yaml",
        IN_FOLDER.replace("ci/known.json", "apps/web.yaml"),
    );
    project
        .run(&["check"])
        .exits(2)
        .stderr_contains("error: `apps/web.yaml` for `baseline` is not a baseline");
}

#[test]
fn a_baseline_of_an_incomplete_run_is_not_written() {
    let project = project();
    project
        .run(&[
            "check",
            "--write-baseline",
            "known.json",
            "apps",
            "typo.yaml",
        ])
        .exits(2)
        .stderr_contains("error: cannot write the baseline `known.json`: cannot read `typo.yaml`");
    assert!(!project.path("known.json").exists());
    let arguments = ["check", "--write-baseline", "known.json", "apps/web.yaml"];
    project.run(&arguments).exits(0);
    let before = project.read("known.json");
    project
        .run(&["check", "--write-baseline", "known.json", "typo.yaml"])
        .exits(2);
    assert_eq!(project.read("known.json"), before);
}
