//! The first line of what a program writes, however it arrives. Pure.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::Part;

/// The longest line that is looked at.
const LONGEST: usize = 4096;
/// How much of standard error may overtake it. It was written before any of that, so little does.
const MOST_ERRORS: usize = 1 << 20;

/// Looks for a line that begins with a sign.
///
/// Standard output and standard error come on ways of their own: an error can arrive before the line, or between its halves.
#[derive(Debug)]
pub(super) struct FirstLine {
    sign: u8,
    line: BytesMut,
    /// What has overtaken it, and how long that is.
    errors: VecDeque<Part>,
    length: usize,
}

/// The line, if there is one, and what was read besides.
type Found = (Option<String>, VecDeque<Part>);

impl FirstLine {
    pub(super) fn new(sign: u8) -> Self {
        Self { sign, line: BytesMut::new(), errors: VecDeque::new(), length: 0 }
    }

    /// Takes the next part; nothing until the line is complete or cannot come any more.
    pub(super) fn take(&mut self, part: Part) -> Option<Found> {
        match part {
            Part::Stdout(bytes) => self.line.extend_from_slice(&bytes),
            Part::Stderr(bytes) => {
                self.length += bytes.len();
                self.errors.push_back(Part::Stderr(bytes));
                return (self.length > MOST_ERRORS).then(|| self.none());
            }
            ended @ Part::Ended(_) => {
                self.errors.push_back(ended);
                return Some(self.none());
            }
        }
        if self.line.first() != Some(&self.sign) || self.line.len() > LONGEST {
            return Some(self.none());
        }
        let end = self.line.iter().position(|byte| *byte == b'\n')?;
        let rest = self.line.split_off(end + 1).freeze();
        let line = String::from_utf8_lossy(&self.line[1..]).trim_end().to_owned();
        Some((Some(line), self.with(rest)))
    }

    /// There is no such line: everything is given back.
    fn none(&mut self) -> Found {
        let read = std::mem::take(&mut self.line).freeze();
        (None, self.with(read))
    }

    /// What was read, with this of standard output.
    fn with(&mut self, stdout: Bytes) -> VecDeque<Part> {
        let mut parts = std::mem::take(&mut self.errors);
        if !stdout.is_empty() {
            parts.push_front(Part::Stdout(stdout));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::Exit;

    fn out(text: &'static str) -> Part {
        Part::Stdout(Bytes::from_static(text.as_bytes()))
    }

    fn err(text: &'static str) -> Part {
        Part::Stderr(Bytes::from_static(text.as_bytes()))
    }

    fn ended() -> Part {
        Part::Ended(Exit { code: Some(7), message: String::new() })
    }

    fn read(parts: Vec<Part>) -> Option<Found> {
        let mut first = FirstLine::new(b'+');
        parts.into_iter().find_map(|part| first.take(part))
    }

    #[test]
    fn the_line_is_found_however_it_arrives_and_nothing_else_is_lost() {
        for (name, parts, want, rest) in [
            ("alone", vec![out("+a b\n")], Some("a b"), vec![]),
            ("of a terminal", vec![out("+a\r\n")], Some("a"), vec![]),
            ("with what follows", vec![out("+a\nout\n")], Some("a"), vec![out("out\n")]),
            ("in pieces", vec![out("+"), out("a"), out("\nout")], Some("a"), vec![out("out")]),
            ("overtaken by an error", vec![err("err\n"), out("+a\n")], Some("a"), vec![err("err\n")]),
            (
                "with errors between its halves",
                vec![err("1"), out("+a"), err("2"), out("\nout")],
                Some("a"),
                vec![out("out"), err("1"), err("2")],
            ),
            ("not said", vec![err("e"), out("out")], None, vec![out("out"), err("e")]),
            ("broken off", vec![out("+a"), ended()], None, vec![out("+a"), ended()]),
            ("not begun", vec![err("no sh"), ended()], None, vec![err("no sh"), ended()]),
        ] {
            let want = (want.map(str::to_owned), VecDeque::from(rest));
            assert_eq!(read(parts), Some(want), "{name}");
        }
        assert_eq!(read(vec![err("e"), out("+a")]), None, "more is to come");
    }

    #[test]
    fn what_never_becomes_a_line_is_not_gathered_for_ever() {
        let long = |part: fn(Bytes) -> Part| read(vec![part(Bytes::from(vec![b'+'; MOST_ERRORS + 1]))]);
        assert!(matches!(long(Part::Stdout), Some((None, rest)) if rest.len() == 1));
        assert!(matches!(long(Part::Stderr), Some((None, rest)) if rest.len() == 1));
    }
}
