//! Whether a text has a format. Each function follows what Go's standard library accepts, since that is what servers run.

use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::civil::Date;

pub(super) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && body.bytes().all(alphabet)
}

pub(super) fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shape && text.parse::<Date>().is_ok()
}

/// `2006-01-02T15:04:05`, an optional fraction, and `Z` or an offset.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let Some(clock) = time.get(..8) else { return false };
    if !is_date(date) || !is_clock(clock) {
        return false;
    }
    let rest = &time[8..];
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        None => rest,
    };
    rest.eq_ignore_ascii_case("z") || is_offset(rest)
}

fn is_clock(clock: &str) -> bool {
    let bytes = clock.as_bytes();
    let two = |at: usize, most: u8| {
        let (tens, ones) = (bytes[at], bytes[at + 1]);
        tens.is_ascii_digit() && ones.is_ascii_digit() && (tens - b'0') * 10 + (ones - b'0') <= most
    };
    bytes.len() == 8 && bytes[2] == b':' && bytes[5] == b':' && two(0, 23) && two(3, 59) && two(6, 59)
}

fn is_offset(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 6
        && matches!(bytes[0], b'+' | b'-')
        && bytes[3] == b':'
        && [1, 2, 4, 5].iter().all(|&at| bytes[at].is_ascii_digit())
}

pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_wordy_duration(text)
}

/// `1h30m`, `-1.5s`, `0`.
fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let number = &rest[..digits];
        if number.bytes().filter(|byte| *byte == b'.').count() > 1
            || !number.bytes().any(|b| b.is_ascii_digit())
        {
            return false;
        }
        rest = &rest[digits..];
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].into_iter().find(|unit| {
            // `m` must not swallow the start of `ms`.
            rest.starts_with(unit) && !(*unit == "m" && rest.starts_with("ms"))
        });
        match unit {
            Some(unit) => rest = &rest[unit.len()..],
            None => return false,
        }
    }
    true
}

/// `2 days`, `1 hour 5 min`: somewhere a number followed by a unit's name.
fn is_wordy_duration(text: &str) -> bool {
    const EXACT: [&str; 14] =
        ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk", "nano", "micro", "milli"];
    const PREFIX: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let after = rest[start..].trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let end = after.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(after.len());
        let unit = after[..end].to_lowercase();
        if EXACT.contains(&unit.as_str()) || PREFIX.iter().any(|prefix| unit.starts_with(prefix)) {
            return true;
        }
        rest = &after[end..];
    }
    false
}

/// Leading zeros are tolerated, as they were before Go 1.17.
fn parse_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse::<u32>().ok().and_then(|number| u8::try_from(number).ok())?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

pub(super) fn is_ipv4(text: &str) -> bool {
    parse_ipv4(text).is_some() || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    if prefix.is_empty() || prefix.len() > 3 || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let most: u8 = match (parse_ipv4(address), address.parse::<Ipv6Addr>()) {
        (Some(_), _) => 32,
        (None, Ok(_)) => 128,
        (None, Err(_)) => return false,
    };
    prefix.parse::<u8>().is_ok_and(|prefix| prefix <= most)
}

/// 6, 8 or 20 octets as `aa:bb:…`, `aa-bb-…` or `aabb.ccdd.…`.
pub(super) fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| {
        let mut count = 0;
        for group in text.split(separator) {
            if group.len() != width || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return 0;
            }
            count += 1;
        }
        count * width / 2
    };
    [(':', 2), ('-', 2), ('.', 4)]
        .into_iter()
        .any(|(separator, width)| matches!(groups(separator, width), 6 | 8 | 20))
}

/// 32 hexadecimal digits; each of the usual dashes may be missing.
pub(super) fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut digits = 0;
    let mut last_was_dash = false;
    let mut fits = true;
    for character in text.chars() {
        match character {
            '-' => {
                fits &= matches!(digits, 8 | 12 | 16 | 20) && !last_was_dash;
                last_was_dash = true;
                continue;
            }
            _ if !character.is_ascii_hexdigit() => return false,
            _ if digits == 12 => fits &= version.is_none_or(|version| version == character),
            _ if digits == 16 => {
                let variant = matches!(character.to_ascii_lowercase(), '8' | '9' | 'a' | 'b');
                fits &= variant || !matches!(version, Some('4' | '5'));
            }
            _ => {}
        }
        digits += 1;
        last_was_dash = false;
    }
    fits && digits == 32
}

/// What `url.ParseRequestURI` takes: `scheme:…` or a path that starts with a slash.
pub(super) fn is_uri(text: &str) -> bool {
    let clean = text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    if text.is_empty() || !clean || !escapes_are_whole(text) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_ok = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    let authority = rest.strip_prefix("//").map(|rest| rest.split(['/', '?']).next().unwrap_or_default());
    scheme_ok && authority.is_none_or(is_authority)
}

fn is_authority(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = match host.strip_prefix('[') {
        Some(literal) => match literal.split_once(']') {
            Some((_, after)) => after.strip_prefix(':').or(after.is_empty().then_some("")),
            None => None,
        },
        None => host.split_once(':').map_or(Some(""), |(_, port)| Some(port)),
    };
    port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
        && !host.contains(['<', '>', '"', ' ', '\\', '^', '`', '{', '}', '|'])
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

/// `a@b`, also with a display name: `Name <a@b>`.
pub(super) fn is_email(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>') {
        Some(inner) => match inner.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text.trim(),
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    (quoted || is_dot_atom(local)) && is_dot_atom(domain)
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.').all(|atom| {
        !atom.is_empty()
            && atom.chars().all(|c| !c.is_whitespace() && !c.is_control() && !r#"()<>[]:;@\,""#.contains(c))
    })
}

