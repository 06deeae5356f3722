//! Checks whether the kubelet and the agent read the path of a probe in the same way.

/// Returns whether a path is a complete URL, with `scheme://` in front.
pub(in crate::predict) fn is_url(path: &str) -> bool {
    let scheme = path.split_once("://").map_or("", |(scheme, _)| scheme);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(plain)
}

/// Returns why the kubelet and the agent read a path differently; `None` if they read it the same.
pub(in crate::predict) fn path_fault(path: &str) -> Option<String> {
    if is_url(path) {
        return Some(format!(
            "path `{path}` is a URL: the agent would request `/{path}`"
        ));
    }
    let broken = path.split('%').skip(1).any(|rest| {
        let mut digits = rest.bytes();
        let hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        !(hex(digits.next()) && hex(digits.next()))
    });
    broken.then(|| format!("path `{path}` contains a `%` that is not followed by two hex digits"))
}
