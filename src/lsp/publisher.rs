//! Publishes diagnostics that differ from those that the client has.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use gen_lsp_types::{Diagnostic, PublishDiagnosticsParams, Uri};
use hashbrown::HashMap;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::analysis::Analysis;
use super::buffers::Buffers;
use super::client::Client;
use super::diagnostics::{self, ByFile};
use super::uri::path_of;

/// The diagnostics that the client has, as hashes with the version of the document.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    published: HashMap<Uri, (Option<i32>, u64)>,
}

impl Publisher {
    /// Publishes the diagnostics of an analysis, and problems with the configuration. `owns` decides whether a path belongs to this folder of the workspace.
    pub(super) fn publish(
        &mut self,
        client: &Client,
        analysis: &Analysis<'_, '_>,
        found: ByFile,
        problems: Vec<(PathBuf, Diagnostic)>,
        owns: impl Fn(&Path) -> bool,
    ) {
        let mut all: HashMap<Uri, Vec<Diagnostic>> = HashMap::new();
        for (path, diagnostics) in found {
            let location = analysis.set.file(&path).and_then(|file| analysis.uri(file));
            // The configuration is not a file of the set.
            let uri =
                location.unwrap_or_else(|| analysis.buffers.uri(&analysis.folder.join(&*path)));
            all.entry(uri).or_default().extend(diagnostics);
        }
        add_problems(&mut all, analysis.buffers, problems);
        for buffer in analysis.buffers.iter() {
            let uri = buffer.uri.clone();
            if let Some(text) = &buffer.broken {
                let encoding = analysis.supports.encoding;
                let invalid =
                    diagnostics::invalid_document(analysis.folder, &buffer.path, text, encoding);
                all.insert(uri, invalid);
            } else {
                // An open document gets an answer for each of its versions.
                all.entry(uri).or_default();
            }
        }
        all.retain(|uri, _| path_of(uri).is_some_and(|path| owns(&path)));
        self.send(client, analysis.buffers, all);
    }

    /// Publishes the diagnostics of a folder whose settings are not valid.
    pub(super) fn publish_only(
        &mut self,
        client: &Client,
        buffers: &Buffers,
        problems: Vec<(PathBuf, Diagnostic)>,
    ) {
        let mut all = HashMap::new();
        add_problems(&mut all, buffers, problems);
        self.send(client, buffers, all);
    }

    /// Removes all diagnostics.
    pub(super) fn clear(&mut self, client: &Client) {
        self.send(client, &Buffers::default(), HashMap::new());
    }

    fn send(&mut self, client: &Client, buffers: &Buffers, all: HashMap<Uri, Vec<Diagnostic>>) {
        let mut gone: Vec<Uri> = self.published.keys().cloned().collect();
        gone.retain(|uri| !all.contains_key(uri));
        let gone = gone.into_iter().map(|uri| (uri, Vec::new()));
        let mut all: Vec<(Uri, Vec<Diagnostic>)> = all.into_iter().chain(gone).collect();
        all.sort_by(|one, other| one.0.0.cmp(&other.0.0));
        let hashes: Vec<u64> = all.par_iter().map(|(_, found)| hash_of(found)).collect();
        for ((uri, diagnostics), hash) in all.into_iter().zip(hashes) {
            let version =
                path_of(&uri).and_then(|path| buffers.get(&path).map(|buffer| buffer.version));
            let state = (version, hash);
            let is_known = match self.published.get(&uri) {
                Some(known) => *known == state,
                None => diagnostics.is_empty() && version.is_none(),
            };
            if is_known {
                continue;
            }
            if diagnostics.is_empty() && version.is_none() {
                self.published.remove(&uri);
            } else {
                self.published.insert(uri.clone(), state);
            }
            client.publish(&PublishDiagnosticsParams {
                uri,
                version,
                diagnostics,
            });
        }
    }
}

fn add_problems(
    all: &mut HashMap<Uri, Vec<Diagnostic>>,
    buffers: &Buffers,
    problems: Vec<(PathBuf, Diagnostic)>,
) {
    for (path, diagnostic) in problems {
        all.entry(buffers.uri(&path)).or_default().push(diagnostic);
    }
}

fn hash_of(diagnostics: &[Diagnostic]) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(diagnostics)
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}
