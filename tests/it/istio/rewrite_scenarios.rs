//! Scenarios in which a rewrite ahead of deployment and the webhook can conflict, for each form.
//!
//! They were measured with Istio 1.10 to 1.31. Each test checks how `rewrite` handles one of them.

use std::path::Path;

use super::webhook::{Admitted, Mesh, admit, prober_envs, unserved, workloads};
use crate::support::manifest::{Manifest, STRICT_MESH};
use crate::support::{Run, meshprobe};
use serde_json::Value;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    team: shop
spec:
  containers:
  - name: web
    image: example.test/web:1
    ports: [{name: http, containerPort: 8080}]
    livenessProbe: {httpGet: {path: /live, port: http}}
    readinessProbe: {tcpSocket: {port: 8080}}
";
const HOOK: &str = "    lifecycle: {preStop: {httpGet: {path: /stop, port: 8080}}}\n";
const PROBE: &str = "    startupProbe: {grpc: {port: 9090}}\n";
const LATEST: &str = "1.31";

fn rewrite(text: &str, form: &str, more: &[&str]) -> Run {
    let mut arguments = vec!["rewrite", "--isolated", "--color", "never", "--form", form];
    arguments.extend(["--assume", "injection=all"]);
    arguments.extend(more);
    arguments.push("-");
    meshprobe(Path::new("/"), &arguments, text)
}

fn rewritten(text: &str, form: &str, more: &[&str]) -> String {
    let run = rewrite(text, form, more);
    assert_eq!(run.code, 0, "{form}: {}", run.stderr);
    run.stdout
}

/// Checks that a guard refuses the pod, that its id is reported, and that the pod stays unchanged.
fn assert_refused(text: &str, form: &str, more: &[&str], guard: &str) {
    let run = rewrite(text, form, more);
    assert!(
        run.stderr.contains(&format!("error[{guard}]")),
        "{form}: {}",
        run.stderr
    );
    assert_eq!((run.code, run.stdout.as_str()), (1, text), "{form}");
}

fn mesh() -> Mesh {
    Mesh::of(LATEST)
}

fn injected(text: &str, mesh: Mesh) -> Value {
    match admit(&workloads(text)[0], mesh) {
        Admitted::Injected(pod) => pod,
        other => panic!("{other:?}"),
    }
}

/// Checks that the injected pod has one prober env with an entry for every rewritten probe, and returns the number of
/// those probes.
fn served_probes(text: &str, mesh: Mesh) -> usize {
    let pod = injected(text, mesh);
    assert_eq!(prober_envs(&pod).len(), 1, "{text}");
    assert_eq!(unserved(&pod), [""; 0], "{text}");
    let containers = pod["spec"]["containers"].to_string();
    containers.matches("\"path\":\"/app-").count()
}

fn with(text: &str, annotation: &str) -> String {
    text.replace(
        "    team: shop\n",
        &format!("    team: shop\n    {annotation}\n"),
    )
}

const RELEASE: [&str; 2] = ["--mesh-version", LATEST];
const FORMS: [&str; 3] = ["annotation", "container", "container-only"];

/// S1: a probe is added after others were rewritten ahead.
#[test]
fn a_second_rewrite_includes_a_probe_that_was_added_later() {
    for form in FORMS {
        let text = rewritten(POD, form, &RELEASE) + "";
        let grown = text.replace("    livenessProbe:", &format!("{PROBE}    livenessProbe:"));
        assert_ne!(grown, text);
        if form == "container-only" {
            // The webhook alone would append a second env and lose the first.
            let pod = injected(&grown, mesh());
            assert_eq!((prober_envs(&pod).len(), unserved(&pod).len()), (2, 2));
        } else {
            assert_eq!(served_probes(&grown, mesh()), 2, "{form}");
        }
        assert_eq!(
            served_probes(&rewritten(&grown, form, &RELEASE), mesh()),
            3,
            "{form}"
        );
    }
}

