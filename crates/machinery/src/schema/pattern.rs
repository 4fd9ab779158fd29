//! Patterns in Go's regular expression syntax, run by Rust's engine.
//!
//! Both are of the RE2 family; where they read a pattern differently (ASCII against Unicode classes, brackets inside of
//! brackets, escaped punctuation, `\Q…\E`, flags) the pattern is rewritten. What Go would refuse is refused here.

use regex::Regex;

/// A compiled pattern and its source.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Box<str>,
    regex: Regex,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {reason}")]
pub struct PatternError {
    reason: String,
}

impl Pattern {
    /// Compiles a pattern written in Go's syntax.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        let translated = translate(source)?;
        let regex = Regex::new(&translated).map_err(|error| {
            // The engine's message draws the pattern with a caret below; its last line is the reason.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            PatternError { reason: format!("{reason}: `{source}`") }
        })?;
        Ok(Self { source: source.into(), regex })
    }

    /// The pattern as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The pattern as it is run.
    pub(super) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Whether the pattern occurs in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

fn refuse<T>(reason: impl Into<String>) -> Result<T, PatternError> {
    Err(PatternError { reason: reason.into() })
}

fn translate(source: &str) -> Result<String, PatternError> {
    let mut translation = Translation { rest: source, out: String::with_capacity(source.len() + 16) };
    let mut repeated = false;
    while let Some(character) = translation.next() {
        let bounds = if character == '{' { translation.bounds()? } else { None };
        if matches!(character, '*' | '+' | '?') || bounds.is_some() {
            if repeated {
                return refuse("invalid nested repetition operator");
            }
            translation.out.push(character);
            translation.out.push_str(bounds.unwrap_or_default());
            if translation.skip("?") {
                translation.out.push('?');
            }
            repeated = true;
            continue;
        }
        repeated = false;
        match character {
            '\\' => translation.escape(false)?,
            '[' => translation.class()?,
            '(' => translation.group()?,
            '{' | '}' => translation.out.extend(['\\', character]),
            other => translation.out.push(other),
        }
    }
    Ok(translation.out)
}

struct Translation<'a> {
    rest: &'a str,
    out: String,
}

