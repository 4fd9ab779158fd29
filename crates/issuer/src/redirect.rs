//! Where a browser may be sent with a code: to addresses that were registered, letter by letter.
//!
//! A native program listens on a port that it does not know before, so for those the port of a loopback address is free
//! (RFC 8252, 7.3), and nothing else is. Names such as `localhost` are not loopback addresses: others may answer to them.

use form_urlencoded::Serializer;

const LOOPBACK: [&str; 2] = ["http://127.0.0.1", "http://[::1]"];

/// Whether an address is one of those that are registered; `native` leaves the port of loopback addresses free.
pub(crate) fn allowed(registered: &[String], asked: &str, native: bool) -> bool {
    let same = |one: &String| one == asked;
    registered.iter().any(same)
        || native && without_port(asked).is_some_and(|asked| registered.contains(&asked))
}

/// A loopback address without its port.
fn without_port(address: &str) -> Option<String> {
    let (host, rest) =
        LOOPBACK.iter().find_map(|host| Some((host, address.strip_prefix(host)?.strip_prefix(':')?)))?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (port, path) = rest.split_at(digits);
    let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
    let plain = rest.starts_with(&port.to_string()) && path.starts_with('/') && is_plain(path);
    plain.then(|| format!("{host}{path}"))
}

/// Nothing that browsers read otherwise than we do.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|one| one.is_ascii_graphic() && !b"\\#@<>\"'`{}".contains(&one))
}

/// Why an address cannot be registered.
pub(crate) fn check(address: &str) -> Result<(), &'static str> {
    if !is_plain(address) || address.contains('*') {
        return Err("it holds a fragment, a pattern, a user, or what browsers read in their own way");
    }
    let at = |host: &&str| address.strip_prefix(*host).is_some_and(|path| path.starts_with('/'));
    if LOOPBACK.iter().any(at) || without_port(address).is_some() {
        return Ok(());
    }
    match address.strip_prefix("https://").and_then(|rest| rest.split_once('/')) {
        Some((host, _)) if !host.is_empty() => Ok(()),
        _ => Err("it is not https://HOST/PATH (or http on a loopback address)"),
    }
}

/// The address with parameters besides those it has.
pub(crate) fn with(address: &str, pairs: &[(&str, &str)]) -> String {
    let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{query}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn may(registered: &str, asked: &str, native: bool) -> bool {
        allowed(&[registered.to_owned()], asked, native)
    }

    #[test]
    fn only_what_is_registered_is_gone_to() {
        let own = "https://tool.example/callback?a=b";
        assert!(may(own, own, false));
        for evil in [
            "https://tool.example/callback",
            "https://tool.example/callback?a=b&c=d",
            "https://tool.example/callback/../evil?a=b",
            "https://tool.example:443/callback?a=b",
            "https://TOOL.example/callback?a=b",
            "https://tool.example@evil.example/callback?a=b",
            "https://tool.example.evil.example/callback?a=b",
            "http://tool.example/callback?a=b",
            "https://tool.example/callback?a=b#x",
            "//tool.example/callback?a=b",
            "",
        ] {
            assert!(!may(own, evil, false) && !may(own, evil, true), "{evil}");
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_address_is_free_and_only_for_programs() {
        let own = "http://127.0.0.1/callback";
        assert!(may(own, "http://127.0.0.1:49152/callback", true) && may(own, own, true));
        assert!(may("http://[::1]/callback", "http://[::1]:1/callback", true));
        assert!(!may(own, "http://127.0.0.1:49152/callback", false));
        for evil in [
            "http://127.0.0.1:49152/other",
            "http://127.0.0.1:49152/callback?x",
            "http://127.0.0.1:49152@evil.example/callback",
            "http://127.0.0.1:0/callback",
            "http://127.0.0.1:080/callback",
            "http://127.0.0.1:99999/callback",
            "http://127.0.0.1:/callback",
            "http://127.0.0.1:80:80/callback",
            "http://127.0.0.1.evil.example/callback",
            "http://127.0.0.1:80.evil.example/callback",
            "https://127.0.0.1:80/callback",
            "http://127.0.0.2:80/callback",
            "http://localhost:80/callback",
            "http://0x7f.1:80/callback",
            "http://127.0.0.1:80\\@evil.example/callback",
        ] {
            assert!(!may(own, evil, true), "{evil}");
        }
    }

    #[test]
    fn what_cannot_be_safe_is_not_registered() {
        for good in
            ["https://a.example/cb", "https://a.example:8443/", "http://127.0.0.1:3000/cb", "http://[::1]:1/"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        assert_eq!(check("http://127.0.0.1/cb"), Ok(()));
        for bad in [
            "http://a.example/cb",
            "https://a.example",
            "https:///cb",
            "https://*.example/",
            "https://a/#x",
            "https://a@b/",
            "custom:/cb",
            "javascript:alert(1)",
            "http://localhost:1/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://127.0.0.1:80.evil.example/cb",
            "http://127.0.0.1:/cb",
            "http://127.0.0.1:99999/cb",
            "http://127.0.0.1",
            "http://[::1].evil.example/cb",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_the_registered_host_is_gone_to(asked in "(http://127\\.0\\.0\\.1|https?://)[-a-z0-9.:@/\\\\#?]{0,20}/callback") {
            let own = "http://127.0.0.1/callback";
            if may(own, &asked, true) {
                let port = asked.strip_prefix("http://127.0.0.1").unwrap().strip_suffix("/callback").unwrap();
                prop_assert!(port.is_empty() || port[1..].parse::<u16>().is_ok(), "{}", asked);
            }
        }

        #[test]
        fn parameters_are_added_and_add_nothing_else(state in ".{0,40}") {
            for own in ["https://tool.example/cb", "https://tool.example/cb?a=b"] {
                let made = with(own, &[("state", &state)]);
                let query = made.split_once('?').unwrap().1;
                let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
                prop_assert_eq!(pairs.last().unwrap(), &("state".to_owned(), state.clone()));
                prop_assert!(made.starts_with(own) && made.is_ascii() && !made.contains(['\r', '\n', '#']));
            }
        }
    }
}
