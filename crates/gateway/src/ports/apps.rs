//! Where apps are: the names of their origins, made and read. Pure.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The longest label of a host name.
const LONGEST: usize = 63;
/// How many hexadecimal digits tell workspaces of one name apart.
const DIGITS: usize = 16;

/// One port of one workspace, such as `8888--desk--0123456789abcdef`: a port, a name for people, and a hash of the
/// whole name. It hides nothing and proves nothing: it only says which.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AppLabel {
    text: String,
    port: u16,
}

impl AppLabel {
    /// The label of a port of a workspace. What else has ports has a name with its kind and a slash before.
    pub fn of(namespace: &str, name: &str, port: u16) -> Self {
        // A slash is in no name, so that no two pairs are written alike.
        let hash = Sha256::digest(format!("{namespace}/{name}"));
        let hash = &format!("{hash:x}")[..DIGITS];
        let room = LONGEST - DIGITS - 4 - port.to_string().len();
        Self { text: format!("{port}--{}--{hash}", for_people(name, room)), port }
    }

    /// A label that was written so.
    pub fn parse(text: &str) -> Option<Self> {
        let (port, rest) = text.split_once("--")?;
        let (name, hash) = rest.rsplit_once("--")?;
        let number: u16 = port.parse().ok().filter(|number| *number > 0)?;
        let plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-';
        let hex = |one: char| one.is_ascii_digit() || ('a'..='f').contains(&one);
        let whole = number.to_string() == port
            && name.starts_with(|one: char| one.is_ascii_lowercase())
            && !name.ends_with('-')
            && name.chars().all(plain)
            && hash.len() == DIGITS
            && hash.chars().all(hex)
            && text.len() <= LONGEST;
        whole.then(|| Self { text: text.to_owned(), port: number })
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for AppLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// As much of a name as there is room for in a host name; which one it is, the hash says. Jobs may be called by digits
/// first, and with dots.
fn for_people(name: &str, room: usize) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    let begin = if name.starts_with(|one: char| one.is_ascii_lowercase()) { "" } else { "x" };
    let short = begin.chars().chain(name.chars().map(|one| if one == '.' { '-' } else { one }));
    short.take(room).collect::<String>().trim_end_matches('-').to_owned()
}

/// Where browsers find apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apps {
    /// Each below a domain, on an origin of its own.
    Domain {
        /// `http` or `https`.
        scheme: String,
        /// The domain, such as `apps.example`.
        domain: String,
        /// The port, if it is not the usual one.
        port: Option<u16>,
    },
    /// All on one origin, of another host than the portal's, each below a path that nobody can guess.
    Path {
        /// The origin, such as `https://gpu-apps.example`.
        origin: String,
    },
}

/// What was said about apps makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text} is not {want}")]
pub struct UnknownApps {
    text: String,
    want: &'static str,
}

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) label: AppLabel,
    /// What stands before the path of the app, without a slash at its end; empty on an origin of its own.
    pub(super) prefix: String,
    /// The word of the path that nobody can guess; empty on an origin of its own.
    pub(super) key: String,
    /// The path as the app sees it.
    pub(super) path: String,
}