/// S2: the status port of the mesh differs from the port in the manifest.
#[test]
fn a_rewrite_uses_the_status_port_of_the_mesh() {
    let mesh = Mesh {
        status_port: 15099,
        ..mesh()
    };
    let options = [&RELEASE[..], &["--assume", "status-port=15099"]].concat();
    for form in FORMS {
        let text = rewritten(POD, form, &options);
        assert!(text.contains("port: 15099"), "{text}");
        assert_eq!(served_probes(&text, mesh), 2, "{form}");
    }
    let wrong = injected(&rewritten(POD, "container-only", &RELEASE), mesh);
    assert_eq!(prober_envs(&wrong).len(), 2, "the reason for the guard");
    assert_refused(
        &rewritten(POD, "container-only", &RELEASE),
        "container-only",
        &options,
        "agent-calls-itself",
    );
}

/// S3, S3b: an annotation changes the status port. With the opt-out, `rewrite` writes that port, else the port of the
/// mesh, which the webhook replaces.
#[test]
fn a_rewrite_uses_the_status_port_of_the_pod_with_the_opt_out() {
    let pod = with(POD, "status.sidecar.istio.io/port: \"15022\"");
    for form in FORMS {
        let text = rewritten(&pod, form, &RELEASE);
        let port = if form == "container-only" {
            15020
        } else {
            15022
        };
        assert!(text.contains(&format!("port: {port}")), "{text}");
        assert_eq!(served_probes(&text, mesh()), 2, "{form}");
        let after = injected(&text, mesh());
        let probe = &after["spec"]["containers"][0]["livenessProbe"]["httpGet"];
        assert_eq!(probe["port"], 15022, "{form}");
        assert_eq!(rewritten(&text, form, &RELEASE), text, "{form}");
    }
    // With the port of the annotation and without the opt-out, the agent would call itself.
    let loops = rewritten(&pod, "container-only", &RELEASE).replace("15020", "15022");
    assert_eq!(prober_envs(&injected(&loops, mesh())).len(), 2);
    assert_refused(&loops, "container-only", &RELEASE, "agent-calls-itself");
}

/// S4: the mesh does not rewrite probes. Earlier rewrites work, and `rewrite` writes no others.
#[test]
fn a_pod_is_not_rewritten_if_the_mesh_does_not_rewrite() {
    let off = Mesh {
        rewrites: false,
        ..mesh()
    };
    let options = [&RELEASE[..], &["--assume", "rewrite=false"]].concat();
    for form in FORMS {
        assert_eq!(
            served_probes(&rewritten(POD, form, &RELEASE), off),
            2,
            "{form}"
        );
        let run = rewrite(POD, form, &options);
        assert!(run.stderr.contains("note[opt-out]"), "{}", run.stderr);
        assert_eq!((run.code, run.stdout.as_str()), (0, POD), "{form}");
    }
}

/// S7: the application waits for the sidecar.
#[test]
fn probes_are_served_if_the_application_waits_for_the_sidecar() {
    let hold = with(
        POD,
        "proxy.istio.io/config: 'holdApplicationUntilProxyStarts: true'",
    );
    for form in FORMS {
        let text = rewritten(&hold, form, &RELEASE);
        assert_eq!(served_probes(&text, mesh()), 2, "{form}");
        assert_eq!(
            injected(&text, mesh())["spec"]["containers"][0]["name"],
            "istio-proxy"
        );
    }
}

/// S9: a probe names a port that no container declares.
#[test]
fn a_named_port_that_is_not_declared_is_refused() {
    let pod = POD.replace("port: http}", "port: metrics}");
    for form in FORMS {
        assert_refused(&pod, form, &RELEASE, "port-unresolved");
    }
}

