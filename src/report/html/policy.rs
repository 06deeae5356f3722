//! The Content-Security-Policy of a report: nothing is loaded, and only its own style and script apply.

/// Returns the policy that allows this style and this script.
pub(super) fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        source(style),
        source(script)
    )
}

/// Returns the source expression of an inline element with this text, such as `sha256-…`.
fn source(text: &str) -> String {
    format!(
        "sha256-{}",
        base64(&hmac_sha256::Hash::hash(text.as_bytes()))
    )
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let digit = |number: u32| {
        let index = usize::try_from(number % 64).unwrap_or_default();
        char::from(ALPHABET.get(index).copied().unwrap_or(b'='))
    };
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digits = [bits >> 18, bits >> 12, bits >> 6, bits].map(digit);
        out.extend(digits.iter().take(chunk.len() + 1));
        out.extend(std::iter::repeat_n('=', 3 - chunk.len()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, and the hash of the empty text of FIPS 180-4.
    #[test]
    fn hashes_are_encoded_as_in_the_standards() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(
            source(""),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }
}
