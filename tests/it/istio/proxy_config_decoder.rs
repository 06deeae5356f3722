//! Compares our reading of `proxy.istio.io/config` with Istio's own decoder: `fixtures/istio/README.md`.

use meshprobe::mesh::istio::proxy_config::{ProxyConfig, Unreadable};
use serde_json::{Map, Value, json};

const CASES: &str = include_str!("../../../fixtures/istio/proxy-config.jsonl");

/// Returns the entries of `proxyMetadata` as strings, from the spelling of the key that takes effect.
fn metadata(config: &ProxyConfig, text: &str) -> Option<Value> {
    let mut root: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
    root.apply_merge().unwrap();
    let map = root.get(config.metadata_key())?.as_mapping()?;
    let entries = map.iter().map(|(key, value)| {
        let text = |value: &serde_yaml::Value| match value {
            serde_yaml::Value::Null => String::new(),
            serde_yaml::Value::String(text) => text.clone(),
            other => serde_yaml::to_string(other).unwrap().trim().to_owned(),
        };
        (text(key), json!(text(value)))
    });
    Some(Value::Object(entries.collect::<Map<String, Value>>()))
}

#[test]
fn the_annotation_is_read_as_istio_decodes_it() {
    let mut count = 0;
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let config = ProxyConfig::parse(text).unwrap();
        count += 1;
        let fault = config.fault();
        let is_refused = case.get("refused").is_some();
        assert_eq!(
            fault.is_some(),
            is_refused && is_read(text),
            "{line}\n{fault:?}"
        );
        if is_refused {
            continue;
        }
        let port = config.status_port().unwrap_or(15020);
        assert_eq!(json!(port), case["statusPort"], "{line}");
        let mode = config.interception_mode().unwrap_or("REDIRECT");
        assert_eq!(json!(mode), case["interceptionMode"], "{line}");
        let hold = case.get("holdApplicationUntilProxyStarts");
        assert_eq!(
            config.hold_application(),
            hold.and_then(Value::as_bool),
            "{line}"
        );
        assert_eq!(
            metadata(&config, text).as_ref(),
            case.get("proxyMetadata"),
            "{line}"
        );
    }
    assert!(count > 90, "{count}");
}

const YAML_CASES: &str = include_str!("../../../fixtures/istio/proxy-config-yaml.jsonl");

#[test]
fn an_annotation_that_istio_cannot_convert_to_json_is_refused() {
    let (mut refused, mut accepted, mut differing) = (0, 0, 0);
    for line in YAML_CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let is_refused = case.get("refused").is_some();
        match ProxyConfig::parse(case["text"].as_str().unwrap()) {
            Ok(config) if config.fault().is_none() => {
                assert!(!is_refused, "{line}");
                let port = config.status_port().unwrap_or(15020);
                assert_eq!(json!(port), case["statusPort"], "{line}");
                accepted += 1;
            }
            Err(Unreadable::Differs(_)) => {
                // We find that such a merge key leads too far.
                assert!(!is_refused || line.contains("contains itself"), "{line}");
                differing += 1;
            }
            other => {
                assert!(is_refused, "{line}: {other:?}");
                refused += 1;
            }
        }
    }
    println!("{refused} refused, {accepted} read, {differing} read differently");
    assert!(refused > 150 && accepted > 150 && differing < 40);
}

/// Values of all types in every field of the message, with both spellings of the names.
const TYPE_CASES: &str = "fixtures/istio/proxy-config-types.jsonl";

/// Returns whether a text only sets fields that predictions read: only those are checked.
fn is_read(text: &str) -> bool {
    let fields = [
        "statusPort",
        "status_port",
        "interceptionMode",
        "interception_mode",
        "holdApplicationUntilProxyStarts",
        "hold_application_until_proxy_starts",
        "proxyMetadata",
        "proxy_metadata",
    ];
    let text = text.trim_start_matches('{');
    fields.iter().any(|field| text.starts_with(field))
}

#[test]
fn every_field_accepts_the_types_that_istio_accepts() {
    let root = env!("CARGO_MANIFEST_DIR");
    let cases = std::fs::read_to_string(format!("{root}/{TYPE_CASES}")).unwrap();
    let mut differing = Vec::new();
    let mut refused_count = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let refused = match ProxyConfig::parse(text) {
            Ok(config) => config.fault().map(|fault| fault.message),
            Err(unreadable) => Some(unreadable.to_string()),
        };
        refused_count += usize::from(refused.is_some());
        let is_refused = case.get("refused").is_some() && is_read(text);
        if refused.is_some() != is_refused {
            differing.push(format!("{line}: {refused:?}"));
        }
    }
    assert!(
        cases.lines().count() > 1000 && refused_count > 15,
        "{refused_count}"
    );
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
