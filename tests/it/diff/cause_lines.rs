//! A cause is a line of the text diff, or it is not found.

use super::{cause, changes, trees};
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, OPT_OUT, STRICT, join};

const JSON: [&str; 5] = ["diff", "--output-format", "json", "before", "after"];

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels:
        app: web
      annotations: {}
    spec:
      containers:
      - name: web
        image: web:1
        ports:
        - name: http
          containerPort: 8080
        livenessProbe:
          httpGet: {path: /, port: http}
";

type Files<'f> = Vec<(&'f str, &'f str)>;

/// Compares two trees, and returns the change of the only probe that changes, with its cause.
#[track_caller]
fn only_change(before: &[(&str, &str)], after: &[(&str, &str)]) -> (String, String) {
    let run = trees(before, after).run(&JSON);
    let found = changes(&run);
    let probes = found.iter().enumerate();
    let mut probes = probes.filter(|(_, change)| change.contains(" -> "));
    let (index, change) = probes.next().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(probes.next(), None);
    (change.clone(), cause(&run, index))
}

#[track_caller]
fn cause_of(before: &[(&str, &str)], after: &[(&str, &str)]) -> String {
    only_change(before, after).1
}

#[test]
fn a_port_that_is_renamed_is_the_cause() {
    let renamed = WEB.replace("- name: http", "- name: web");
    for annotation in ["annotations: {}", &format!("annotations: {{{OPT_OUT}}}")] {
        let old = join(&[INJECTED, &WEB.replace("annotations: {}", annotation)]);
        let new = join(&[INJECTED, &renamed.replace("annotations: {}", annotation)]);
        let (change, cause) = only_change(&[("web.yaml", &*old)], &[("web.yaml", &*new)]);
        assert_eq!(
            change,
            "regression web livenessProbe: ok -> broken-without-mesh"
        );
        assert_eq!(
            cause,
            "after/web.yaml:20 `containers[web].ports[8080].name` is `web`, and was `http`"
        );
    }
}

#[test]
fn removed_ports_are_the_cause() {
    let ports = "        ports:\n        - name: http\n          containerPort: 8080\n";
    let (old, new) = (
        join(&[INJECTED, WEB]),
        join(&[INJECTED, &WEB.replace(ports, "")]),
    );
    let (old, new) = ([("web.yaml", &*old)], [("web.yaml", &*new)]);
    let removed = cause_of(&old, &new);
    assert!(
        removed.starts_with("-before/web.yaml:20 `containers[web]"),
        "{removed}"
    );
    let added = cause_of(&new, &old);
    assert!(
        added.starts_with("after/web.yaml:20 `containers[web]"),
        "{added}"
    );
}

#[test]
fn an_entry_of_an_overlay_is_the_cause_of_what_it_includes() {
    let patch = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    {}\n",
        OPT_OUT.replace("'false'", "'true'")
    );
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: on.yaml\n";
    let base: Files<'_> = vec![
        ("base/ns.yaml", INJECTED),
        ("base/mtls.yaml", STRICT),
        ("base/web.yaml", NOT_REWRITTEN),
        (
            "base/kustomization.yaml",
            "resources:\n- ns.yaml\n- mtls.yaml\n- web.yaml\n",
        ),
        ("components/on/kustomization.yaml", component),
        ("components/on/on.yaml", &patch),
        ("prod/on.yaml", &patch),
    ];
    let plain = "resources:\n- ../base\nimages:\n- name: a\n  newTag: b\n";
    let with =
        |overlay: &'static str| [&base[..], &[("prod/kustomization.yaml", overlay)]].concat();
    for (overlay, line) in [
        (
            "resources:\n- ../base\ncomponents:\n- ../components/on\nimages:\n- name: a\n  newTag: c\n",
            4,
        ),
        (
            "resources:\n- ../base\npatches:\n- path: on.yaml\nimages:\n- name: a\n  newTag: c\n",
            4,
        ),
        (
            "resources:\n- ../base\npatchesStrategicMerge:\n- on.yaml\nimages:\n- name: a\n  newTag: c\n",
            4,
        ),
    ] {
        let (change, cause) = only_change(&with(overlay), &with(plain));
        assert_eq!(change, "regression web readinessProbe: ok -> fails");
        let expected = format!("-before/prod/kustomization.yaml:{line} it includes `before/");
        assert!(cause.starts_with(&expected), "{cause}");
        let (change, cause) = only_change(&with(plain), &with(overlay));
        assert_eq!(change, "improvement web readinessProbe: fails -> ok");
        let expected = format!("after/prod/kustomization.yaml:{line} it includes `after/");
        assert!(cause.starts_with(&expected), "{cause}");
    }
}

