//! Exec handlers that only send an HTTP request to the application in their own pod.

use meshprobe_yaml::NodeRef;

use super::handler::Probe;
use super::probe_handler::ProbeHandler;

/// Request to the pod itself, which an `httpGet` handler could send instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfRequest {
    /// `curl` or `wget`.
    pub tool: &'static str,
    /// Whether the scheme is HTTPS.
    pub https: bool,
    /// The port.
    pub port: u16,
    /// Path and query.
    pub path: String,
}

/// Returns the request that an exec handler sends, if its command is a single call of curl or wget
/// to a loopback address: without headers, another method, or a check of the response.
#[must_use]
pub fn self_request(handler: &Probe<'_>) -> Option<SelfRequest> {
    if !matches!(handler.action, Ok(ProbeHandler::Exec)) {
        return None;
    }
    let command = handler.node.get("exec")?.get("command")?;
    let words: Option<Vec<&str>> = command.items().map(NodeRef::text).collect();
    let words = words?;
    match words.as_slice() {
        [shell, flag, script] if is_shell(shell) && matches!(*flag, "-c" | "-ec" | "-lc") => {
            parse_command(&script_words(script)?)
        }
        words => parse_command(words),
    }
}

fn program_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_shell(word: &str) -> bool {
    matches!(program_name(word), "sh" | "bash" | "ash" | "dash")
}

/// Splits a script into words if it is one plain command. Ignores a final `|| exit 1`, which does not
/// change the result.
fn script_words(script: &str) -> Option<Vec<&str>> {
    let script = script.trim();
    let script = script.strip_suffix("|| exit 1").unwrap_or(script);
    let shell = |c: char| "|&;<>()`$\\*?!{}[]#~\n".contains(c);
    let words = script.split_whitespace().map(|word| {
        let single = word.strip_prefix('\'').and_then(|w| w.strip_suffix('\''));
        let double = word.strip_prefix('"').and_then(|w| w.strip_suffix('"'));
        let bare = single.or(double).unwrap_or(word);
        // The shell accepts `?` and `&` of a query literally only within quotes.
        let is_quoted = bare.len() < word.len();
        let plain = |c: char| !shell(c) || (is_quoted && matches!(c, '?' | '&'));
        (bare.chars().all(plain) && !bare.contains(['\'', '"'])).then_some(bare)
    });
    words.collect()
}

fn parse_command(words: &[&str]) -> Option<SelfRequest> {
    let (program, arguments) = words.split_first()?;
    let (tool, flags) = match program_name(program) {
        "curl" => ("curl", CURL),
        "wget" => ("wget", WGET),
        _ => return None,
    };
    let mut urls = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            urls.push(*word);
        } else if flags.with_value.contains(word) {
            rest.next()?;
        } else if !flags.accepts(word) {
            return None;
        }
    }
    let [url] = urls.as_slice() else { return None };
    let request = parse_url(url)?;
    Some(SelfRequest { tool, ..request })
}

/// Flags of a program that do not change what its request checks.
struct Flags {
    alone: &'static [&'static str],
    with_value: &'static [&'static str],
    /// Single-letter flags, which can be combined after one `-`.
    letters: &'static str,
}

const CURL: &Flags = &Flags {
    alone: &[
        "--fail",
        "--fail-with-body",
        "--silent",
        "--show-error",
        "--insecure",
        "--location",
        "--verbose",
    ],
    with_value: &["-o", "--output", "-m", "--max-time", "--connect-timeout"],
    letters: "fsSkLv46",
};

const WGET: &Flags = &Flags {
    alone: &[
        "--quiet",
        "--no-verbose",
        "--no-check-certificate",
        "-O-",
        "-qO-",
        "-O/dev/null",
        "-qO/dev/null",
    ],
    with_value: &["-O", "-qO", "-T", "--timeout", "-t", "--tries"],
    letters: "q",
};

impl Flags {
    fn accepts(&self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or(word);
        let with_value = word.len() > name.len() && self.with_value.contains(&name);
        let letters = word.strip_prefix('-').unwrap_or_default();
        let combined = !letters.is_empty() && letters.chars().all(|c| self.letters.contains(c));
        self.alone.contains(&word) || with_value || combined
    }
}

fn parse_url(url: &str) -> Option<SelfRequest> {
    let (https, rest) = match url.split_once("://") {
        Some(("http", rest)) => (false, rest),
        Some(("https", rest)) => (true, rest),
        Some(_) => return None,
        None => (false, url),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (authority, None),
    };
    let is_own = host == "localhost" || host == "[::1]" || is_loopback(host);
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    is_own.then(|| SelfRequest {
        tool: "",
        https,
        port: port.unwrap_or(if https { 443 } else { 80 }),
        path,
    })
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<core::net::Ipv4Addr>();
    address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Option<(bool, u16, String)> {
        let request = match words {
            ["sh", "-c", script] => script_words(script).and_then(|words| parse_command(&words)),
            words => parse_command(words),
        };
        request.map(|request| (request.https, request.port, request.path))
    }

    #[test]
    fn plain_requests_are_recognized() {
        let some = |https, port, path: &str| Some((https, port, path.to_owned()));
        let url = "http://localhost:8080/healthy";
        assert_eq!(read(&["curl", "-f", url]), some(false, 8080, "/healthy"));
        assert_eq!(
            read(&[
                "/usr/bin/curl",
                "-fsS",
                "-o",
                "/dev/null",
                "-m",
                "3",
                "127.0.0.1:80"
            ]),
            some(false, 80, "/")
        );
        assert_eq!(
            read(&["curl", "-kf", "https://[::1]/a?b=c#d"]),
            some(true, 443, "/a?b=c")
        );
        assert_eq!(
            read(&["wget", "-q", "-O", "-", "http://127.0.0.1:8080?x"]),
            some(false, 8080, "/?x")
        );
        assert_eq!(
            read(&["wget", "-qO-", "--timeout=3", url]),
            some(false, 8080, "/healthy")
        );
        assert_eq!(
            read(&["sh", "-c", "curl -f 'http://localhost:8080/a?b' || exit 1"]),
            some(false, 8080, "/a?b")
        );
    }

    #[test]
    fn other_commands_are_not_recognized() {
        let url = "http://localhost:8080/healthy";
        let commands: [&[&str]; 12] = [
            &["curl", "-f", "http://web:8080/"],
            &["curl", "-f", "http://localhost:$PORT/"],
            &["curl", "-f", "-X", "POST", url],
            &["curl", "-fH", "A: b", url],
            &["curl", "-I", url],
            &["curl", "-f", url, url],
            &["curl", "--unix-socket", "/s", url],
            &["curl", "-f", "ftp://localhost/"],
            &["wget", "--spider", url],
            &["sh", "-c", "curl -f http://localhost/ | grep ok"],
            &["sh", "-c", "curl -f http://localhost/?a&b"],
            &["cat", "/tmp/ready"],
        ];
        for words in commands {
            assert_eq!(read(words), None, "{words:?}");
        }
    }
}
