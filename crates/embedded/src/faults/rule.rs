//! Faults by script: which request of whom meets what.

use super::{Fault, Subject};

/// A fault and the requests it is for. Without further words it meets the first request of anybody, once.
///
/// Words are added one after another, as in docs/guide/testing.md: `Rule::new(Fault::Conflict).verb("update").nth(3).times(2)`.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    component: Option<String>,
    verb: Option<String>,
    writes: bool,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    subresource: Option<String>,
    first: u64,
    times: u64,
    seen: u64,
}

impl Rule {
    /// A rule for the first request there is.
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            component: None,
            verb: None,
            writes: false,
            resource: None,
            namespace: None,
            name: None,
            subresource: None,
            first: 1,
            times: 1,
            seen: 0,
        }
    }

    /// Only requests of this component.
    pub fn component(mut self, component: impl Into<String>) -> Self {
        self.component = Some(component.into());
        self
    }

    /// Only this verb.
    pub fn verb(mut self, verb: impl Into<String>) -> Self {
        self.verb = Some(verb.into());
        self
    }

    /// Only requests that change something.
    pub fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// Only this resource, as `plural` or `plural.group`.
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Only this subresource; the empty text stands for the object itself.
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Only objects of this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only the object of this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// From the n-th such request on (the first is number 1).
    pub fn nth(mut self, number: u64) -> Self {
        self.first = number.max(1);
        self
    }

    /// So many times in a row.
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// From the n-th such request on, for ever.
    pub fn always(self) -> Self {
        self.times(u64::MAX)
    }

    pub(super) fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Counts a request, and answers the fault if it is this one's turn.
    pub(super) fn fires(&mut self, subject: &Subject) -> Option<Fault> {
        if !self.matches(subject) {
            return None;
        }
        self.seen += 1;
        let turn = self.seen >= self.first && self.seen - self.first < self.times;
        turn.then(|| self.fault.clone())
    }

    fn matches(&self, subject: &Subject) -> bool {
        let is = |wanted: &Option<String>, text: &str| wanted.as_deref().is_none_or(|wanted| wanted == text);
        let plural = subject.resource.split('.').next().unwrap_or_default();
        is(&self.component, &subject.component)
            && is(&self.verb, subject.verb)
            && (!self.writes || subject.is_write())
            && (is(&self.resource, &subject.resource) || is(&self.resource, plural))
            && is(&self.namespace, &subject.namespace)
            && is(&self.name, &subject.name)
            && is(&self.subresource, &subject.subresource)
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Uri};

    use super::*;

    fn subject(component: &str, method: &Method, path: &'static str) -> Subject {
        Subject::of_request(&component.into(), method, &Uri::from_static(path))
    }

    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";

    #[test]
    fn a_rule_meets_the_requests_it_names_and_only_in_its_turn() {
        let mut rule = Rule::new(Fault::Conflict).component("a").verb("update").resource("leases");
        rule = rule.nth(2).times(2);
        let update = subject("a", &Method::PUT, LEASE);
        let turns: Vec<bool> = (0..5).map(|_| rule.fires(&update).is_some()).collect();
        assert_eq!(turns, [false, true, true, false, false]);
    }

    #[test]
    fn requests_of_others_neither_fire_nor_count() {
        let rule =
            || Rule::new(Fault::Conflict).component("a").writes().resource("leases.coordination.k8s.io");
        for other in [
            subject("b", &Method::PUT, LEASE),
            subject("a", &Method::GET, LEASE),
            subject("a", &Method::PUT, "/api/v1/namespaces/n/pods/p"),
        ] {
            assert_eq!(rule().fires(&other), None, "{other}");
        }
        let rows = [(rule().name("l"), true), (rule().name("other"), false), (rule().namespace("n"), true)];
        for (mut rule, want) in rows {
            assert_eq!(rule.fires(&subject("a", &Method::PUT, LEASE)).is_some(), want, "{rule:?}");
        }
        let mut status = Rule::new(Fault::Conflict).subresource("");
        assert_eq!(status.fires(&subject("a", &Method::PUT, "/api/v1/namespaces/n/pods/p/status")), None);
    }
}
