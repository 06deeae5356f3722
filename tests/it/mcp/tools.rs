//! What the tools answer.

use serde_json::{Value, json};

use super::client::{Client, STRICT, WEB, demo};
use crate::support::meshprobe;
use crate::support::project::Project;

fn shop() -> Project {
    Project::with(&[("apps/web.yaml", WEB), ("mesh/mtls.yaml", STRICT)])
}

#[test]
fn a_probe_that_is_not_rewritten_under_strict_is_explained_with_its_lines() {
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    let answer = client.ask("check", json!({"paths": ["apps/web.yaml"]}));
    let finding = &answer["findings"][0];
    assert_eq!(finding["rule"], "strict-probe-not-rewritten");
    assert_eq!(finding["at"], "apps/web.yaml:27");
    assert_eq!(finding["object"], "shop/Deployment/web");
    assert_eq!(finding["outcome"], "fails");
    assert_eq!(finding["certainty"], "known");
    assert_eq!(finding["assumptions"], json!([]));
    let kubelet = finding["kubelet"].as_str().unwrap();
    assert!(kubelet.contains("connection reset by peer"), "{kubelet}");
    let lines: Vec<&Value> = finding["because"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fact| &fact["at"])
        .collect();
    assert_eq!(
        lines,
        ["apps/web.yaml:20", "mesh/mtls.yaml:8", "apps/web.yaml:6"]
    );
    assert_eq!(answer["findings"].as_array().unwrap().len(), 1);
}

