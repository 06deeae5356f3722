//! The resources of the server.

use serde_json::{Value, json};

use super::client::{Client, demo};
use crate::support::meshprobe;

fn text(client: &mut Client, uri: &str) -> String {
    let answer = client.request("resources/read", json!({"uri": uri}));
    let content = &answer["result"]["contents"][0];
    assert_eq!(content["uri"], uri, "{answer}");
    assert_eq!(content["mimeType"], "text/markdown");
    content["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_pages_of_all_rules_are_resources() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let answer = client.request("resources/list", json!({}));
    let resources = answer["result"]["resources"].as_array().unwrap();
    let uris = resources.iter().map(|resource| resource["uri"].as_str());
    let uris: Vec<String> = uris.map(|uri| uri.unwrap().to_owned()).collect();
    let run = meshprobe(tree.path(), &["rule", "--output-format", "json"], "");
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    let rules = list["rules"].as_array().unwrap();
    let symptoms: Vec<&String> = uris
        .iter()
        .filter(|uri| uri.contains("/symptoms/"))
        .collect();
    assert!(symptoms.len() > 20, "{symptoms:?}");
    assert_eq!(uris.len(), rules.len() + 1 + symptoms.len());
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        let uri = format!("meshprobe://rules/{id}");
        assert!(uris.contains(&uri), "{uri}");
        let page = text(&mut client, &uri);
        assert!(page.starts_with(&format!("# {id} (")), "{page}");
        let explained = client.ask("explain_rule", json!({"rule": id}));
        assert_eq!(explained["page"], page.as_str());
    }
}

#[test]
fn a_pasted_event_is_explained() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let event = "Warning  Unhealthy  kubelet  Readiness probe failed: Get \"http://10.0.0.7:8080/readyz\": read tcp \
                 10.0.0.1:4711->10.0.0.7:8080: read: connection reset by peer";
    let answer = client.ask("explain_symptom", json!({"text": event}));
    assert_eq!(answer["symptom"], "connection-reset");
    let rules = answer["rules"].as_array().unwrap();
    assert!(
        rules.contains(&json!("strict-probe-not-rewritten")),
        "{rules:?}"
    );
    let page = text(&mut client, "meshprobe://symptoms/connection-reset");
    assert_eq!(answer["page"], page.as_str());
    let refusal = client.refusal("explain_symptom", json!({"text": "nothing is wrong"}));
    assert!(refusal.contains("no symptom is known"), "{refusal}");
    let refusal = client.refusal("explain_symptom", json!({"text": "x".repeat(70_000)}));
    assert!(refusal.contains("`text` has 70000 bytes"), "{refusal}");
}

#[test]
fn the_table_of_meshes_is_a_resource() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let page = text(&mut client, "meshprobe://meshes");
    assert!(page.starts_with("# "), "{page}");
    assert!(page.contains("Linkerd"), "{page}");
}

#[test]
fn rules_have_a_template() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let answer = client.request("resources/templates/list", json!({}));
    let templates = &answer["result"]["resourceTemplates"];
    assert_eq!(templates[0]["uriTemplate"], "meshprobe://rules/{id}");
}

#[test]
fn an_unknown_resource_is_an_error_with_the_most_similar_name() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    for uri in [
        "meshprobe://rules/strict-probe-not-rewriten",
        "meshprobe://rules/../../../etc/passwd",
        "file:///etc/passwd",
        "meshprobe://symptoms/connection-rest",
        "meshprobe://other",
        "",
    ] {
        let answer = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(uri), "{message}");
    }
    let refusal = client.refusal("explain_rule", json!({"rule": "strict-probe-not-rewriten"}));
    assert!(refusal.contains("strict-probe-not-rewritten"), "{refusal}");
}
