//! What the namespace of a user is called.
//!
//! The identifier of the user decides, which nobody can choose. The name is in it only for people to read.

use sha2::{Digest as _, Sha256};

/// Characters of the hash: 65 bits, so that a billion users have no two alike.
const HASH: usize = 13;
/// What is left for the name: 63 less `user-`, the hash, and the dash before it.
const NAME: usize = 63 - 5 - HASH - 1;

/// `user-<name>-<hash of the identifier>`, or without a name that has no letter or digit of DNS.
pub(crate) fn namespace_of(name: &str, id: &str) -> String {
    let hash = hash(id);
    let mut words = String::new();
    for character in name.to_lowercase().chars() {
        if words.len() == NAME {
            break;
        }
        if character.is_ascii_alphanumeric() {
            words.push(character);
        } else if !words.is_empty() && !words.ends_with('-') {
            words.push('-');
        }
    }
    match words.trim_end_matches('-') {
        "" => format!("user-{hash}"),
        words => format!("user-{words}-{hash}"),
    }
}

/// Letters and digits that cannot be taken for one another.
fn hash(id: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let digest = Sha256::digest(id.as_bytes());
    digest.iter().take(HASH).map(|byte| char::from(LETTERS[usize::from(byte & 31)])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_can_be_read_and_different_people_have_different_ones() {
        let one = namespace_of("ada.lovelace", "u-1");
        assert!(one.starts_with("user-ada-lovelace-"), "{one}");
        // The pairs that shared a namespace in other portals.
        assert_ne!(namespace_of("a-b", "u-1"), namespace_of("a.b", "u-2"));
        assert_ne!(namespace_of("ada@one.org", "u-1"), namespace_of("ada@two.org", "u-2"));
        assert_ne!(namespace_of("李雷", "u-1"), namespace_of("韩梅梅", "u-2"));
        assert!(namespace_of("李雷", "u-1").len() > 10);
    }

    #[test]
    fn another_name_does_not_lead_into_the_namespace_of_another() {
        let hash = namespace_of("", "u-1").replace("user-", "");
        // Even one who may choose his name freely cannot get the hash that follows it.
        assert_ne!(namespace_of(&format!("ada-{hash}"), "u-2"), namespace_of("ada", "u-1"));
    }

    proptest! {
        #[test]
        fn every_name_makes_a_dns_label(name in ".{0,80}", id in ".{1,40}") {
            let made = namespace_of(&name, &id);
            prop_assert!(made.len() <= 63, "{made}");
            prop_assert!(made.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-'), "{made}");
            prop_assert!(!made.ends_with('-') && !made.contains("--"), "{made}");
        }

        #[test]
        fn different_identifiers_never_meet(one in ".{0,20}", other in ".{0,20}", ids in (".{1,20}", ".{1,20}")) {
            prop_assume!(ids.0 != ids.1);
            prop_assert_ne!(namespace_of(&one, &ids.0), namespace_of(&other, &ids.1));
        }
    }
}
