use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use super::error::{Command, Output, Runner};
use super::page::{CursorError, Paging, decode, encode, fingerprint};
use super::roots::{Options, has_scheme, path_of_uri};
use super::server::serve_on;

/// A command that ends only when it is stopped.
struct Endless {
    was_stopped: Arc<AtomicBool>,
}

impl Runner for Endless {
    fn run(&self, command: &Command) -> Output {
        while !command.is_stopped.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.was_stopped.store(true, Ordering::Relaxed);
        Output {
            code: 2,
            report: None,
            stdout: String::new(),
            stderr: "error: stopped\n".into(),
        }
    }
}

/// A command that panics.
struct Panics;

impl Runner for Panics {
    fn run(&self, _: &Command) -> Output {
        panic!("planted");
    }
}

/// A session over a pipe in memory.
struct Session {
    input: DuplexStream,
    output: BufReader<DuplexStream>,
}

impl Session {
    async fn open(runner: Arc<dyn Runner>, time_limit: Duration) -> Self {
        let (input, server_input) = tokio::io::duplex(1 << 16);
        let (server_output, output) = tokio::io::duplex(1 << 16);
        let options = Options {
            directory: std::env::temp_dir(),
            roots: Vec::new(),
            home: None,
            time_limit,
        };
        tokio::spawn(serve_on((server_input, server_output), options, runner));
        let mut session = Self {
            input,
            output: BufReader::new(output),
        };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        session
            .send(json!({"id": 0, "method": "initialize", "params": params}))
            .await;
        session.receive().await;
        session
            .send(json!({"method": "notifications/initialized"}))
            .await;
        session
    }

    async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn send_call(&mut self, id: u64) {
        let params = json!({"name": "check", "arguments": {"manifest": "a: 1"}});
        self.send(json!({"id": id, "method": "tools/call", "params": params}))
            .await;
    }
}

fn run(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), test)
            .await
            .unwrap();
    });
    runtime.shutdown_background();
}

#[test]
fn a_call_that_takes_too_long_is_stopped_and_named() {
    run(async {
        let was_stopped = Arc::new(AtomicBool::new(false));
        let runner = Endless {
            was_stopped: Arc::clone(&was_stopped),
        };
        let mut session = Session::open(Arc::new(runner), Duration::from_millis(50)).await;
        session.send_call(1).await;
        let answer = session.receive().await;
        assert_eq!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("error: the call took longer than"),
            "{text}"
        );
        while !was_stopped.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn a_cancelled_call_is_stopped_and_frees_its_slot() {
    run(async {
        let was_stopped = Arc::new(AtomicBool::new(false));
        let runner = Endless {
            was_stopped: Arc::clone(&was_stopped),
        };
        let mut session = Session::open(Arc::new(runner), Duration::from_secs(600)).await;
        for id in 1..=6 {
            session.send_call(id).await;
            let params = json!({"requestId": id});
            session
                .send(json!({"method": "notifications/cancelled", "params": params}))
                .await;
        }
        while !was_stopped.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        session.send(json!({"id": 9, "method": "ping"})).await;
        while session.receive().await["id"] != 9 {}
    });
}

#[test]
fn a_panic_is_an_error_of_the_call() {
    run(async {
        let mut session = Session::open(Arc::new(Panics), Duration::from_secs(600)).await;
        for id in 1..=4 {
            session.send_call(id).await;
            let answer = session.receive().await;
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("panicked"), "{text}");
        }
    });
}

#[test]
fn a_cursor_is_the_position_and_the_fingerprint() {
    let hash = fingerprint("list", ["a", "b", "c"]);
    for offset in 0..3 {
        assert_eq!(decode(&encode(offset, hash), 3, hash), Ok(offset));
    }
    assert_eq!(decode(&encode(3, hash), 3, hash), Err(CursorError::Invalid));
    assert_eq!(
        decode(&encode(1, hash), 3, hash ^ 1),
        Err(CursorError::Stale)
    );
    assert_ne!(hash, fingerprint("list", ["a", "bc"]));
    assert_ne!(hash, fingerprint("other", ["a", "b", "c"]));
    for text in ["", ".", "1", "1.", "+1.0", "g.0", "1.0.0", "\u{661}.0"] {
        assert_eq!(decode(text, 3, 0), Err(CursorError::Invalid), "{text:?}");
    }
}

#[test]
fn a_page_has_at_least_one_item() {
    let long = vec!["x".repeat(50_000), "y".into()];
    let page = Paging::default().of("list", long).unwrap();
    assert_eq!(page.items.len(), 1);
    let rest = Paging {
        limit: None,
        cursor: page.next_cursor,
    };
    let again = vec!["x".repeat(50_000), "y".into()];
    assert_eq!(rest.of("list", again).unwrap().items, ["y"]);
    let empty = Paging::default().of("list", Vec::<String>::new()).unwrap();
    assert!(empty.items.is_empty() && empty.next_cursor.is_none());
}

#[cfg(unix)]
#[test]
fn uris_of_files_are_decoded_once() {
    let decoded = |uri| path_of_uri(uri).map(|path| path.display().to_string());
    assert_eq!(decoded("file:///a%20b"), Ok("/a b".into()));
    assert_eq!(decoded("file:///a%2520b"), Ok("/a%20b".into()));
    assert_eq!(decoded("FILE://LOCALHOST/a"), Ok("/a".into()));
    assert_eq!(decoded("file:/a"), Ok("/a".into()));
    assert_eq!(decoded("file:///%2e%2e/a"), Ok("/../a".into()));
    assert_eq!(path_of_uri("file:///a/b"), Ok(PathBuf::from("/a/b")));
    for uri in [
        "",
        "file",
        "file:",
        "file:a",
        "file://",
        "file://host",
        "file://host/a",
        "http:///a",
        "file:///a%2fb",
        "file:///a%2Fb",
        "file:///%00",
        "file:///%ff",
        "file:///a?b",
        "file:///a#b",
    ] {
        assert!(path_of_uri(uri).is_err(), "{uri}");
    }
    assert!(has_scheme("file:/a") && has_scheme("https://a"));
    assert!(!has_scheme("C:/a") && !has_scheme("a:b") && !has_scheme("apps/a.yaml"));
}