impl Apps {
    /// Apps below `domain`, which may end in a port of its own, beside a portal at `origins`, of which the first is its
    /// usual one.
    pub fn below(domain: &str, origins: &[String]) -> Result<Self, UnknownApps> {
        let wrong = || UnknownApps { text: domain.to_owned(), want: "a domain such as apps.example" };
        let origin = origins.first().map(String::as_str).unwrap_or_default();
        let (scheme, host) = origin.split_once("://").unwrap_or(("http", origin));
        let (name, own) = match domain.split_once(':') {
            Some((name, port)) => (name, Some(port.parse::<u16>().map_err(|_| wrong())?)),
            None => (domain, None),
        };
        let name = name.to_ascii_lowercase();
        let label = |part: &str| {
            !part.is_empty()
                && part.len() <= LONGEST
                && part.chars().all(|one| one.is_ascii_alphanumeric() || one == '-')
        };
        if !name.split('.').all(label) || name.parse::<std::net::IpAddr>().is_ok() {
            return Err(wrong());
        }
        let apps = Self::Domain { scheme: scheme.to_owned(), domain: name.clone(), port: None };
        for origin in origins {
            if host_of_origin(origin) == name {
                return Err(UnknownApps { text: domain.to_owned(), want: "another host than the portal's" });
            }
            // What is below it is an app: nobody would reach the portal.
            if apps.holds(&host_of_origin(origin)) {
                return Err(UnknownApps {
                    text: domain.to_owned(),
                    want: "a domain that the portal is not below",
                });
            }
        }
        let beside = || host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Ok(Self::Domain { scheme: scheme.to_owned(), domain: name, port: own.or_else(beside) })
    }

    /// Apps below paths of `origin`, beside a portal at `origins`.
    pub fn by_path(origin: &str, origins: &[String]) -> Result<Self, UnknownApps> {
        let text = origin.trim_end_matches('/').to_ascii_lowercase();
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        if !host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@'])) {
            return Err(UnknownApps {
                text: origin.to_owned(),
                want: "a URL such as https://gpu-apps.example",
            });
        }
        // Cookies know hosts and no ports: a page of an app could set there what its visitor sends to the portal.
        if origins.iter().any(|portal| host_of_origin(portal) == host_of_origin(&text)) {
            return Err(UnknownApps {
                text: origin.to_owned(),
                want: "on another host than the portal (another port is not enough)",
            });
        }
        Ok(Self::Path { origin: without_usual_port(&text).to_owned() })
    }

    /// The origin of an app.
    pub fn origin(&self, label: &AppLabel) -> String {
        match self {
            Self::Path { origin } => origin.clone(),
            Self::Domain { scheme, domain, port } => {
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                format!("{scheme}://{label}.{domain}{port}")
            }
        }
    }

    /// Where an app is entered by a ticket or a link.
    pub fn entrance(&self, label: &AppLabel, how: &str, secret: &str) -> String {
        let before = if matches!(self, Self::Path { .. }) { format!("/apps/{label}") } else { String::new() };
        format!("{}{before}/.maar/{how}?secret={secret}", self.origin(label))
    }

    /// Whether a request to this host is for an app; apps by path have a listener of their own.
    pub fn holds(&self, host: &str) -> bool {
        match self {
            Self::Path { .. } => false,
            Self::Domain { domain, .. } => {
                let host = host_without_port(host).to_ascii_lowercase();
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
        }
    }

    pub(super) fn secure(&self) -> bool {
        match self {
            Self::Domain { scheme, .. } => scheme == "https",
            Self::Path { origin } => origin.starts_with("https://"),
        }
    }

    /// Reads which app a request is for.
    pub(super) fn read(&self, host: &str, path: &str) -> Option<Asked> {
        match self {
            Self::Domain { domain, .. } => {
                let host = host_without_port(host).to_ascii_lowercase();
                let label = AppLabel::parse(host.strip_suffix(domain.as_str())?.strip_suffix('.')?)?;
                Some(Asked { label, prefix: String::new(), key: String::new(), path: path.to_owned() })
            }
            Self::Path { origin } => {
                // Whoever comes to this listener by the portal's name would have apps on the portal's host.
                if host_without_port(host).to_ascii_lowercase() != host_of_origin(origin) {
                    return None;
                }
                let rest = path.strip_prefix("/apps/")?;
                let (label, rest) = rest.split_once('/')?;
                let label = AppLabel::parse(label)?;
                if rest.starts_with(".maar/") {
                    let prefix = format!("/apps/{label}");
                    return Some(Asked { label, prefix, key: String::new(), path: format!("/{rest}") });
                }
                let (key, rest) = rest.split_once('/')?;
                let prefix = format!("/apps/{label}/{key}");
                Some(Asked { label, prefix, key: key.to_owned(), path: format!("/{rest}") })
            }
        }
    }
}