/// One run reports every reason against the rewrite of a pod.
#[test]
fn all_guards_that_refuse_a_pod_are_reported() {
    let pod = with(POD, "status.sidecar.istio.io/port: \"0\"")
        .replace("port: http}", "port: metrics}")
        .replace("{port: 8080}", "{port: 8080, host: other}");
    let run = rewrite(&pod, "container-only", &RELEASE);
    let one_line = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "error[status-port-invalid]: Pod/web is not rewritten: (1) `status.sidecar.istio.io/port: \"0\"` is not a port",
        "(2) livenessProbe of container `web`: port name `metrics` is not declared in the container",
        "(3) readinessProbe of container `web`: the agent would check the pod itself instead of host `other`",
    ] {
        assert!(one_line.contains(part), "{part}\n{}", run.stderr);
    }
    assert_eq!(run.stderr.matches("error[").count(), 1, "{}", run.stderr);
    assert_eq!((run.code, run.stdout), (1, pod));
}

/// S11: a pod is rewritten for a release that does not rewrite hooks, and injected by one that does.
#[test]
fn probes_survive_an_upgrade_of_the_mesh_unless_the_form_is_container_only() {
    let pod = format!("{POD}{HOOK}");
    let older = ["--mesh-version", "1.24"];
    for form in FORMS {
        let run = rewrite(&pod, form, &older);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stdout.contains("app-lifecycle"), "{}", run.stdout);
        let warned = run.stderr.contains("warning[newer-release]");
        assert_eq!(warned, form == "container-only", "{}", run.stderr);
        assert_eq!(served_probes(&run.stdout, Mesh::of("1.24")), 2, "{form}");
        if form == "container-only" {
            let pod = injected(&run.stdout, mesh());
            assert_eq!((prober_envs(&pod).len(), unserved(&pod).len()), (2, 2));
            // After a second rewrite for the new release, the agent serves all probes.
            assert_eq!(
                served_probes(&rewritten(&run.stdout, form, &RELEASE), mesh()),
                3
            );
        } else {
            assert_eq!(served_probes(&run.stdout, mesh()), 2, "{form}");
        }
    }
}

/// S11b: while the release is unknown, the env contains no key that the oldest agent cannot read.
#[test]
fn hooks_are_not_rewritten_while_the_release_is_unknown() {
    let pod = format!("{POD}{HOOK}");
    assert_refused(&pod, "container-only", &[], "hooks-need-release");
    for form in ["annotation", "container"] {
        let run = rewrite(&pod, form, &[]);
        assert!(!run.stdout.contains("app-lifecycle"), "{}", run.stdout);
        assert!(run.stderr.contains("note[hooks-left]"), "{}", run.stderr);
        assert!(
            run.stderr.contains("note[release-assumed]"),
            "{}",
            run.stderr
        );
    }
    // No release is assumed for a pod that every release rewrites in the same way.
    let plain = POD.replace("tcpSocket: {", "httpGet: {path: /ready, ");
    let run = rewrite(&plain, "container-only", &[]);
    let sum = "1 of 1 workload rewritten; applying the changes triggers rollouts.\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, sum));
}

/// S14: another webhook adds a container with a probe.
#[test]
fn a_container_of_another_webhook_loses_probes_only_in_the_form_container_only() {
    let foreign = "  - name: daprd\n    image: example.test/daprd\n    livenessProbe: {httpGet: {path: /v1.0/healthz, port: 3501}}\n";
    let place = "  containers:\n";
    for form in FORMS {
        let text = rewritten(POD, form, &RELEASE);
        let grown = text.replace(place, &format!("{place}{foreign}"));
        let pod = injected(&grown, mesh());
        let lost = unserved(&pod).len();
        assert_eq!(lost, if form == "container-only" { 2 } else { 0 }, "{form}");
    }
    let annotated = with(POD, "dapr.io/enabled: \"true\"");
    assert_refused(&annotated, "container-only", &RELEASE, "foreign-injector");
    let allowed = [&RELEASE[..], &["--allow", "foreign-injector"]].concat();
    rewritten(&annotated, "container-only", &allowed);
    assert_eq!(
        rewritten(
            &with(POD, "dapr.io/enabled: \"false\""),
            "container-only",
            &RELEASE
        )
        .matches("auto")
        .count(),
        1
    );
    rewritten(&annotated, "annotation", &RELEASE);
}

