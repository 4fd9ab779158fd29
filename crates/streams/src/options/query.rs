//! A parsed query string.

use std::borrow::Cow;
use std::str::FromStr;

use super::OptionsError;

/// The parameters of a query, in order, with repetitions.
pub(super) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    pub(super) fn parse(query: Option<&'a str>) -> Self {
        Self(form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect())
    }

    /// All values of a repeated parameter.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_ref())
    }

    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The value, where one of at least one character was given.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.first(name).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    /// Kubernetes reads every value but `0` and `false` as true, the empty one too.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.first(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// What a kubelet reads as true.
    pub(super) fn one(&self, name: &str) -> bool {
        self.first(name) == Some("1")
    }

    /// A value of another type; `expected` says what it should have been.
    pub(super) fn parsed<T: FromStr>(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, OptionsError> {
        let Some(value) = self.first(name).filter(|value| !value.is_empty()) else { return Ok(None) };
        let invalid = |_| OptionsError::Invalid { name, value: value.to_owned(), problem: expected };
        value.parse().map(Some).map_err(invalid)
    }
}

/// Builds a query string; parameters that are off are left out.
pub(super) struct QueryWriter(form_urlencoded::Serializer<'static, String>);

impl QueryWriter {
    pub(super) fn new() -> Self {
        Self(form_urlencoded::Serializer::new(String::new()))
    }

    pub(super) fn text(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.0.append_pair(name, value);
        }
        self
    }

    pub(super) fn flag(self, name: &str, on: bool, word: &str) -> Self {
        self.text(name, on.then_some(word))
    }

    pub(super) fn shown<T: ToString>(self, name: &str, value: Option<T>) -> Self {
        self.text(name, value.map(|value| value.to_string()).as_deref())
    }

    pub(super) fn finish(mut self) -> String {
        self.0.finish()
    }
}