#[test]
fn what_makes_a_policy_apply_is_the_cause() {
    let policy = |label: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {{name: strict, namespace: shop}}\nspec:\n  selector:\n    matchLabels:\n      tier: {label}\n  mtls:\n    mode: STRICT\n"
        )
    };
    let web = |label: &str| {
        let web = WEB.replace("annotations: {}", &format!("annotations: {{{OPT_OUT}}}"));
        web.replace(
            "app: web\n",
            &format!("app: web\n        version: {label}\n        tier: {label}\n"),
        )
    };
    for (before, after, line) in [
        // The label of the pod.
        (
            (web("back"), policy("front")),
            (web("front"), policy("front")),
            "after/web.yaml:11 `labels.tier` is `front`, and was `back`",
        ),
        // The selector of the policy.
        (
            (web("front"), policy("back")),
            (web("front"), policy("front")),
            "after/policy.yaml:7 ",
        ),
    ] {
        let ns = ("ns.yaml", INJECTED);
        let before = [ns, ("web.yaml", &*before.0), ("policy.yaml", &*before.1)];
        let after = [ns, ("web.yaml", &*after.0), ("policy.yaml", &*after.1)];
        let (change, cause) = only_change(&before, &after);
        assert_eq!(change, "regression web livenessProbe: ok -> fails");
        assert!(cause.starts_with(line), "{cause}");
    }
}

#[test]
fn a_namespace_that_a_workload_moves_to_is_not_the_cause_but_its_field() {
    let other = INJECTED
        .replace("name: shop", "name: plain")
        .replace("enabled", "disabled");
    let mtls = STRICT;
    let with = |web| {
        vec![
            ("ns.yaml", INJECTED),
            ("plain.yaml", &*other),
            ("mtls.yaml", mtls),
            ("web.yaml", web),
        ]
    };
    let moved = NOT_REWRITTEN.replace("namespace: shop", "namespace: plain");
    let run = trees(&with(&moved), &with(NOT_REWRITTEN))
        .run(&JSON)
        .exits(1);
    assert_eq!(
        cause(&run, 0),
        "after/web.yaml:5 `namespace` is `shop`, and was `plain`"
    );
}

#[test]
fn an_object_of_flux_that_deploys_another_folder_is_named_at_its_path() {
    let flux = |path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  namespace: flux-system\nspec:\n  path: {path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n"
        )
    };
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let (old, new) = (flux("./apps"), flux("./other"));
    let with = |object| {
        vec![
            ("clusters/prod.yaml", object),
            ("apps/ns.yaml", INJECTED),
            ("apps/web.yaml", WEB),
            ("other/a.yaml", config),
        ]
    };
    let cause = cause_of(&with(&*old), &with(&*new));
    assert!(
        cause.starts_with("-before/clusters/prod.yaml:7 "),
        "{cause}"
    );
}

#[test]
fn a_line_that_is_moved_with_its_file_is_not_the_cause() {
    let ports = WEB.replace("- name: http", "- name: web");
    let before = [("ns.yaml", INJECTED), ("a/web.yaml", WEB)];
    let after = [("ns.yaml", INJECTED), ("b/web.yaml", &*ports)];
    assert_eq!(
        cause_of(&before, &after),
        "after/b/web.yaml:16 `containers[web].ports[8080].name` is `web`, and was `http`"
    );
}
