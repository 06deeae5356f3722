//! What identifies a probe: neither files nor lines.

use super::{changes, report, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, PROBED, STRICT, join};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

fn compare(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    changes(&trees(before, after).run(&JSON))
}

#[test]
fn renamed_files_and_moved_documents_are_no_change() {
    let before = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ];
    let renamed = [
        ("ns.yaml", INJECTED),
        ("apps/shop.yaml", NOT_REWRITTEN),
        ("policies.yaml", STRICT),
    ];
    assert_eq!(compare(&before, &renamed), [""; 0]);
    let joined = join(&["# moved\n", STRICT, NOT_REWRITTEN, INJECTED]);
    assert_eq!(compare(&before, &[("all.yaml", &joined)]), [""; 0]);
}

#[test]
fn renamed_objects_and_containers_are_no_regression() {
    let before = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ];
    for (old, new) in [
        ("- name: web", "- name: app"),
        ("  name: web\n  n", "  name: api\n  n"),
    ] {
        let renamed = NOT_REWRITTEN.replace(old, new);
        assert_ne!(renamed, NOT_REWRITTEN);
        let after = [
            ("ns.yaml", INJECTED),
            ("web.yaml", &*renamed),
            ("mtls.yaml", STRICT),
        ];
        assert_eq!(compare(&before, &after), [""; 0], "{new}");
    }
}

#[test]
fn a_renamed_container_is_named_only_if_its_prediction_changes() {
    let before = [("ns.yaml", INJECTED), ("web.yaml", PROBED)];
    let renamed = PROBED.replace("- name: web", "- name: app");
    let after = [("ns.yaml", INJECTED), ("web.yaml", &*renamed)];
    let run = trees(&before, &after).run(&JSON).exits(0);
    assert_eq!(changes(&run), [""; 0]);
    assert_eq!(report(&run).pointer("/summary/renamed").unwrap(), 1);
    let broken = renamed.replace(
        "namespace: shop",
        "namespace: shop, annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}",
    );
    let after = [
        ("ns.yaml", INJECTED),
        ("web.yaml", &*broken),
        ("mtls.yaml", STRICT),
    ];
    let run = trees(&before, &after).run(&JSON).exits(1);
    assert_eq!(changes(&run), ["regression web livenessProbe: ok -> fails"]);
    let renamed = report(&run);
    let renamed = renamed.pointer("/changes/0/probe/renamed_from").unwrap();
    assert_eq!(renamed, "container `web`");
}

#[test]
fn an_object_with_another_probe_is_new() {
    let before = [
        ("ns.yaml", INJECTED),
        ("web.yaml", NOT_REWRITTEN),
        ("mtls.yaml", STRICT),
    ];
    let other = NOT_REWRITTEN
        .replace("  name: web\n  n", "  name: api\n  n")
        .replace("path: /", "path: /ready");
    let after = [
        ("ns.yaml", INJECTED),
        ("web.yaml", &*other),
        ("mtls.yaml", STRICT),
    ];
    assert_eq!(
        compare(&before, &after),
        [
            "added api readinessProbe: none -> fails",
            "removed web readinessProbe: fails -> none"
        ]
    );
}

#[test]
fn a_removed_kustomization_does_not_repeat_old_faults() {
    let apps = join(&[INJECTED, NOT_REWRITTEN, STRICT]);
    let base = [
        ("base/kustomization.yaml", "resources: [all.yaml]\n"),
        ("base/all.yaml", &*apps),
    ];
    let overlays = [
        (
            "prod/kustomization.yaml",
            "resources: [../base]\nnamespace: prod\n",
        ),
        (
            "test/kustomization.yaml",
            "resources: [../base]\nnamespace: test\n",
        ),
    ];
    let before = [&base[..], &overlays[..]].concat();
    let found = compare(&before, &base);
    assert_eq!(found, ["removed web readinessProbe: fails -> none"; 2]);
}

