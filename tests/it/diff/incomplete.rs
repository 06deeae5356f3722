//! A state that was not judged, or a part of it, is never reported as unchanged.

use super::{changes, report, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

#[test]
fn a_file_beyond_a_limit_is_an_error() {
    let large = format!("{NOT_REWRITTEN}# {}\n", "x".repeat(16 << 20));
    let files = [("ns.yaml", INJECTED), ("web.yaml", &*large)];
    let strict = [&files[..], &[("mtls.yaml", STRICT)]].concat();
    let project = trees(&files, &strict);
    let run = project.run(&["diff", "before", "after"]).exits(2);
    assert!(
        run.stderr.contains("cannot compare `before`"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stdout, "");
}

#[test]
fn changed_parts_that_are_not_judged_are_named() {
    let chart = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";
    let template = |port: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {{{{ .Release.Name }}}}}}\n# {port}\n"
        )
    };
    let (old, new) = (template("80"), template("81"));
    let base = [
        ("chart/Chart.yaml", chart),
        ("web.yaml", NOT_REWRITTEN),
        ("ns.yaml", INJECTED),
    ];
    let before = [&base[..], &[("chart/templates/web.yaml", &*old)]].concat();
    let after = [&base[..], &[("chart/templates/web.yaml", &*new)]].concat();
    let project = trees(&before, &after);
    let text = project.run(&["diff", "before", "after"]).exits(0).stdout;
    assert!(text.starts_with("No changes of judged probes"), "{text}");
    assert!(
        text.contains("changed and not judged: after/chart/"),
        "{text}"
    );
    let run = project.run(&JSON).exits(0);
    let parts = report(&run);
    let parts = parts
        .pointer("/changed_not_judged")
        .unwrap()
        .as_array()
        .unwrap();
    assert_eq!(parts.len(), 1);
    let same = trees(&before, &before)
        .run(&["diff", "before", "after"])
        .exits(0);
    assert!(
        same.stdout.starts_with("No changes between"),
        "{}",
        same.stdout
    );
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_a_regression() {
    let files = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let broken = [("ns.yaml", INJECTED), ("web.yaml", "a: b: c:\n")];
    let run = trees(&files, &broken).run(&JSON).exits(1);
    let expected = [
        "regression syntax-error",
        "removed web readinessProbe: ok -> none",
    ];
    assert_eq!(changes(&run), expected);
}

#[test]
fn empty_standard_input_is_an_error() {
    let project = Project::with(&[("before.yaml", &join(&[INJECTED, NOT_REWRITTEN]))]);
    let run = project.pipe(&["diff", "before.yaml", "-"], "").exits(2);
    assert!(
        run.stderr.contains("standard input is empty"),
        "{}",
        run.stderr
    );
    project.pipe(&["diff", "-", "-"], "").exits(2);
}

