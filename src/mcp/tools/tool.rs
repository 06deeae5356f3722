//! A tool, its calls and its answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::model::{JsonObject, Tool as ToolDescription, ToolAnnotations};
use serde::Serialize;

use super::super::error::ToolError;
use super::super::roots::Roots;
use super::super::runner::Runner;
use super::arguments;

/// A tool of the server.
pub(in crate::mcp) struct Tool {
    pub(in crate::mcp) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// Whether the tool reads files, so that it needs the roots of the client.
    pub(in crate::mcp) reads_files: bool,
    pub(super) input: fn() -> Arc<JsonObject>,
    pub(super) output: fn() -> Arc<JsonObject>,
    pub(super) call: fn(&Call<'_>, &JsonObject) -> Result<Answer, ToolError>,
}

/// What a call may use.
pub(in crate::mcp) struct Call<'a> {
    pub(in crate::mcp) runner: &'a dyn Runner,
    pub(in crate::mcp) roots: &'a Roots,
    /// Set as soon as no one waits for the answer.
    pub(in crate::mcp) is_stopped: Arc<AtomicBool>,
}

/// The answer of a tool.
#[derive(Debug)]
pub(in crate::mcp) struct Answer {
    /// The content that follows the schema of the tool.
    pub(in crate::mcp) structured: serde_json::Value,
    /// The same for clients that only show text.
    pub(in crate::mcp) text: String,
}

impl Answer {
    pub(super) fn new(content: &impl Serialize, text: String) -> Result<Self, ToolError> {
        serde_json::to_value(content)
            .map(|structured| Self { structured, text })
            .map_err(|error| ToolError::new(error.to_string()))
    }
}

impl Tool {
    /// Answers a call.
    ///
    /// # Errors
    /// An argument is not valid, a path may not be read, or the command fails.
    pub(in crate::mcp) fn answer(
        &self,
        call: &Call<'_>,
        arguments: &JsonObject,
    ) -> Result<Answer, ToolError> {
        arguments::reject_unknown(&(self.input)(), arguments)?;
        (self.call)(call, arguments)
    }

    /// Returns the description for clients.
    pub(in crate::mcp) fn description(&self) -> ToolDescription {
        let annotations = ToolAnnotations::with_title(self.title)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        ToolDescription::new(self.name, self.description, (self.input)())
            .with_title(self.title)
            .with_raw_output_schema((self.output)())
            .with_annotations(annotations)
    }
}