#[test]
fn a_probe_is_compared_in_each_overlay() {
    let base = "resources: [web.yaml, ns.yaml]\n";
    let overlay = "resources: [../base]\n";
    let strict = "resources: [../base, mtls.yaml]\n";
    let before = [
        ("base/kustomization.yaml", base),
        ("base/web.yaml", NOT_REWRITTEN),
        ("base/ns.yaml", INJECTED),
        ("prod/kustomization.yaml", overlay),
        ("staging/kustomization.yaml", overlay),
    ];
    let mut after = before.to_vec();
    after.push(("prod/mtls.yaml", STRICT));
    for file in &mut after {
        if file.0 == "prod/kustomization.yaml" {
            file.1 = strict;
        }
    }
    let found = compare(&before, &after);
    assert_eq!(found, ["regression web readinessProbe: ok -> fails"]);
}

#[test]
fn equal_objects_of_several_folders_are_compared_by_folder() {
    let in_folder = |folder: &str, text: &'static str| (format!("{folder}/web.yaml"), text);
    let files = [in_folder("a", NOT_REWRITTEN), in_folder("b", NOT_REWRITTEN)];
    let mut before: Vec<(&str, &str)> = vec![("a/ns.yaml", INJECTED), ("b/ns.yaml", INJECTED)];
    before.extend(files.iter().map(|(path, text)| (path.as_str(), *text)));
    let mut after = before.clone();
    after.push(("b/mtls.yaml", STRICT));
    let found = compare(&before, &after);
    assert!(!found.is_empty() && found.iter().all(|change| change.starts_with("regression")));
}

#[test]
fn a_second_cluster_does_not_repeat_old_faults_of_the_first() {
    let flux = |name: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{path: ./apps, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
        )
    };
    let (one, two) = (flux("one"), flux("two"));
    let apps = join(&[INJECTED, NOT_REWRITTEN, STRICT]);
    let base = [("apps/all.yaml", &*apps), ("clusters/one/apps.yaml", &*one)];
    let mut after = base.to_vec();
    after.push(("clusters/two/apps.yaml", &two));
    let found = compare(&base, &after);
    assert!(
        !found.iter().any(|change| change.starts_with("removed")),
        "{found:?}"
    );
    assert!(found.len() <= 1, "{found:?}");
}

#[test]
fn the_folder_above_environments_can_be_renamed() {
    let in_folder = |top: &str| {
        let overlay = "resources: [../../base]\n";
        vec![
            (format!("{top}/a/kustomization.yaml"), overlay.to_owned()),
            (format!("{top}/b/kustomization.yaml"), overlay.to_owned()),
            (
                "base/kustomization.yaml".to_owned(),
                "resources: [all.yaml]\n".to_owned(),
            ),
            (
                "base/all.yaml".to_owned(),
                join(&[INJECTED, NOT_REWRITTEN, STRICT]),
            ),
        ]
    };
    let (before, after) = (in_folder("overlays"), in_folder("environments"));
    let before: Vec<(&str, &str)> = before
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let after: Vec<(&str, &str)> = after
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    assert_eq!(compare(&before, &after), [""; 0]);
}

#[test]
fn several_findings_of_a_renamed_folder_are_not_new() {
    let absent = "resources: [ns.yaml]\npatches:\n- path: absent.yaml\n- path: missing.yaml\n";
    let valid = "resources: [ns.yaml]\n";
    let before = [
        ("old/app/kustomization.yaml", absent),
        ("old/app/ns.yaml", INJECTED),
    ];
    let after = [
        ("new/app/kustomization.yaml", absent),
        ("new/app/ns.yaml", INJECTED),
    ];
    assert_eq!(compare(&before, &after), [""; 0]);
    // A fault that moves to another file that existed before is new there.
    let both = |old: &'static str, new: &'static str| {
        [
            ("old/app/kustomization.yaml", old),
            ("old/app/ns.yaml", INJECTED),
            ("new/app/kustomization.yaml", new),
            ("new/app/ns.yaml", INJECTED),
        ]
    };
    let found = compare(&both(absent, valid), &both(valid, absent));
    let is_regression = |change: &&String| change.starts_with("regression");
    assert_eq!(found.iter().filter(is_regression).count(), 1, "{found:?}");
}
