//! The settings of a folder, which `cli` reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{ConfigurationItem, ConfigurationParams, Uri};
use meshprobe_mesh::settings::Settings;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{ContextOption, Request, SourceSet};
use serde_json::{Map, Value};

use meshprobe_engine::engine::Outcome;

/// Reads the settings of folders.
pub trait Loader: Send + Sync {
    /// Returns what to read and check in a folder of the workspace, with the settings of the client: an object whose keys are the options
    /// of `meshprobe lsp` in camel case.
    ///
    /// # Errors
    /// A setting, the configuration file or one of its paths is invalid.
    fn plan(
        &self,
        root: &Root,
        client: &Value,
        files: &FileSystem,
    ) -> Result<Plan, Vec<SettingsError>>;
}

/// Suppresses the findings of a baseline.
pub type Suppress = Arc<dyn Fn(&SourceSet, &mut Outcome) + Send + Sync>;

/// What to read and check in a folder.
pub struct Plan {
    /// The files to read.
    pub request: Request,
    /// The settings of the check.
    pub settings: Settings,
    /// The option `--context` of the commands that messages recommend.
    pub context_option: ContextOption,
    /// Suppresses the findings of the baseline.
    pub suppress: Suppress,
    /// Notes for the log of the client.
    pub notes: String,
}

impl Plan {
    /// Returns this plan for other files. The notes are not repeated.
    pub(super) fn with_files(&self, filesystem: FileSystem) -> Self {
        Self {
            request: Request {
                filesystem,
                ..self.request.clone()
            },
            settings: self.settings.clone(),
            context_option: self.context_option.clone(),
            suppress: Arc::clone(&self.suppress),
            notes: String::new(),
        }
    }
}

/// A problem with the settings of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// What is wrong.
    pub message: String,
    /// The place in the configuration, with its line and its column from 0.
    pub place: Option<(PathBuf, u32, u32)>,
}

/// A folder of the workspace, or a single document outside of all folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder that displayed paths are relative to.
    pub folder: PathBuf,
    /// The only file that is checked; `None` for all files of the folder.
    pub only: Option<PathBuf>,
}

impl Root {
    /// Returns whether a path is checked.
    pub(super) fn contains(&self, path: &Path) -> bool {
        match &self.only {
            Some(only) => only == path,
            None => path.starts_with(&self.folder),
        }
    }
}

/// Returns the innermost of the folders that contain a path.
pub(super) fn innermost<'r>(
    roots: impl Iterator<Item = &'r Root>,
    path: &Path,
) -> Option<&'r Root> {
    roots
        .filter(|root| root.contains(path))
        .max_by_key(|root| (root.only.is_none(), root.folder.components().count()))
}

/// The section of the settings of the client.
const SECTION: &str = "meshprobe";

/// Returns the request for the settings of folders.
pub(super) fn request(folders: impl Iterator<Item = Uri>) -> ConfigurationParams {
    let items = folders.map(|uri| ConfigurationItem {
        scope_uri: Some(uri),
        section: Some(SECTION.to_owned()),
    });
    ConfigurationParams {
        items: items.collect(),
    }
}

/// Returns the settings in what a client sends: the section, or an object that contains the section.
pub(super) fn section(value: &Value) -> Value {
    let section = value.get(SECTION).unwrap_or(value);
    match section {
        Value::Object(_) => section.clone(),
        _ => Value::Object(Map::new()),
    }
}
