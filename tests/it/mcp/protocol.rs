//! Broken messages, clients that leave, and calls at the same time.

use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, WEB, demo};

#[test]
fn lines_that_are_not_json_are_skipped() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    client.send_bytes(b"nonsense\n{\"jsonrpc\": \n\xff\xfe\n\n");
    let answer = client.ask("check", json!({"limit": 1}));
    assert!(answer["summary"]["files"].as_u64().unwrap() > 0);
}

#[test]
fn a_message_with_the_wrong_shape_is_an_error() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    client
        .send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": 5}}));
    let answer = client.receive();
    assert!(answer["error"]["code"].as_i64().unwrap() < 0, "{answer}");
    client.ask("check", json!({"limit": 1}));
}

#[test]
fn a_message_that_is_too_long_does_not_end_the_session() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let text = "x".repeat(17 << 20);
    client.send(&json!({"jsonrpc": "2.0", "id": 78, "method": "tools/call",
        "params": {"name": "check", "arguments": {"manifest": text}}}));
    client.ask("check", json!({"limit": 1}));
}

#[test]
fn an_error_names_the_parameter() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let many: Vec<String> = (0..300).map(|number| format!("file-{number}")).collect();
    for (tool, arguments, part) in [
        ("check", json!({"paths": "web.yaml"}), "`paths`"),
        ("check", json!({"paths": [1]}), "`paths`"),
        ("check", json!({"limit": "many"}), "`limit`"),
        ("check", json!({"limit": -1}), "`limit`"),
        ("check", json!({"min_severity": "fatal"}), "`min_severity`"),
        ("check", json!({"min_severity": "fatal"}), "`warning`"),
        ("check", json!({"path": ["."]}), "did you mean `paths`?"),
        (
            "check",
            json!({"anything": 1}),
            "unknown parameter `anything`",
        ),
        ("check", json!({"mesh": "istoi"}), "istoi"),
        ("check", json!({"mesh_version": "new"}), "new"),
        ("check", json!({"rules": ["no-such-rule"]}), "no-such-rule"),
        ("check", json!({"assume": ["mtls=ON"]}), "mtls=ON"),
        ("check", json!({"manifest": ""}), "`manifest` is empty"),
        (
            "check",
            json!({"manifest": "a", "paths": ["."]}),
            "exclude each other",
        ),
        (
            "check",
            json!({"manifest": "x".repeat((1 << 20) + 1)}),
            "`manifest` has 1048577 bytes",
        ),
        ("check", json!({"paths": many}), "`paths` has 300 values"),
        ("predict", json!({"only_faults": 1}), "`only_faults`"),
        ("what_if", json!({}), "`from`, `to` or `since` is required"),
        ("what_if", json!({"to": ["mtls"]}), "mtls"),
        ("propose_fix", json!({"kind": "all"}), "`kind`"),
        (
            "propose_fix",
            json!({"kind": "rewrite", "unsafe_fixes": true}),
            "`unsafe_fixes`",
        ),
        ("explain_rule", json!({}), "`rule` is required"),
        ("explain_rule", json!({"rule": 7}), "`rule`"),
    ] {
        let refusal = client.refusal(tool, arguments.clone());
        assert!(refusal.starts_with("error: "), "{refusal}");
        assert!(refusal.contains(part), "{arguments}: {refusal}");
    }
}

#[test]
fn an_option_cannot_be_injected_into_a_value() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    for arguments in [
        json!({"namespace": "--fix"}),
        json!({"mesh_version": "--config=/etc/passwd"}),
        json!({"assume": ["--helm=auto"]}),
        json!({"rules": ["--fix"]}),
    ] {
        client.call("check", arguments);
    }
    let before = client.ask("propose_fix", json!({}));
    assert_ne!(before["diff"], "", "nothing was fixed");
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let answer = client.request("tools/call", json!({"name": "fix", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("`propose_fix`"), "{message}");
    let answer = client.request("tools/unknown", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
}

#[test]
fn calls_at_the_same_time_are_all_answered() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    client.ask("check", json!({}));
    let mut open: Vec<u64> = (0..20)
        .map(|number| {
            let tool = ["check", "predict", "propose_fix", "explain_rule"][number % 4];
            let arguments = match tool {
                "explain_rule" => json!({"rule": "tcp-probe-always-passes"}),
                _ => json!({}),
            };
            client.send_request("tools/call", json!({"name": tool, "arguments": arguments}))
        })
        .collect();
    while !open.is_empty() {
        let answer = client.receive();
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        let id = answer["id"].as_u64().unwrap();
        open.retain(|known| *known != id);
    }
}

#[test]
fn a_cancelled_call_does_not_disturb_the_next_ones() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    for _ in 0..5 {
        let id = client.send_request("tools/call", json!({"name": "check", "arguments": {}}));
        client.notify(
            "notifications/cancelled",
            json!({"requestId": id, "reason": "test"}),
        );
    }
    let last = client.send_request("tools/call", json!({"name": "check", "arguments": {}}));
    loop {
        let answer = client.receive();
        if answer["id"] == last {
            assert_ne!(answer["result"]["isError"], true, "{answer}");
            break;
        }
    }
}

#[test]
fn the_server_ends_with_its_client() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    client.ask("check", json!({"limit": 1}));
    client.send_request("tools/call", json!({"name": "check", "arguments": {}}));
    assert_eq!(client.close().code(), Some(0));
    let silent = Client::start(Path::new("/"), &[]);
    assert_eq!(silent.close().code(), Some(0));
}

#[test]
fn a_message_before_the_session_is_an_error() {
    let mut client = Client::start(Path::new("/"), &[]);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let (code, stderr) = client.end();
    assert_eq!(code, Some(2));
    assert!(stderr.starts_with("error: "), "{stderr}");
}

#[test]
fn a_client_without_a_session_sends_its_roots_with_the_call() {
    let tree = demo();
    let mut client = Client::start(Path::new("/"), &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    });
    let mut params = json!({"name": "check", "arguments": {"limit": 1}, "_meta": meta});
    let question = client.request("tools/call", params.clone());
    assert_eq!(
        question["result"]["resultType"], "input_required",
        "{question}"
    );
    assert_eq!(
        question["result"]["inputRequests"]["roots"]["method"],
        "roots/list"
    );
    let uri = format!("file://{}", tree.path().display());
    params["inputResponses"] = json!({"roots": {"roots": [{"uri": uri}]}});
    let answer = client.request("tools/call", params.clone());
    let findings = &answer["result"]["structuredContent"]["findings"];
    assert_eq!(findings.as_array().unwrap().len(), 1, "{answer}");
    params["inputResponses"] = json!({"roots": {"roots": []}});
    let refused = client.request("tools/call", params);
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the client grants no roots"), "{text}");
}

/// Runs many calls, and compares the memory with that after the first ones.
#[cfg(target_os = "linux")]
#[test]
fn many_calls_do_not_make_the_server_grow() {
    let tree = demo();
    let mut client = Client::granting(tree.path());
    let status = format!("/proc/{}/status", client.process_id());
    let memory = || -> u64 {
        let status = std::fs::read_to_string(&status).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let calls = |client: &mut Client, count: usize| {
        for number in 0..count {
            let arguments: Value = match number % 2 {
                0 => json!({}),
                _ => json!({"manifest": WEB}),
            };
            client.call("check", arguments);
        }
    };
    calls(&mut client, 50);
    let before = memory();
    calls(&mut client, 200);
    let after = memory();
    assert!(
        after < before * 3 / 2 + 8192,
        "{before} kB, then {after} kB"
    );
}
