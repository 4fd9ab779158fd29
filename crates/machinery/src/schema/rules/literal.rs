//! Texts in expressions, for a parser that misreads some of them: it keeps the backslash of `'\"'` and of `"\'"`, and reads
//! escapes in raw bytes.

/// The same expression with texts that the parser reads rightly.
pub(super) fn literals(source: &str) -> Result<String, String> {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(character) = rest.chars().next() {
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if matches!(character, '\'' | '"') {
            let prefix = prefix(&out);
            let raw = prefix.contains(['r', 'R']);
            if raw && prefix.len() > 1 {
                return Err("raw bytes are not supported".to_owned());
            }
            rest = literal(rest, character, raw, &mut out);
        } else {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    Ok(out)
}

/// The letters right before a text that say what it is: `r` for raw, `b` for bytes.
fn prefix(before: &str) -> &str {
    let word =
        before.trim_end_matches(|character: char| character.is_ascii_alphanumeric() || character == '_');
    let word = &before[word.len()..];
    if matches!(word.to_ascii_lowercase().as_str(), "r" | "b" | "rb" | "br") { word } else { "" }
}

/// Takes one text over and gives back what follows it. Those in three quotes are taken as they are.
fn literal<'a>(source: &'a str, quote: char, raw: bool, out: &mut String) -> &'a str {
    let three = if quote == '"' { "\"\"\"" } else { "\'\'\'" };
    if let Some(inside) = source.strip_prefix(three) {
        let end = inside.find(three).map_or(source.len(), |end| end + 2 * three.len());
        out.push_str(&source[..end]);
        return &source[end..];
    }
    let mut characters = source.char_indices();
    out.extend(characters.next().map(|(_, quote)| quote));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' if !raw => match characters.next() {
                Some((_, other @ ('\'' | '"'))) if other != quote => out.push(other),
                escaped => {
                    out.push(character);
                    out.extend(escaped.map(|(_, escaped)| escaped));
                }
            },
            _ => out.push(character),
        }
        if character == quote {
            return &source[at + 1..];
        }
    }
    ""
}
