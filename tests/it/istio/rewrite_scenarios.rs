//! What can go wrong between a rewrite ahead of deployment and the webhook, form by form: the
//! scenarios that were measured with Istio 1.10 to 1.31, each with what `rewrite` does about it.

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

fn done(text: &str, form: &str, more: &[&str]) -> String {
    let run = rewrite(text, form, more);
    assert_eq!(run.code, 0, "{form}: {}", run.stderr);
    run.stdout
}

/// The guard refuses, says its name, and the pod stays as it is.
fn refused(text: &str, form: &str, more: &[&str], guard: &str) {
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

/// One env, and it knows every probe that asks the agent; how many those are.
fn works(text: &str, mesh: Mesh) -> usize {
    let pod = injected(text, mesh);
    assert_eq!(prober_envs(&pod).len(), 1, "{text}");
    assert_eq!(unserved(&pod), [""; 0], "{text}");
    let shown = pod["spec"]["containers"].to_string();
    shown.matches("\"path\":\"/app-").count()
}

fn with(text: &str, annotation: &str) -> String {
    text.replace(
        "    team: shop\n",
        &format!("    team: shop\n    {annotation}\n"),
    )
}

const RELEASE: [&str; 2] = ["--mesh-version", LATEST];
const FORMS: [&str; 3] = ["annotation", "container", "container-only"];

/// S1: some probes were rewritten ahead, another was added later.
#[test]
fn a_probe_that_is_added_later() {
    for form in FORMS {
        let text = done(POD, form, &RELEASE) + "";
        let grown = text.replace("    livenessProbe:", &format!("{PROBE}    livenessProbe:"));
        assert_ne!(grown, text);
        if form == "container-only" {
            // The webhook alone would append a second env and lose the first.
            let pod = injected(&grown, mesh());
            assert_eq!((prober_envs(&pod).len(), unserved(&pod).len()), (2, 2));
        } else {
            assert_eq!(works(&grown, mesh()), 2, "{form}");
        }
        assert_eq!(works(&done(&grown, form, &RELEASE), mesh()), 3, "{form}");
    }
}

/// S2: the port of the mesh is another one than was written.
#[test]
fn another_port_of_the_mesh() {
    let mesh = Mesh {
        status_port: 15099,
        ..mesh()
    };
    let said = [&RELEASE[..], &["--assume", "status-port=15099"]].concat();
    for form in FORMS {
        let text = done(POD, form, &said);
        assert!(text.contains("port: 15099"), "{text}");
        assert_eq!(works(&text, mesh), 2, "{form}");
    }
    let wrong = injected(&done(POD, "container-only", &RELEASE), mesh);
    assert_eq!(prober_envs(&wrong).len(), 2, "the reason for the guard");
    refused(
        &done(POD, "container-only", &RELEASE),
        "container-only",
        &said,
        "agent-calls-itself",
    );
}

/// S3, S3b: the annotation moves the agent. Beside the opt-out its port is written, else the port
/// of the mesh, which the webhook replaces.
#[test]
fn another_port_of_the_pod() {
    let pod = with(POD, "status.sidecar.istio.io/port: \"15022\"");
    for form in FORMS {
        let text = done(&pod, form, &RELEASE);
        let port = if form == "container-only" {
            15020
        } else {
            15022
        };
        assert!(text.contains(&format!("port: {port}")), "{text}");
        assert_eq!(works(&text, mesh()), 2, "{form}");
        let after = injected(&text, mesh());
        let probe = &after["spec"]["containers"][0]["livenessProbe"]["httpGet"];
        assert_eq!(probe["port"], 15022, "{form}");
        assert_eq!(done(&text, form, &RELEASE), text, "{form}");
    }
    // Written at the port of the annotation without the opt-out, the agent would call itself.
    let loops = done(&pod, "container-only", &RELEASE).replace("15020", "15022");
    assert_eq!(prober_envs(&injected(&loops, mesh())).len(), 2);
    refused(&loops, "container-only", &RELEASE, "agent-calls-itself");
}

/// S4: the mesh does not rewrite. What was written ahead works; nothing more is written.
#[test]
fn a_mesh_that_does_not_rewrite() {
    let off = Mesh {
        rewrites: false,
        ..mesh()
    };
    let said = [&RELEASE[..], &["--assume", "rewrite=false"]].concat();
    for form in FORMS {
        assert_eq!(works(&done(POD, form, &RELEASE), off), 2, "{form}");
        let run = rewrite(POD, form, &said);
        assert!(run.stderr.contains("note[opt-out]"), "{}", run.stderr);
        assert_eq!((run.code, run.stdout.as_str()), (0, POD), "{form}");
    }
}

/// S7: the application waits for the sidecar.
#[test]
fn an_application_that_waits_for_the_sidecar() {
    let hold = with(
        POD,
        "proxy.istio.io/config: 'holdApplicationUntilProxyStarts: true'",
    );
    for form in FORMS {
        let text = done(&hold, form, &RELEASE);
        assert_eq!(works(&text, mesh()), 2, "{form}");
        assert_eq!(
            injected(&text, mesh())["spec"]["containers"][0]["name"],
            "istio-proxy"
        );
    }
}

/// S9: a port name that resolves nowhere.
#[test]
fn a_port_that_resolves_nowhere() {
    let pod = POD.replace("port: http}", "port: metrics}");
    for form in FORMS {
        refused(&pod, form, &RELEASE, "port-unresolved");
    }
}

/// Everything that speaks against a pod is named at once, with its place.
#[test]
fn all_hazards_are_named() {
    let pod = with(POD, "status.sidecar.istio.io/port: \"0\"")
        .replace("port: http}", "port: metrics}")
        .replace("{port: 8080}", "{port: 8080, host: other}");
    let run = rewrite(&pod, "annotation", &RELEASE);
    for guard in ["status-port-invalid", "port-unresolved", "probe-host"] {
        assert!(
            run.stderr.contains(&format!("error[{guard}]")),
            "{}",
            run.stderr
        );
    }
    assert_eq!((run.code, run.stdout), (1, pod));
}

/// S11: written for a release that leaves hooks, met by one that rewrites them.
#[test]
fn a_mesh_that_is_updated() {
    let pod = format!("{POD}{HOOK}");
    let older = ["--mesh-version", "1.24"];
    for form in FORMS {
        let run = rewrite(&pod, form, &older);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stdout.contains("app-lifecycle"), "{}", run.stdout);
        let warned = run.stderr.contains("warning[newer-release]");
        assert_eq!(warned, form == "container-only", "{}", run.stderr);
        assert_eq!(works(&run.stdout, Mesh::of("1.24")), 2, "{form}");
        if form == "container-only" {
            let pod = injected(&run.stdout, mesh());
            assert_eq!((prober_envs(&pod).len(), unserved(&pod).len()), (2, 2));
            // Rewritten again for the new release, it holds.
            assert_eq!(works(&done(&run.stdout, form, &RELEASE), mesh()), 3);
        } else {
            assert_eq!(works(&run.stdout, mesh()), 2, "{form}");
        }
    }
}

