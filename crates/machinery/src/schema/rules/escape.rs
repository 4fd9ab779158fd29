//! Field names as CEL can write them: `namespace` becomes `__namespace__`, `a-b` becomes `a__dash__b`.

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The name under which a field is known in CEL; `None` where there is none, so that rules cannot reach it.
pub(super) fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            escaped.push_str("__underscores__");
            rest = after;
            continue;
        }
        match character {
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            _ if character.is_ascii_alphanumeric() || character == '_' => escaped.push(character),
            _ => return None,
        }
        rest = &rest[character.len_utf8()..];
    }
    Some(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_where_cel_cannot_write_them() {
        let table = [
            ("plain_name", Some("plain_name")),
            ("namespace", Some("__namespace__")),
            ("a.b-c/d", Some("a__dot__b__dash__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("a___b", Some("a__underscores___b")),
            ("$ref", None),
            ("1st", None),
            ("é", None),
        ];
        for (name, want) in table {
            assert_eq!(escape(name).as_deref(), want, "{name}");
        }
    }
}