/// A host without its port; addresses of six bytes are in brackets.
pub(super) fn host_without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|one| one.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// The host of an origin, without its port.
fn host_of_origin(origin: &str) -> String {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    host_without_port(host).trim_end_matches('.').to_ascii_lowercase()
}

/// An origin as browsers write it: without the port that its scheme has anyway.
fn without_usual_port(origin: &str) -> &str {
    let port = if origin.starts_with("https://") { ":443" } else { ":80" };
    origin.strip_suffix(port).unwrap_or(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, port: u16) -> AppLabel {
        AppLabel::of("user-ada-1234", name, port)
    }

    #[test]
    fn a_label_says_port_name_and_which() {
        let desk = label("desk", 8888);
        assert!(desk.as_str().starts_with("8888--desk--"), "{desk}");
        assert_eq!(AppLabel::parse(desk.as_str()), Some(desk.clone()));
        assert_ne!(desk, AppLabel::of("user-eve-1234", "desk", 8888));
        let hash = &desk.as_str()[12..];
        for wrong in [
            String::new(),
            format!("0--desk--{hash}"),
            format!("08888--desk--{hash}"),
            format!("65536--desk--{hash}"),
            format!("+80--desk--{hash}"),
            format!("8888--Desk--{hash}"),
            format!("8888--de.sk--{hash}"),
            format!("8888----{hash}"),
            format!("8888--desk--{}", &hash[1..]),
            format!("8888--desk--{}", hash.replace(&hash[..1], "g")),
            "8888--desk".to_owned(),
        ] {
            assert_eq!(AppLabel::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_job_has_a_label_whatever_it_is_called() {
        for (name, want) in [("job/train", "80--train--"), ("job/2026.train.1", "80--x2026-train-1--")] {
            let own = label(name, 80);
            assert!(own.as_str().starts_with(want), "{own}");
            assert_eq!(AppLabel::parse(own.as_str()), Some(own));
        }
        assert_ne!(label("job/desk", 80), label("desk", 80));
    }

    #[test]
    fn apps_are_read_from_hosts_and_from_nothing_that_looks_like_them() {
        let apps = Apps::below("Apps.Example", &["https://gpu.example".to_owned()]).unwrap();
        let desk = label("desk", 8888);
        assert_eq!(apps.origin(&desk), format!("https://{desk}.apps.example"));
        let host = format!("{desk}.apps.example");
        assert_eq!(apps.read(&host, "/lab").unwrap().label, desk);
        assert_eq!(apps.read(&format!("{}:443", host.to_uppercase()), "/").unwrap().label, desk);
        for wrong in [
            "apps.example".to_owned(),
            format!("{desk}.apps.example.evil.example"),
            format!("{desk}.evilapps.example"),
            format!("x.{desk}.apps.example"),
            format!("{desk}apps.example"),
            ".apps.example".to_owned(),
        ] {
            assert_eq!(apps.read(&wrong, "/"), None, "{wrong}");
        }
        assert!(apps.holds(&host) && apps.holds("anything.apps.example:8080"));
        assert!(!apps.holds("apps.example") && !apps.holds("gpu.example") && !apps.holds("evilapps.example"));
    }

    #[test]
    fn apps_by_path_are_below_a_word_that_nobody_guesses() {
        let portal = ["https://gpu.example".to_owned()];
        let apps = Apps::by_path("https://GPU-apps.example:8443/", &portal).unwrap();
        let desk = label("desk", 8888);
        let host = "gpu-apps.example:8443";
        let asked = apps.read(host, &format!("/apps/{desk}/k-1/lab/tree")).unwrap();
        assert_eq!((asked.key.as_str(), asked.path.as_str()), ("k-1", "/lab/tree"));
        assert_eq!(asked.prefix, format!("/apps/{desk}/k-1"));
        let enter = apps.read(host, &format!("/apps/{desk}/.maar/enter")).unwrap();
        assert_eq!((enter.key.as_str(), enter.path.as_str()), ("", "/.maar/enter"));
        for wrong in ["/", "/apps/", "/apps/desk/k/", &format!("/apps/{desk}"), &format!("/apps/{desk}/k")] {
            assert_eq!(apps.read(host, wrong), None, "{wrong}");
        }
        assert!(!apps.holds(host), "the portal's own listener serves none of them");
        for wrong in ["https://gpu.example", "gpu-apps.example:8443", "https://a/b", "ftp://a"] {
            assert!(Apps::by_path(wrong, &portal).is_err(), "{wrong}");
        }
        let plain = Apps::by_path("https://gpu-apps.example:443", &portal).unwrap();
        assert_eq!(plain.origin(&desk), "https://gpu-apps.example", "as browsers say it");
    }

    /// Cookies are of a host, whatever its port: an app there could give its visitor a session in the portal.
    #[test]
    fn apps_by_path_are_never_on_a_host_of_the_portal() {
        let portal = ["https://gpu.example".to_owned(), "http://[::1]:6445".to_owned()];
        for wrong in [
            "https://gpu.example:443",
            "https://gpu.example:8443",
            "http://gpu.example:8080",
            "https://GPU.example.:8443",
            "http://[::1]:8091",
        ] {
            assert!(Apps::by_path(wrong, &portal).is_err(), "{wrong}");
        }
        let apps = Apps::by_path("https://gpu-apps.example", &portal).unwrap();
        let path = format!("/apps/{}/k-1/lab", label("desk", 8888));
        assert!(apps.read("gpu-apps.example", &path).is_some());
        for host in ["gpu.example", "gpu.example:8443", "10.0.0.1:8091"] {
            assert_eq!(
                apps.read(host, &path),
                None,
                "the listener is found by {host}, and shows no app there"
            );
        }
    }

    #[test]
    fn a_domain_above_the_portal_would_hide_it() {
        let below = |domain: &str| {
            let portal = ["https://gpu.lab.example".to_owned(), "https://old.example:8443".to_owned()];
            Apps::below(domain, &portal).is_ok()
        };
        assert!(below("apps.lab.example") && below("apps.gpu.lab.example") && below("b.example"));
        for wrong in ["gpu.lab.example", "lab.example", "Example", "example:8443", "old.example"] {
            assert!(!below(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_domain_of_apps_takes_scheme_and_port_of_the_portal() {
        let desk = label("desk", 80);
        let origin = |domain: &str, portal: &str| {
            Apps::below(domain, &[portal.to_owned()]).map(|apps| apps.origin(&desk))
        };
        assert_eq!(
            origin("apps.localhost", "http://127.0.0.1:6445").unwrap(),
            format!("http://{desk}.apps.localhost:6445")
        );
        assert_eq!(
            origin("apps.example:8443", "https://gpu.example").unwrap(),
            format!("https://{desk}.apps.example:8443")
        );
        for wrong in ["", ".", "apps example", "apps.example/x", "10.0.0.1", "a..b", "apps.example:x"] {
            assert!(origin(wrong, "https://gpu.example").is_err(), "{wrong}");
        }
        assert!(origin("gpu.example", "https://gpu.example").is_err(), "the portal's own host");
    }

    proptest::proptest! {
        /// Whatever a workspace is called: its label fits a host name, is read back, and is only its own.
        #[test]
        fn every_name_has_a_label(name in "[a-z]([-a-z0-9]{0,48}[a-z0-9])?", port in 1_u16.., other in "[a-z]{1,9}") {
            let own = label(&name, port);
            proptest::prop_assert!(own.as_str().len() <= LONGEST);
            proptest::prop_assert_eq!(AppLabel::parse(own.as_str()), Some(own.clone()));
            proptest::prop_assert_eq!(own == AppLabel::of("user-ada-1234", &other, port), name == other);
        }
    }
}
