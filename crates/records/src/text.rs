//! What texts may be, checked before they are stored.

use serde_json::Value as Json;

use crate::{Error, Result};

/// Not empty, not longer than so many characters, and nothing that could not be shown on one line.
pub(crate) fn line(field: &'static str, text: &str, most: usize) -> Result<()> {
    if text.is_empty() {
        return Err(Error::invalid(field, "it is empty"));
    }
    optional_line(field, text, most)
}

/// The same, but it may be empty.
pub(crate) fn optional_line(field: &'static str, text: &str, most: usize) -> Result<()> {
    if text.chars().count() > most {
        return Err(Error::invalid(field, format!("it is longer than {most} characters")));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::invalid(field, "it holds a control character"));
    }
    Ok(())
}

/// The name people log in with: lower case, so that no two look alike by case alone.
pub(crate) fn user_name(name: &str) -> Result<()> {
    line("name", name, 128)?;
    let allowed =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._@+-".contains(letter);
    if !name.chars().all(allowed) {
        return Err(Error::invalid("name", "only lower-case letters, digits and . _ @ + - are allowed"));
    }
    if !name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        return Err(Error::invalid("name", "it must begin with a letter or a digit"));
    }
    Ok(())
}

/// The text of JSON that is not longer than so many bytes.
pub(crate) fn json(field: &'static str, value: &Json, most: usize) -> Result<String> {
    let text = value.to_string();
    if text.len() > most {
        return Err(Error::invalid(field, format!("it is longer than {most} bytes")));
    }
    Ok(text)
}

/// The first so many characters of what others chose and we only show, without control characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_others_are_refused() {
        for name in ["", "Alice", "al ice", "-a", ".a", "аlice", "a\u{200b}", "a\n", &"a".repeat(129)] {
            assert!(user_name(name).is_err(), "{name}");
        }
        for name in ["alice", "a", "0x", "alice@example.com", "a_b-c.d+e"] {
            assert!(user_name(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_others_send_is_shortened() {
        assert_eq!(shortened("Mozilla\n/5.0 …", 9), "Mozilla/5");
    }
}
