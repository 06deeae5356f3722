//! URIs of files, as clients name roots and files.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// Returns the path of a `file:` URI (RFC 8089).
///
/// # Errors
/// The reason why the text does not name a file of this machine.
pub(super) fn path_of_uri(uri: &str) -> Result<PathBuf, &'static str> {
    let rest = strip_scheme(uri).ok_or("it is not a `file:` URI")?;
    if rest.contains(['?', '#']) {
        return Err("a `file:` URI has no query and no fragment");
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let slash = rest.find('/').ok_or("it has no path")?;
            let (host, path) = rest.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err("it names another host");
            }
            path
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err("its path is not absolute");
    }
    let has_encoded_slash = path.as_bytes().windows(3).any(|part| {
        part.eq_ignore_ascii_case(b"%2f") || (cfg!(windows) && part.eq_ignore_ascii_case(b"%5c"))
    });
    if has_encoded_slash {
        return Err("a name in its path contains a slash");
    }
    let path = percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| "its path is not UTF-8")?;
    if path.contains('\0') {
        return Err("its path contains a NUL character");
    }
    Ok(PathBuf::from(without_slash_before_drive(&path)))
}

/// Returns whether a text starts with the scheme of a URI, such as `https:`; one letter is a drive of Windows.
pub(super) fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1
            && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn strip_scheme(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once(':')?;
    scheme.eq_ignore_ascii_case("file").then_some(rest)
}

/// Removes the first slash of `/C:/folder`.
fn without_slash_before_drive(path: &str) -> &str {
    let is_drive = cfg!(windows)
        && matches!(path.as_bytes(), [b'/', letter, b':', ..] if letter.is_ascii_alphabetic());
    if is_drive {
        path.get(1..).unwrap_or(path)
    } else {
        path
    }
}