/// With a custom template, only the fields of a container are certain to reach the pod.
#[test]
fn a_custom_template_requires_the_env_in_a_container() {
    let pod = with(POD, "inject.istio.io/templates: sidecar,ours");
    for form in FORMS {
        assert_refused(&pod, form, &RELEASE, "unknown-template");
    }
    let allowed = [&RELEASE[..], &["--allow", "unknown-template"]].concat();
    assert_refused(&pod, "annotation", &allowed, "unknown-template");
    rewritten(&pod, "container", &allowed);
    rewritten(&pod, "container-only", &allowed);
    // The tree contains the template.
    let templates = "values: {sidecarInjectorWebhook: {templates: {ours: 'spec: {}'}}}";
    let operator = Manifest::operator("istio", templates);
    let both = format!("{operator}---\n{pod}");
    assert_refused(&both, "annotation", &RELEASE, "custom-template");
    rewritten(&both, "container", &RELEASE);
}

/// Pods outside of the mesh stay unchanged, and a note explains why.
#[test]
fn pods_without_a_sidecar_are_not_rewritten() {
    let host = POD.replace("spec:\n", "spec:\n  hostNetwork: true\n");
    let ambient = format!("{}    istio.io/dataplane-mode: ambient\n", "  labels:\n");
    let ambient = POD.replace("spec:\n", &format!("{ambient}spec:\n"));
    for form in FORMS {
        let run = rewrite(&host, form, &RELEASE);
        assert!(run.stderr.contains("note[host-network]"), "{}", run.stderr);
        assert_eq!((run.code, run.stdout.as_str()), (0, host.as_str()));
    }
    let namespace = Manifest::namespace("default").labels("istio.io/dataplane-mode: ambient");
    let both = format!("{namespace}---\n{ambient}");
    let run = rewrite(&both, "annotation", &["-n", "default"]);
    assert!(run.stderr.contains("note[ambient]"), "{}", run.stderr);
    assert_eq!(run.stdout, both);
}

/// A pod has two prober envs, so that extending either of them loses entries.
#[test]
fn a_pod_with_two_prober_envs_is_refused() {
    let text = rewritten(POD, "container", &RELEASE);
    let at = text
        .find("    - name: ISTIO_KUBE")
        .or_else(|| text.find("      - name: ISTIO_KUBE"))
        .unwrap();
    let entry = &text[at..];
    let twice = format!("{text}{entry}")
        .replace("    livenessProbe:", &format!("{PROBE}    livenessProbe:"));
    for form in FORMS {
        assert_refused(&twice, form, &RELEASE, "prober-env-conflict");
    }
}

/// `check` reports no errors and no warnings about the output of `rewrite` under strict mutual TLS.
#[test]
fn rewritten_pods_pass_the_check() {
    let namespace = Manifest::namespace("default").injected();
    let moved = with(POD, "status.sidecar.istio.io/port: \"15022\"");
    for pod in [POD.to_owned(), moved] {
        for form in FORMS {
            let text = rewritten(
                &format!("{namespace}---\n{STRICT_MESH}---\n{pod}{HOOK}"),
                form,
                &[&RELEASE[..], &["-n", "default"]].concat(),
            );
            let arguments = [
                "check",
                "--isolated",
                "-n",
                "default",
                "--mesh-version",
                LATEST,
                "-",
            ];
            let run = meshprobe(Path::new("/"), &arguments, &text);
            let about_probes = run.stdout.lines().filter(|line| line.contains("probe"));
            let rules: Vec<&str> = about_probes
                .filter_map(|line| line.split_once(':').map(|(rule, _)| rule))
                .filter(|rule| rule.ends_with(']'))
                .collect();
            // Without the opt-out, the injector may later find another handler to rewrite.
            let wanted: &[&str] = if form == "container-only" {
                &["note[rewritten-and-rewrite-off]"]
            } else {
                &[]
            };
            assert_eq!((run.code, &*rules), (0, wanted), "{form}: {}", run.stdout);
        }
    }
}

