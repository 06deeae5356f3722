//! The settings of a folder, which `cli` reads.

use std::path::PathBuf;
use std::sync::Arc;

use meshprobe_mesh::settings::Settings;
use meshprobe_tree::filesystem::FileSystem;
use meshprobe_tree::source::{ContextOption, Request, SourceSet};
use serde_json::Value;

use super::root::Root;
use crate::engine::Outcome;

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
