//! The built binary as a server: its streams, and the end of its client.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::requests::{WEB, broken_project};
use crate::support::project::Project;
use crate::support::{PROGRAM, command};

/// How long the server may take: far more than it needs on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
}

impl Server {
    fn start(project: &Project) -> Self {
        let mut server = command(Path::new(PROGRAM), &project.path(""));
        Self::of(server.arg("lsp"))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = std::io::BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            messages,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.write(&framed(message.to_string().as_bytes()));
    }

    fn initialize(&mut self, project: &Project, process: Option<u32>) {
        let uri = format!("file://{}", project.path("").display());
        self.send(
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "processId": process, "capabilities": {}, "rootUri": uri,
        } }),
        );
        assert!(self.answer(&json!(1))["result"]["capabilities"].is_object());
        self.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
    }

    /// Waits for the answer with an id.
    fn answer(&self, id: &Value) -> Value {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
        }
    }

    /// Waits for the end of the process.
    fn end(mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "the server still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend(body);
    bytes
}

fn read(output: &mut std::io::BufReader<ChildStdout>) -> Option<Value> {
    use std::io::BufRead as _;
    let mut header = String::new();
    output.read_line(&mut header).ok()?;
    let length = header
        .strip_prefix("Content-Length: ")?
        .trim()
        .parse()
        .ok()?;
    output.read_line(&mut header).ok()?;
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

#[test]
fn messages_that_mean_nothing_are_answered_or_ignored() {
    let project = broken_project();
    let mut server = Server::start(&project);
    server.initialize(&project, None);
    // A response to a request that the server has not sent, and a notification that does not exist.
    server.send(&json!({ "jsonrpc": "2.0", "id": 4711, "result": null }));
    server.send(&json!({ "jsonrpc": "2.0", "method": "$/nothing", "params": [1, 2] }));
    server.send(&json!({ "jsonrpc": "2.0", "id": "a", "method": "textDocument/nothing" }));
    assert_eq!(server.answer(&json!("a"))["error"]["code"], -32601);
    let uri = format!("file://{}/{WEB}", project.path("").display());
    server.send(
        &json!({ "jsonrpc": "2.0", "id": 2, "method": "textDocument/codeLens", "params": {
        "textDocument": { "uri": uri.replace("//web", "/web") },
    } }),
    );
    assert_eq!(
        server.answer(&json!(2))["result"].as_array().map(Vec::len),
        Some(1)
    );
    server.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "shutdown" }));
    server.answer(&json!(3));
    server.send(&json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn the_server_ends_when_its_input_is_closed() {
    let project = broken_project();
    // Before `initialize`, after it, and in the middle of a message.
    let mut server = Server::start(&project);
    server.input = None;
    assert_eq!(server.end().code(), Some(1));
    let mut server = Server::start(&project);
    server.initialize(&project, None);
    server.input = None;
    assert_eq!(server.end().code(), Some(1));
    let mut server = Server::start(&project);
    server.initialize(&project, None);
    server.write(b"Content-Length: 1000\r\n\r\n{\"jsonrpc\":");
    server.input = None;
    assert_eq!(server.end().code(), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn the_server_ends_when_its_client_has_died() {
    let project = broken_project();
    let mut client = Command::new("sleep").arg("1000").spawn().unwrap();
    let mut server = Server::start(&project);
    // The input stays open, as if another process had inherited it.
    server.initialize(&project, Some(client.id()));
    client.kill().unwrap();
    let _ = client.wait();
    assert_eq!(server.end().code(), Some(1));
}
