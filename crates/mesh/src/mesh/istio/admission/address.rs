//! IP addresses and networks, as Go's package `net/netip` reads them.

use core::net::{IpAddr, Ipv6Addr};

/// Returns whether a text is an address, or a network such as `10.0.0.0/8`.
pub(super) fn is_address_or_network(text: &str) -> bool {
    match text.rsplit_once('/') {
        Some((address, length)) => is_network(address, length),
        None => is_address(text),
    }
}

/// An IPv6 address may have a zone.
fn is_address(text: &str) -> bool {
    match text.split_once('%') {
        Some((address, zone)) => !zone.is_empty() && address.parse::<Ipv6Addr>().is_ok(),
        None => text.parse::<IpAddr>().is_ok(),
    }
}

fn is_network(address: &str, length: &str) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_plain = length.bytes().all(|byte| byte.is_ascii_digit());
    let has_leading_zero = length.len() > 1 && length.starts_with('0');
    is_plain && !has_leading_zero && length.parse::<u8>().is_ok_and(|length| length <= most)
}

#[cfg(test)]
mod tests {
    use super::is_address_or_network;

    #[test]
    fn addresses_and_networks_are_read() {
        for valid in [
            "10.0.0.1",
            "10.1.2.3/8",
            "0.0.0.0/0",
            "::1",
            "fe80::1%eth0",
            "fd00::/64",
        ] {
            assert!(is_address_or_network(valid), "{valid}");
        }
        for invalid in [
            "",
            "*",
            "10.0.0",
            "010.0.0.1",
            "10.0.0.0/33",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "10.0.0.1%eth0",
            "fe80::1%eth0/64",
            "10.0.0.0/8/8",
        ] {
            assert!(!is_address_or_network(invalid), "{invalid}");
        }
    }
}
