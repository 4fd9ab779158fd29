//! Reading a JSONPath.

use serde_json::Value;

use super::{Filter, JsonPath, Operand, Operator, Step};

pub(super) fn parse(path: &str) -> Result<JsonPath, String> {
    let text = path.trim();
    let text = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or("the closing brace is missing")?,
        None => text,
    };
    let text = text.strip_prefix(['$', '@']).unwrap_or(text);
    let mut reader = Reader { rest: text };
    let steps = reader.steps()?;
    if reader.rest.is_empty() { Ok(JsonPath { steps }) } else { Err(format!("unexpected {:?}", reader.rest)) }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn steps(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        loop {
            if self.skip("..") {
                steps.push(Step::Descend);
                if self.rest.starts_with('[') {
                    continue;
                }
                steps.push(self.name()?);
            } else if self.skip(".") {
                // A lone dot is the value itself, and `.[` is as good as `[`.
                if !self.rest.is_empty() && !self.rest.starts_with('[') {
                    steps.push(self.name()?);
                }
            } else if self.skip("[") {
                steps.push(self.bracket()?);
            } else {
                return Ok(steps);
            }
        }
    }

    /// A field after a dot; a backslash keeps the next character from ending it.
    fn name(&mut self) -> Result<Step, String> {
        if self.skip("*") {
            return Ok(Step::All);
        }
        let mut name = String::new();
        let mut characters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((index, character)) = characters.next() {
            match character {
                '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
                '.' | '[' | ')' | ']' | ' ' | '=' | '!' | '<' | '>' | '}' => {
                    end = index;
                    break;
                }
                other => name.push(other),
            }
        }
        self.rest = &self.rest[end..];
        if name.is_empty() { Err("a field's name is missing".to_owned()) } else { Ok(Step::Field(name)) }
    }

    fn bracket(&mut self) -> Result<Step, String> {
        if self.skip("?(") {
            return self.filter();
        }
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            let name = self.quoted(quote)?;
            return if self.skip("]") { Ok(Step::Field(name)) } else { Err("a ] is missing".to_owned()) };
        }
        let (inside, rest) = self.rest.split_once(']').ok_or("a ] is missing")?;
        self.rest = rest;
        let number = |text: &str| text.trim().parse::<i64>().map_err(|_| format!("{text:?} is no index"));
        let optional = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(text).map(Some) };
        match (inside.trim(), inside.split_once(':')) {
            ("*", _) => Ok(Step::All),
            (_, Some((start, end))) => Ok(Step::Slice(optional(start)?, optional(end)?)),
            (index, None) => number(index).map(Step::Index),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
                _ if character == quote => {
                    self.rest = &self.rest[index + quote.len_utf8()..];
                    return Ok(text);
                }
                other => text.push(other),
            }
        }
        Err("a quote is missing".to_owned())
    }

    fn filter(&mut self) -> Result<Step, String> {
        self.blanks();
        if !self.skip("@") {
            return Err("a filter starts with @".to_owned());
        }
        let path = JsonPath { steps: self.steps()? };
        self.blanks();
        let condition = match self.operator() {
            Some(operator) => {
                self.blanks();
                Some((operator, self.operand()?))
            }
            None => None,
        };
        self.blanks();
        if self.skip(")]") {
            Ok(Step::Filter(Filter { path, condition }))
        } else {
            Err(format!("a filter ends with )], found {:?}", self.rest))
        }
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn operator(&mut self) -> Option<Operator> {
        // The longer of two that start alike comes first.
        const OPERATORS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        OPERATORS.into_iter().find(|(text, _)| self.skip(text)).map(|(_, operator)| operator)
    }

    fn operand(&mut self) -> Result<Operand, String> {
        if self.skip("@") {
            return Ok(Operand::Path(JsonPath { steps: self.steps()? }));
        }
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            return self.quoted(quote).map(|text| Operand::Literal(Value::String(text)));
        }
        let end = self.rest.find([')', ' ']).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        serde_json::from_str(text).map(Operand::Literal).map_err(|_| format!("{text:?} is no value"))
    }
}
