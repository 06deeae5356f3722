//! Facts and their precedence: override, tree, assumption, default.

use meshprobe::mesh::istio::install::NativeSidecars;

use super::*;

#[test]
fn the_tree_overrides_an_assumption_and_an_override_overrides_the_tree() {
    let web = web("", "");
    let operator = operator("values: {sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}}");
    let files = [
        ("web.yaml", web.as_str()),
        ("ns.yaml", INJECTED),
        ("istio.yaml", operator.as_str()),
    ];
    let on = FactOverrides {
        rewrite: Some(true),
        ..FactOverrides::default()
    };
    let fact = evaluate(&files, |context, workload| {
        context.pod_facts(workload).rewrite_default()
    });
    assert_eq!((fact.value, fact.certainty), (false, Certainty::Known));
    assert_eq!(places(&fact), ["istio.yaml"]);
    let assumed = evaluate_with(&files, &assume(on.clone()), |context, workload| {
        context.pod_facts(workload).rewrite_default()
    });
    assert_eq!(assumed, fact);
    let overridden = evaluate_with(&files, &overriding(on.clone()), |context, workload| {
        context.pod_facts(workload).rewrite_default()
    });
    assert!(overridden.value);
    let fills = evaluate_with(&files[..2], &assume(on), |context, workload| {
        context.pod_facts(workload).rewrite_default()
    });
    assert_eq!((fills.value, fills.certainty), (true, Certainty::Assumed));
}

#[test]
fn the_default_depends_on_the_release_in_the_tree() {
    let web = web("", "");
    let judge = |tag: &str, wanted: bool| {
        let operator = operator(&format!("tag: {tag}"));
        let files = [
            ("web.yaml", web.as_str()),
            ("istio.yaml", operator.as_str()),
        ];
        let fact = evaluate(&files, |context, workload| {
            context.pod_facts(workload).rewrite_default()
        });
        assert_eq!(
            (fact.value, fact.certainty),
            (wanted, Certainty::Default),
            "{tag}"
        );
    };
    judge("1.26.1", true);
    judge("1.6.1", true);
    judge("1.5.1", false);
}

#[test]
fn values_that_are_not_in_the_tree_make_defaults_assumptions() {
    let web = web("", "");
    let release = helm_release("").replace(
        "  values: {}",
        "  valuesFrom: [{kind: Secret, name: hidden}]",
    );
    let files = [
        ("web.yaml", web.as_str()),
        ("release.yaml", release.as_str()),
    ];
    let fact = evaluate(&files, |context, workload| {
        context.pod_facts(workload).rewrite_default()
    });
    assert_eq!((fact.value, fact.certainty), (true, Certainty::Assumed));
    assert!(reasons(&fact).contains(&"values come from Secret `hidden`, which is not in the tree"));
}

#[test]
fn values_in_the_injector_config_have_no_default() {
    let values = "values: '{\"global\": {}}'";
    let map = Manifest::config_map("istio-sidecar-injector", values).to_string();
    let web = web("", "");
    let files = [("web.yaml", web.as_str()), ("map.yaml", &map)];
    let fact = evaluate(&files, |context, workload| {
        context.pod_facts(workload).rewrite_default()
    });
    assert_eq!((fact.value, fact.certainty), (false, Certainty::Known));
}

#[test]
fn the_release_is_read_from_every_carrier() {
    let version = |files: &[(&str, &str)]| {
        evaluate(files, |context, workload| {
            context.pod_facts(workload).version()
        })
    };
    let plain = web("", "");
    let unknown = version(&[("web.yaml", &plain)]);
    assert_eq!(
        (unknown.value, unknown.certainty),
        (None, Certainty::Unknown)
    );
    let of_chart = version(&[("web.yaml", &plain), ("a.yaml", &helm_release(""))]);
    assert_eq!(
        (of_chart.value, of_chart.certainty),
        (Some(Version::new(1, 26)), Certainty::Known)
    );
    let of_image = version(&[
        ("web.yaml", &plain),
        ("a.yaml", &helm_release("global: {tag: 1.27.0}")),
    ]);
    assert_eq!(
        of_image.value,
        Some(Version::new(1, 27)),
        "the image overrides the chart"
    );
    let revision = version(&[
        ("web.yaml", &plain),
        ("ns.yaml", &namespace("istio.io/rev: 1-25-3")),
    ]);
    assert_eq!(
        (revision.value, revision.certainty),
        (Some(Version::new(1, 25)), Certainty::Assumed)
    );
    let sidecar = plain.replace(
        "      - name: web\n",
        "      - {name: istio-proxy, image: 'registry.example/proxyv2:1.24.2'}\n      - name: web\n",
    );
    assert_eq!(
        version(&[("web.yaml", &sidecar)]).value,
        Some(Version::new(1, 24))
    );
    let settings = Settings {
        mesh_version: Some(Version::new(1, 20)),
        ..Settings::default()
    };
    let files = [("web.yaml", plain.as_str()), ("a.yaml", &helm_release(""))];
    let overridden = evaluate_with(&files, &settings, |context, workload| {
        context.pod_facts(workload).version()
    });
    assert_eq!(
        overridden.value,
        Some(Version::new(1, 20)),
        "the option overrides the tree"
    );
}

