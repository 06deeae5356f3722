//! Any text as the value of `ISTIO_KUBE_APP_PROBERS`: read, mended, written, judged, undone.

use meshprobe::engine;
use meshprobe::mesh::istio::{prober_json as json, recorded};
use meshprobe::settings::Settings;
use meshprobe::source::SourceSet;

use super::input::{LONGEST, choice, text};
use super::manifest::{deployment, injected, judged, told};

/// Runs the target over one input.
pub fn run(data: &[u8]) {
    if data.len() > LONGEST {
        return;
    }
    let text = text(data);
    strings(&text);
    if let Ok(entries) = json::parse(&text) {
        let written = json::object(&entries);
        let again = json::parse(&written).expect("what we write is no JSON");
        assert_eq!(again, entries, "written and read again");
        for (path, prober) in &entries {
            entry(path, prober);
        }
    }
    entry("/app-health/web/livez", &text);
    in_a_pod(&text);
}

/// Go's spelling is JSON all the same.
fn strings(text: &str) {
    let written = json::string(text);
    assert_eq!(
        serde_json::from_str::<String>(&written).ok().as_deref(),
        Some(text)
    );
}

fn entry(path: &str, prober: &str) {
    let refused = json::refused(path, prober);
    assert!(refused.is_none_or(|reason| !reason.is_empty()));
    let _ = json::port(prober);
    let _ = recorded::read(prober);
    if let Some(mended) = json::with_timeout(prober, 3) {
        assert!(!json::expires_at_once(&mended), "{mended}");
        assert_eq!(json::with_timeout(&mended, 3).as_deref(), Some(&*mended));
    }
    if let Some(mended) = json::with_port(prober, 8080) {
        assert_eq!(json::with_port(&mended, 8080).as_deref(), Some(&*mended));
    }
}

fn in_a_pod(text: &str) {
    let config = "proxy.istio.io/config";
    let opt_out = ("sidecar.istio.io/rewriteAppHTTPProbers", "false");
    let escaped = serde_json::Value::from(text).to_string();
    let annotation = format!("proxyMetadata: {{ISTIO_KUBE_APP_PROBERS: {escaped}}}");
    // One carrier and one command for each input: the engine takes far longer than the reader.
    let choice = choice(text.as_bytes());
    let manifest = match choice % 3 {
        0 => deployment(&[opt_out], Some(text)),
        1 => deployment(&[opt_out, (config, &annotation)], None),
        _ => deployment(&[(config, text)], None),
    };
    let set = SourceSet::from_text("web.yaml", &manifest);
    match choice / 3 % 4 {
        0 => drop(judged(&set, &injected())),
        1 => {
            let fixed = engine::fix(&set, &injected(), true);
            told(&fixed.set, &fixed.outcome.findings);
        }
        2 => told(&set, &engine::undo(&set, &Settings::default()).findings),
        _ => told(&set, &engine::rewrite(&set, &injected()).findings),
    }
}
