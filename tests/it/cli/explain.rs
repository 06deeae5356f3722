//! `meshprobe explain`: pasted texts, their pages, and the probes of a tree.

use serde_json::Value;

use crate::support::Run;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT, join};
use crate::support::project::Project;

/// Events as `kubectl describe pod`, `kubectl get events` and logs show them, and the pages that explain them.
const EVENTS: &[(&str, &str)] = &[
    (
        "  Warning  Unhealthy  4s (x12 over 2m)  kubelet  Readiness probe failed: Get \"http://10.244.1.7:8080/healthz\": \
         read tcp 10.244.1.1:53412->10.244.1.7:8080: read: connection reset by peer",
        "connection-reset",
    ),
    (
        "readiness probe failed: get http://[fd00:10::7]:8080/: read tcp [fd00:10::1]:5->[fd00:10::7]:8080: read: CONNECTION RESET BY PEER",
        "connection-reset",
    ),
    (
        "Liveness probe failed: Get \"http://10.1.0.7:15020/app-health/web/livez\": dial tcp 10.1.0.7:15020: connect: connection refused",
        "agent-connection-refused",
    ),
    (
        "Readiness probe failed: dial tcp 10.1.0.7:5432: connect: connection refused",
        "connection-refused",
    ),
    (
        "{\"message\":\"Readiness probe failed: Get \\\"https://10.1.0.7:8443/\\\": remote error: tls: certificate required\"}",
        "https-client-certificate",
    ),
    (
        "Startup probe failed: Get \"https://10.1.0.7:8443/\": http: server gave HTTP response to HTTPS client",
        "http-response-to-https-client",
    ),
    (
        "Readiness probe failed: Get \"https://10.1.0.7:8443/\": EOF",
        "connection-closed-eof",
    ),
    (
        "Readiness probe failed: Get \"http://10.1.0.7:8080/\": context deadline exceeded (Client.Timeout exceeded while \
         awaiting headers)",
        "deadline-exceeded",
    ),
    (
        "Liveness probe failed: timeout: failed to connect service \"10.1.0.7:9000\" within 3s: context deadline exceeded",
        "grpc-connect-timeout",
    ),
    (
        "error: health rpc probe failed: rpc error: code = PermissionDenied desc = RBAC: access denied",
        "rbac-access-denied",
    ),
    (
        "Liveness probe failed: HTTP probe failed with statuscode: 503",
        "statuscode-503",
    ),
    (
        "Liveness probe failed: HTTP probe failed with statuscode: 429",
        "statuscode-other",
    ),
    (
        "Error creating: pods \"web-1\" is forbidden: violates PodSecurity \"restricted:v1.34\": probe or lifecycle host \
         (container \"web\" uses probe or lifecycle host \"localhost\")",
        "pod-security-host",
    ),
    (
        "Internal error occurred: failed calling webhook \"namespace.sidecar-injector.istio.io\": Post \
         \"https://istiod.istio-system.svc:443/inject\": context deadline exceeded",
        "admission-webhook",
    ),
    (
        "Warning  FailedPreStopHook  1s  kubelet  PreStopHook failed",
        "failed-pre-stop-hook",
    ),
    (
        "web-0   1/2   CrashLoopBackOff   7 (12s ago)   9m",
        "crash-loop-back-off",
    ),
    (
        "Readiness probe failed: Get \"http://10.1.0.7:15021/healthz/ready\": dial tcp 10.1.0.7:15021: connect: connection refused",
        "istio-proxy-not-ready",
    ),
    (
        "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal bool into Go struct field ObjectMeta.spec.template.metadata.annotations of type string",
        "cannot-unmarshal",
    ),
    (
        "Deployment/shop/web dry-run failed (BadRequest): Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"spec.template.spec.containers[0].readinessProbe.port\"",
        "cannot-unmarshal",
    ),
    (
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type int32",
        "cannot-unmarshal",
    ),
    (
        "post build failed for 'Deployment.v1.apps/web.shop': envsubst error: variable substitution failed: variable not set (strict mode): \"TAG\"",
        "flux-substitution-failed",
    ),
    (
        "ComparisonError: Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = Manifest generation error (cached): `kustomize build <path to cached source>/apps` failed exit status 1: Error: accumulating resources: accumulation err='accumulating resources from 'web.yaml': open web.yaml: no such file or directory'",
        "kustomize-build-failed",
    ),
    (
        "Deployment/shop/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: spec.template.spec.containers[0].livenessProbe: Required value: must specify a handler type",
        "api-server-rejects-probe",
    ),
    ("lifecycle hook PostStart failed", "failed-post-start-hook"),
    (
        "Pod/shop/web dry-run failed (Forbidden): admission webhook \"namespace.sidecar-injector.istio.io\" denied the request: strconv.ParseUint: parsing \"http\": invalid syntax",
        "admission-webhook",
    ),
    (
        "Exec lifecycle hook ([pilot-agent wait]) for Container \"istio-proxy\" in Pod \"web_shop(1)\" failed - error: command 'pilot-agent wait' exited with 255: Error: timeout waiting for Envoy proxy to become ready. Last error: Get \"http://localhost:15021/healthz/ready\": dial tcp 127.0.0.1:15021: connect: connection refused",
        "sidecar-wait-failed",
    ),
    (
        "Readiness probe failed: Get \"https://10.1.0.7:8443/healthz\": remote error: tls: handshake failure",
        "https-client-certificate",
    ),
    (
        "Liveness probe failed: Get \"https://10.1.0.7:8443/healthz\": remote error: tls: bad certificate",
        "https-client-certificate",
    ),
    (
        "127.0.0.6 - - [21/Aug/2026:10:07:11 +0000] \"GET /healthz HTTP/1.1\" 403 9",
        "source-127-0-0-6",
    ),
    (
        "dst.addr=10.244.2.9:15008 direction=\"outbound\" error=\"connection timed out, maybe a NetworkPolicy is blocking HBONE port 15008: deadline has elapsed\"",
        "hbone-blocked",
    ),
    (
        "l5d-proxy-error: client 10.1.0.1:41234: server: 10.1.0.7:8080: unauthorized request on route",
        "linkerd-unauthorized",
    ),
    (
        "rpc error: code = PermissionDenied desc = unauthorized connection on server/web",
        "linkerd-unauthorized",
    ),
];

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout))
}

