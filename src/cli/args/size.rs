//! Sizes of memory as options take them.

/// The units, by what they are called.
const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)];

/// Reads a number of bytes: `1048576`, `1024KiB`, `1MiB`.
///
/// # Errors
/// In words for the user.
pub(in crate::cli) fn parse(text: &str) -> Result<usize, String> {
    let read = |(unit, shift): (&str, u32)| {
        let number: usize = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(1 << shift)
    };
    let mut found = UNITS.into_iter().filter_map(read);
    found
        .next()
        .ok_or_else(|| "expected a number of bytes, such as 1GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse("5"), Ok(5));
        assert_eq!(parse("2KiB"), Ok(2048));
        assert_eq!(parse("3 MiB"), Ok(3 << 20));
        assert_eq!(parse("1GiB"), Ok(1 << 30));
        for wrong in [
            "",
            "MiB",
            "-1",
            "1.5GiB",
            "1GB",
            "99999999999999999999",
            "99999999999999GiB",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
