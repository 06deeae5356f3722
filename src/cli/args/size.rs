//! Memory sizes in options.

/// The units, each with its power of two.
const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)];

/// Parses a number of bytes: `1048576`, `1024KiB`, `1MiB`.
///
/// # Errors
/// The text is not a number, has another unit, or does not fit into `usize`.
pub(in crate::cli) fn parse(text: &str) -> Result<usize, String> {
    let read = |(unit, shift): (&str, u32)| {
        let number: usize = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(1 << shift)
    };
    UNITS
        .into_iter()
        .find_map(read)
        .ok_or_else(|| "expected a number of bytes, such as `1GiB`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_units_are_parsed() {
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