fn ids(run: &Run) -> Vec<String> {
    let report = json(run);
    let symptoms = report["symptoms"].as_array().unwrap();
    let id = |symptom: &Value| symptom["id"].as_str().unwrap().to_owned();
    symptoms.iter().map(id).collect()
}

#[test]
fn pasted_events_lead_to_their_page() {
    let project = Project::new();
    for (event, page) in EVENTS {
        let run = project
            .run(&["explain", "--output-format", "json", event])
            .exits(0);
        assert_eq!(ids(&run)[0], *page, "{event}");
        let text = project.run_in("", &["explain", "-"], event).exits(0);
        assert!(
            text.stdout.starts_with(&format!("{page}: ")),
            "{}",
            text.stdout
        );
        assert!(text.stdout.contains("\n## Causes\n"), "{}", text.stdout);
    }
}

/// The error counts, not the states of the same pod; the others are named.
#[test]
fn the_output_of_describe_leads_to_the_error() {
    let described = "\
Name:             web-0
Status:           Running
    State:          Waiting
      Reason:       CrashLoopBackOff
Events:
  Type     Reason     Age                From     Message
  ----     ------     ----               ----     -------
  Warning  Unhealthy  2s (x9 over 22s)   kubelet  Liveness probe failed: HTTP probe failed with statuscode: 400
  Normal   Killing    2s (x3 over 22s)   kubelet  Container web failed liveness probe, will be restarted
";
    let run = Project::new()
        .run_in("", &["explain", "-"], described)
        .exits(0);
    assert!(
        run.stdout
            .starts_with("statuscode-400: Warning Unhealthy 2s"),
        "{}",
        run.stdout
    );
    let run = run.stdout_contains("also matches: ");
    run.stdout_contains("crash-loop-back-off");
}

#[test]
fn wrapped_and_coloured_lines_are_found() {
    let wrapped = "Warning  Unhealthy  Readiness probe failed: Get\n  \"http://10.1.0.7:8080/\": read: \u{1b}[31mconnection\n  \
                   reset\u{1b}[0m by peer\r\n";
    let run = Project::new().run_in("", &["explain", "--output-format", "json", "-"], wrapped);
    assert_eq!(ids(&run.exits(0)), ["connection-reset"]);
}

#[test]
fn an_unknown_text_exits_with_1_and_says_what_to_do() {
    let project = Project::with(&[("events.txt", "")]);
    let run = project.run(&["explain", "disk pressure"]).exits(1);
    assert_eq!(run.stdout, "");
    let run = run.stderr_contains("error: no symptom is known for this text\nhelp: ");
    run.stderr_contains("`meshprobe explain` lists the known symptoms");
    let run = project
        .run(&["explain", "--output-format", "json", "x"])
        .exits(1);
    assert_eq!(json(&run)["symptoms"], Value::Array(Vec::new()));
    let run = project.run(&["explain", "events.txt"]).exits(1);
    run.stderr_contains("`meshprobe explain - < FILE`");
    project
        .run_in("", &["explain", "-"], [0xff, 0xfe, 0])
        .exits(1);
}

