//! Distance, several control planes, and files that belong together.

use super::*;

fn rewrite(files: &[(&str, &str)]) -> Fact<bool> {
    evaluate(files, |context, workload| {
        context.pod_facts(workload).rewrite_default()
    })
}

fn install(on: bool) -> String {
    operator(&format!(
        "values: {{sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {on}}}}}"
    ))
}

#[test]
fn the_nearest_control_plane_applies() {
    let web = web("", "");
    let (on, off) = (install(true), install(false));
    let files = [
        ("clusters/prod/apps/web.yaml", web.as_str()),
        ("clusters/prod/istio.yaml", off.as_str()),
        ("clusters/stage/istio.yaml", on.as_str()),
    ];
    let fact = rewrite(&files);
    assert_eq!((fact.value, fact.certainty), (false, Certainty::Known));
    assert_eq!(places(&fact), ["clusters/prod/istio.yaml"]);
}

#[test]
fn equally_near_control_planes_that_differ_cause_an_assumption() {
    let web = web("", "");
    let (on, off) = (install(true), install(false));
    let files = [
        ("apps/web.yaml", web.as_str()),
        ("clusters/prod/istio.yaml", off.as_str()),
        ("clusters/stage/istio.yaml", on.as_str()),
    ];
    let fact = rewrite(&files);
    assert_eq!((fact.value, fact.certainty), (false, Certainty::Assumed));
    assert_eq!(
        places(&fact),
        ["clusters/prod/istio.yaml", "clusters/stage/istio.yaml"]
    );
    evaluate(&files, |context, workload| {
        let view = context.pod_facts(workload).installation();
        assert_eq!(view.candidates.len(), 2);
        let conflicts = view.conflicts();
        assert_eq!(conflicts.len(), 1, "{conflicts:?}");
        let conflict = conflicts.first().unwrap();
        let sides: Vec<_> = conflict
            .sides
            .iter()
            .map(|(text, place)| (text.as_str(), &*place.path))
            .collect();
        assert_eq!(conflict.key, "rewrite");
        assert_eq!(
            sides,
            [
                ("false", "clusters/prod/istio.yaml"),
                ("true", "clusters/stage/istio.yaml")
            ]
        );
    });
    let same = [
        files[0],
        files[1],
        ("clusters/stage/istio.yaml", off.as_str()),
    ];
    assert_eq!(rewrite(&same).certainty, Certainty::Known);
}

#[test]
fn a_default_against_a_written_value_is_a_conflict_too() {
    let web = web("", "");
    let (silent, off) = (operator(""), install(false));
    let files = [
        ("web.yaml", web.as_str()),
        ("a.yaml", silent.as_str()),
        ("b.yaml", off.as_str()),
    ];
    evaluate(&files, |context, workload| {
        let conflicts = context.pod_facts(workload).installation().conflicts();
        assert_eq!(conflicts.first().unwrap().sides.first().unwrap().0, "true");
    });
}

#[test]
fn several_revisions_coexist() {
    let release = |revision: &str, on: bool| {
        helm_release(&format!(
            "revision: {revision}, sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {on}}}"
        ))
    };
    let (blue, green) = (release("blue", true), release("green", false));
    let web = web("", "");
    let ask_for = |revision: &str| {
        let namespace = namespace(&format!("istio.io/rev: {revision}"));
        let files = [
            ("web.yaml", web.as_str()),
            ("ns.yaml", namespace.as_str()),
            ("blue.yaml", blue.as_str()),
            ("green.yaml", green.as_str()),
        ];
        evaluate(&files, |context, workload| {
            let view = context.pod_facts(workload).installation();
            assert_eq!(view.names(), ["blue", "green"]);
            assert_eq!(view.conflicts(), []);
            context.pod_facts(workload).rewrite_default().value
        })
    };
    assert!(ask_for("blue"));
    assert!(!ask_for("green"));
}

#[test]
fn a_control_plane_in_a_common_parent_folder_serves_too() {
    let web = web("", "");
    let (default, canary) = (helm_release(""), helm_release("revision: canary"));
    let files = [
        ("prod/shop/web.yaml", web.as_str()),
        ("prod/shop/ns.yaml", INJECTED),
        ("prod/shop/canary.yaml", canary.as_str()),
        ("prod/istiod.yaml", default.as_str()),
    ];
    let fact = evaluate(&files, |context, workload| {
        context.pod_facts(workload).dataplane()
    });
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Known)
    );
}

#[test]
fn a_control_plane_in_another_subtree_is_only_assumed_to_serve() {
    let web = web("", "");
    let (stable, canary) = (
        helm_release("revision: stable"),
        helm_release("revision: canary"),
    );
    let namespace = namespace("istio.io/rev: canary");
    let files = [
        ("prod/web.yaml", web.as_str()),
        ("prod/ns.yaml", namespace.as_str()),
        ("prod/istiod.yaml", stable.as_str()),
        ("infra/istiod.yaml", canary.as_str()),
    ];
    let fact = evaluate(&files, |context, workload| {
        context.pod_facts(workload).dataplane()
    });
    assert_eq!(
        (fact.value, fact.certainty),
        (Dataplane::Sidecar, Certainty::Assumed)
    );
    assert!(places(&fact).contains(&"infra/istiod.yaml"));
}

