//! Paths that climb. Pure.

/// Whether a part of the path means the folder above or the same one, in any way of writing it that some server reads
/// so.
pub(super) fn climbs(path: &str) -> bool {
    // Twice: what is behind us may decode what we have decoded already.
    let once = decoded(path.as_bytes());
    let twice = decoded(&once);
    [path.as_bytes(), &once, &twice].into_iter().any(|text| {
        text.contains(&0)
            || text.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| {
                // Some servers take what stands behind a semicolon for a parameter.
                let part = part.split(|byte| *byte == b';').next().unwrap_or_default();
                matches!(part, b"." | b"..")
            })
    })
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (mut made, mut at) = (Vec::with_capacity(text.len()), 0);
    while at < text.len() {
        let pair = text.get(at + 1).copied().and_then(digit).zip(text.get(at + 2).copied().and_then(digit));
        match (text[at], pair) {
            (b'%', Some((high, low))) => {
                made.push(high * 16 + low);
                at += 3;
            }
            (byte, _) => {
                made.push(byte);
                at += 1;
            }
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_climbing_is_seen() {
        for wrong in [
            "/..",
            "/../x",
            "/a/./b",
            "/%2e%2e/x",
            "/%2E./x",
            "/a/%2e%2e%2fx",
            "/..%2fx",
            "/a%5c..%5cx",
            "/a\\..\\x",
            "/%252e%252e/x",
            "/..;/x",
            "/a%00",
        ] {
            assert!(climbs(wrong), "{wrong}");
        }
        for fine in ["/", "/a..b/c", "/...", "/.maar", "/a.b/%20", "/100%", "/%zz", "/a%2fb"] {
            assert!(!climbs(fine), "{fine}");
        }
    }
}
