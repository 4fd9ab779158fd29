//! Addresses and networks, read as strictly as the API server does: no noughts in front, no zones, no IPv4 inside of IPv6.

use std::{net::IpAddr, sync::Arc};

use kube_cel::cel::{Value, objects::Opaque};

use super::held;
use crate::schema::rules::evaluate::{Answer, no_such_overload, text_value};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address(IpAddr);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Network {
    address: IpAddr,
    bits: u32,
}

/// The answer of a function of addresses and networks; `None` where it is another function.
pub(super) fn call(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
    match (name, target, arguments) {
        ("ip", None, [Value::String(text)]) => Some(address(text).map(|one| Address(one).into())),
        ("isIP", None, [Value::String(text)]) => Some(Ok(Value::Bool(address(text).is_ok()))),
        ("ip.isCanonical", None, [Value::String(text)]) => {
            Some(address(text).map(|one| Value::Bool(one.to_string() == **text)))
        }
        ("cidr", None, [Value::String(text)]) => Some(network(text).map(Into::into)),
        ("isCIDR", None, [Value::String(text)]) => Some(Ok(Value::Bool(network(text).is_ok()))),
        ("string", None, [value]) => held::<Address>(value)
            .map(|one| one.0.to_string())
            .or_else(|| held::<Network>(value).map(|one| format!("{}/{}", one.address, one.bits)))
            .map(|text| Ok(text_value(text))),
        (_, Some(target), []) if held::<Address>(target).is_some() => of_address(name, held(target)?),
        (_, Some(target), arguments) => of_network(name, held(target)?, arguments),
        _ => None,
    }
}

fn of_address(name: &str, Address(address): &Address) -> Option<Answer> {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    let truth = match name {
        "family" => return Some(Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 }))),
        "isUnspecified" => address.is_unspecified(),
        "isLoopback" => address.is_loopback(),
        "isLinkLocalUnicast" => link_local,
        "isLinkLocalMulticast" => match address {
            IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
            IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
        },
        "isGlobalUnicast" => {
            let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
            !special && !link_local && !broadcast
        }
        _ => return None,
    };
    Some(Ok(Value::Bool(truth)))
}

fn of_network(name: &str, one: &Network, arguments: &[Value]) -> Option<Answer> {
    Some(match (name, arguments) {
        ("ip", []) => Ok(Address(one.address).into()),
        ("prefixLength", []) => Ok(Value::Int(i64::from(one.bits))),
        ("masked", []) => Ok(Network { address: masked(one.address, one.bits), bits: one.bits }.into()),
        ("containsIP", [Value::String(text)]) => {
            // The server says no more about a text that is no address.
            address(text)
                .map_or_else(|_| no_such_overload(), |address| Ok(Value::Bool(one.contains(address))))
        }
        ("containsIP", [other]) => match held::<Address>(other) {
            Some(Address(address)) => Ok(Value::Bool(one.contains(*address))),
            None => no_such_overload(),
        },
        ("containsCIDR", [Value::String(text)]) => network(text).map(|other| Value::Bool(one.covers(&other))),
        ("containsCIDR", [other]) => match held::<Network>(other) {
            Some(other) => Ok(Value::Bool(one.covers(other))),
            None => no_such_overload(),
        },
        _ => return None,
    })
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && masked(address, self.bits) == masked(self.address, self.bits)
    }

    fn covers(&self, other: &Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

/// The address with everything after its first bits cleared.
fn masked(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or_default();
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or_default();
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

fn address(text: &str) -> Result<IpAddr, String> {
    if text.contains(':') && text.contains('%') {
        return Err(format!("IP address {text:?} with zone value is not allowed"));
    }
    match text.parse() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        Ok(address) => Ok(address),
        Err(_) => {
            Err(format!("IP Address {text:?} parse error during conversion from string: unable to parse IP"))
        }
    }
}

fn network(text: &str) -> Result<Network, String> {
    let problem = |why: &str| format!("network address parse error during conversion from string: {why}");
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| problem("no '/'"))?;
    let address = self::address(address).map_err(|why| problem(&why))?;
    let plain =
        bits.bytes().all(|digit| digit.is_ascii_digit()) && (bits.len() < 2 || !bits.starts_with('0'));
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = plain.then(|| bits.parse().ok()).flatten().filter(|bits| *bits <= most);
    bits.map(|bits| Network { address, bits }).ok_or_else(|| problem("bad bits after slash"))
}

impl Opaque for Address {
    fn runtime_type_name(&self) -> &'static str {
        "net.IP"
    }
}

impl Opaque for Network {
    fn runtime_type_name(&self) -> &'static str {
        "net.CIDR"
    }
}

impl From<Address> for Value {
    fn from(address: Address) -> Self {
        Value::Opaque(Arc::new(address))
    }
}

impl From<Network> for Value {
    fn from(network: Network) -> Self {
        Value::Opaque(Arc::new(network))
    }
}
