//! The resources of the server: the pages of rules and symptoms, and the table of meshes.

use meshprobe_mesh::settings::most_similar;
use meshprobe_rules::symptoms;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

use meshprobe_engine::engine::{Notice, explained, rule_names};
use meshprobe_report::{rule_page, rule_summary};

/// The prefix of the URIs of rules.
const RULES: &str = "meshprobe://rules/";

/// The prefix of the URIs of symptoms.
const SYMPTOMS: &str = "meshprobe://symptoms/";

/// The URI of the table of meshes.
const MESHES: &str = "meshprobe://meshes";

const MARKDOWN: &str = "text/markdown";

/// Returns a rule, notice or guard, and its page.
///
/// # Errors
/// The message for an unknown id.
pub(super) fn rule(id: &str) -> Result<(Notice, String), String> {
    let id = rule_names().parse(id)?;
    let notice = explained().into_iter().find(|notice| notice.id == id);
    let notice = notice.ok_or_else(|| format!("`{id}` has no page"))?;
    let page = rule_page(&notice);
    Ok((notice, page))
}

/// Returns the page of a symptom.
fn symptom(id: &str) -> Result<String, String> {
    let all = symptoms::all();
    match all.iter().find(|symptom| symptom.id == id) {
        Some(symptom) => Ok(symptom.text()),
        None => Err(
            match most_similar(id, all.iter().map(|symptom| symptom.id)) {
                Some(similar) => format!("did you mean `{similar}`?"),
                None => "the resources of the server list all symptoms".to_owned(),
            },
        ),
    }
}

/// Returns all resources.
pub(super) fn list() -> ListResourcesResult {
    ListResourcesResult::with_all_items(all())
}

fn all() -> Vec<Resource> {
    let meshes = Resource::new(MESHES, "meshes")
        .with_title("What each mesh does to each kind of probe")
        .with_description("A table for each mesh: configurations and releases, and the outcome of each kind of probe.")
        .with_mime_type(MARKDOWN);
    let rules = explained().into_iter().map(|notice| {
        Resource::new(format!("{RULES}{}", notice.id), notice.id.as_str())
            .with_title(format!("Rule {}", notice.id))
            .with_description(rule_summary(&notice))
            .with_mime_type(MARKDOWN)
    });
    let symptoms = symptoms::all().iter().map(|symptom| {
        Resource::new(format!("{SYMPTOMS}{}", symptom.id), symptom.id)
            .with_title(symptom.title())
            .with_description(symptom.summary())
            .with_mime_type(MARKDOWN)
    });
    std::iter::once(meshes)
        .chain(rules)
        .chain(symptoms)
        .collect()
}

/// Lists the templates of URIs.
pub(super) fn templates() -> ListResourceTemplatesResult {
    ListResourceTemplatesResult::with_all_items(vec![
        ResourceTemplate::new(format!("{RULES}{{id}}"), "rule")
            .with_title("The page of a rule")
            .with_description(
                "What a rule checks, why it matters, an example, and what to use instead.",
            )
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new(format!("{SYMPTOMS}{{id}}"), "symptom")
            .with_title("The page of a symptom")
            .with_description(
                "The causes of a text that users see, how to confirm each, and the fix.",
            )
            .with_mime_type(MARKDOWN),
    ])
}

/// Reads a resource.
///
/// # Errors
/// No resource has this URI.
pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = if let Some(id) = uri.strip_prefix(RULES) {
        rule(id).map(|(_, page)| page)
    } else if let Some(id) = uri.strip_prefix(SYMPTOMS) {
        symptom(id)
    } else if uri == MESHES {
        Ok(meshprobe_rules::MESHES_PAGE.to_owned())
    } else {
        Err(format!(
            "expected `{RULES}<id>`, `{SYMPTOMS}<id>` or `{MESHES}`"
        ))
    };
    let text = text.map_err(|message| {
        ErrorData::resource_not_found(format!("unknown resource `{uri}`: {message}"), None)
    })?;
    let contents = ResourceContents::text(text, uri).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]))
}
