//! The folders whose files the client may read, as the command line or the client names them.

#![expect(
    deprecated,
    reason = "clients use roots, and no other way to grant files exists"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use meshprobe_tree::filesystem::canonical;
use percent_encoding::percent_decode_str;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, InputRequest, InputRequiredResult, ListRootsRequest, ListRootsResult,
};
use rmcp::service::RequestContext;

use super::error::ToolError;

/// A folder whose files may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The path as it was given, absolute.
    pub(super) given: PathBuf,
    /// The path without links.
    pub(super) real: PathBuf,
}

/// The folders whose files may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The folders.
    pub(super) folders: Vec<Root>,
    /// Why a folder that the client grants cannot be used.
    pub(super) problems: Vec<String>,
    /// The working directory of commands that read no files.
    pub(super) directory: PathBuf,
}

impl Root {
    /// Resolves an absolute path.
    ///
    /// # Errors
    /// The path does not lead to a folder.
    pub fn new(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let real = canonical(path).map_err(|error| {
            let reason = meshprobe_tree::source::io_error_reason(&error);
            format!("cannot read the root `{shown}`: {reason}")
        })?;
        if real.is_dir() {
            Ok(Self {
                given: path.to_path_buf(),
                real,
            })
        } else {
            Err(format!("the root `{shown}` is not a directory"))
        }
    }
}

impl Roots {
    /// Adds the roots that the client grants.
    pub(super) fn add_uris<'u>(&mut self, uris: impl IntoIterator<Item = &'u str>) {
        for uri in uris {
            let root = path_of_uri(uri)
                .map_err(|reason| format!("cannot use the root `{uri}`: {reason}"))
                .and_then(|path| Root::new(&path));
            match root {
                Ok(root) => self.add(root),
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    /// Adds a root that is not known yet.
    pub(super) fn add(&mut self, root: Root) {
        if !self.folders.iter().any(|known| known.real == root.real) {
            self.folders.push(root);
        }
    }

    /// Returns the resolved paths.
    pub(super) fn real(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|root| root.real.clone()).collect()
    }

    /// Returns the folders for a message.
    pub(super) fn shown(&self) -> String {
        let all: Vec<String> = self
            .folders
            .iter()
            .map(|root| format!("`{}`", root.given.display()))
            .collect();
        all.join(", ")
    }
}

/// Returns the path of a `file:` URI (RFC 8089).
///
/// # Errors
/// The reason why the text does not name a file of this machine.
pub(super) fn path_of_uri(uri: &str) -> Result<PathBuf, &'static str> {
    let rest = strip_scheme(uri).ok_or("it is not a `file:` URI")?;
    if rest.contains(['?', '#']) {
        return Err("a `file:` URI has no query and no fragment");
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let slash = rest.find('/').ok_or("it has no path")?;
            let (host, path) = rest.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err("it names another host");
            }
            path
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err("its path is not absolute");
    }
    let has_encoded_slash = path.as_bytes().windows(3).any(|part| {
        part.eq_ignore_ascii_case(b"%2f") || (cfg!(windows) && part.eq_ignore_ascii_case(b"%5c"))
    });
    if has_encoded_slash {
        return Err("a name in its path contains a slash");
    }
    let path = percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| "its path is not UTF-8")?;
    if path.contains('\0') {
        return Err("its path contains a NUL character");
    }
    Ok(PathBuf::from(without_slash_before_drive(&path)))
}

/// Returns whether a text starts with the scheme of a URI, such as `https:`; one letter is a drive of Windows.
pub(super) fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1
            && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn strip_scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once(':')?;
    scheme.eq_ignore_ascii_case("file").then_some(rest)
}

/// Removes the first slash of `/C:/folder`.
fn without_slash_before_drive(path: &str) -> &str {
    let is_drive = cfg!(windows)
        && matches!(path.as_bytes(), [b'/', letter, b':', ..] if letter.is_ascii_alphabetic());
    if is_drive {
        path.get(1..).unwrap_or(path)
    } else {
        path
    }
}

/// The options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The working directory, an absolute path.
    pub directory: PathBuf,
    /// The folders of the command line that may be read.
    pub roots: Vec<Root>,
    /// The home directory, which is never a root by default.
    pub home: Option<PathBuf>,
    /// The time limit of a call.
    pub time_limit: Duration,
}

