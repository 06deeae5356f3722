//! An object in JSON.

use serde::Serialize;

use crate::finding::ObjectRef;

/// The object to which an entry of a report refers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectEntry {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl From<ObjectRef> for ObjectEntry {
    fn from(object: ObjectRef) -> Self {
        let ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        } = object;
        Self {
            api_version,
            kind,
            namespace,
            name,
        }
    }
}