/// The configuration of the program and that of the KRM function can set the form.
#[test]
fn the_configuration_sets_the_form() {
    let folder = tempfile::tempdir().unwrap();
    let config = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: x}\nspec: {form: FORM, assume: {injection: all}}\n";
    let run = |form: &str, more: &[&str]| {
        std::fs::write(
            folder.path().join(".meshprobe.yaml"),
            config.replace("FORM", form),
        )
        .unwrap();
        let arguments = [&["rewrite", "--mesh-version", LATEST][..], more, &["-"]].concat();
        meshprobe(folder.path(), &arguments, POD)
    };
    for form in FORMS {
        assert_eq!(
            run(form, &[]).stdout,
            rewritten(POD, form, &RELEASE),
            "{form}"
        );
        assert_eq!(
            run(form, &["--form", "container"]).stdout,
            rewritten(POD, "container", &RELEASE),
            "{form}"
        );
        let item: String = POD.lines().map(|line| format!("  {line}\n")).collect();
        let function: String = config
            .replace("FORM", form)
            .lines()
            .map(|line| format!("  {line}\n"))
            .collect();
        let list = format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {}functionConfig:\n{function}",
            item.trim_start()
        );
        let answer = meshprobe(Path::new("/"), &["krm"], &list).stdout;
        assert_eq!(
            answer.contains("image: auto"),
            form != "annotation",
            "{answer}"
        );
        assert_eq!(
            answer.contains("rewriteAppHTTPProbers: \"false\""),
            form != "container-only",
            "{answer}"
        );
    }
    let wrong = run("annotaton", &[]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("did you mean `annotation`"),
        "{}",
        wrong.stderr
    );
}

/// The env works in a new annotation, and in one that is a block scalar, a quoted line or JSON.
#[test]
fn the_env_is_added_to_an_existing_annotation() {
    let value = |text: &str| {
        let at = text
            .find("{\\\"/app-health")
            .or_else(|| text.find("{\\\\\\\"/app-health"));
        text[at.unwrap() - 1..].chars().next().unwrap()
    };
    assert_eq!(value(&rewritten(POD, "annotation", &RELEASE)), '\'');
    for config in [
        "|\n      concurrency: 2",
        "'concurrency: 2'",
        "\"concurrency: 2\"",
    ] {
        let text = rewritten(
            &with(POD, &format!("proxy.istio.io/config: {config}")),
            "annotation",
            &RELEASE,
        );
        assert_eq!(value(&text), '\'', "{text}");
        assert_eq!(served_probes(&text, mesh()), 2, "{text}");
    }
    let json = with(POD, "proxy.istio.io/config: '{\"concurrency\": 2}'");
    let text = rewritten(&json, "annotation", &RELEASE);
    assert_eq!(served_probes(&text, mesh()), 2, "{text}");
    let annotation =
        workloads(&text)[0].template["metadata"]["annotations"]["proxy.istio.io/config"].clone();
    assert!(
        serde_json::from_str::<Value>(annotation.as_str().unwrap()).is_ok(),
        "still JSON: {annotation}"
    );
}

/// The probes of a pod with hosts, by slot.
fn probes(pod: &Value) -> Vec<String> {
    let slots = ["livenessProbe", "readinessProbe", "startupProbe"];
    let probes = slots
        .iter()
        .map(|slot| pod["spec"]["containers"][0][slot].to_string());
    probes.collect()
}

