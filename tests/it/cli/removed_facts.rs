//! A verdict is `known` only as long as the tree contains each fact that decides it: without the fact, it falls back to a
//! default or to an assumption.

use crate::support::manifest::{INJECTED, Manifest, NOT_REWRITTEN, PROBED, STRICT, STRICT_MESH};
use crate::support::predictions;
use crate::support::project::Project;

type Files<'a> = &'a [(&'a str, &'a str)];

/// The same pods without `metadata.namespace`.
fn without_namespace(pod: &str) -> String {
    pod.replace("  namespace: shop\n", "")
}

fn operator(spec: &str) -> String {
    Manifest::operator("istio", spec).to_string()
}

/// Asserts the outcome and the certainty of the only probe, with and without the files of a fact. `files` with the name of
/// a fact's file are replaced by it.
#[track_caller]
fn assert_falls(files: Files<'_>, fact: Files<'_>, with: &str, without: &str) {
    let (known, rest) = (outcome(&[files, fact].concat(), &[]), outcome(files, &[]));
    assert_eq!((known.as_str(), rest.as_str()), (with, without), "{fact:?}");
    assert!(with.ends_with(" known") && !without.ends_with(" known"));
}

fn outcome(files: Files<'_>, options: &[&str]) -> String {
    let project = Project::with(files);
    let arguments = [
        &["predict", "--isolated", "--output-format", "json"],
        options,
    ]
    .concat();
    let handlers = predictions::handlers(&project.run(&arguments).exits(0));
    assert_eq!(handlers.len(), 1);
    predictions::texts(&handlers[0], &["/outcome", "/certainty"])
}

#[test]
fn the_namespace() {
    let pod = [("pod.yaml", NOT_REWRITTEN), ("mtls.yaml", STRICT)];
    assert_falls(
        &pod,
        &[("ns.yaml", INJECTED)],
        "fails known",
        "fails assumed",
    );
}

#[test]
fn policies_of_mutual_tls() {
    let tree = [("pod.yaml", NOT_REWRITTEN), ("ns.yaml", INJECTED)];
    let of_pod = "{selector: {matchLabels: {app: web}}, mtls: {mode: STRICT}}";
    let of_port = "{selector: {matchLabels: {app: web}}, portLevelMtls: {8080: {mode: STRICT}}}";
    let pod = NOT_REWRITTEN.replace(
        "  name: web\n  namespace",
        "  name: web\n  labels: {app: web}\n  namespace",
    );
    for policy in [STRICT, STRICT_MESH] {
        assert_falls(&tree, &[("mtls.yaml", policy)], "fails known", "ok default");
    }
    for spec in [of_pod, of_port] {
        let policy = Manifest::new("security.istio.io/v1", "PeerAuthentication", "web");
        let policy = policy.within("shop").spec(spec).to_string();
        let tree = [("pod.yaml", &*pod), ("ns.yaml", INJECTED)];
        assert_falls(
            &tree,
            &[("mtls.yaml", &policy)],
            "fails known",
            "ok default",
        );
    }
}

#[test]
fn the_root_namespace() {
    let policy = Manifest::peer_authentication("istio-config", "STRICT").to_string();
    let tree = [
        ("pod.yaml", NOT_REWRITTEN),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", &*policy),
    ];
    let installation = operator("meshConfig: {rootNamespace: istio-config}");
    assert_falls(
        &tree,
        &[("istio.yaml", &installation)],
        "fails known",
        "ok default",
    );
}

#[test]
fn the_rewrite_setting() {
    let tree = [
        ("pod.yaml", PROBED),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT),
    ];
    let values = "sidecarInjectorWebhook: {rewriteAppHTTPProbe: false}";
    let object = |api_version, kind, name, spec: &str| {
        let object = Manifest::new(api_version, kind, name).within("istio-system");
        object.spec(spec).to_string()
    };
    let sail = format!("{{namespace: istio-system, version: v1.28.0, values: {{{values}}}}}");
    let release =
        format!("{{chart: {{spec: {{chart: istiod, version: 1.28.0}}}}, values: {{{values}}}}}");
    let source = format!(
        "{{chart: istiod, repoURL: https://charts.example.com, targetRevision: 1.28.0, helm: {{valuesObject: {{{values}}}}}}}"
    );
    let application = format!("{{destination: {{namespace: istio-system}}, source: {source}}}");
    let config = Manifest::config_map(
        "istio-sidecar-injector",
        r#"values: '{"sidecarInjectorWebhook": {"rewriteAppHTTPProbe": false}}'"#,
    );
    for installation in [
        operator(&format!("values: {{{values}}}")),
        object("sailoperator.io/v1", "Istio", "default", &sail),
        object(
            "helm.toolkit.fluxcd.io/v2",
            "HelmRelease",
            "istiod",
            &release,
        ),
        object(
            "argoproj.io/v1alpha1",
            "Application",
            "istiod",
            &application,
        ),
        config.within("istio-system").to_string(),
    ] {
        assert_falls(
            &tree,
            &[("istio.yaml", &installation)],
            "fails known",
            "ok default",
        );
    }
    let chart = "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n\
                 - {name: istiod, version: 1.28.0, repository: https://charts.example.com}\n";
    let values = format!("istiod: {{{values}}}\n");
    let chart = [("mesh/Chart.yaml", chart), ("mesh/values.yaml", &*values)];
    assert_falls(&tree, &chart, "fails known", "ok default");
    assert_falls(
        &tree,
        &[("pod.yaml", NOT_REWRITTEN)],
        "fails known",
        "ok default",
    );
}

