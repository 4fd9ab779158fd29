//! Where a request comes from: addresses, and proxies that stand before the portal.
//!
//! Behind an ingress, every connection comes from it. It says in `X-Forwarded-For` from where it got the request, behind
//! what was said there before, which anybody can have written. So the header is read from its end, and only as far as
//! those who wrote it are proxies that an operator named.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use http::HeaderMap;

/// The header in which proxies say from where they got a request.
const FORWARDED: &str = "x-forwarded-for";
/// One who has IPv6 has at least so many addresses: those that begin with this many bits.
const OF_ONE: u8 = 64;

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// A text that names no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address such as 10.0.0.7 or 10.0.0.0/24")]
pub struct UnknownNetwork(String);

impl FromStr for Network {
    type Err = UnknownNetwork;

    fn from_str(text: &str) -> Result<Self, UnknownNetwork> {
        Self::parse(text).ok_or_else(|| UnknownNetwork(text.to_owned()))
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most)?,
            None => most,
        };
        Some(Self { address, bits })
    }

    pub(crate) fn holds(&self, peer: IpAddr) -> bool {
        match (self.address, peer.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(peer)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                own.to_bits() & mask == peer.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(peer)) => {
                own.to_bits() & self.mask() == peer.to_bits() & self.mask()
            }
            _ => false,
        }
    }

    /// Of IPv6.
    fn mask(&self) -> u128 {
        u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0)
    }
}

/// From where a request comes that `peer` sent: from it, or from where trusted proxies say that they got it.
pub(crate) fn origin(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> IpAddr {
    let is_proxy = |address: IpAddr| trusted.iter().any(|network| network.holds(address));
    let mut from = peer.to_canonical();
    let lines: Vec<&str> =
        headers.get_all(FORWARDED).into_iter().map(|line| line.to_str().unwrap_or("?")).collect();
    for hop in lines.iter().flat_map(|line| line.split(',')).rev() {
        if !is_proxy(from) {
            break;
        }
        // What cannot be read says nothing, and what is before it may have been written by anybody.
        let Some(address) = hop_of(hop.trim()) else { break };
        from = address.to_canonical();
    }
    from
}

/// An address as proxies write it: some with the port, IPv6 then in brackets.
fn hop_of(text: &str) -> Option<IpAddr> {
    let plain = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    plain.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

/// As whom an address is counted: who has IPv6 has more addresses than could be counted one by one.
pub(crate) fn counted(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        address @ IpAddr::V6(own) => {
            let network = Network { address, bits: OF_ONE };
            format!("{}/{OF_ONE}", Ipv6Addr::from_bits(own.to_bits() & network.mask()))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn networks_hold_what_begins_alike() {
        let holds = |network: &str, peer: &str| Network::parse(network).unwrap().holds(peer.parse().unwrap());
        assert!(holds("10.0.0.7", "10.0.0.7") && !holds("10.0.0.7", "10.0.0.8"));
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.2.3"), "an IPv4 address in the clothes of IPv6");
        assert!(holds("0.0.0.0/0", "1.2.3.4") && !holds("0.0.0.0/0", "2001:db8::1"));
        assert!(holds("2001:db8::/32", "2001:db8:1::1") && !holds("2001:db8::/32", "2001:db9::1"));
        assert!(holds("::/0", "2001:db8::1"));
        for wrong in ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "proxy.example", "10.0.0.0/"] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }

    fn from(peer: &str, lines: &[&str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED, line.parse().unwrap());
        }
        let trusted: Vec<Network> = trusted.iter().map(|one| one.parse().unwrap()).collect();
        origin(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_named_proxies_say_from_where_a_request_comes() {
        let inside = &["10.0.0.0/8"];
        assert_eq!(from("203.0.113.9", &["1.2.3.4"], &[]), "203.0.113.9", "nobody is trusted");
        assert_eq!(
            from("203.0.113.9", &["1.2.3.4"], inside),
            "203.0.113.9",
            "somebody who writes it himself"
        );
        assert_eq!(from("10.0.0.1", &[], inside), "10.0.0.1", "the proxy itself");
        assert_eq!(from("10.0.0.1", &["203.0.113.9"], inside), "203.0.113.9");
        assert_eq!(from("::ffff:10.0.0.1", &["203.0.113.9"], inside), "203.0.113.9");
        let forged = &["6.6.6.6, 203.0.113.9"];
        assert_eq!(from("10.0.0.1", forged, inside), "203.0.113.9", "what a client wrote stands before");
        assert_eq!(
            from("10.0.0.1", &["6.6.6.6", "203.0.113.9, 10.0.0.2"], inside),
            "203.0.113.9",
            "two lines"
        );
        assert_eq!(from("10.0.0.1", &["10.0.0.3, 10.0.0.2"], inside), "10.0.0.3", "all of them proxies");
        for unread in ["6.6.6.6, unknown", "6.6.6.6,", "6.6.6.6, _hidden", "6.6.6.6, 1.2.3"] {
            assert_eq!(from("10.0.0.1", &[unread], inside), "10.0.0.1", "{unread}");
        }
        for (hop, want) in [
            ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("2001:db8::1", "2001:db8::1"),
        ] {
            assert_eq!(from("10.0.0.1", &[hop], inside), want);
        }
    }

    #[test]
    fn who_has_ipv6_is_one_with_all_his_addresses() {
        let counted = |text: &str| counted(text.parse().unwrap());
        assert_eq!(counted("203.0.113.9"), "203.0.113.9");
        assert_eq!(counted("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(counted("2001:db8:1:2:3::4"), "2001:db8:1:2::/64");
        assert_eq!(counted("2001:db8:1:2:ffff::1"), counted("2001:db8:1:2::"));
        assert_ne!(counted("2001:db8:1:3::1"), counted("2001:db8:1:2::1"));
    }

    proptest! {
        #[test]
        fn what_a_client_writes_never_counts(written in "[ -~]{0,40}") {
            let lines = format!("{written}, 203.0.113.9");
            prop_assert_eq!(from("10.0.0.1", &[&lines], &["10.0.0.0/8"]), "203.0.113.9");
            prop_assert_eq!(from("203.0.113.9", &[&lines], &["10.0.0.0/8"]), "203.0.113.9");
        }
    }
}