/// The mesh configuration with the given port of the status server.
fn mesh_config(port: u16) -> String {
    let mesh = format!("mesh: 'defaultConfig: {{statusPort: {port}}}'");
    Manifest::config_map("istio", &mesh).to_string()
}

#[test]
fn parts_of_one_installation_are_combined() {
    let mesh = mesh_config(15555);
    let values = r#"{"global": {"proxy": {"statusPort": 15666}}, "sidecarInjectorWebhook": {"rewriteAppHTTPProbe": true}}"#;
    let values = format!("values: '{values}'");
    let injector = Manifest::config_map("istio-sidecar-injector", &values).to_string();
    let istiod = Pod::deployment("istiod").container("discovery");
    let istiod = istiod.field("image: registry.example/pilot:1.26.1");
    let istiod = istiod.to_string();
    let web = web("", "");
    let files = [
        ("web.yaml", web.as_str()),
        ("istio/mesh.yaml", &mesh),
        ("istio/injector.yaml", &injector),
        ("istio/istiod.yaml", &istiod),
    ];
    evaluate(&files, |context, workload| {
        assert_eq!(context.control_planes.len(), 1);
        assert_eq!(context.pod_facts(workload).mesh_status_port().value, 15555);
        assert_eq!(context.pod_facts(workload).proxy_status_port().value, 15666);
        assert!(context.pod_facts(workload).rewrite_default().value);
        assert_eq!(
            context.pod_facts(workload).version().value,
            Some(Version::new(1, 26))
        );
    });
}

#[test]
fn facts_of_a_rejected_mesh_configuration_do_not_apply() {
    let judge = |mtls: &str, wanted: (i64, Certainty)| {
        let mesh = format!(
            "mesh: 'enableAutoMtls: {mtls}\n\n  rootNamespace: mesh\n\n  defaultConfig: {{statusPort: 15555}}'"
        );
        let mesh = Manifest::config_map("istio", &mesh).to_string();
        let web = web("", "");
        let files = [("web.yaml", web.as_str()), ("mesh.yaml", &mesh)];
        evaluate(&files, |context, workload| {
            let port = context.pod_facts(workload).mesh_status_port();
            assert_eq!((port.value, port.certainty), wanted, "{mtls}");
            let root = context.control_planes.iter().next().unwrap();
            assert_eq!(root.root_namespace.is_some(), mtls == "true");
        });
    };
    judge("true", (15555, Certainty::Known));
    judge("\"true\"", (15020, Certainty::Assumed));
}

#[test]
fn two_rendered_clusters_are_separate() {
    let injector = Manifest::config_map("istio-sidecar-injector", "config: 'policy: enabled'");
    let injector = injector.to_string();
    let (prod, stage) = (mesh_config(15555), mesh_config(15666));
    let web = web("", "");
    let files = [
        ("prod/injector.yaml", injector.as_str()),
        ("prod/mesh.yaml", prod.as_str()),
        ("stage/injector.yaml", injector.as_str()),
        ("stage/mesh.yaml", stage.as_str()),
        ("stage/web.yaml", web.as_str()),
    ];
    evaluate(&files, |context, workload| {
        assert_eq!(context.control_planes.len(), 2);
        assert_eq!(context.pod_facts(workload).mesh_status_port().value, 15666);
    });
}

#[test]
fn a_values_file_applies_through_the_release_that_names_it() {
    let values = "pilot: {cni: {enabled: true}}\nmeshConfig: {rootNamespace: mesh}\nglobal: {proxy: {statusPort: 15555}}\n";
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: istiod}\nspec:\n  sources:\n  - {chart: istiod, targetRevision: 1.26.1, helm: {valueFiles: [$values/istio/values.yaml], valuesObject: {revision: canary}}}\n  - {repoURL: x, ref: values}\n";
    let web = web("", "");
    let files = [
        ("web.yaml", web.as_str()),
        ("istio/values.yaml", values),
        ("app.yaml", application),
    ];
    evaluate(&files, |context, workload| {
        assert_eq!(context.control_planes.len(), 1);
        let view = context.pod_facts(workload).installation();
        assert_eq!(view.names(), ["canary"]);
        assert_eq!(context.pod_facts(workload).proxy_status_port().value, 15555);
        assert_eq!(context.pod_facts(workload).root_namespace().value, "mesh");
        assert!(context.pod_facts(workload).cni().value);
    });
    evaluate(&files[..2], |context, workload| {
        let served: Vec<_> = context
            .served_names()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            served,
            ["default"],
            "without a release it is an installation too"
        );
        assert_eq!(context.pod_facts(workload).proxy_status_port().value, 15555);
    });
}

