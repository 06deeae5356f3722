//! Identities of environments: a kustomization, or the file with a Flux or Argo CD object. If a file deploys several
//! environments, the name of the object follows, such as `clusters/eu/apps.yaml#shop-dev`.

/// Returns the identity of the environment that one of several objects of a file deploys.
#[must_use]
pub fn environment_id(file: &str, object: &str) -> String {
    format!("{file}#{}", object.replace(['/', '#'], "-"))
}

/// Returns the file of an environment.
#[must_use]
pub fn environment_file(id: &str) -> &str {
    split(id).0
}

/// Returns the name of the object that deploys an environment, if its file deploys several.
#[must_use]
pub fn environment_object(id: &str) -> Option<&str> {
    split(id).1
}

fn split(id: &str) -> (&str, Option<&str>) {
    let parts = id.rsplit_once('#');
    let is_object = |(_, object): &(&str, &str)| {
        !object.contains('/')
            && ![".yaml", ".yml", ".json"]
                .iter()
                .any(|end| object.ends_with(end))
    };
    parts
        .filter(is_object)
        .map_or((id, None), |(file, object)| (file, Some(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_object_follows_the_file() {
        let id = environment_id("clusters/eu/apps.yaml", "shop/dev");
        assert_eq!(environment_file(&id), "clusters/eu/apps.yaml");
        assert_eq!(environment_object(&id), Some("shop-dev"));
        for file in ["a#b/apps.yaml", "a#b.yaml", "apps.yaml"] {
            assert_eq!(
                (environment_file(file), environment_object(file)),
                (file, None)
            );
        }
    }
}
