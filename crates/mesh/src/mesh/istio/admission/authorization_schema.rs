//! The schema of AuthorizationPolicies.

use super::schema::{Schema, anything, object};
use super::schemas::SELECTOR;

/// The maximum number of rules, and of sources of a rule.
const MOST_RULES: usize = 512;
/// The maximum number of target references, and of service accounts of a source.
const MOST_REFERENCES: usize = 16;
const UNLIMITED: usize = usize::MAX;

/// `spec` of an AuthorizationPolicy.
pub(super) static AUTHORIZATION_POLICY: Schema = object(&[
    ("selector", SELECTOR),
    ("targetRef", TARGET),
    ("targetRefs", Schema::List(MOST_REFERENCES, &TARGET)),
    ("action", Schema::Text(action)),
    ("provider", object(&[("name", TEXT)])),
    ("rules", Schema::List(MOST_RULES, &RULE)),
]);

const TEXT: Schema = Schema::Text(anything);
const TEXTS: Schema = Schema::List(UNLIMITED, &TEXT);
const ACCOUNTS: Schema = Schema::List(MOST_REFERENCES, &Schema::Text(account));

const TARGET: Schema = Schema::Object {
    fields: &[
        ("group", TEXT),
        ("kind", TEXT),
        ("name", Schema::Text(not_empty)),
        ("namespace", Schema::Text(no_namespace)),
    ],
    required: &["kind", "name"],
};

const RULE: Schema = object(&[
    ("from", Schema::List(MOST_RULES, &FROM)),
    ("to", Schema::List(UNLIMITED, &TO)),
    ("when", Schema::List(UNLIMITED, &WHEN)),
]);

const FROM: Schema = object(&[("source", object(SOURCE))]);
const TO: Schema = object(&[("operation", object(OPERATION))]);

const SOURCE: &[(&str, Schema)] = &[
    ("principals", TEXTS),
    ("notPrincipals", TEXTS),
    ("requestPrincipals", TEXTS),
    ("notRequestPrincipals", TEXTS),
    ("namespaces", TEXTS),
    ("notNamespaces", TEXTS),
    ("ipBlocks", TEXTS),
    ("notIpBlocks", TEXTS),
    ("remoteIpBlocks", TEXTS),
    ("notRemoteIpBlocks", TEXTS),
    ("serviceAccounts", ACCOUNTS),
    ("notServiceAccounts", ACCOUNTS),
    ("trustDomains", TEXTS),
    ("notTrustDomains", TEXTS),
];

const OPERATION: &[(&str, Schema)] = &[
    ("hosts", TEXTS),
    ("notHosts", TEXTS),
    ("ports", TEXTS),
    ("notPorts", TEXTS),
    ("methods", TEXTS),
    ("notMethods", TEXTS),
    ("paths", TEXTS),
    ("notPaths", TEXTS),
];

/// Returns whether `source` or `operation` has a field.
pub(super) fn has_field(of: &str, name: &str) -> bool {
    let fields = if of == "source" { SOURCE } else { OPERATION };
    fields.iter().any(|(field, _)| *field == name)
}

const WHEN: Schema = Schema::Object {
    fields: &[("key", TEXT), ("values", TEXTS), ("notValues", TEXTS)],
    required: &["key"],
};

fn action(action: &str) -> Option<String> {
    let is_known = ["ALLOW", "DENY", "AUDIT", "CUSTOM"].contains(&action);
    (!is_known).then(|| format!("is `{action}`, expected ALLOW, DENY, AUDIT or CUSTOM"))
}

fn account(name: &str) -> Option<String> {
    (name.chars().count() > 320).then(|| "has more than 320 characters".to_owned())
}

fn not_empty(text: &str) -> Option<String> {
    text.is_empty().then(|| "is empty".to_owned())
}

fn no_namespace(namespace: &str) -> Option<String> {
    let reason = "refers to another namespace, which is not supported";
    (!namespace.is_empty()).then(|| reason.to_owned())
}