/// With the opt-out, the webhook does not change a probe with a host, and the agent serves the others.
#[test]
fn a_probe_with_a_host_stays_as_written_next_to_the_opt_out() {
    for probe in [
        "    startupProbe: {httpGet: {path: /s, port: 8080, host: 127.0.0.1}}\n",
        "    startupProbe: {tcpSocket: {port: 5432, host: db.example.test}}\n",
        "    startupProbe: {httpGet: {port: http, host: db.example.test, path: '//x'}}\n",
    ] {
        let pod = format!("{POD}{probe}");
        let release = ["--mesh-version", LATEST];
        assert_refused(&pod, "container-only", &release, "probe-host");
        for form in ["annotation", "container"] {
            let run = rewrite(&pod, form, &release);
            assert!(run.stdout.contains(probe), "{form}: {}", run.stdout);
            assert!(run.stderr.contains("note[host-kept]"), "{}", run.stderr);
            assert_eq!(
                (run.code, served_probes(&run.stdout, mesh())),
                (0, 2),
                "{form}"
            );
            let admitted = injected(&run.stdout, mesh());
            let written = &workloads(&pod)[0].template;
            assert_eq!(
                probes(written)[2].contains("host"),
                probes(&admitted)[2].contains("host")
            );
            assert!(!probes(&admitted)[2].contains("app-health"), "{admitted}");
            for again in ["annotation", "container", "container-only", "auto"] {
                let second = rewrite(&run.stdout, again, &release);
                assert_eq!(
                    (second.code, &second.stdout),
                    (0, &run.stdout),
                    "{}",
                    second.stderr
                );
            }
            let undo = ["rewrite", "--undo", "--isolated", "-"];
            let undone = meshprobe(Path::new("/"), &undo, &run.stdout);
            assert!(undone.stdout.contains(probe), "{}", undone.stdout);
            assert!(
                !undone.stdout.contains("rewriteAppHTTPProbers"),
                "{}",
                undone.stdout
            );
        }
    }
}

/// A hook with a host keeps its destination, which the injector would change from 1.25 on.
#[test]
fn a_hook_with_a_host_stays_as_written_next_to_the_opt_out() {
    let hook = "    lifecycle: {preStop: {httpGet: {path: /leave, port: 8500, host: registry.example.test}}}\n";
    let pod = format!("{POD}{hook}");
    for release in [
        &["--mesh-version", LATEST][..],
        &["--mesh-version", "1.24"],
        &[],
    ] {
        for form in ["annotation", "container"] {
            let run = rewrite(&pod, form, release);
            assert!(run.stdout.contains(hook), "{form}: {}", run.stdout);
            assert_eq!(
                (run.code, served_probes(&run.stdout, mesh())),
                (0, 2),
                "{form}"
            );
            assert!(
                injected(&run.stdout, mesh())
                    .to_string()
                    .contains("registry.example.test")
            );
        }
    }
}

/// A host that another tool fills in may be empty, and a pod without other probes has nothing to rewrite.
#[test]
fn a_pod_in_which_only_hosts_are_left_is_refused() {
    let release = ["--mesh-version", LATEST];
    let only = POD.replace("    readinessProbe: {tcpSocket: {port: 8080}}\n", "");
    let only = only.replace("port: http}}", "port: http, host: 127.0.0.1}}");
    let filled = format!("{POD}    startupProbe: {{tcpSocket: {{port: 80, host: '${{HOST}}'}}}}\n");
    for form in ["annotation", "container", "container-only"] {
        assert_refused(&only, form, &release, "probe-host");
        assert_refused(&filled, form, &release, "probe-host");
    }
}

/// The injector merges the env of a partial `istio-proxy` in `initContainers` into a native sidecar.
#[test]
fn a_partial_sidecar_in_the_init_containers_is_extended_for_native_sidecars() {
    let init = "spec:\n  initContainers:\n  - {name: istio-proxy, image: auto, env: [{name: A, value: b}]}\n";
    let pod = POD.replace("spec:\n", init);
    let release = ["--mesh-version", "1.28"];
    let native = Mesh {
        native: true,
        ..Mesh::of("1.28")
    };
    for form in ["annotation", "container", "container-only"] {
        assert_refused(&pod, form, &release, "proxy-in-init-containers");
        for fact in [
            ["--assume", "native-sidecars=true"],
            ["--override", "native-sidecars=true"],
            ["--override", "node-version=1.33"],
        ] {
            let text = rewritten(&pod, form, &[release, fact].concat());
            assert_eq!(served_probes(&text, native), 2, "{form}");
        }
        let off = [release, ["--assume", "native-sidecars=false"]].concat();
        assert_refused(&pod, form, &off, "proxy-in-init-containers");
    }
}
