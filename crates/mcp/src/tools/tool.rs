//! A tool, its calls, and the text of its answers. An error names the parameter.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use meshprobe_mesh::settings::most_similar;
use rmcp::model::{JsonObject, Tool as ToolDescription, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::{NotJudged, Text};
use crate::error::{Output, Runner, ToolError, clean};
use crate::page::Page;
use crate::roots::Roots;
use meshprobe_report::NotJudgedEntry;

/// A tool of the server.
pub(crate) struct Tool {
    pub name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// Whether the tool reads files, so that it needs the roots of the client.
    pub reads_files: bool,
    pub(super) input: fn() -> Arc<JsonObject>,
    pub(super) output: fn() -> Arc<JsonObject>,
    pub(super) call: fn(&Call<'_>, &JsonObject) -> Result<Answer, ToolError>,
}

/// What a call may use.
pub(crate) struct Call<'a> {
    pub runner: &'a dyn Runner,
    pub roots: &'a Roots,
    /// Set as soon as no one waits for the answer.
    pub is_stopped: Arc<AtomicBool>,
}

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The content that follows the schema of the tool.
    pub structured: serde_json::Value,
    /// The same for clients that only show text.
    pub text: String,
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
    pub(crate) fn answer(
        &self,
        call: &Call<'_>,
        arguments: &JsonObject,
    ) -> Result<Answer, ToolError> {
        reject_unknown(&(self.input)(), arguments)?;
        (self.call)(call, arguments)
    }

    /// Returns the description for clients.
    pub(crate) fn description(&self) -> ToolDescription {
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

/// Rejects arguments that the schema does not have: a misspelt one would be ignored silently.
///
/// # Errors
/// An argument is not known.
pub(super) fn reject_unknown(schema: &JsonObject, arguments: &JsonObject) -> Result<(), ToolError> {
    let known: Vec<&str> = schema
        .get("properties")
        .and_then(serde_json::Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let Some(unknown) = arguments
        .keys()
        .find(|name| !known.contains(&name.as_str()))
    else {
        return Ok(());
    };
    let help = match most_similar(unknown, known.iter().copied()) {
        Some(similar) => format!("did you mean `{similar}`?"),
        None => {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            format!("expected one of {}", names.join(", "))
        }
    };
    Err(ToolError::new(format!("unknown parameter `{unknown}`")).help(help))
}

/// Parses the arguments. All fields of `T` must be optional.
///
/// # Errors
/// An argument has the wrong type.
pub(super) fn parse<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, ToolError> {
    let parsed = serde_json::from_value(arguments.clone().into());
    parsed.map_err(|error| {
        // The error of serde does not name the field.
        for (name, value) in arguments {
            let alone = JsonObject::from_iter([(name.clone(), value.clone())]);
            if let Err(error) = serde_json::from_value::<T>(alone.into()) {
                return ToolError::new(format!("invalid value for `{name}`: {error}"));
            }
        }
        ToolError::new(format!("invalid arguments: {error}"))
    })
}

/// The most entries of what is not judged, and the most notes, in one answer.
const MOST: usize = 5;

/// What an answer says in addition to its items.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Rest {
    /// The directory that paths in the answer are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// Objects and files that could not be judged, the first 5: nothing is known about their probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_judged: Vec<NotJudged>,
    /// How many more could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_not_judged: Option<usize>,
    /// Notes and warnings about the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// If there are more items, the `cursor` of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Returns the error of a command that has no report.
pub(super) fn failure(output: &Output) -> ToolError {
    ToolError::of_command(&output.stderr)
}

/// Returns the lines of standard error as notes.
pub(super) fn notes(output: &Output) -> Vec<String> {
    let lines = output.stderr.lines().filter(|line| !line.trim().is_empty());
    lines.take(MOST).map(clean).collect()
}

impl Rest {
    pub(super) fn new<T>(
        root: Option<String>,
        page: &Page<T>,
        not_judged: &[NotJudgedEntry],
        output: &Output,
    ) -> Self {
        Self {
            root,
            more_not_judged: not_judged.len().checked_sub(MOST).filter(|more| *more > 0),
            not_judged: not_judged.iter().take(MOST).map(NotJudged::from).collect(),
            notes: notes(output),
            next_cursor: page.next_cursor.clone(),
        }
    }
}

/// Returns the text of an answer: a first line, the items of a page, and the rest.
pub(super) fn text<T: Text>(first: &str, page: &Page<T>, rest: &Rest) -> String {
    let mut out = format!("{first}\n");
    for item in &page.items {
        out.push('\n');
        item.write(&mut out);
    }
    if !rest.not_judged.is_empty() {
        out.push('\n');
    }
    for entry in &rest.not_judged {
        entry.write(&mut out);
    }
    if let Some(more) = rest.more_not_judged {
        out.push_str(&format!("not judged: {more} more\n"));
    }
    for note in &rest.notes {
        out.push_str(&format!("\n{note}"));
    }
    more(
        &mut out,
        page.items.len(),
        page.total,
        rest.next_cursor.as_deref(),
    );
    out
}

/// Appends how to get the next items.
pub(super) fn more(out: &mut String, shown: usize, total: usize, next_cursor: Option<&str>) {
    if let Some(cursor) = next_cursor {
        out.push_str(&format!(
            "\n{shown} of {total} items shown; call again with the same parameters and cursor `{cursor}`\n"
        ));
    }
}