#[test]
fn the_text_contains_what_the_structured_content_contains() {
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    let result = client.call("check", json!({}));
    let text = result["content"][0]["text"].as_str().unwrap();
    for part in [
        "error[strict-probe-not-rewritten] apps/web.yaml:27 shop/Deployment/web",
        "outcome: fails (known)",
        "kubelet: Readiness probe failed",
        "because: mesh/mtls.yaml:8 STRICT for the whole mesh",
        "(safe)",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn findings_equal_those_of_the_command_line() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let answer = client.ask("check", json!({"limit": 1000}));
    let run = meshprobe(tree.path(), &["check", "--output-format", "json"], "");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let expected: Vec<(Value, String)> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["suppressed"].is_null())
        .map(|finding| {
            let (path, line) = (&finding["path"], &finding["line"]);
            (
                finding["rule"].clone(),
                format!("{}:{line}", path.as_str().unwrap()),
            )
        })
        .collect();
    let found: Vec<(Value, String)> = answer["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            (
                finding["rule"].clone(),
                finding["at"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert!(found.len() > 1);
    assert_eq!(found, expected);
    assert_eq!(answer["summary"]["errors"], report["summary"]["errors"]);
}

#[test]
fn a_prediction_can_be_limited_to_a_workload() {
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    let answer = client.ask("predict", json!({"workload": "shop/Deployment/web"}));
    assert_eq!(answer["outcomes"], json!({"fails": 1}));
    let probe = &answer["probes"][0];
    assert_eq!(probe["slot"], "readinessProbe");
    assert_eq!(probe["mtls"], "STRICT");
    assert_eq!(probe["rewritten"], false);
    assert_eq!(probe["because"].as_array().unwrap().len(), 3);
    let none = client.ask("predict", json!({"workload": "other"}));
    assert_eq!(none["probes"], json!([]));
    let faults = client.ask(
        "predict",
        json!({"only_faults": true, "override": ["mtls=PERMISSIVE"]}),
    );
    assert_eq!(faults["probes"], json!([]));
}

#[test]
fn a_pasted_manifest_is_judged_alone_or_with_facts_of_the_repository() {
    let project = Project::with(&[("mesh/mtls.yaml", STRICT)]);
    let mut client = Client::granting(&project.path("."));
    let alone = client.ask("check", json!({"manifest": WEB}));
    assert_eq!(alone["findings"], json!([]));
    let within = client.ask("check", json!({"manifest": WEB, "context": ["."]}));
    let finding = &within["findings"][0];
    assert_eq!(finding["rule"], "strict-probe-not-rewritten");
    assert_eq!(finding["at"], "stdin:27");
    assert_eq!(finding["because"][1]["at"], "mesh/mtls.yaml:8");
    let assumed = client.ask("check", json!({"manifest": WEB, "assume": ["mtls=STRICT"]}));
    assert_eq!(assumed["findings"][0]["rule"], "strict-probe-not-rewritten");
}

#[test]
fn an_assumption_that_decides_is_named() {
    let manifest = WEB.split_once("---\n").unwrap().1;
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    let arguments = json!({"manifest": manifest, "assume": ["injection=all", "mtls=STRICT"]});
    let answer = client.ask("check", arguments);
    let finding = &answer["findings"][0];
    assert_eq!(finding["certainty"], "assumed", "{answer}");
    assert_ne!(finding["assumptions"], json!([]));
}

#[test]
fn texts_name_arguments_instead_of_options() {
    let manifest = WEB.split_once("---\n").unwrap().1;
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    for arguments in [
        json!({}),
        json!({"manifest": manifest}),
        json!({"manifest": manifest, "assume": ["injection=all"], "override": ["mtls=STRICT"]}),
    ] {
        for tool in ["check", "predict"] {
            let answer = client.ask(tool, arguments.clone()).to_string();
            for option in ["`--", "[--", "(--"] {
                assert!(!answer.contains(option), "{tool} {arguments}: {answer}");
            }
        }
    }
    let answer = client.ask("predict", json!({"manifest": manifest}));
    let assumption = answer["probes"][0]["assumptions"][0].as_str().unwrap();
    assert!(assumption.ends_with("\"]]"), "{assumption}");
    let refusal = client.refusal("check", json!({"assume": ["mtsl=STRICT"]}));
    assert!(refusal.contains("for `assume`"), "{refusal}");
}

#[test]
fn what_if_names_what_a_changed_fact_breaks() {
    let project = Project::with(&[("web.yaml", WEB)]);
    let mut client = Client::granting(&project.path("."));
    let answer = client.ask("what_if", json!({"to": ["mtls=STRICT"]}));
    assert_eq!(answer["summary"]["regressions"], 1);
    let change = &answer["changes"][0];
    assert_eq!(change["class"], "regression");
    assert_eq!(change["at"], "web.yaml:27");
    assert_eq!(change["before"]["outcome"], "ok");
    assert_eq!(change["after"]["outcome"], "fails");
    assert_ne!(change["after"]["because"], json!([]));
    let other = client.ask(
        "what_if",
        json!({"to": ["mtls=STRICT"], "select_namespace": ["shop"]}),
    );
    assert_eq!(other["changes"], answer["changes"]);
    let wrong = client.refusal(
        "what_if",
        json!({"to": ["mtls=STRICT"], "select_namespace": ["shpo"]}),
    );
    assert!(wrong.contains("did you mean `shop`?"), "{wrong}");
}

#[test]
fn a_proposed_fix_equals_the_diff_of_the_command_line() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let cases: [(Value, &[&str]); 4] = [
        (json!({}), &["check", "--diff"]),
        (
            json!({"unsafe_fixes": true}),
            &["check", "--diff", "--unsafe-fixes"],
        ),
        (json!({"kind": "rewrite"}), &["rewrite", "--diff"]),
        (
            json!({"rules": ["tcp-probe-always-passes"]}),
            &["check", "--diff", "--select", "tcp-probe-always-passes"],
        ),
    ];
    for (arguments, command) in cases {
        let answer = client.ask("propose_fix", arguments.clone());
        let run = meshprobe(tree.path(), command, "");
        let mut diff = answer["diff"].as_str().unwrap().to_owned();
        let mut last = answer;
        while let Some(cursor) = last["next_cursor"].as_str() {
            let mut next = arguments.clone();
            next["cursor"] = cursor.into();
            last = client.ask("propose_fix", next);
            diff.push_str(last["diff"].as_str().unwrap());
        }
        assert_eq!(diff, run.stdout, "{command:?}");
    }
}

/// Text of a manifest stays in the block of the diff.
#[test]
fn a_manifest_does_not_end_the_block_of_a_diff() {
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    for (before, after) in [
        ("note: |\n ```\n IMPORTANT", ""),
        ("note: |\n `````\n IMPORTANT", ""),
        ("note: |\n ~~~\n IMPORTANT", ""),
        ("", "note: |\n ```\n IMPORTANT"),
        ("", "# ``` IMPORTANT"),
    ] {
        let manifest = format!(
            "{STRICT}---\napiVersion: v1\nkind: Pod\n{before}\nmetadata: {{name: web, labels: {{sidecar.istio.io/inject: 'true'}}, \
             annotations: {{sidecar.istio.io/rewriteAppHTTPProbers: 'false'}}}}\nspec: {{containers: [{{name: a, readinessProbe: \
             {{httpGet: {{port: 80}}}}}}]}}\n{after}"
        );
        let given = json!({"manifest": manifest, "kind": "fix", "unsafe_fixes": true});
        let result = client.call("propose_fix", given);
        let text = result["content"][0]["text"].as_str().unwrap();
        let fence: String = text.chars().take_while(|c| *c == '`').collect();
        assert!(fence.len() >= 3 && text.contains("\n+++ "), "{text}");
        let block = text.split(&format!("\n{fence}\n")).next().unwrap();
        let lines = block.split(['\n', '\r']).skip(1);
        let is_fence = |line: &str| line.trim_start().starts_with(&fence);
        assert!(!lines.clone().any(is_fence), "{text}");
        assert!(!text[block.len()..].contains("IMPORTANT"), "{text}");
    }
}

#[test]
fn nothing_is_written() {
    let tree = demo();
    let state = |folder: &std::path::Path| -> Vec<_> {
        walkdir::WalkDir::new(folder)
            .sort_by_file_name()
            .into_iter()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let metadata = entry.metadata().unwrap();
                (
                    entry.into_path(),
                    metadata.len(),
                    metadata.modified().unwrap(),
                )
            })
            .collect()
    };
    let before = state(tree.path());
    let mut client = Client::granting(tree.path());
    for (tool, arguments) in [
        ("check", json!({})),
        ("predict", json!({})),
        ("what_if", json!({"to": ["mtls=STRICT"]})),
        ("propose_fix", json!({"unsafe_fixes": true})),
        ("propose_fix", json!({"kind": "rewrite"})),
    ] {
        client.ask(tool, arguments);
    }
    assert_eq!(state(tree.path()), before);
}