impl<'a> Translation<'a> {
    /// The rest of `{n}`, `{n,}` or `{n,m}` after the brace; anything else is an ordinary brace.
    fn bounds(&mut self) -> Result<Option<&'a str>, PatternError> {
        let Some(end) = self.rest.find('}') else { return Ok(None) };
        let (least, most) = self.rest[..end].split_once(',').unwrap_or((&self.rest[..end], ""));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            return Ok(None);
        }
        let too_large =
            |text: &str| !text.is_empty() && text.parse::<u16>().map_or(true, |count| count > 1000);
        if too_large(least) || too_large(most) {
            return refuse(format!("invalid repeat count: `{{{}`", &self.rest[..=end]));
        }
        let (bounds, rest) = self.rest.split_at(end + 1);
        self.rest = rest;
        Ok(Some(bounds))
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn escape(&mut self, in_class: bool) -> Result<(), PatternError> {
        let Some(character) = self.next() else { return refuse("trailing backslash at end of expression") };
        let ascii = match character {
            'd' => Some("[0-9]"),
            'D' => Some("[^0-9]"),
            'w' => Some("[0-9A-Za-z_]"),
            'W' => Some("[^0-9A-Za-z_]"),
            's' => Some("[\\t\\n\\f\\r ]"),
            'S' => Some("[^\\t\\n\\f\\r ]"),
            'b' if !in_class => Some("(?-u:\\b)"),
            'B' if !in_class => Some("(?-u:\\B)"),
            _ => None,
        };
        if let Some(ascii) = ascii {
            self.out.push_str(ascii);
            return Ok(());
        }
        match character {
            'Q' if !in_class => self.literal(),
            'A' | 'z' if !in_class => self.keep(character),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => self.keep(character),
            'x' | 'p' | 'P' => {
                self.keep(character);
                self.braces();
            }
            '0' => self.octal(),
            _ if character.is_ascii_punctuation() => {
                self.out.push_str(&regex::escape(&character.to_string()));
            }
            _ => return refuse(format!("invalid escape sequence: `\\{character}`")),
        }
        Ok(())
    }

    fn keep(&mut self, character: char) {
        self.out.push('\\');
        self.out.push(character);
    }

    /// What stands in braces after `\p` or `\x` is a name or number, not how often something is repeated.
    fn braces(&mut self) {
        if self.rest.starts_with('{')
            && let Some(end) = self.rest.find('}')
        {
            let (braces, rest) = self.rest.split_at(end + 1);
            self.out.push_str(braces);
            self.rest = rest;
        }
    }

    fn octal(&mut self) {
        let digits = self.rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        let code = u32::from_str_radix(&self.rest[..digits], 8).unwrap_or_default();
        self.rest = &self.rest[digits..];
        self.out.extend(["\\x{", &format!("{code:x}"), "}"]);
    }

    fn literal(&mut self) {
        let (literal, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
        self.out.push_str(&regex::escape(literal));
        self.rest = rest;
    }

    /// `(?…` with the flags that Go knows.
    fn group(&mut self) -> Result<(), PatternError> {
        self.out.push('(');
        if !self.skip("?") {
            return Ok(());
        }
        self.out.push('?');
        if self.rest.starts_with(['P', '<', ':']) {
            if self.rest.starts_with("<=") || self.rest.starts_with("<!") {
                return refuse(format!("invalid or unsupported Perl syntax: `(?{}`", &self.rest[..2]));
            }
            return Ok(());
        }
        while let Some(character) = self.next() {
            match character {
                'i' | 'm' | 's' | 'U' | '-' => self.out.push(character),
                ':' | ')' => {
                    self.out.push(character);
                    return Ok(());
                }
                other => return refuse(format!("invalid or unsupported Perl syntax: `(?{other}`")),
            }
        }
        refuse("missing closing )")
    }

    /// A bracket expression; `[`, `&`, `-` and `~` are ordinary inside of Go's.
    fn class(&mut self) -> Result<(), PatternError> {
        self.out.push('[');
        if self.skip("^") {
            self.out.push('^');
        }
        if self.skip("]") {
            self.out.push_str("\\]");
        }
        while let Some(character) = self.next() {
            match character {
                ']' => {
                    self.out.push(']');
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                '[' => match self.rest.strip_prefix(':').and_then(|rest| rest.split_once(":]")) {
                    Some((name, rest)) => {
                        self.out.extend(["[:", name, ":]"]);
                        self.rest = rest;
                    }
                    None => self.out.push_str("\\["),
                },
                '&' | '~' => {
                    self.out.push('\\');
                    self.out.push(character);
                }
                '-' if self.out.ends_with('-') || self.rest.starts_with(']') => self.out.push_str("\\-"),
                other => self.out.push(other),
            }
        }
        refuse("missing closing ]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let table = [
            (r"^\d+$", "42", true),
            (r"^\d+$", "٤٢", false),
            (r"^\w+$", "é", false),
            (r"^[\w-]+$", "a-b", true),
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name", true),
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-", false),
            (r"^[[]x]$", "[x]", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]+$", "a]", false),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\<a\>$", "<a>", true),
            (r"(?i)^ABC$", "abc", true),
            (r"^\/x\-y\_$", "/x-y_", true),
            (r"^\p{Han}\x{41}$", "中A", true),
            ("a", "cat", true),
            (r"^(?P<year>\d{4})$", "2024", true),
            (r"^[+--]+$", "+,-", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^[^\s]+$", "a b", false),
            (r"^{a}$", "{a}", true),
            (r"^a{2,3}?$", "aa", true),
            (r"^a{,3}$", "a{,3}", true),
        ];
        for (pattern, text, want) in table {
            let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(compiled.is_match(text), want, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "(?=a)", "(?!a)", "(?<=a)b", "(?x)a", r"\y", "[a", "(a", "a**", "a*??", "a{1001}", r"\", r"\1",
            r"\Z",
        ] {
            let error = Pattern::new(pattern).expect_err(pattern).to_string();
            assert!(error.starts_with("error parsing regexp: "), "{error}");
        }
    }
}
