//! A client that speaks JSON lines with a server process.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{PROGRAM, command, fixture};

/// The time after which a test gives up; answers take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session with a server.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// The roots that the client grants; `None` if it does not support roots.
    pub(super) roots: Option<Vec<String>>,
}

impl Client {
    /// Starts a server in `directory` without a session.
    pub(super) fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = command(Path::new(PROGRAM), directory);
        command.arg("mcp").args(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            next_id: 0,
            roots: None,
        }
    }

    /// Starts a server and a session with a client that grants the folder `root`.
    pub(super) fn granting(root: &Path) -> Self {
        let uri = format!("file://{}", root.display());
        Self::with_roots(Path::new("/"), &[], Some(vec![uri]))
    }

    /// Starts a server and a session with a client that does not support roots.
    pub(super) fn without_roots(directory: &Path, arguments: &[&str]) -> Self {
        Self::with_roots(directory, arguments, None)
    }

    pub(super) fn with_roots(
        directory: &Path,
        arguments: &[&str],
        roots: Option<Vec<String>>,
    ) -> Self {
        let mut client = Self::start(directory, arguments);
        client.roots = roots;
        let capabilities = match &client.roots {
            Some(_) => json!({"roots": {"listChanged": true}}),
            None => json!({}),
        };
        let answer = client.request(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "0"},
            }),
        );
        assert_eq!(answer["result"]["serverInfo"]["name"], "meshprobe");
        client.notify("notifications/initialized", json!({}));
        client
    }

    /// Sends bytes as they are.
    pub(super) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request, and returns its id.
    pub(super) fn send_request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the next message, after answering requests for roots.
    pub(super) fn receive(&mut self) -> Value {
        loop {
            let line = self
                .lines
                .recv_timeout(PATIENCE)
                .expect("the server answers");
            let message: Value =
                serde_json::from_str(&line).expect("stdout contains only messages");
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["method"] == "roots/list" {
                let roots: Vec<Value> = self
                    .roots
                    .iter()
                    .flatten()
                    .map(|uri| json!({"uri": uri}))
                    .collect();
                let id = &message["id"];
                self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}));
                continue;
            }
            return message;
        }
    }

    /// Sends a request, and returns the whole response.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        let message = self.receive();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// Calls a tool, and returns its result.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool, and returns its structured content.
    pub(super) fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool, and returns the text of its error.
    pub(super) fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes standard input, and waits for the end of the server.
    pub(super) fn close(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.child.wait().unwrap()
    }

    /// Waits for the end of the server, and returns its exit code and standard error.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        drop(self.stdin.take());
        let mut stderr = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut pipe, &mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }

    pub(super) fn process_id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Deployment whose owner has switched the rewrite off, in an injected namespace.
pub(super) const WEB: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    istio-injection: enabled
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
      annotations:
        sidecar.istio.io/rewriteAppHTTPProbers: \"false\"
    spec:
      containers:
        - name: web
          image: web:1
          ports:
            - containerPort: 8080
          readinessProbe:
            httpGet: {path: /readyz, port: 8080}
";

/// STRICT mutual TLS for the whole mesh.
pub(super) const STRICT: &str = "\
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: default
  namespace: istio-system
spec:
  mtls:
    mode: STRICT
";

/// Copies `fixtures/demo` into a new folder, so that it is a tree of its own.
pub(super) fn demo() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().unwrap();
    copy(&fixture("demo"), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
