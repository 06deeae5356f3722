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

/// The objects have several changed lines, of which the named one must not be that without an effect.
#[test]
fn a_line_without_an_effect_is_not_the_cause() {
    let policy = |owner: &str, selector: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: strict\n  namespace: shop\n  labels:\n    owner: {owner}\nspec:\n  selector:\n    matchLabels:\n      app: web\n{selector}  mtls:\n    mode: STRICT\n"
        )
    };
    let web = WEB.replace("annotations: {}", &format!("annotations: {{{OPT_OUT}}}"));
    let with = |policy| {
        [
            ("ns.yaml", INJECTED),
            ("web.yaml", &web),
            ("policy.yaml", policy),
        ]
    };
    let (old, new) = (policy("a", "      ver: v2\n"), policy("b", ""));
    let (change, cause) = only_change(&with(&old), &with(&new));
    assert_eq!(change, "regression web livenessProbe: ok -> fails");
    assert_eq!(
        cause,
        "-before/policy.yaml:12 it changes the object that states: STRICT for this workload"
    );
    let variables = |variables: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: prod, namespace: flux-system}}\nspec:\n  path: ./app\n  sourceRef: {{kind: GitRepository, name: r}}\n  postBuild:\n    substitute:\n      quote: '\"'\n{variables}"
        )
    };
    let annotation = "annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: ${quote}${RW:=false}${quote}";
    let web = join(&[
        INJECTED,
        STRICT,
        &WEB.replace("annotations: {}", annotation),
    ]);
    let with = |object| [("clusters/prod.yaml", object), ("app/web.yaml", &*web)];
    let old = variables("      RW: \"true\"\n      OTHER: a\n");
    let new = variables("      OTHER: b\n");
    let (change, cause) = only_change(&with(&old), &with(&new));
    assert_eq!(change, "regression web livenessProbe: ok -> fails");
    // Line 10 of the first state is `RW`, that of the second state is `OTHER`.
    assert_eq!(cause, "-before/clusters/prod.yaml:10 the rewrite is on");
}

/// The change of the namespace has no line that states the fact, and the only changed line of the workload explains nothing.
#[test]
fn a_changed_line_of_the_workload_is_not_the_cause_of_a_fact_of_another_object() {
    let namespace = |kind: &str, owner: &str| {
        format!(
            "apiVersion: v1\n{kind}metadata:\n  annotations:\n    owner: {owner}\n  name: shop\n  labels:\n    istio-injection: enabled\n"
        )
    };
    let (old, new) = (namespace("kind: Namespace\n", "a"), namespace("", "b"));
    let annotated = WEB.replace(
        "metadata: {name: web, namespace: shop}",
        "metadata:\n  annotations:\n    owner: a\n  name: web\n  namespace: shop",
    );
    let policy = STRICT.replace("STRICT", "PERMISSIVE");
    for (from, to) in [("owner: a", "owner: b"), ("image: web:1", "image: web:2")] {
        let changed = annotated.replace(from, to);
        let before = [
            ("ns.yaml", &*old),
            ("mtls.yaml", &*policy),
            ("web.yaml", &*annotated),
        ];
        let after = [
            ("ns.yaml", &*new),
            ("mtls.yaml", &*policy),
            ("web.yaml", &*changed),
        ];
        let run = trees(&before, &after).run(&JSON);
        assert!(
            run.stdout.contains("not found among the changed lines"),
            "{}",
            run.stdout
        );
        assert!(
            !run.stdout.contains("the only changed line"),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn a_port_is_the_cause_although_the_container_is_renamed() {
    let renamed = WEB
        .replace("- name: web", "- name: app")
        .replace("- name: http", "- name: web");
    let (old, new) = (join(&[INJECTED, WEB]), join(&[INJECTED, &renamed]));
    assert_eq!(
        cause_of(&[("web.yaml", &*old)], &[("web.yaml", &*new)]),
        "-before/web.yaml:20 `containers[web].ports[8080].name` is `web`, and was `http`"
    );
}

#[test]
fn the_order_of_lines_is_the_cause() {
    let patch = |value: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    {}\n",
            OPT_OUT.replace("'false'", value)
        )
    };
    let (on, off) = (patch("'true'"), patch("'false'"));
    let component = |name: &str| {
        format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: ../../{name}.yaml\n"
        )
    };
    let (component_on, component_off) = (component("on"), component("off"));
    let base: Files<'_> = vec![
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT),
        ("web.yaml", NOT_REWRITTEN),
        ("on.yaml", &on),
        ("off.yaml", &off),
        ("components/on/kustomization.yaml", &component_on),
        ("components/off/kustomization.yaml", &component_off),
    ];
    let start = "resources:\n- ns.yaml\n- mtls.yaml\n- web.yaml\n";
    for entries in [
        ("patches:\n", "- path: off.yaml\n", "- path: on.yaml\n"),
        ("components:\n", "- components/off\n", "- components/on\n"),
    ] {
        let (key, off, on) = entries;
        let (good, bad) = (
            format!("{start}{key}{off}{on}"),
            format!("{start}{key}{on}{off}"),
        );
        let with = |text| [&base[..], &[("kustomization.yaml", text)]].concat();
        for (before, after) in [(&*good, &*bad), (&*bad, &*good)] {
            let cause = cause_of(&with(before), &with(after));
            let is_entry = [6, 7]
                .iter()
                .any(|line| cause.contains(&format!("/kustomization.yaml:{line} it includes `")));
            assert!(is_entry, "{cause}");
        }
    }
    let policy = |one: &str, other: &str| {
        format!(
            "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {{name: strict, namespace: shop}}\nspec:\n  selector:\n    matchLabels: {{app: web}}\n  mtls:\n    mode: STRICT\n  portLevelMtls:\n    8080:\n      mode: {one}\n    9090:\n      mode: {other}\n"
        )
    };
    let web = WEB.replace("annotations: {}", &format!("annotations: {{{OPT_OUT}}}"));
    let (good, bad) = (
        policy("PERMISSIVE", "STRICT"),
        policy("STRICT", "PERMISSIVE"),
    );
    let with = |policy| {
        [
            ("ns.yaml", INJECTED),
            ("web.yaml", &web),
            ("policy.yaml", policy),
        ]
    };
    let cause = cause_of(&with(&good), &with(&bad));
    assert!(cause.contains("/policy.yaml:11 "), "{cause}");
}
