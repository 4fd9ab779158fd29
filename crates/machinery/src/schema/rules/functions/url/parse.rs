//! Reading URLs.

use std::net::Ipv6Addr;

use super::{Url, encoding::Part};

type Result<T> = std::result::Result<T, String>;

/// Reads a URL that could be asked for: one with a scheme, or a path from the root.
pub(super) fn request(text: &str) -> Result<Url> {
    read(text, true)
}

/// The same, with its fragment taken apart from the rest.
pub(super) fn parse(text: &str) -> Result<Url> {
    request(text)?;
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url = read(rest, false)?;
    url.fragment = Part::Fragment.encoded(fragment)?;
    Ok(url)
}

fn read(text: &str, request: bool) -> Result<Url> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && request {
        return Err("empty url".to_owned());
    }
    if text == "*" {
        return Ok(Url { path: text.to_owned(), ..Url::default() });
    }
    let (scheme, rest) = scheme(text)?;
    let mut url = Url { scheme: scheme.to_ascii_lowercase(), ..Url::default() };
    let rest = match rest.split_once('?') {
        Some((rest, query)) => {
            url.query = Some(query.to_owned());
            rest
        }
        None => rest,
    };
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if request || rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("invalid URI for request".to_owned());
        }
    }
    let has_host = !url.scheme.is_empty() || !request && !rest.starts_with("///");
    let path = match rest.strip_prefix("//") {
        Some(rest) if has_host => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            self::authority(&mut url, authority)?;
            path
        }
        _ => {
            url.omits_host = !url.scheme.is_empty();
            rest
        }
    };
    url.path = Part::Path.encoded(path)?;
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str)> {
    match text.split_once(':') {
        Some(("", _)) => Err("missing protocol scheme".to_owned()),
        Some((scheme, rest))
            if scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) =>
        {
            Ok((scheme, rest))
        }
        _ => Ok(("", text)),
    }
}

fn authority(url: &mut Url, text: &str) -> Result<()> {
    let (user, host) = text.rsplit_once('@').map_or((None, text), |(user, host)| (Some(user), host));
    url.host = self::host(&url.scheme, host)?;
    let Some(user) = user else { return Ok(()) };
    if !user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (name, password) =
        user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
    let password = password.map(|password| Part::User.decode(password)).transpose()?;
    url.user = Some((Part::User.decode(name)?, password));
    Ok(())
}

fn host(scheme: &str, text: &str) -> Result<String> {
    match text.rfind('[') {
        Some(0) => return literal(&text[1..]),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // Others than the web's may have several hosts, each with a port.
    let strict = matches!(scheme, "http" | "https");
    let colon = if strict { text.find(':') } else { text.rfind(':') };
    match colon {
        Some(colon) if !is_port(&text[colon..]) => {
            Err(format!("invalid port {:?} after host", &text[colon..]))
        }
        _ => Part::Host.decode(text),
    }
}

/// A host in brackets, of which the first has been taken: it must be an IPv6 address.
fn literal(text: &str) -> Result<String> {
    let (name, port) = text.rsplit_once(']').ok_or("missing ']' in host")?;
    if !is_port(port) {
        return Err(format!("invalid port {port:?} after host"));
    }
    let name = match name.find("%25") {
        Some(zone) => Part::Host.decode(&name[..zone])? + &Part::Zone.decode(&name[zone..])?,
        None => Part::Host.decode(name)?,
    };
    let (address, zone) =
        name.split_once('%').map_or((name.as_str(), None), |(address, zone)| (address, Some(zone)));
    if zone == Some("") || address.parse::<Ipv6Addr>().is_err() {
        return Err(format!("invalid host: {name:?}"));
    }
    Ok(format!("[{name}]{port}"))
}

/// Whether this is a colon and a port, which may be missing, or nothing at all.
pub(super) fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':');
    text.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
}
