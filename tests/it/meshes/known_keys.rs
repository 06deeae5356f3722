//! The labels and annotations that editors offer.

use std::collections::BTreeSet;

use meshprobe::engine;
use meshprobe::mesh::known_keys;

#[test]
fn each_key_is_declared_once_per_map_and_its_rules_exist() {
    let rules: BTreeSet<&str> = engine::explained()
        .iter()
        .map(|rule| rule.id.as_str())
        .collect();
    let mut seen = BTreeSet::new();
    for (mesh, key) in known_keys() {
        let name = (mesh.as_str(), key.name, key.map.field());
        assert!(seen.insert(name), "{name:?} is declared twice");
        assert!(!key.owners.is_empty(), "{name:?}");
        assert!(key.meaning.ends_with('.'), "{name:?}");
        for rule in key.rules {
            assert!(rules.contains(rule), "{name:?}: {rule}");
        }
    }
    assert!(seen.len() > 40, "{}", seen.len());
}
