//! Messages on standard input and output.
//!
//! Unlike the transport of `lsp-server`, a malformed message does not end the connection: it is answered with an error,
//! and the next message is read.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::thread;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message};
use serde_json::json;

/// The maximum length of a message in bytes; a client that announces more is not followed.
const LONGEST: usize = 256 << 20;

/// Starts a thread that reads messages from standard input, and one that writes messages to standard output.
///
/// Returns the connection, and a receiver that is disconnected when all messages are written.
///
/// # Errors
/// A thread cannot be started.
pub fn stdio() -> io::Result<(Connection, Receiver<()>)> {
    let (incoming, receiver) = unbounded();
    let (sender, outgoing) = unbounded();
    let (malformed, rejected) = unbounded();
    let (written, done) = unbounded();
    thread::Builder::new()
        .name("lsp-reader".to_owned())
        .spawn(move || read_all(BufReader::new(io::stdin()), &incoming, &malformed))?;
    thread::Builder::new()
        .name("lsp-writer".to_owned())
        .spawn(move || {
            write_all(BufWriter::new(io::stdout()), &outgoing, &rejected);
            drop(written);
        })?;
    Ok((Connection { sender, receiver }, done))
}

/// Reads messages until the input ends. Sends the reason for which a message is malformed to `malformed`.
fn read_all(mut input: impl BufRead, messages: &Sender<Message>, malformed: &Sender<String>) {
    loop {
        let sent = match read_message(&mut input) {
            Ok(None) => return,
            Ok(Some(Ok(message))) => messages.send(message).is_ok(),
            Ok(Some(Err(reason))) => malformed.send(reason).is_ok(),
            Err(_) => return,
        };
        if !sent {
            return;
        }
    }
}

/// Reads one message. Returns `None` at the end of the input, and the reason if the message is malformed.
///
/// # Errors
/// The input cannot be read.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Result<Message, String>>> {
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = Vec::new();
        // A header is short. A longer line is not one, and its rest is read as further lines.
        if input.take(4096).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        match line.split_once(':') {
            None if line.is_empty() && is_first => continue,
            None if line.is_empty() => break,
            None => return Ok(Some(Err("expected a header".to_owned()))),
            Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => {
                length = value.trim().parse::<usize>().ok();
                if length.is_none() {
                    return Ok(Some(Err("`Content-Length` is not a number".to_owned())));
                }
            }
            Some(_) => {}
        }
        is_first = false;
    }
    let Some(length) = length else {
        return Ok(Some(Err("the header has no `Content-Length`".to_owned())));
    };
    if length > LONGEST {
        return Ok(Some(Err(format!(
            "a message of {length} bytes is too long"
        ))));
    }
    let mut body = Vec::new();
    let read = input.take(length as u64).read_to_end(&mut body)?;
    if read < length {
        return Ok(None);
    }
    let message = serde_json::from_slice(&body);
    Ok(Some(message.map_err(|error| error.to_string())))
}

/// Writes messages until the connection is dropped or the output is closed.
fn write_all(mut output: impl Write, messages: &Receiver<Message>, rejected: &Receiver<String>) {
    loop {
        let written = select! {
            recv(messages) -> message => match message {
                Ok(message) => message.write(&mut output),
                Err(_) => return,
            },
            recv(rejected) -> reason => match reason {
                Ok(reason) => write_parse_error(&mut output, &reason),
                // The reader has ended; the remaining answers are still written.
                Err(_) => {
                    for message in messages {
                        if message.write(&mut output).is_err() {
                            return;
                        }
                    }
                    return;
                }
            },
        };
        if written.is_err() {
            return;
        }
    }
}

/// Writes the answer to a message whose id is not known.
fn write_parse_error(output: &mut impl Write, reason: &str) -> io::Result<()> {
    let answer = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": ErrorCode::ParseError as i32, "message": reason },
    });
    let text = answer.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn a_malformed_message_does_not_end_the_connection() {
        let good = framed(r#"{"jsonrpc":"2.0","method":"exit"}"#);
        let input = [
            framed("{"),
            "nonsense\r\n".to_owned(),
            "Content-Length: x\r\n".to_owned(),
            "Content-Length: 99999999999\r\n\r\n".to_owned(),
            framed("[]"),
            good,
            "Content-Length: 100\r\n\r\n{\"cut\":".to_owned(),
        ]
        .concat();
        let (messages, read) = unbounded();
        let (malformed, rejected) = unbounded();
        read_all(input.as_bytes(), &messages, &malformed);
        drop((messages, malformed));
        let read: Vec<Message> = read.iter().collect();
        assert!(matches!(read.as_slice(), [Message::Notification(exit)] if exit.method == "exit"));
        assert_eq!(rejected.iter().count(), 5);
    }
}