#[test]
fn words_without_quotes_are_an_error() {
    let run = Project::new()
        .run(&["explain", "Readiness", "probe", "failed"])
        .exits(2);
    run.stderr_contains("error: `probe` is not a file or folder\nhelp: put the text in quotes");
}

#[test]
fn standard_input_is_read_once() {
    let run = Project::new()
        .run_in("", &["explain", "-", "-"], "connection refused")
        .exits(2);
    run.stderr_contains("error: standard input cannot be both the text and a manifest\nhelp: ");
}

#[test]
fn all_symptoms_are_listed_without_a_text() {
    let project = Project::new();
    let run = project.run(&["explain"]).exits(0);
    let run = run.stdout_contains("connection-reset\n    Readiness probe failed: …");
    for symptom in meshprobe::symptoms::all() {
        assert!(
            run.stdout.contains(&format!("{}\n    ", symptom.id)),
            "{}",
            symptom.id
        );
    }
    let listed = project
        .run(&["explain", "--output-format", "json"])
        .exits(0);
    assert_eq!(ids(&listed).len(), meshprobe::symptoms::all().len());
}

#[test]
fn ids_of_symptoms_and_rules_show_their_pages() {
    let project = Project::new();
    for symptom in meshprobe::symptoms::all() {
        let run = project.run(&["explain", symptom.id]).exits(0);
        let start = format!("{}: {}\n", symptom.id, symptom.title());
        assert!(run.stdout.starts_with(&start), "{}", run.stdout);
    }
    let run = project
        .run(&["explain", "tcp-probe-always-passes"])
        .exits(0);
    let run = run.stdout_contains("# tcp-probe-always-passes (error)");
    run.stdout_contains("\nSymptoms: ready-but-down (");
}

/// A pod with a probe on port 8080 in slot `readinessProbe`, and one with a liveness probe on port 9090.
fn tree() -> Project {
    let other = NOT_REWRITTEN
        .replace("name: web", "name: api")
        .replace("readinessProbe", "livenessProbe")
        .replace("8080", "9090");
    let text = join(&[INJECTED, STRICT, NOT_REWRITTEN, &other]);
    Project::with(&[("apps/web.yaml", &text)])
}

#[test]
fn the_probes_of_the_tree_with_the_text_are_listed() {
    let event = "Readiness probe failed: Get \"http://10.1.0.7:8080/\": read tcp 10.1.0.1:4->10.1.0.7:8080: read: \
                 connection reset by peer";
    let project = tree();
    let run = project.run(&["explain", "--quiet", event, "apps"]).exits(0);
    let shown = run.stdout.split("## Probes of the tree").nth(1).unwrap();
    insta::assert_snapshot!(shown.trim(), @r"
    This text is predicted for:

    apps/web.yaml:19: shop/Pod/web: readinessProbe of container `web` (http :8080/)
        fails: plain text on a port that requires mutual TLS
        rule: strict-probe-not-rewritten
    ");
    // Another port is another probe: the symptom is the same.
    let other = event.replace("8080", "7070");
    let run = project.run(&["explain", "--output-format", "json", &other, "apps"]);
    let report = json(&run.exits(0));
    let probes = report["probes"].as_array().unwrap();
    assert_eq!(probes.len(), 2);
    assert!(probes.iter().all(|probe| probe["same_text"] == false));
    assert_eq!(probes[1]["slot"], "livenessProbe");
    assert_eq!(probes[1]["rules"][0], "strict-probe-not-rewritten");
}

/// A state has no text to compare: the rules that the page names decide.
#[test]
fn the_probes_of_the_tree_are_listed_for_a_state() {
    let run = tree()
        .run(&["explain", "CrashLoopBackOff", "apps"])
        .exits(0);
    run.stdout_contains("Pod/api: livenessProbe of container `api`");
    let run = tree().run(&["explain", "statuscode: 403", "apps"]).exits(0);
    run.stdout_contains("This text is not predicted for any probe.");
}

#[test]
fn checks_of_virtual_machines_are_not_ignored_silently() {
    let group = include_str!("../../../fixtures/rules/vm-port/bad.yaml");
    let project = Project::with(&[("group.yaml", group)]);
    let event = "Readiness probe failed: HTTP probe failed with statuscode: 503";
    let run = project.run(&["explain", event, "group.yaml"]).exits(0);
    assert!(
        run.stderr
            .contains("note: 1 of the checks of virtual machines fail or are refused"),
        "{}",
        run.stderr
    );
    let run = project
        .run(&["explain", "--quiet", event, "group.yaml"])
        .exits(0);
    assert_eq!(run.stderr, "");
}
