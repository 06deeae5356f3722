//! Decodes base64, the encoding of the values of Secrets.

/// The digits of base64, by their values.
pub(super) const DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes base64. Line breaks and padding are ignored. Returns `None` if the text contains any other character.
#[must_use]
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    decode(text.bytes())
}

/// Decodes the digits among some bytes.
pub(super) fn decode(text: impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.filter(|byte| !matches!(byte, b'\r' | b'\n' | b'=')) {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        bits = (bits << 6) | u32::try_from(value).unwrap_or_default();
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.extend((bits >> count).to_be_bytes().last());
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::decode_base64;

    #[test]
    fn texts_are_decoded() {
        assert_eq!(decode_base64("cG9ydDog\nODA4MA==").unwrap(), b"port: 8080");
        assert_eq!(decode_base64("").unwrap(), b"");
        assert_eq!(decode_base64("a b"), None);
    }
}
