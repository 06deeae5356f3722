//! Routes of a `Server`, and the requests that they match.
//!
//! Source: the documentation of Linkerd, "Authorization Policy" (one route handles a request, chosen
//! by the precedence of the Gateway API), and that of the Gateway API, `HTTPRouteRule`.

use meshprobe_yaml::NodeRef;

use crate::kube::Object;

/// The group of the policies.
const GROUP: &str = "policy.linkerd.io";

/// Returns whether a route belongs to a `Server`.
pub(super) fn is_route_of(route: &Object<'_>, server: &Object<'_>) -> bool {
    parents(route).any(|parent| {
        let field = |key: &str| parent.get(key).and_then(NodeRef::text);
        field("group") == Some(GROUP)
            && field("kind") == Some("Server")
            && field("name") == Some(server.name())
    })
}

fn parents<'t>(route: &Object<'t>) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
    let spec = route.node.get("spec");
    let parents = spec.and_then(|spec| spec.get("parentRefs"));
    parents.into_iter().flat_map(NodeRef::items)
}

/// How a route matches a request; of several routes that match, the one with the highest rank handles it.
pub(super) struct Fit {
    /// An exact path before a prefix, a long one before a short one, regular expressions last.
    pub(super) rank: (u8, usize),
    /// Whether all conditions are known to match.
    pub(super) is_sure: bool,
}

/// Returns how a route matches GET requests for a path, if it does; a route without matches handles all requests.
/// Regular expressions, headers and queries are assumed to match.
pub(super) fn fit(route: &Object<'_>, path: &str) -> Option<Fit> {
    let path = path.split('?').next().unwrap_or_default();
    let all = Fit {
        rank: (1, 0),
        is_sure: true,
    };
    let Some(rules) = route.node.get("spec").and_then(|spec| spec.get("rules")) else {
        return Some(all);
    };
    rules
        .items()
        .flat_map(|rule| {
            let matches: Vec<NodeRef<'_>> = rule
                .get("matches")
                .into_iter()
                .flat_map(NodeRef::items)
                .collect();
            if matches.is_empty() {
                return vec![Fit {
                    rank: (1, 0),
                    is_sure: true,
                }];
            }
            matches
                .into_iter()
                .filter_map(|match_rule| fit_of_match(match_rule, path))
                .collect()
        })
        .max_by_key(|fit| fit.rank)
}

fn fit_of_match(match_rule: NodeRef<'_>, path: &str) -> Option<Fit> {
    let method = match_rule.get("method").and_then(NodeRef::text);
    if method.is_some_and(|method| method != "GET") {
        return None;
    }
    let is_plain = !["headers", "queryParams"]
        .into_iter()
        .filter_map(|key| match_rule.get(key))
        .any(|conditions| conditions.items().len() > 0);
    let (rank, is_sure) = fit_of_path(match_rule.get("path"), path)?;
    Some(Fit {
        rank,
        is_sure: is_sure && is_plain,
    })
}

fn fit_of_path(wanted: Option<NodeRef<'_>>, path: &str) -> Option<((u8, usize), bool)> {
    let Some(wanted) = wanted else {
        return Some(((1, 0), true));
    };
    let value = wanted.get("value").and_then(NodeRef::text).unwrap_or("/");
    match wanted.get("type").and_then(NodeRef::text) {
        Some("Exact") => (value == path).then_some(((2, value.len()), true)),
        Some("RegularExpression") => Some(((0, 0), false)),
        _ => {
            let prefix = value.trim_end_matches('/');
            let rest = path.strip_prefix(prefix)?;
            let fits = rest.is_empty() || rest.starts_with('/');
            fits.then_some(((1, prefix.len()), true))
        }
    }
}