#[test]
fn the_port_of_the_agent() {
    let ahead = "livenessProbe: {httpGet: {path: /app-health/web/livez, port: 15099}}\n  - name: istio-proxy\n    \
                 image: auto\n    env: [{name: ISTIO_KUBE_APP_PROBERS, value: \
                 '{\"/app-health/web/livez\":{\"httpGet\":{\"port\":8080}}}'}]\n";
    let pod = NOT_REWRITTEN.replace("readinessProbe: {httpGet: {path: /, port: 8080}}\n", ahead);
    let tree = [
        ("pod.yaml", &*pod),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT),
    ];
    let installation = operator(
        "meshConfig: {defaultConfig: {statusPort: 15099}}, values: {global: {proxy: {statusPort: 15099}}}",
    );
    assert_falls(
        &tree,
        &[("istio.yaml", &installation)],
        "ok known",
        "fails default",
    );
}

#[test]
fn the_release_of_the_mesh() {
    let hook = PROBED.replace(
        "livenessProbe: {httpGet: {path: /, port: 8080}}",
        "lifecycle: {preStop: {httpGet: {path: /, port: 8080}}}",
    );
    let tree = [
        ("pod.yaml", &*hook),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT),
    ];
    let installation = operator("tag: 1.24.0");
    assert_falls(
        &tree,
        &[("istio.yaml", &installation)],
        "fails known",
        "ok default",
    );
    assert_eq!(outcome(&tree, &["--mesh-version", "1.24"]), "fails known");
}

#[test]
fn the_namespace_of_the_pod() {
    let pod = without_namespace(NOT_REWRITTEN);
    let flux = Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps")
        .within("flux-system")
        .spec(
            "{path: ./apps, targetNamespace: shop, sourceRef: {kind: GitRepository, name: repo}}",
        );
    let argo = Manifest::new("argoproj.io/v1alpha1", "Application", "apps")
        .within("argocd")
        .spec("{destination: {namespace: shop}, source: {path: apps, repoURL: https://git.example.com/x.git}}");
    let tree = [
        ("apps/pod.yaml", &*pod),
        ("ns.yaml", INJECTED),
        ("mtls.yaml", STRICT),
    ];
    for deployment in [flux.to_string(), argo.to_string()] {
        let fact = [("cluster.yaml", &*deployment)];
        assert_falls(&tree, &fact, "fails known", "ok assumed");
    }
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: shop\n\
                         resources: [pod.yaml]\n";
    let fact = [("apps/kustomization.yaml", kustomization)];
    assert_falls(&tree, &fact, "fails known", "ok assumed");
    let fact = [("apps/pod.yaml", NOT_REWRITTEN)];
    assert_falls(&tree, &fact, "fails known", "ok assumed");
}

#[test]
fn revisions_and_tags() {
    let namespace = Manifest::namespace("shop").labels("istio.io/rev: prod");
    let namespace = namespace.to_string();
    let tree = [
        ("pod.yaml", NOT_REWRITTEN),
        ("ns.yaml", &*namespace),
        ("mtls.yaml", STRICT),
    ];
    let plane = operator("revision: prod");
    assert_falls(
        &tree,
        &[("istio.yaml", &plane)],
        "fails known",
        "fails assumed",
    );
    let plane = operator("revision: 1-28");
    let tree = [&tree[..], &[("istio.yaml", &*plane)]].concat();
    let tag = Manifest::new(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "istio-revision-tag-prod",
    )
    .labels("app: sidecar-injector, istio.io/rev: 1-28, istio.io/tag: prod")
    .field(
        "webhooks:\n- name: rev.namespace.sidecar-injector.istio.io\n  \
         clientConfig: {service: {name: istiod-1-28, namespace: istio-system, path: /inject}}\n  \
         namespaceSelector: {matchExpressions: [{key: istio.io/rev, operator: In, values: [prod]}]}",
    );
    assert_falls(
        &tree,
        &[("tag.yaml", &tag.to_string())],
        "fails known",
        "not-in-mesh assumed",
    );
}