#[test]
fn a_selection_without_workloads_is_an_error() {
    let project = Project::with(&[("all.yaml", &join(&[INJECTED, NOT_REWRITTEN]))]);
    for selection in [
        &["--select-namespace", "shp"][..],
        &["--select-labels", "app=nope"],
    ] {
        let options = [&["diff", "--to", "mtls=STRICT"], selection].concat();
        let run = project.run(&options).exits(2);
        assert!(run.stderr.contains("select no workload"), "{}", run.stderr);
    }
    let options = ["diff", "--to", "mtls=STRICT", "--select-namespace", "shp"];
    let run = project.run(&options).exits(2);
    assert!(
        run.stderr.contains("did you mean `shop`?"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_unreadable_path_has_a_reason() {
    let project = Project::with(&[("all.yaml", &join(&[INJECTED, NOT_REWRITTEN]))]);
    let run = project
        .run(&["diff", "--to", "mtls=STRICT", "nope.yaml"])
        .exits(2);
    assert!(
        run.stderr.contains("error: cannot read `nope.yaml`"),
        "{}",
        run.stderr
    );
}

#[test]
fn nothing_to_compare_is_said() {
    let project = trees(&[("ns.yaml", INJECTED)], &[("ns.yaml", INJECTED)]);
    let text = project.run(&["diff", "before", "after"]).exits(0).stdout;
    assert!(text.starts_with("Nothing was compared"), "{text}");
    let options = ["diff", "--output-format", "markdown", "before", "after"];
    let run = project.run(&options).exits(0);
    assert!(
        run.stdout.contains("nothing was compared"),
        "{}",
        run.stdout
    );
    let warning = "warning: nothing was compared: neither state contains a workload";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    let required = [&options[..], &["--require-workloads"]].concat();
    let run = project.run(&required).exits(1);
    assert!(
        run.stderr.contains("`--require-workloads` requires one"),
        "{}",
        run.stderr
    );
    for level in ["not-judged", "any"] {
        let run = project
            .run(&[&options[..], &["--fail-on", level]].concat())
            .exits(1);
        let missing = "error: neither state contains a workload that can be judged";
        assert!(run.stderr.contains(missing), "{}", run.stderr);
    }
    let junit = [
        "diff",
        "--require-workloads",
        "--output-format",
        "junit",
        "before",
        "after",
    ];
    let run = project.run(&junit).exits(1);
    assert!(run.stdout.contains("failures=\"1\""), "{}", run.stdout);
}

#[test]
fn rules_that_the_settings_ignore_do_not_fail() {
    let files = [("ns.yaml", INJECTED), ("web.yaml", NOT_REWRITTEN)];
    let strict = [&files[..], &[("mtls.yaml", STRICT)]].concat();
    let project = trees(&files, &strict);
    for (level, expected) in [
        ("ignore", &[][..]),
        ("note", &["changed web readinessProbe: ok -> fails"]),
    ] {
        let config = format!(
            "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: m}}\nspec:\n  rules: {{strict-probe-not-rewritten: {level}}}\n"
        );
        project.write(".meshprobe.yaml", config);
        assert_eq!(changes(&project.run(&JSON).exits(0)), expected, "{level}");
    }
}

/// A rule that is switched off must not hide the regressions of other rules, also of those that do not name a probe.
#[test]
fn unrelated_rules_that_the_settings_ignore_hide_no_regression() {
    let fixture = |name: &str| {
        std::fs::read_to_string(format!("fixtures/rules/vm-host-not-local/{name}.yaml")).unwrap()
    };
    let (good, bad) = (fixture("good-its-own-address"), fixture("bad-tcp"));
    let project = trees(&[("group.yaml", &*good)], &[("group.yaml", &*bad)]);
    for (rule, status) in [
        ("osm-archived", 1),
        ("tcp-probe-always-passes", 1),
        ("vm-host-not-local", 0),
    ] {
        let config = format!(
            "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {{name: m}}\nspec:\n  rules: {{{rule}: ignore}}\n"
        );
        project.write(".meshprobe.yaml", config);
        let run = project.run(&["diff", "before", "after"]).exits(status);
        assert_eq!(
            run.stdout.contains("regression"),
            status == 1,
            "{}",
            run.stdout
        );
    }
}

#[test]
fn a_changed_chart_is_named_where_nothing_is_compared() {
    let chart = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";
    let template = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: {{ .Release.Name }}}\n";
    let other = template.replace("name: {", "labels: {a: b}, name: {");
    let before = [("Chart.yaml", chart), ("templates/web.yaml", template)];
    let after = [("Chart.yaml", chart), ("templates/web.yaml", &*other)];
    let run = trees(&before, &after)
        .run(&["diff", "before", "after"])
        .exits(0);
    assert!(
        run.stdout.starts_with("Nothing was compared"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("changed and not judged: after/"),
        "{}",
        run.stdout
    );
}

#[test]
fn changed_files_that_neither_state_can_read_are_named() {
    let pointer = |digit: &str| {
        let object = digit.repeat(64);
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{object}\nsize 123\n")
    };
    let broken = |text: &str| format!("{text}  bad: [\n");
    let pairs = [
        (
            broken(NOT_REWRITTEN),
            broken(&NOT_REWRITTEN.replace("80", "81")),
        ),
        (pointer("1"), pointer("2")),
    ];
    for (old, new) in pairs {
        assert_ne!(old, new);
        let named = |before: &str, after: &str| {
            let other = ("api.yaml", NOT_REWRITTEN);
            let project = trees(
                &[("web.yaml", before), other],
                &[("web.yaml", after), other],
            );
            let run = project.run(&JSON);
            let parts = report(&run);
            let parts = parts.pointer("/changed_not_judged").unwrap();
            parts.as_array().unwrap().len()
        };
        assert_eq!(named(&old, &new), 1, "{new}");
        assert_eq!(named(&old, &old), 0, "{old}");
    }
}