/// S11b: no key that the oldest agent cannot read, as long as the release is not known.
#[test]
fn a_release_that_nobody_says() {
    let pod = format!("{POD}{HOOK}");
    refused(&pod, "container-only", &[], "hooks-need-release");
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
    // Nothing is assumed about a pod that every release rewrites alike.
    let plain = POD.replace("tcpSocket: {", "httpGet: {path: /ready, ");
    let run = rewrite(&plain, "container-only", &[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

/// S14: another webhook adds a container with a probe.
#[test]
fn a_container_from_another_webhook() {
    let foreign = "  - name: daprd\n    image: example.test/daprd\n    livenessProbe: {httpGet: {path: /v1.0/healthz, port: 3501}}\n";
    let place = "  containers:\n";
    for form in FORMS {
        let text = done(POD, form, &RELEASE);
        let grown = text.replace(place, &format!("{place}{foreign}"));
        let pod = injected(&grown, mesh());
        let lost = unserved(&pod).len();
        assert_eq!(lost, if form == "container-only" { 2 } else { 0 }, "{form}");
    }
    let asked = with(POD, "dapr.io/enabled: \"true\"");
    refused(&asked, "container-only", &RELEASE, "foreign-injector");
    let allowed = [&RELEASE[..], &["--allow", "foreign-injector"]].concat();
    done(&asked, "container-only", &allowed);
    assert_eq!(
        done(
            &with(POD, "dapr.io/enabled: \"false\""),
            "container-only",
            &RELEASE
        )
        .matches("auto")
        .count(),
        1
    );
    done(&asked, "annotation", &RELEASE);
}

/// A template of the user's own: only what stands in a container is sure to arrive.
#[test]
fn a_template_of_ones_own() {
    let pod = with(POD, "inject.istio.io/templates: sidecar,ours");
    for form in FORMS {
        refused(&pod, form, &RELEASE, "unknown-template");
    }
    let allowed = [&RELEASE[..], &["--allow", "unknown-template"]].concat();
    refused(&pod, "annotation", &allowed, "unknown-template");
    done(&pod, "container", &allowed);
    done(&pod, "container-only", &allowed);
    // The tree shows that the mesh has it.
    let templates = "values: {sidecarInjectorWebhook: {templates: {ours: 'spec: {}'}}}";
    let operator = Manifest::operator("istio", templates);
    let both = format!("{operator}---\n{pod}");
    refused(&both, "annotation", &RELEASE, "custom-template");
    done(&both, "container", &RELEASE);
}

/// Pods outside the mesh stay as they are, and are told of where their neighbours are injected.
#[test]
fn pods_without_a_sidecar() {
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

/// An env that nobody can extend without losing something.
#[test]
fn an_env_that_is_there_twice() {
    let text = done(POD, "container", &RELEASE);
    let at = text
        .find("    - name: ISTIO_KUBE")
        .or_else(|| text.find("      - name: ISTIO_KUBE"))
        .unwrap();
    let entry = &text[at..];
    let twice = format!("{text}{entry}")
        .replace("    livenessProbe:", &format!("{PROBE}    livenessProbe:"));
    for form in FORMS {
        refused(&twice, form, &RELEASE, "prober-env-conflict");
    }
}

/// `check` has nothing to say of what `rewrite` has written, under strict mutual TLS.
#[test]
fn what_is_written_passes_the_check() {
    let namespace = Manifest::namespace("default").injected();
    let moved = with(POD, "status.sidecar.istio.io/port: \"15022\"");
    for pod in [POD.to_owned(), moved] {
        for form in FORMS {
            let text = done(
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
            let told: Vec<&str> = about_probes
                .filter_map(|line| line.split_once(':').map(|(rule, _)| rule))
                .filter(|rule| rule.ends_with(']'))
                .collect();
            // Without the opt-out a second injection may still find something.
            let wanted: &[&str] = if form == "container-only" {
                &["note[rewritten-and-rewrite-off]"]
            } else {
                &[]
            };
            assert_eq!((run.code, &*told), (0, wanted), "{form}: {}", run.stdout);
        }
    }
}

/// The form comes from the configuration as well, of the program and of the function.
#[test]
fn the_form_is_a_setting() {
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
        assert_eq!(run(form, &[]).stdout, done(POD, form, &RELEASE), "{form}");
        assert_eq!(
            run(form, &["--form", "container"]).stdout,
            done(POD, "container", &RELEASE),
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

/// The env reads alike whether the annotation is new, a block, a line or JSON.
#[test]
fn the_env_in_an_annotation_that_is_there() {
    let value = |text: &str| {
        let at = text
            .find("{\\\"/app-health")
            .or_else(|| text.find("{\\\\\\\"/app-health"));
        text[at.unwrap() - 1..].chars().next().unwrap()
    };
    assert_eq!(value(&done(POD, "annotation", &RELEASE)), '\'');
    for config in [
        "|\n      concurrency: 2",
        "'concurrency: 2'",
        "\"concurrency: 2\"",
    ] {
        let text = done(
            &with(POD, &format!("proxy.istio.io/config: {config}")),
            "annotation",
            &RELEASE,
        );
        assert_eq!(value(&text), '\'', "{text}");
        assert_eq!(works(&text, mesh()), 2, "{text}");
    }
    let json = with(POD, "proxy.istio.io/config: '{\"concurrency\": 2}'");
    let text = done(&json, "annotation", &RELEASE);
    assert_eq!(works(&text, mesh()), 2, "{text}");
    let annotation =
        workloads(&text)[0].template["metadata"]["annotations"]["proxy.istio.io/config"].clone();
    assert!(
        serde_json::from_str::<Value>(annotation.as_str().unwrap()).is_ok(),
        "still JSON: {annotation}"
    );
}
