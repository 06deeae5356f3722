//! Addresses of repositories, compared without what does not identify them: protocol, user, port, `.git` and case.

use std::collections::BTreeSet;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

/// The kind of storage of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Storage {
    Git,
    Oci,
    Bucket,
}

/// The address of a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RepositoryUrl {
    pub(super) storage: Storage,
    host: String,
    /// The path without `.git`, and without `/` at its start and end.
    path: String,
}

impl RepositoryUrl {
    /// Parses the address of a Git repository, such as `https://host/path.git` or `user@host:path`, or of a repository of
    /// a registry, such as `oci://host/path`. Returns `None` for a path of the local disk, and for a placeholder.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if placeholder::contains(text) {
            return None;
        }
        let (storage, authority, path) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let storage = match scheme.to_ascii_lowercase().as_str() {
                    "file" => return None,
                    "oci" => Storage::Oci,
                    _ => Storage::Git,
                };
                let (authority, path) = rest.split_once('/')?;
                (storage, authority, path)
            }
            None => {
                let (authority, path) = text.split_once(':')?;
                // A single letter is a drive.
                if authority.contains('/') || authority.len() < 2 {
                    return None;
                }
                (Storage::Git, authority, path)
            }
        };
        Self::of(storage, authority, path)
    }

    /// Returns the address of the source of a Flux object with this `spec`.
    pub(super) fn of_flux(kind: &str, spec: NodeRef<'_>) -> Option<Self> {
        let text = |key: &str| spec.get(key).and_then(NodeRef::text);
        if kind != "Bucket" {
            return Self::parse(text("url")?);
        }
        let (host, name) = (text("endpoint")?, text("bucketName")?);
        let is_known = !placeholder::contains(host) && !placeholder::contains(name);
        is_known.then(|| Self::of(Storage::Bucket, host, name))?
    }

    fn of(storage: Storage, authority: &str, path: &str) -> Option<Self> {
        let host = authority.rsplit('@').next().unwrap_or_default();
        let host = match host.rsplit_once(':') {
            Some((host, port)) if port.chars().all(|char| char.is_ascii_digit()) => host,
            _ => host,
        };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_matches('/').to_lowercase();
        let path = path.strip_suffix(".git").unwrap_or(&path);
        // Bitbucket Server adds `scm` to the paths of HTTP.
        let path = path.strip_prefix("scm/").unwrap_or(path);
        let is_complete = !host.is_empty() && !path.is_empty();
        is_complete.then(|| Self {
            storage,
            host: host.to_lowercase(),
            path: path.to_owned(),
        })
    }

    /// Returns whether both are certainly two repositories. The same name on another host may be a mirror, or the same
    /// repository over another protocol.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        self.name() != other.name() || self.host == other.host && self.path != other.path
    }

    /// Returns whether the names of the repositories differ. A fork usually keeps the name.
    pub(super) fn has_other_name(&self, other: &Self) -> bool {
        self.name() != other.name()
    }

    /// Returns whether this is a repository of a registry whose owners are those of `git`, and of another owner. A
    /// repository that mentions the name of `git` may come from a fork.
    pub(super) fn has_other_owner(&self, git: &Self) -> bool {
        const HOSTS: [(&str, &str); 2] = [
            ("ghcr.io", "github.com"),
            ("registry.gitlab.com", "gitlab.com"),
        ];
        let owner = |url: &Self| url.path.split('/').next().map(str::to_owned);
        HOSTS.contains(&(&self.host, &git.host))
            && owner(self) != owner(git)
            && !self.path.contains(git.name())
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> RepositoryUrl {
        RepositoryUrl::parse(text).unwrap()
    }

    #[test]
    fn spellings_of_one_repository_are_equal() {
        for text in [
            "https://git.example/org/fleet",
            "https://user:secret@git.example:8443/org/fleet.git/",
            "ssh://git@git.example:22/org/fleet.git",
            "git@git.example:org/fleet.git",
            "http://GIT.example/Org/Fleet",
            "https://git.example/scm/org/fleet.git",
        ] {
            assert_eq!(url(text), url("https://git.example/org/fleet"), "{text}");
        }
    }

    #[test]
    fn local_paths_and_placeholders_have_no_address() {
        for text in [
            "x",
            "/srv/git/x.git",
            "../x",
            "C:/x/y",
            "file:///srv/x",
            "https://${HOST}/x",
            "https://x",
            "",
        ] {
            assert_eq!(RepositoryUrl::parse(text), None, "{text}");
        }
    }

    #[test]
    fn mirrors_do_not_certainly_differ() {
        let own = url("https://git.example/org/fleet");
        assert!(own.differs_from(&url("https://git.example/org/apps")));
        assert!(own.differs_from(&url("https://git.example/other/fleet")));
        assert!(own.differs_from(&url("https://else.example/org/apps")));
        assert!(!own.differs_from(&url("https://mirror.example/fleet")));
    }
}

/// How a source relates to the repository of the object that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is this repository.
    Own,
    /// The URLs do not show it.
    Unknown,
    /// It is another repository.
    Other,
}

/// The URLs of a repository.
#[derive(Debug, Default)]
pub(super) struct OwnUrls {
    pub(super) remotes: BTreeSet<RepositoryUrl>,
    /// Those from which objects deploy themselves.
    pub(super) deployed: BTreeSet<RepositoryUrl>,
}

impl OwnUrls {
    pub(super) fn contains(&self, url: &RepositoryUrl) -> bool {
        self.deployed.contains(url) || self.remotes.contains(url)
    }

    /// Returns how a source with this URL relates to the repository.
    pub(super) fn relation(&self, url: &RepositoryUrl) -> Relation {
        if self.contains(url) {
            return Relation::Own;
        }
        let of_storage = |all: &BTreeSet<RepositoryUrl>| -> Vec<RepositoryUrl> {
            let same = all.iter().filter(|own| own.storage == url.storage);
            same.cloned().collect()
        };
        let (deployed, remotes) = (of_storage(&self.deployed), of_storage(&self.remotes));
        let is_other = if !deployed.is_empty() {
            deployed.iter().all(|own| own.differs_from(url))
        } else if !remotes.is_empty() {
            remotes.iter().all(|own| own.has_other_name(url))
        } else {
            let mut all = self.deployed.iter().chain(&self.remotes).peekable();
            let is_known = url.storage == Storage::Oci && all.peek().is_some();
            is_known && all.all(|own| url.has_other_owner(own))
        };
        match is_other {
            true => Relation::Other,
            false => Relation::Unknown,
        }
    }
}