impl Options {
    /// Returns whether a resolved path is the home directory, or contains it.
    pub(super) fn is_home(&self, real: &Path) -> bool {
        let home = self
            .home
            .as_deref()
            .map(|home| canonical(home).unwrap_or_else(|_| home.to_path_buf()));
        home.is_some_and(|home| home.starts_with(real))
    }
}

/// The time limit of the answer to `roots/list`.
const PATIENCE: Duration = Duration::from_secs(10);

/// The key of the request for roots in a call that is repeated.
const KEY: &str = "roots";

/// What a call may read.
pub(super) enum Access {
    /// These folders.
    Roots(Roots),
    /// The client must repeat the call, with its roots.
    Ask(InputRequiredResult),
}

/// The roots of the client, as last reported.
#[derive(Debug, Default)]
pub(super) struct Granted {
    /// Counts the changes that the client has announced.
    changes: AtomicU64,
    /// The URIs, with the number of changes before they were requested.
    known: Mutex<Option<(u64, Vec<String>)>>,
}

impl Granted {
    /// Forgets the roots: the client announced that they changed.
    pub(super) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns what a call may read.
    ///
    /// # Errors
    /// The client supports roots, but does not answer the request for them.
    pub(super) async fn access(
        &self,
        options: &Options,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Access, ToolError> {
        let supports_roots = context
            .client_capabilities()
            .is_some_and(|capabilities| capabilities.roots.is_some());
        if !supports_roots {
            return Ok(Access::Roots(without_client(options)));
        }
        // Only a session that was opened with `initialize` can be asked.
        let uris = if context.peer.peer_info().is_some() {
            self.request(context).await?
        } else {
            match repeated(request)? {
                Some(uris) => uris,
                None => return Ok(Access::Ask(question())),
            }
        };
        let mut roots = of_options(options);
        roots.add_uris(uris.iter().map(String::as_str));
        Ok(Access::Roots(roots))
    }

    /// Returns the known URIs, or requests them.
    async fn request(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<String>, ToolError> {
        let changes = self.changes.load(Ordering::SeqCst);
        if let Some((known_changes, uris)) = &*self.lock()
            && *known_changes == changes
        {
            return Ok(uris.clone());
        }
        let answer = tokio::time::timeout(PATIENCE, context.peer.list_roots()).await;
        let listed = match answer {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => {
                return Err(ToolError::new(format!(
                    "the client did not list its roots: {error}"
                )));
            }
            Err(_) => return Err(ToolError::new("the client did not list its roots in time")),
        };
        let uris = uris(listed);
        *self.lock() = Some((changes, uris.clone()));
        Ok(uris)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(u64, Vec<String>)>> {
        self.known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Returns the roots of the command line, for a client that supports roots.
fn of_options(options: &Options) -> Roots {
    let mut roots = Roots {
        directory: options.directory.clone(),
        ..Roots::default()
    };
    for root in &options.roots {
        roots.add(root.clone());
    }
    roots
}

/// Returns the roots of the command line, or else the working directory.
fn without_client(options: &Options) -> Roots {
    let mut roots = of_options(options);
    if roots.folders.is_empty() {
        match Root::new(&options.directory) {
            // A client may start the server anywhere; it does not mean to grant all files of the user.
            Ok(root) if root.real.parent().is_none() || options.is_home(&root.real) => {
                roots.problems.push(format!(
                    "the working directory `{}` is not used as a root, because it may contain private files",
                    options.directory.display()
                ));
            }
            Ok(root) => roots.add(root),
            Err(problem) => roots.problems.push(problem),
        }
    }
    roots
}

/// Returns the request for roots.
fn question() -> InputRequiredResult {
    let request = InputRequest::ListRoots(ListRootsRequest::default());
    InputRequiredResult::from_input_requests(BTreeMap::from([(KEY.to_owned(), request)]))
}

/// Returns the roots in a repeated call.
fn repeated(request: &CallToolRequestParams) -> Result<Option<Vec<String>>, ToolError> {
    let answer = request
        .input_responses
        .as_ref()
        .and_then(|all| all.get(KEY));
    answer
        .map(|answer| serde_json::from_value(answer.clone()).map(uris))
        .transpose()
        .map_err(|error| ToolError::new(format!("cannot read the roots of the client: {error}")))
}

fn uris(listed: ListRootsResult) -> Vec<String> {
    listed.roots.into_iter().map(|root| root.uri).collect()
}
