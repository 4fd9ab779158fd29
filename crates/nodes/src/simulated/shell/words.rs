//! Splitting a line into commands and words.

/// When a command of a line runs, after the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    OnSuccess,
    OnFailure,
}

/// A word, and whether `$` means something in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Open(String),
    Quoted(String),
}

impl Word {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Open(text) | Self::Quoted(text) => text,
        }
    }
}

/// The commands of a line. Quotes keep spaces; single quotes keep everything.
pub(crate) fn split(line: &str) -> Vec<(Condition, Vec<Word>)> {
    let mut commands = Vec::new();
    let mut splitter = Splitter::default();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let doubled = letters.peek() == Some(&letter);
        match (splitter.quote, letter) {
            (Some(quote), _) if letter == quote => splitter.quote = None,
            (Some('"') | None, '\\') => splitter.push(letters.next().unwrap_or('\\')),
            (None, '\'' | '"') => splitter.open(letter),
            (None, ' ' | '\t') => splitter.end_word(),
            (None, ';' | '\n') => splitter.end_command(&mut commands, Condition::Always),
            (None, '&') if doubled => {
                letters.next();
                splitter.end_command(&mut commands, Condition::OnSuccess);
            }
            (None, '|') if doubled => {
                letters.next();
                splitter.end_command(&mut commands, Condition::OnFailure);
            }
            _ => splitter.push(letter),
        }
    }
    splitter.end_command(&mut commands, Condition::Always);
    commands
}

#[derive(Default)]
struct Splitter {
    quote: Option<char>,
    word: Option<String>,
    literal: bool,
    words: Vec<Word>,
    next: Option<Condition>,
}

impl Splitter {
    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn open(&mut self, quote: char) {
        self.quote = Some(quote);
        self.literal |= quote == '\'';
        self.word.get_or_insert_default();
    }

    fn end_word(&mut self) {
        let literal = std::mem::take(&mut self.literal);
        if let Some(word) = self.word.take() {
            self.words.push(if literal { Word::Quoted(word) } else { Word::Open(word) });
        }
    }

    fn end_command(&mut self, commands: &mut Vec<(Condition, Vec<Word>)>, next: Condition) {
        self.end_word();
        let condition = self.next.replace(next).unwrap_or(Condition::Always);
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            commands.push((condition, words));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_and_separators_are_understood() {
        let words = |line: &str| -> Vec<Vec<String>> {
            split(line)
                .into_iter()
                .map(|(_, words)| words.iter().map(|word| word.text().to_owned()).collect())
                .collect()
        };
        assert_eq!(words("a  b 'c d' \"e f\"g"), [["a", "b", "c d", "e fg"]]);
        assert_eq!(words("a;b && c||d"), [["a"], ["b"], ["c"], ["d"]]);
        assert_eq!(words(r#"echo a\ b "x\"y" ''"#), [["echo", "a b", "x\"y", ""]]);
        assert!(words(" ; ").is_empty());
        let conditions: Vec<_> = split("a && b || c").into_iter().map(|(condition, _)| condition).collect();
        assert_eq!(conditions, [Condition::Always, Condition::OnSuccess, Condition::OnFailure]);
    }

    proptest! {
        #[test]
        fn no_line_breaks_the_splitter(line in "\\PC{0,60}") {
            split(&line);
        }
    }
}