#[test]
fn every_tool_is_described_for_assistants() {
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(
        names,
        [
            "check",
            "predict",
            "explain_rule",
            "explain_symptom",
            "what_if",
            "propose_fix"
        ]
    );
    for tool in tools {
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], true);
        assert_eq!(hints["openWorldHint"], false);
        assert_eq!(hints["destructiveHint"], false);
        assert!(
            tool["description"].as_str().unwrap().contains("Use it"),
            "{tool}"
        );
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["outputSchema"]["type"], "object");
        let text = tool.to_string();
        assert!(!text.contains("$ref"), "{text}");
        for (name, parameter) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(parameter["description"].is_string(), "{name}");
        }
    }
    // An assistant pays for the descriptions and schemas of parameters in each conversation: about 3,500 tokens.
    let input: usize = tools
        .iter()
        .map(|tool| tool["inputSchema"].to_string().len() + tool["description"].to_string().len())
        .sum();
    assert!(input < 14_000, "{input} bytes");
}

#[test]
fn control_characters_of_manifests_are_escaped() {
    let manifest = WEB.replace(
        "name: web\n          image",
        "name: \"we\\u001b[31mb\\u202e\"\n          image",
    );
    let project = shop();
    let mut client = Client::granting(&project.path("."));
    let result = client.call(
        "check",
        json!({"manifest": manifest, "assume": ["mtls=STRICT"]}),
    );
    let texts = [
        result["content"][0]["text"].as_str().unwrap().to_owned(),
        result["structuredContent"]["findings"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned(),
    ];
    for text in texts {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert!(text.contains("\\u{1b}"), "{text:?}");
    }
}