#[test]
fn the_network_plugin_and_its_policies() {
    let namespace = Manifest::namespace("shop").labels("istio.io/dataplane-mode: ambient");
    let namespace = namespace.to_string();
    let tree = [("pod.yaml", PROBED), ("ns.yaml", &*namespace)];
    let plugin = Manifest::config_map("cilium-config", "enable-bpf-masquerade: 'false'");
    let plugin = plugin.within("kube-system").to_string();
    assert_falls(&tree, &[("cni.yaml", &plugin)], "ok known", "ok assumed");
    let deny = Manifest::new("networking.k8s.io/v1", "NetworkPolicy", "deny").within("shop");
    let deny = deny
        .spec("{podSelector: {}, policyTypes: [Ingress]}")
        .to_string();
    assert_falls(&tree, &[("deny.yaml", &deny)], "fails known", "ok assumed");
}

#[test]
fn a_sidecar_in_the_manifest() {
    let tree = [("pod.yaml", NOT_REWRITTEN), ("mtls.yaml", STRICT)];
    let pod = format!("{NOT_REWRITTEN}  - {{name: istio-proxy, image: 'istio/proxyv2:1.28.0'}}\n");
    assert_falls(&tree, &[("pod.yaml", &pod)], "fails known", "fails assumed");
}

/// Mutual TLS is given, so that the verdict depends on the other fact only. The absence of these objects is a fact of the
/// tree: nothing denies the request, and the protocol is detected.
#[test]
fn services_and_authorization_policies() {
    let https = NOT_REWRITTEN
        .replace("port: 8080}", "port: 8080, scheme: HTTPS}")
        .replace(
            "  name: web\n  namespace",
            "  name: web\n  labels: {app: web}\n  namespace",
        );
    let permissive = Manifest::peer_authentication("shop", "PERMISSIVE").to_string();
    let service = "selector: {app: web}, ports: [{name: http-web, port: 80, targetPort: 8080}]";
    let service = Manifest::service("web", service).within("shop").to_string();
    let nothing = Manifest::authorization_policy("nothing", "").within("shop");
    let nothing = nothing.to_string();
    for (pod, fact) in [(&*https, &*service), (NOT_REWRITTEN, &*nothing)] {
        let tree = [
            ("pod.yaml", pod),
            ("ns.yaml", INJECTED),
            ("mtls.yaml", &*permissive),
        ];
        let with = [&tree[..], &[("fact.yaml", fact)]].concat();
        assert_eq!(outcome(&with, &[]), "fails known");
        assert_eq!(outcome(&tree, &[]), "ok known");
        let by_default = &with[..2];
        assert_eq!(outcome(by_default, &[]), "ok default");
    }
}

/// What the user assumes is not known, what the user overrides is.
#[test]
fn options() {
    let tree = [("pod.yaml", NOT_REWRITTEN), ("ns.yaml", INJECTED)];
    assert_eq!(outcome(&tree, &[]), "ok default");
    assert_eq!(
        outcome(&tree, &["--assume", "mtls=STRICT"]),
        "fails assumed"
    );
    assert_eq!(
        outcome(&tree, &["--override", "mtls=STRICT"]),
        "fails known"
    );
    let tree = [("pod.yaml", NOT_REWRITTEN), ("mtls.yaml", STRICT)];
    assert_eq!(
        outcome(&tree, &["--assume", "injection=all"]),
        "fails assumed"
    );
    assert_eq!(
        outcome(&tree, &["--override", "injection=all"]),
        "fails known"
    );
}

#[test]
fn other_meshes() {
    let tcp = PROBED.replace("httpGet: {path: /, port: 8080}", "tcpSocket: {port: 8080}");
    let pod = [("pod.yaml", &*tcp)];
    let linkerd = Manifest::namespace("shop").annotations("linkerd.io/inject: enabled");
    let linkerd = linkerd.to_string();
    let mesh = ["--mesh", "linkerd"];
    assert_eq!(
        outcome(&[pod[0], ("ns.yaml", &linkerd)], &mesh),
        "always-passes known"
    );
    assert_eq!(outcome(&pod, &mesh), "unknown unknown");
    let kuma = Manifest::namespace("shop").labels("kuma.io/sidecar-injection: enabled");
    let kuma = kuma.to_string();
    let tree = [pod[0], ("ns.yaml", &*kuma)];
    let with_release = ["--mesh", "kuma", "--mesh-version", "2.8"];
    assert_eq!(outcome(&tree, &with_release), "always-passes known");
    assert_eq!(outcome(&tree, &["--mesh", "kuma"]), "ok default");
}
