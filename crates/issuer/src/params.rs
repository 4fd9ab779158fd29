//! Parameters of a request, each at most once.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::Refusal;

/// Parameters of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    values: BTreeMap<String, String>,
    twice: Vec<String>,
}

impl Params {
    /// Of a query, or of a body of a form. What is empty counts as not said (RFC 6749, 3.1).
    pub fn parse(text: &[u8]) -> Self {
        let mut params = Self::default();
        for (name, value) in form_urlencoded::parse(text).into_owned() {
            match params.values.entry(name) {
                Entry::Occupied(there) => params.twice.push(there.key().clone()),
                Entry::Vacant(place) => {
                    place.insert(value);
                }
            }
        }
        params.values.retain(|_, value| !value.is_empty());
        params
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(crate) fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::request(format!("{name} is missing")))
    }

    /// Refuses what is said twice: two readers could take one for the other.
    pub(crate) fn once(&self) -> Result<(), Refusal> {
        match self.twice.first() {
            Some(_) => Err(Refusal::request("a parameter is there twice")),
            None => Ok(()),
        }
    }

    pub(crate) fn is_twice(&self, name: &str) -> bool {
        self.twice.iter().any(|twice| twice == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_noticed_and_what_is_empty_is_not_said() {
        let params = Params::parse(b"a=1&b=&c=x%20y");
        assert_eq!((params.get("a"), params.get("b"), params.get("c")), (Some("1"), None, Some("x y")));
        assert!(params.once().is_ok() && params.need("b").is_err());
        assert!(Params::parse(b"a=1&a=1").once().is_err() && Params::parse(b"a=&a=2").is_twice("a"));
    }
}
