//! Any text as the value of `ISTIO_KUBE_APP_PROBERS`: it is read, fixed, written, checked and undone.

use meshprobe::engine;
use meshprobe::mesh::istio::{prober_json as json, recorded};
use meshprobe::settings::Settings;
use meshprobe::source::SourceSet;

use super::input::{LONGEST, choice, text};
use super::manifest::{check_and_verify, deployment, injected, verify_findings};

/// Runs the target with one input.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST {
        return;
    }
    let text = text(data);
    strings(&text);
    if let Ok(entries) = json::parse(&text) {
        let written = json::object(&entries);
        let again = json::parse(&written).expect("the output is not JSON");
        assert_eq!(
            again, entries,
            "the entries differ after writing and reading them"
        );
        for (path, prober) in &entries {
            entry(path, prober);
        }
    }
    entry("/app-health/web/livez", &text);
    in_a_pod(&text);
}

/// Checks that a string in Go's notation is valid JSON.
fn strings(text: &str) {
    let written = json::string(text);
    assert_eq!(
        serde_json::from_str::<String>(&written).ok().as_deref(),
        Some(text)
    );
}

fn entry(path: &str, prober: &str) {
    let refused = json::rejection_reason(path, prober);
    assert!(refused.is_none_or(|reason| !reason.is_empty()));
    let _ = json::port(prober);
    let _ = recorded::read(prober);
    if let Some(edited) = json::with_timeout(prober, 3) {
        assert!(!json::expires_at_once(&edited), "{edited}");
        assert_eq!(json::with_timeout(&edited, 3).as_deref(), Some(&*edited));
    }
    if let Some(edited) = json::with_port(prober, 8080) {
        assert_eq!(json::with_port(&edited, 8080).as_deref(), Some(&*edited));
    }
}

fn in_a_pod(text: &str) {
    let config = "proxy.istio.io/config";
    let opt_out = ("sidecar.istio.io/rewriteAppHTTPProbers", "false");
    let escaped = serde_json::Value::from(text).to_string();
    let annotation = format!("proxyMetadata: {{ISTIO_KUBE_APP_PROBERS: {escaped}}}");
    // One carrier and one command for each input, because the engine takes much longer than the parser.
    let choice = choice(text.as_bytes());
    let manifest = match choice % 3 {
        0 => deployment(&[opt_out], Some(text)),
        1 => deployment(&[opt_out, (config, &annotation)], None),
        _ => deployment(&[(config, text)], None),
    };
    let set = SourceSet::from_text("web.yaml", &manifest);
    match choice / 3 % 4 {
        0 => drop(check_and_verify(&set, &injected())),
        1 => {
            let fixed = engine::fix(&set, &injected(), true);
            verify_findings(&fixed.set, &fixed.outcome.findings);
        }
        2 => verify_findings(&set, &engine::undo(&set, &Settings::default()).findings),
        _ => verify_findings(&set, &engine::rewrite(&set, &injected()).findings),
    }
}
