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
        let fault = config.fault(None);
        assert_eq!(
            fault.is_some(),
            case.get("refused").is_some(),
            "{line}\n{fault:?}"
        );
        if fault.is_some() {
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
            Ok(config) if config.fault(None).is_none() => {
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

/// Returns whether a text sets a field inside of a message. `proxyMetadata` and `runtimeValues` are maps of strings.
fn is_nested(text: &str) -> bool {
    let text = text.trim_start_matches('{');
    let maps = [
        "proxyMetadata",
        "proxy_metadata",
        "runtimeValues",
        "runtime_values",
    ];
    text.contains('{') && !maps.iter().any(|map| text.starts_with(map))
}

#[test]
fn every_field_accepts_the_types_that_istio_accepts() {
    let root = env!("CARGO_MANIFEST_DIR");
    let cases = std::fs::read_to_string(format!("{root}/{TYPE_CASES}")).unwrap();
    let mut differing = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let refused = match ProxyConfig::parse(case["text"].as_str().unwrap()) {
            Ok(config) => config.fault(None).map(|fault| fault.message),
            Err(unreadable) => Some(unreadable.to_string()),
        };
        let is_refused = case.get("refused").is_some();
        // The fields inside of messages are not checked; nothing that Istio accepts is refused.
        if is_refused && refused.is_none() && is_nested(case["text"].as_str().unwrap()) {
            continue;
        }
        if refused.is_some() != is_refused {
            differing.push(format!("{line}: {refused:?}"));
        }
    }
    assert!(cases.lines().count() > 1000);
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_field_is_checked_from_the_release_on_that_has_it() {
    let config = ProxyConfig::parse("connectionSettings: []").unwrap();
    let refused = |release: &str| config.fault(release.parse().ok()).is_some();
    assert!(refused("1.31"));
    assert!(!refused("1.30") && !refused("1.10"));
    let both = ProxyConfig::parse("connectionSettings: []\ntracing: []").unwrap();
    let fault = both.fault(None).unwrap();
    assert_eq!(
        (fault.message.as_str(), fault.since),
        ("`tracing` must be a mapping", None)
    );
}
