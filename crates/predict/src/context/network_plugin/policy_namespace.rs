//! The namespaces under which policies of network plugins are stored.

/// Returns the namespace under which a policy is stored: the empty one if its kind applies to the whole cluster.
pub(in crate::context) fn namespace_key<'t>(kind: &str, namespace: &'t str) -> &'t str {
    match kind {
        "CiliumNetworkPolicy" | "NetworkPolicy" => namespace,
        _ => "",
    }
}
