//! The label selector itself: requirements that all must hold.

use std::fmt;

use super::{Labels, SelectorError};

/// Requirements that all must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key=value`
    Equals,
    /// `key==value`, the same with another spelling
    DoubleEquals,
    /// `key!=value`, also true without the label
    NotEquals,
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`, also true without the label
    NotIn,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

impl LabelSelector {
    /// The selector that matches every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that matches no object.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// The selector of these requirements, in the order of their keys.
    pub fn new(requirements: impl IntoIterator<Item = Requirement>) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }

    /// The selector for exactly these labels, as `spec.selector` of a Service means it.
    pub fn from_labels<K: Into<String>, V: Into<String>>(labels: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::new(labels.into_iter().map(|(key, value)| Requirement {
            key: key.into(),
            operator: Operator::Equals,
            values: vec![value.into()],
        }))
    }

    /// Reads the query form.
    pub fn parse(query: &str) -> Result<Self, SelectorError> {
        super::parse::parse(query).map(Self::new)
    }

    /// Whether all requirements hold.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        !self.nothing && self.requirements.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether the selector matches everything because it requires nothing.
    pub fn is_empty(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// The requirements, in the order of their keys.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }
}

impl Requirement {
    /// A checked requirement.
    pub fn new(
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = String>,
    ) -> Result<Self, SelectorError> {
        let requirement = Self { key: key.into(), operator, values: values.into_iter().collect() };
        check_key(&requirement.key)?;
        requirement.check_values()?;
        Ok(requirement)
    }

    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How the label is compared.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// What the label is compared to.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Whether the labels fulfil this requirement.
    pub fn matches(&self, labels: &(impl Labels + ?Sized)) -> bool {
        let value = labels.label(&self.key);
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(|v| self.names(v)),
            Operator::NotEquals | Operator::NotIn => value.is_none_or(|v| !self.names(v)),
            Operator::GreaterThan => self.compare(value, |label, bound| label > bound),
            Operator::LessThan => self.compare(value, |label, bound| label < bound),
        }
    }

    fn names(&self, value: &str) -> bool {
        self.values.iter().any(|wanted| wanted == value)
    }

    fn compare(&self, value: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
        number(value)
            .zip(number(self.values.first().map(String::as_str)))
            .is_some_and(|(label, bound)| holds(label, bound))
    }

    fn check_values(&self) -> Result<(), SelectorError> {
        let count = self.values.len();
        let invalid = |what: &str| {
            let shown = serde_json::to_string(&self.values).unwrap_or_default();
            Err(SelectorError::Invalid(format!("values: Invalid value: {shown}: {what}")))
        };
        match self.operator {
            Operator::In | Operator::NotIn if count == 0 => {
                return invalid("for 'in', 'notin' operators, values set can't be empty");
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if count != 1 => {
                return invalid("exact-match compatibility requires one single value");
            }
            Operator::Exists | Operator::DoesNotExist if count != 0 => {
                return invalid("values set must be empty for exists and does not exist");
            }
            Operator::GreaterThan | Operator::LessThan => {
                let [bound] = self.values.as_slice() else {
                    return invalid("for 'Gt', 'Lt' operators, exactly one value is required");
                };
                if bound.parse::<i64>().is_err() {
                    return invalid("for 'Gt', 'Lt' operators, the value must be an integer");
                }
            }
            _ => {}
        }
        self.values.iter().enumerate().try_for_each(|(index, value)| check_value(&self.key, index, value))
    }
}

pub(super) fn check_key(key: &str) -> Result<(), SelectorError> {
    let fault = match key.split_once('/') {
        Some((_, rest)) if rest.contains('/') => Some("a label key has at most one '/'"),
        Some(("", _)) => Some("prefix part must be non-empty"),
        Some((prefix, _)) if !is_subdomain(prefix) => Some("prefix part must be a lowercase DNS subdomain"),
        Some((_, name)) => name_fault(name),
        None => name_fault(key),
    };
    fault.map_or(Ok(()), |fault| Err(SelectorError::Invalid(format!("Invalid value: {key:?}: {fault}"))))
}

fn name_fault(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("name part must be non-empty"),
        _ if name.len() > 63 => Some("name part must be no more than 63 bytes"),
        _ if !is_label_text(name) => Some(
            "name part must consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character",
        ),
        _ => None,
    }
}

fn check_value(key: &str, index: usize, value: &str) -> Result<(), SelectorError> {
    let fault = match value {
        "" => return Ok(()),
        _ if value.len() > 63 => "must be no more than 63 bytes",
        _ if !is_label_text(value) => {
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character"
        }
        _ => return Ok(()),
    };
    Err(SelectorError::Invalid(format!("values[{index}][{key}]: Invalid value: {value:?}: {fault}")))
}

fn is_label_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

fn is_subdomain(text: &str) -> bool {
    let part = |label: &str| {
        let bytes = label.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
            && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(part)
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                out.write_str(",")?;
            }
            requirement.fmt(out)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, operator, values } = self;
        let first = values.first().map_or("", String::as_str);
        match operator {
            Operator::Exists => out.write_str(key),
            Operator::DoesNotExist => write!(out, "!{key}"),
            Operator::Equals => write!(out, "{key}={first}"),
            Operator::DoubleEquals => write!(out, "{key}=={first}"),
            Operator::NotEquals => write!(out, "{key}!={first}"),
            Operator::GreaterThan => write!(out, "{key}>{first}"),
            Operator::LessThan => write!(out, "{key}<{first}"),
            Operator::In | Operator::NotIn => {
                let mut sorted: Vec<&str> = values.iter().map(String::as_str).collect();
                sorted.sort_unstable();
                let word = if *operator == Operator::In { "in" } else { "notin" };
                write!(out, "{key} {word} ({})", sorted.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn queries_match_as_kubernetes_documents_them() {
        let have = labels(&[("app", "web"), ("tier", "front"), ("level", "7"), ("empty", "")]);
        for (query, want) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app=db", false),
            ("app!=db", true),
            ("absent!=db", true),
            ("absent=db", false),
            ("app in (web,db)", true),
            ("app notin (web,db)", false),
            ("absent notin (web,db)", true),
            ("app", true),
            ("!app", false),
            ("!absent", true),
            ("level>6", true),
            ("level<6", false),
            ("app>6", false),
            ("empty=", true),
            ("empty in ()", true),
            ("app=web, tier in ( front , back ),!absent", true),
        ] {
            let selector = LabelSelector::parse(query).unwrap();
            assert_eq!(selector.matches(&have), want, "{query}");
        }
    }

    #[test]
    fn nothing_matches_nothing_and_everything_everything() {
        assert!(!LabelSelector::nothing().matches(&labels(&[])));
        assert!(LabelSelector::everything().matches(&labels(&[])));
        assert!(!LabelSelector::nothing().is_empty());
    }

    #[test]
    fn requirements_that_labels_cannot_meet_are_refused() {
        for (key, operator, values) in [
            ("a", Operator::In, vec![]),
            ("a", Operator::Exists, vec!["b".to_owned()]),
            ("a", Operator::Equals, vec!["-b".to_owned()]),
            ("a/b/c", Operator::Exists, vec![]),
            ("/c", Operator::Exists, vec![]),
            ("Not.A.Domain/c", Operator::Exists, vec![]),
            ("a", Operator::GreaterThan, vec!["x".to_owned()]),
            ("", Operator::Exists, vec![]),
        ] {
            assert!(Requirement::new(key, operator, values).is_err(), "{key}");
        }
    }

    fn requirement() -> impl Strategy<Value = Requirement> {
        let operators = prop::sample::select(vec![
            Operator::Equals,
            Operator::DoubleEquals,
            Operator::NotEquals,
            Operator::In,
            Operator::NotIn,
            Operator::Exists,
            Operator::DoesNotExist,
        ]);
        let values = prop::collection::btree_set("([a-z0-9]([-a-z0-9_.]{0,5}[a-z0-9])?)?", 1..4);
        let key = "([a-z]{1,4}(\\.[a-z]{1,4})?/)?[A-Za-z][-A-Za-z0-9_.]{0,5}[a-z]";
        (key, operators, values).prop_map(|(key, operator, values)| {
            let take = match operator {
                Operator::Exists | Operator::DoesNotExist => 0,
                Operator::In | Operator::NotIn => values.len(),
                _ => 1,
            };
            Requirement::new(key, operator, values.into_iter().take(take)).unwrap()
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_the_same(parts in prop::collection::vec(requirement(), 0..5)) {
            let selector = LabelSelector::new(parts);
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
        }

        #[test]
        fn parsing_never_panics(query in "\\PC{0,40}") {
            let _ = LabelSelector::parse(&query);
        }
    }
}