#[test]
fn the_release_in_the_tree_decides_which_probes_are_rewritten() {
    let tcp = web("", "").replace(
        "httpGet: {path: /healthz, port: 8080}",
        "tcpSocket: {port: 8080}",
    );
    let judge = |spec: &str, wanted: Cause| {
        let operator = operator(spec);
        let files = [
            ("web.yaml", tcp.as_str()),
            ("ns.yaml", INJECTED),
            ("istio.yaml", operator.as_str()),
        ];
        evaluate(&files, |context, workload| {
            let prediction = predict_workload(context, workload);
            let verdict = &prediction.handlers.first().unwrap().verdict;
            assert_eq!(verdict.cause, wanted, "{spec}: {verdict:?}");
        });
    };
    let off = "values: {pilot: {env: {REWRITE_TCP_PROBES: 'false'}}}";
    judge("tag: 1.11.4", Cause::SidecarAccepts);
    judge("tag: 1.12.0", Cause::Rewritten);
    judge(&format!("tag: 1.18.0, {off}"), Cause::SidecarAccepts);
    judge(&format!("tag: 1.19.0, {off}"), Cause::Rewritten);
}

#[test]
fn policies_are_read_from_the_root_namespace_of_the_tree() {
    let web = web("", "sidecar.istio.io/rewriteAppHTTPProbers: 'false'");
    let policy = STRICT_MESH.replace("istio-system", "mesh-root");
    let operator = operator("meshConfig: {rootNamespace: mesh-root}");
    let files = [
        ("web.yaml", web.as_str()),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", policy.as_str()),
        ("istio.yaml", operator.as_str()),
    ];
    let cause = |files: &[(&str, &str)]| {
        evaluate(files, |context, workload| {
            let prediction = predict_workload(context, workload);
            prediction.handlers.first().unwrap().verdict.cause
        })
    };
    assert_eq!(cause(&files), Cause::PlaintextAtStrict);
    assert_eq!(cause(&files[..3]), Cause::Forwarded);
}

#[test]
fn capture_defaults_of_the_installation_apply() {
    let web = web("", "");
    let captured = |spec: &str| {
        let operator = operator(spec);
        let files = [
            ("web.yaml", web.as_str()),
            ("istio.yaml", operator.as_str()),
        ];
        evaluate(&files, |context, workload| {
            context.pod_facts(workload).capture(8080)
        })
    };
    assert!(captured("").value);
    let excluded = captured("values: {global: {proxy: {excludeInboundPorts: '8080'}}}");
    assert_eq!(
        (excluded.value, excluded.certainty),
        (false, Certainty::Known)
    );
    assert_eq!(places(&excluded), ["istio.yaml"]);
    assert!(!captured("values: {global: {proxy: {includeInboundPorts: ''}}}").value);
    assert!(!captured("meshConfig: {defaultConfig: {interceptionMode: NONE}}").value);
}

#[test]
fn native_sidecars_depend_on_release_installation_and_pod() {
    let native = |spec: &str, annotation: &str| {
        let web = web("", annotation);
        let operator = operator(spec);
        let files = [
            ("web.yaml", web.as_str()),
            ("istio.yaml", operator.as_str()),
        ];
        let fact = evaluate(&files, |context, workload| {
            context.pod_facts(workload).native_sidecars()
        });
        (fact.value, fact.certainty)
    };
    let off = "values: {pilot: {env: {ENABLE_NATIVE_SIDECARS: 'false'}}}";
    let yes = "sidecar.istio.io/nativeSidecar: 'true'";
    let odd = "sidecar.istio.io/nativeSidecar: 'yes'";
    assert_eq!(
        native("tag: 1.26.0", ""),
        (NativeSidecars::Off, Certainty::Default)
    );
    assert_eq!(
        native("tag: 1.27.0", ""),
        (NativeSidecars::Auto, Certainty::Assumed)
    );
    assert_eq!(native(off, ""), (NativeSidecars::Off, Certainty::Known));
    assert_eq!(native(off, yes), (NativeSidecars::On, Certainty::Known));
    assert_eq!(
        native("tag: 1.22.0", yes),
        (NativeSidecars::Off, Certainty::Default)
    );
    assert_eq!(native("tag: 1.26.0", odd).0, NativeSidecars::Off);
    assert_eq!(native("tag: 1.27.0", odd).0, NativeSidecars::On);
    assert_eq!(
        native("compatibilityVersion: '1.26', tag: 1.29.0", "").0,
        NativeSidecars::Off
    );
}

#[test]
fn the_node_version_decides_if_native_sidecars_are_automatic() {
    let native = |settings: Settings, spec: &str| {
        let web = web("", "");
        let operator = operator(spec);
        let files = [
            ("web.yaml", web.as_str()),
            ("istio.yaml", operator.as_str()),
        ];
        let fact = evaluate_with(&files, &settings, |context, workload| {
            context.pod_facts(workload).native_sidecars()
        });
        (fact.value, fact.certainty)
    };
    let nodes = |minor| FactOverrides {
        node_version: Some(Version::new(1, minor)),
        ..FactOverrides::default()
    };
    assert_eq!(
        native(assume(nodes(33)), "tag: 1.27.0"),
        (NativeSidecars::On, Certainty::Assumed)
    );
    assert_eq!(
        native(overriding(nodes(32)), "tag: 1.27.0"),
        (NativeSidecars::Off, Certainty::Default)
    );
    assert_eq!(
        native(overriding(nodes(33)), "tag: 1.26.0"),
        (NativeSidecars::Off, Certainty::Default)
    );
}

#[test]
fn the_application_waits_for_the_sidecar_if_the_proxy_config_requires_it() {
    let hold = |spec: &str, annotation: &str| {
        let web = web("", annotation);
        let operator = operator(spec);
        let files = [
            ("web.yaml", web.as_str()),
            ("istio.yaml", operator.as_str()),
        ];
        evaluate(&files, |context, workload| {
            context.pod_facts(workload).hold_application().value
        })
    };
    let mesh = "meshConfig: {defaultConfig: {holdApplicationUntilProxyStarts: true}}";
    let own = "proxy.istio.io/config: 'holdApplicationUntilProxyStarts: false'";
    assert!(!hold("", ""));
    assert!(hold(mesh, ""));
    assert!(!hold(mesh, own));
}
