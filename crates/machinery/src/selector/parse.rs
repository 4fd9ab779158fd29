//! The query form of label selectors: a scanner of at most two characters ahead and a parser over its tokens.

use std::collections::BTreeSet;

use super::SelectorError;
use super::label::{Operator, Requirement, check_key};

pub(super) fn parse(query: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut parser = Parser { tokens: scan(query), position: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {}
            other @ Token::Symbol(_) => return Err(syntax(other, "!, identifier, or 'end of string'")),
        }
        let requirement =
            parser.requirement().map_err(|fault| SelectorError::Requirement(fault.to_string()))?;
        requirements.push(requirement);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => match parser.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return Err(syntax(other, "identifier after ','")),
            },
            other => return Err(syntax(other, "',' or 'end of string'")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

fn scan(query: &str) -> Vec<Token<'_>> {
    let special = |c: char| "=!(),><".contains(c);
    let space = |c: char| " \t\r\n".contains(c);
    let mut tokens = Vec::new();
    let mut rest = query.trim_start_matches(space);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '=' | '!' if rest[1..].starts_with('=') => 2,
            _ if special(first) => 1,
            _ => rest.find(|c| special(c) || space(c)).unwrap_or(rest.len()),
        };
        let (text, tail) = rest.split_at(length);
        tokens.push(if special(first) { Token::Symbol(text) } else { Token::Word(text) });
        rest = tail.trim_start_matches(space);
    }
    tokens
}

fn syntax(found: Token<'_>, expected: &str) -> SelectorError {
    let text = match found {
        Token::Word(text) | Token::Symbol(text) => text,
        Token::End => "",
    };
    SelectorError::Syntax(format!("found '{text}', expected: {expected}"))
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.position).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key,
            other => return Err(syntax(other, "identifier")),
        };
        check_key(key)?;
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, []);
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Requirement::new(key, Operator::Exists, []);
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => self.exact_value()?,
        };
        Requirement::new(key, operator, values.into_iter().map(str::to_owned))
    }

    fn operator(&mut self) -> Result<Operator, SelectorError> {
        Ok(match self.next() {
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Symbol("=") => Operator::Equals,
            Token::Symbol("==") => Operator::DoubleEquals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol(">") => Operator::GreaterThan,
            Token::Symbol("<") => Operator::LessThan,
            other => return Err(syntax(other, "in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn exact_value(&mut self) -> Result<BTreeSet<&'a str>, SelectorError> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(BTreeSet::from([""])),
            Token::Word(value) => {
                self.next();
                Ok(BTreeSet::from([value]))
            }
            other @ Token::Symbol(_) => Err(syntax(other, "identifier")),
        }
    }

    /// `(a,b)`; an empty place between commas or parentheses is the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'a str>, SelectorError> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(syntax(other, "'('")),
        }
        let mut values = BTreeSet::new();
        loop {
            let value = match self.peek() {
                Token::Word(value) => {
                    self.next();
                    value
                }
                Token::Symbol("," | ")") => "",
                other => return Err(syntax(other, "',', ')' or identifier")),
            };
            values.insert(value);
            match self.next() {
                Token::Symbol(")") => return Ok(values),
                Token::Symbol(",") => {}
                other => return Err(syntax(other, "',' or ')'")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LabelSelector;

    #[test]
    fn faults_are_named_where_they_stand() {
        for (query, want) in [
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("a in b", "unable to parse requirement: found 'b', expected: '('"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ] {
            assert_eq!(LabelSelector::parse(query).unwrap_err().to_string(), want, "{query}");
        }
    }

    #[test]
    fn in_and_notin_are_words_where_a_key_or_value_stands() {
        assert_eq!(LabelSelector::parse("in=notin").unwrap().to_string(), "in=notin");
        assert_eq!(LabelSelector::parse("in in (in,notin)").unwrap().to_string(), "in in (in,notin)");
    }

    #[test]
    fn empty_places_in_a_list_are_the_empty_value() {
        assert_eq!(LabelSelector::parse("a in (,b,)").unwrap().to_string(), "a in (,b)");
        assert_eq!(LabelSelector::parse("a in ()").unwrap().to_string(), "a in ()");
    }

    #[test]
    fn requirements_come_out_by_key() {
        assert_eq!(LabelSelector::parse("z=1,a!=2,!m").unwrap().to_string(), "a!=2,!m,z=1");
    }
}
