//! Keys and values that identify an item of a list.

use crate::kustomize::node::Node;

/// Returns the texts of the keys of an item; empty where it has none.
pub(crate) fn key_values(item: &Node, keys: &[&str]) -> Vec<String> {
    let value = |key: &&str| item.get(key).and_then(Node::text).unwrap_or_default();
    keys.iter().map(value).map(str::to_owned).collect()
}

/// Returns the text that an item is found by; `None` if it is missing, null or empty.
pub(crate) fn key_text<'n>(item: &'n Node, key: &str) -> Option<&'n str> {
    let value = item.get(key).filter(|value| !value.is_null())?;
    value.text().filter(|text| !text.is_empty())
}

pub(crate) fn is_void(item: &Node) -> bool {
    item.is_null() || item.is_empty_map()
}

/// Keys and values that identify an item.
pub(crate) struct ItemKey<'k> {
    pub(crate) keys: Vec<&'k str>,
    pub(crate) values: Vec<String>,
}

impl<'k> ItemKey<'k> {
    /// Creates the key of the item `name`. Omits the keys that are not used, unless none is.
    pub(crate) fn of(name: &[String], keys: &[&'k str], is_used: &[bool]) -> Self {
        let none_used = !is_used.contains(&true);
        let (keys, values) = keys
            .iter()
            .zip(name)
            .zip(is_used)
            .filter(|(_, is_used)| none_used || **is_used)
            .map(|((key, value), _)| (*key, value.clone()))
            .unzip();
        Self { keys, values }
    }

    /// Creates the key by which the item is looked up: only the keys for which it has a value.
    pub(crate) fn lookup(&self) -> Self {
        let is_used: Vec<bool> = self.values.iter().map(|value| !value.is_empty()).collect();
        Self::of(&self.values, &self.keys, &is_used)
    }

    pub(crate) fn matches(&self, item: &Node) -> bool {
        let holds = |(key, value): (&&str, &String)| {
            let found = item.get(key).filter(|found| !found.is_null());
            found.is_some_and(|found| value.is_empty() || found.text() == Some(value))
        };
        self.keys.iter().zip(&self.values).all(holds)
    }

    /// Sets the values of this key in the item if it does not have them.
    pub(crate) fn complete(&self, item: &mut Node) {
        for (key, value) in self.keys.iter().zip(&self.values) {
            if item.get(key).is_none() && !value.is_empty() {
                let origin = item.origin.clone();
                item.set(key, &origin, Node::text_at(value, &origin));
            }
        }
    }
}