#[test]
fn values_of_environments_override_the_common_values() {
    let base =
        "pilot: {cni: {enabled: true}}\nmeshConfig: {rootNamespace: mesh}\nrevision: canary\n";
    let prod = "global: {proxy: {statusPort: 15555}, istioNamespace: mesh}\npilot: {cni: {enabled: false}}\n";
    let web = web("", "");
    let files = [
        ("istio/values.yaml", base),
        ("istio/values-prod.yaml", prod),
        ("web.yaml", web.as_str()),
    ];
    evaluate(&files, |context, workload| {
        assert_eq!(context.control_planes.len(), 1);
        assert!(!context.pod_facts(workload).cni().value);
        assert_eq!(context.pod_facts(workload).root_namespace().value, "mesh");
        assert_eq!(
            context.pod_facts(workload).installation().names(),
            ["canary"]
        );
    });
}

#[test]
fn facts_of_the_cluster_apply_to_its_control_planes() {
    let sail = |kind, spec| Manifest::new("sailoperator.io/v1", kind, "default").spec(spec);
    let cni = sail("IstioCNI", "{profile: ambient}").to_string();
    let istio = sail("Istio", "{version: v1.26.1}").to_string();
    let web = web("", "");
    let files = [
        ("mesh/cni.yaml", cni.as_str()),
        ("mesh/istio.yaml", istio.as_str()),
        ("web.yaml", web.as_str()),
    ];
    evaluate(&files, |context, workload| {
        let fact = context.pod_facts(workload).cni();
        assert_eq!((fact.value, fact.certainty), (true, Certainty::Assumed));
        assert!(context.pod_facts(workload).ambient_mode().unwrap().value);
    });
}

/// Returns the verdict for the first handler of `web` between an installation that rewrites and one that does not.
fn between<'a>(more: &[(&'a str, &'a str)]) -> (Outcome, Certainty, Vec<String>) {
    let (on, off, web) = (install(true), install(false), web("", ""));
    let mut files = vec![
        ("apps/web.yaml", web.as_str()),
        ("apps/ns.yaml", INJECTED),
        ("clusters/prod/istio.yaml", off.as_str()),
        ("clusters/stage/istio.yaml", on.as_str()),
    ];
    files.extend(more);
    verdict(&files)
}

/// Returns outcome, certainty, and the files among the reasons.
fn verdict(files: &[(&str, &str)]) -> (Outcome, Certainty, Vec<String>) {
    evaluate(files, |context, workload| {
        let prediction = predict_workload(context, workload);
        let verdict = &prediction.handlers.first().unwrap().verdict;
        let places = verdict.because.iter().filter_map(|reason| {
            let place = reason.place.as_ref()?;
            Some(place.path.to_string())
        });
        (verdict.outcome, verdict.certainty, places.collect())
    })
}

#[test]
fn a_tie_that_does_not_affect_a_probe_is_not_an_assumption() {
    let (outcome, certainty, places) = between(&[]);
    assert_eq!((outcome, certainty), (Outcome::Ok, Certainty::Default));
    assert!(
        !places.contains(&"clusters/stage/istio.yaml".to_owned()),
        "{places:?}"
    );
    let permissive = STRICT_MESH.replace("STRICT", "PERMISSIVE");
    let (outcome, certainty, _) = between(&[("mtls.yaml", &permissive)]);
    assert_eq!((outcome, certainty), (Outcome::Ok, Certainty::Known));
}

#[test]
fn a_tie_that_affects_a_probe_is_an_assumption_with_both_lines() {
    let (outcome, certainty, places) = between(&[("mtls.yaml", STRICT_MESH)]);
    assert_eq!((outcome, certainty), (Outcome::Fails, Certainty::Assumed));
    for file in ["clusters/prod/istio.yaml", "clusters/stage/istio.yaml"] {
        assert!(places.contains(&file.to_owned()), "{places:?}");
    }
}

#[test]
fn a_tie_of_an_indirect_fact_is_an_assumption_too() {
    let operator = |root: &str| operator(&format!("meshConfig: {{rootNamespace: {root}}}"));
    let (prod, stage) = (operator("istio-system"), operator("mesh"));
    let web = web("", "sidecar.istio.io/rewriteAppHTTPProbers: 'false'");
    let files = [
        ("apps/web.yaml", web.as_str()),
        ("apps/ns.yaml", INJECTED),
        ("mtls.yaml", STRICT_MESH),
        ("clusters/prod/istio.yaml", prod.as_str()),
        ("clusters/stage/istio.yaml", stage.as_str()),
    ];
    let (outcome, certainty, places) = verdict(&files);
    assert_eq!((outcome, certainty), (Outcome::Fails, Certainty::Assumed));
    for file in ["clusters/prod/istio.yaml", "clusters/stage/istio.yaml"] {
        assert!(places.contains(&file.to_owned()), "{places:?}");
    }
}

#[test]
fn more_ties_than_the_limit_are_an_assumption() {
    let more = [
        ("clusters/a/istio.yaml", install(true)),
        ("clusters/b/istio.yaml", install(true)),
        ("clusters/c/istio.yaml", install(true)),
    ];
    let more: Vec<_> = more
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let (outcome, certainty, _) = between(&more);
    assert_eq!((outcome, certainty), (Outcome::Ok, Certainty::Assumed));
}
