//! What the identifier of an SSH certificate says: it is signed with the rest, and read when the certificate is used. Pure.

use std::fmt;

use maar_records::{KeyId, SessionId};

/// The identifier of an SSH certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateId {
    /// What logs call it.
    pub(crate) id: String,
    /// The [`maar_records::User::generation`] when it was made: ending all sessions of its user ends it, too.
    pub(crate) generation: i64,
    /// By what it was made.
    pub(crate) maker: Maker,
}

/// By what a certificate was made; it ends with that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Maker {
    Key(KeyId),
    Session(SessionId),
    /// A proxy vouched for the user, of which nothing is kept.
    Proxy,
}

impl fmt::Display for CertificateId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} ", self.id, self.generation)?;
        match &self.maker {
            Maker::Key(id) => write!(formatter, "key {id}"),
            Maker::Session(id) => write!(formatter, "session {id}"),
            Maker::Proxy => formatter.write_str("proxy"),
        }
    }
}

impl CertificateId {
    /// Reads what was written so.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let (id, generation, maker) = match words[..] {
            [id, generation, "key", key] => (id, generation, Maker::Key(KeyId::new(key))),
            [id, generation, "session", session] => (id, generation, Maker::Session(SessionId::new(session))),
            [id, generation, "proxy"] => (id, generation, Maker::Proxy),
            _ => return None,
        };
        let read = Self { id: id.to_owned(), generation: generation.parse().ok()?, maker };
        // One way to write each.
        (read.to_string() == text && !words.contains(&"")).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_says_what_it_ends_with() {
        for maker in [Maker::Key(KeyId::new("k-1")), Maker::Session(SessionId::new("s-1")), Maker::Proxy] {
            let id = CertificateId { id: "c-1".to_owned(), generation: 7, maker };
            assert_eq!(CertificateId::parse(&id.to_string()), Some(id));
        }
        for wrong in [
            "",
            "c-1",
            "c-1 7",
            "c-1 7 key",
            "c-1 7 key ",
            "c-1 x key k-1",
            "c-1 +7 key k-1",
            "c-1 7 proxy x",
            " 7 proxy",
            "c-1 7 host h-1",
        ] {
            assert_eq!(CertificateId::parse(wrong), None, "{wrong}");
        }
    }
}
