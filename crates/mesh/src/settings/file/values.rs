//! Parses single values of the configuration object.

use meshprobe_yaml::{NodeRef, Scalar};

use crate::finding::{RuleId, Severity};
use crate::settings::layer::{Action, Emit};
use crate::settings::suggest::unknown_value_message;
use crate::settings::{FailOn, FormChoice, RuleLevel, RuleNames};

/// The value of `failOn` that requires the verdicts of everything that runs pods.
pub(super) const NOT_JUDGED: &str = "not-judged";

// The allowed values. The schema uses the same lists.
pub(super) const ACTIONS: &[&str] = &["check", "rewrite"];
pub(super) const HELM_VALUES: &[&str] = &["auto", "never"];
pub(super) const EMITS: &[&str] = &["items", "none"];
pub(super) const FAIL_LEVELS: &[&str] = &["error", "warning", "note", "never", NOT_JUDGED];
pub(super) const RULE_LEVELS: &[&str] = &["error", "warning", "note", "ignore"];

/// Returns whether a value in a ConfigMap may be a release without its last digit: a number with one digit after the
/// point. `kustomize fn run` and kpt create the ConfigMap from arguments and keep their text, so 1.30 stays 1.30;
/// `kustomize build` reads the ConfigMap from a file, and passes 1.30 on as 1.3 (observed with 5.8.2).
pub(super) fn is_cut_version(key: &str, value: NodeRef<'_>) -> bool {
    let minor = value.text().and_then(|text| text.split_once('.'));
    is_bare_version(key, value) && minor.is_some_and(|(_, minor)| minor.len() == 1)
}

/// Returns whether the mesh is Open Service Mesh, whose last release is 1.2: no release has a digit to lose.
pub(super) fn has_short_releases(data: NodeRef<'_>) -> bool {
    data.get("mesh.kind").and_then(NodeRef::text) == Some("osm")
}

/// Returns whether a release is written without quotes: it is then a number, and kustomize passes 1.30 on as 1.3.
pub(super) fn is_bare_version(key: &str, value: NodeRef<'_>) -> bool {
    matches!(key, "version" | "node-version")
        && matches!(
            value.scalar(),
            Some(Scalar::Float(_) | Scalar::Int(_) | Scalar::UInt(_))
        )
}

/// Returns the text of a scalar; `None` for an empty value, a list or a mapping. `True` and `FALSE` without quotes have the
/// text of the boolean. Other spellings of YAML 1.1, such as `off`, are not booleans in YAML 1.2, so they keep their text.
pub(super) fn setting_text(value: NodeRef<'_>) -> Option<&str> {
    let text = value.text().filter(|_| !value.is_null())?;
    let is_boolean = matches!(value.scalar(), Some(Scalar::Bool(_)));
    let boolean = ["true", "false"]
        .into_iter()
        .find(|boolean| is_boolean && boolean.eq_ignore_ascii_case(text));
    Some(boolean.unwrap_or(text))
}

/// Parses a boolean.
///
/// # Errors
/// The message for any other value.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("expected `true` or `false`, found `{text}`")),
    }
}

/// Parses the value of `helm`: whether the charts of the tree are rendered.
///
/// # Errors
/// The message for an unknown value.
pub(super) fn helm(text: &str) -> Result<bool, String> {
    match text {
        "auto" => Ok(true),
        "never" => Ok(false),
        _ => Err(unknown_value_message("value of `helm`", text, HELM_VALUES)),
    }
}

/// Parses a form.
///
/// # Errors
/// The message for an unknown value.
pub(super) fn form(text: &str) -> Result<FormChoice, String> {
    FormChoice::ALL
        .into_iter()
        .find(|form| form.as_str() == text)
        .ok_or_else(|| {
            unknown_value_message("form", text, &FormChoice::ALL.map(FormChoice::as_str))
        })
}

/// Parses a level of `failOn`.
///
/// # Errors
/// The message for an unknown value.
pub(super) fn fail_on(text: &str) -> Result<FailOn, String> {
    if text == "never" {
        return Ok(FailOn::Never);
    }
    severity(text)
        .map(FailOn::Severity)
        .ok_or_else(|| unknown_value_message("level", text, FAIL_LEVELS))
}

/// Parses a rule and its level.
///
/// # Errors
/// The message for an unknown rule or level.
pub(super) fn rule_level(
    id: &str,
    text: &str,
    names: &RuleNames,
) -> Result<(RuleId, RuleLevel), String> {
    let id = names.parse(id)?;
    Ok((id, level(text)?))
}

/// Parses the level of a rule.
///
/// # Errors
/// The message for an unknown level.
fn level(text: &str) -> Result<RuleLevel, String> {
    if text == "ignore" {
        return Ok(RuleLevel::Ignore);
    }
    severity(text)
        .map(RuleLevel::Severity)
        .ok_or_else(|| unknown_value_message("level", text, RULE_LEVELS))
}

fn severity(text: &str) -> Option<Severity> {
    [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .find(|severity| severity.as_str() == text)
}

/// Parses the value of `emit`.
///
/// # Errors
/// The message for an unknown value.
pub(super) fn emit(text: &str) -> Result<Emit, String> {
    match text {
        "items" => Ok(Emit::Items),
        "none" => Ok(Emit::None),
        _ => Err(unknown_value_message("value of `emit`", text, EMITS)),
    }
}

/// Parses an action.
///
/// # Errors
/// The message for an unknown value.
pub(super) fn action(text: &str) -> Result<Action, String> {
    match text {
        "check" => Ok(Action::Check),
        "rewrite" => Ok(Action::Rewrite),
        _ => Err(unknown_value_message("action", text, ACTIONS)),
    }
}
