//! Objects and files that could not be judged.

use rmcp::schemars::JsonSchema;
use serde::Serialize;

use crate::report::NotJudgedEntry;

use super::super::clean::clean;
use super::{Text, at, line, name};

/// Something that runs pods and could not be judged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(in crate::mcp) struct NotJudged {
    /// The file and line.
    at: String,
    /// The object, as `namespace/Kind/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// The kind of the reason.
    reason: &'static str,
    /// What could not be judged, and why.
    message: String,
    /// What to do.
    help: String,
}

impl From<&NotJudgedEntry> for NotJudged {
    fn from(reported: &NotJudgedEntry) -> Self {
        Self {
            at: at(&reported.path, reported.line),
            object: reported.object.as_ref().map(name),
            reason: reported.reason,
            message: clean(&reported.message),
            help: clean(&reported.help),
        }
    }
}

impl Text for NotJudged {
    fn write(&self, out: &mut String) {
        out.push_str(&format!("not judged: {} {}\n", self.at, self.message));
        line(out, "help", Some(&self.help));
    }
}
