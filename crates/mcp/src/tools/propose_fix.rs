//! The tool `propose_fix`.

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::{Manifests, limited};
use super::tool::{Answer, Call, Tool, parse};
use super::{input, tool};
use crate::error::{Output as CommandOutput, ToolError};
use crate::page::{Page, Paging};
use meshprobe_report::fenced_block;

/// The longest part of a diff that is not divided, in bytes.
const LONGEST_PART: usize = 8000;

pub(super) const TOOL: Tool = Tool {
    name: "propose_fix",
    title: "Propose a fix",
    description: "Returns a unified diff that fixes findings of `check` (`kind: fix`, the default), or that applies the \
                  mesh's rewrite of the probes to the manifests ahead of deployment (`kind: rewrite`). Writes nothing: \
                  show the diff to the user, and apply it with your own tools after they agree. The diff equals that of \
                  `meshprobe check --diff` and `meshprobe rewrite --diff`, is minimal, and keeps comments and formatting. \
                  Use it instead of editing probes yourself, and call `check` again after the diff is applied. Unsafe \
                  fixes, which may change running pods, are only included with `unsafe_fixes: true`; ask the user \
                  first.",
    reads_files: true,
    input: input::input::<Input>,
    output: input::output::<Output>,
    call,
};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
struct Input {
    #[serde(flatten)]
    manifests: Manifests,
    /// What the diff does. Default: `fix`.
    kind: Kind,
    /// With `kind: fix`, also include fixes that may change the behaviour of running pods.
    unsafe_fixes: bool,
    /// With `kind: fix`, only fixes of these rules, by id. Default: all.
    rules: Vec<String>,
    #[serde(flatten)]
    paging: Paging,
}

/// What a diff does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "rmcp::schemars")]
enum Kind {
    /// Fixes findings.
    #[default]
    Fix,
    /// Applies the rewrite of the mesh ahead of deployment.
    Rewrite,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Output {
    kind: Kind,
    /// The directory that paths in the diff are relative to.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    /// The unified diff; empty if there is nothing to change. If there is a `next_cursor`, the diff
    /// continues in the next answer: concatenate the parts.
    diff: String,
    /// The number of changes, and what was not changed and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// If the diff continues, the `cursor` of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn call(call: &Call<'_>, arguments: &JsonObject) -> Result<Answer, ToolError> {
    let input: Input = parse(arguments)?;
    if input.kind == Kind::Rewrite && (input.unsafe_fixes || !input.rules.is_empty()) {
        return Err(ToolError::new(
            "`unsafe_fixes` and `rules` have no meaning with `kind: rewrite`",
        ));
    }
    let command = match input.kind {
        Kind::Fix => "check",
        Kind::Rewrite => "rewrite",
    };
    let mut invocation = input.manifests.invocation(call, command)?;
    invocation.flag("diff");
    if input.unsafe_fixes {
        invocation.flag("unsafe-fixes");
    }
    invocation.options("select", limited("rules", &input.rules)?);
    let root = invocation.root();
    let output = invocation.run(call);
    if output.code == 2 && output.stdout.is_empty() {
        return Err(tool::failure(&output));
    }
    let page = input.paging.of("propose_fix", parts(&output.stdout))?;
    answer(input.kind, root, &page, &output)
}

fn answer(
    kind: Kind,
    root: Option<String>,
    page: &Page<String>,
    output: &CommandOutput,
) -> Result<Answer, ToolError> {
    let content = Output {
        kind,
        root,
        diff: page.items.concat(),
        notes: tool::notes(output),
        next_cursor: page.next_cursor.clone(),
    };
    let mut text = match content.diff.is_empty() {
        true => "nothing to change\n".to_owned(),
        false => fenced_block("diff", &content.diff),
    };
    for note in &content.notes {
        text.push_str(&format!("{note}\n"));
    }
    tool::more(
        &mut text,
        page.items.len(),
        page.total,
        page.next_cursor.as_deref(),
    );
    Answer::new(&content, text)
}

/// Splits a diff before each file and hunk, and divides long hunks between lines.
fn parts(diff: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in diff.split_inclusive('\n') {
        let starts = line.starts_with("--- ") || line.starts_with("@@ ");
        match parts.last_mut() {
            Some(part) if !starts && part.len() < LONGEST_PART => part.push_str(line),
            _ => parts.push(line.to_owned()),
        }
    }
    parts
}