pub(super) fn is_hostname(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || (!c.is_ascii() && !c.is_whitespace());
    let labels: Vec<&str> = text.split('.').collect();
    let labels_fit = labels.iter().all(|label| {
        !label.is_empty()
            && label.len() <= 63
            && label.starts_with(fits)
            && label.ends_with(fits)
            && label.chars().all(|c| fits(c) || c == '-')
    });
    let top_level = labels.last().copied().unwrap_or_default();
    let top_fits =
        labels.len() == 1 || (top_level.chars().count() >= 2 && top_level.chars().all(char::is_alphabetic));
    text.len() <= 255 && labels_fit && top_fits
}

fn digits_of(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '-')).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let digits = digits_of(text);
    let mut sum = 0;
    for (index, character) in digits.chars().enumerate() {
        let digit = match character {
            'X' | 'x' if index == 9 => 10,
            _ => match character.to_digit(10) {
                Some(digit) => digit,
                None => return false,
            },
        };
        sum += digit * u32::try_from(index + 1).unwrap_or_default();
    }
    digits.len() == 10 && sum % 11 == 0
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let digits = digits_of(text);
    let sum: Option<u32> = digits
        .chars()
        .enumerate()
        .map(|(index, character)| {
            character.to_digit(10).map(|digit| digit * if index % 2 == 0 { 1 } else { 3 })
        })
        .sum();
    digits.len() == 13 && sum.is_some_and(|sum| sum % 10 == 0)
}

pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => *digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    (13..=16).contains(&digits.len()) && sum.is_multiple_of(10)
}

pub(super) fn is_ssn(text: &str) -> bool {
    let digits = digits_of(text);
    let separators_fit = match text.len() {
        9 => true,
        11 => [3, 6].iter().all(|&at| matches!(text.as_bytes()[at], b' ' | b'-')),
        _ => false,
    };
    separators_fit && digits.len() == 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_format() {
        type Case = (&'static str, fn(&str) -> bool, &'static [&'static str], &'static [&'static str]);
        let table: &[Case] = &[
            ("byte", is_base64, &["aGk=", "aGl="], &["", "aGk", "a-b=", "aGk\n=", "===="]),
            ("date", is_date, &["2024-02-29"], &["2023-02-29", "2024-2-9", "20240229", ""]),
            (
                "date-time",
                is_date_time,
                &["2024-02-29T23:59:59Z", "2024-02-29t01:02:03.5+02:00", "2014-12-15T19:30:20.000Z"],
                &["2024-02-29", "2024-02-29T24:00:00Z", "2024-02-29T01:02:03", "2024-02-29T01:02:03.Z", "é"],
            ),
            (
                "duration",
                is_duration,
                &["1h30m", "-1.5s", "0", "22 ns", "2 days", "5ms", "1 Hour"],
                &["", "1", "h", "1x", "1..s"],
            ),
            ("ipv4", is_ipv4, &["10.0.0.1", "010.0.0.1"], &["10.0.0", "256.0.0.1", "::1", "a.b.c.d"]),
            ("ipv6", is_ipv6, &["::1", "fe80::1"], &["10.0.0.1", ":::"]),
            (
                "cidr",
                is_cidr,
                &["10.0.0.0/8", "::/0"],
                &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8"],
            ),
            (
                "mac",
                is_mac,
                &["00:00:5e:00:53:01", "0000.5e00.5301", "02-00-5e-10-00-00-00-01"],
                &["00:00:5e", "00:00:5e:00:53:0g"],
            ),
            (
                "uri",
                is_uri,
                &["http://a.b/c?d", "/x", "mailto:a@b", "http://[::1]:80/"],
                &["a/b", "", "http://a b", "http://a:b"],
            ),
            ("email", is_email, &["a@b", "A B <a@b.c>"], &["a", "a@", "@b", "a b@c", "a@b@"]),
            ("hostname", is_hostname, &["a", "a-b.example.org", "1a"], &["-a", "a..b", "a.1", "a_b", ""]),
            ("isbn", is_isbn13, &["978-0321751041"], &["978-0321751042", "978"]),
            ("isbn10", is_isbn10, &["0321751043", "080442957X"], &["0321751044"]),
            ("creditcard", is_credit_card, &["4111-1111-1111-1111"], &["4111-1111-1111-1112"]),
            ("ssn", is_ssn, &["111-11-1111", "111111111"], &["11-111-1111", "111-11-111x"]),
            ("hexcolor", is_hex_color, &["#fff", "00ff00"], &["#ffff", "#ggg"]),
            ("rgbcolor", is_rgb_color, &["rgb(0, 10,255)"], &["rgb(256,0,0)", "rgb(1,2)"]),
        ];
        for (name, accepts, good, bad) in table {
            for text in *good {
                assert!(accepts(text), "{name} should take {text:?}");
            }
            for text in *bad {
                assert!(!accepts(text), "{name} should refuse {text:?}");
            }
        }
    }

    #[test]
    fn uuids_carry_their_version() {
        let four = "7c44d5a3-5d5f-4b8e-9d5c-0a1b2c3d4e5f";
        assert!(is_uuid(four, None) && is_uuid(four, Some('4')));
        assert!(!is_uuid(four, Some('5')));
        assert!(is_uuid(&four.replace('-', ""), Some('4')));
        assert!(!is_uuid("7c44d5a3--5d5f-4b8e-9d5c-0a1b2c3d4e5f", None));
        assert!(!is_uuid("7c44d5a35-d5f-4b8e-9d5c-0a1b2c3d4e5f", None));
    }
}
