//! Who may ask a kubelet for what: the API server is asked, as real kubelets do.

use std::{collections::HashMap, time::Duration};

use http::Method;
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{clock::Clock, lifecycle::after};

/// How long an answer of the API server is believed.
const BELIEF: Duration = Duration::from_secs(30);
/// Answers kept at most.
const MOST_ANSWERS: usize = 1024;

/// A user, as a certificate or a token names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
}

impl Caller {
    /// Common name and organizations of a certificate that was already verified.
    pub(crate) fn from_certificate(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let subject = certificate.subject();
        let user = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
        let organizations = subject.iter_organization().filter_map(|name| name.as_str().ok());
        Some(Self { user, groups: organizations.map(str::to_owned).collect() })
    }
}

/// Who asks for which verb on which subresource.
type Question = (Caller, &'static str, &'static str);
/// Whether it is allowed, and until when that is believed.
type Answer = (bool, Timestamp);

/// Asks the API server.
pub(crate) struct Access {
    client: Client,
    clock: Clock,
    /// Without a client CA nobody is let in, not even with a good token.
    trusted: bool,
    answers: Mutex<HashMap<Question, Answer>>,
}

impl Access {
    pub(crate) fn new(client: Client, clock: Clock, trusted: bool) -> Self {
        Self { client, clock, trusted, answers: Mutex::default() }
    }

    /// The user behind a bearer token.
    pub(crate) async fn caller_of(&self, token: &str) -> Option<Caller> {
        if !self.trusted {
            return None;
        }
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api = Api::<TokenReview>::all(self.client.clone());
        let status = api.create(&PostParams::default(), &review).await.ok()?.status?;
        let user = status.user.filter(|_| status.authenticated == Some(true))?;
        Some(Caller { user: user.username?, groups: user.groups.unwrap_or_default() })
    }

    /// Whether the caller may do this; the error says what is missing.
    pub(crate) async fn allows(&self, caller: &Caller, method: &Method, path: &str) -> Result<(), String> {
        if !self.trusted {
            return Err("this kubelet was given no client CA".into());
        }
        let (verb, subresource) = attributes(method, path);
        let key = (caller.clone(), verb, subresource);
        let now = self.clock.now();
        let known =
            self.answers.lock().get(&key).filter(|(_, until)| *until > now).map(|(allowed, _)| *allowed);
        let allowed = if let Some(allowed) = known {
            allowed
        } else {
            let allowed = self.ask(caller, verb, subresource).await?;
            self.remember(key, (allowed, after(now, BELIEF)));
            allowed
        };
        if allowed {
            return Ok(());
        }
        Err(format!("user {:?} may not {verb} nodes/{subresource}", caller.user))
    }

    fn remember(&self, question: Question, answer: Answer) {
        let mut answers = self.answers.lock();
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        answers.insert(question, answer);
    }

    async fn ask(&self, caller: &Caller, verb: &str, subresource: &str) -> Result<bool, String> {
        let attributes = ResourceAttributes {
            verb: Some(verb.to_owned()),
            version: Some("v1".to_owned()),
            resource: Some("nodes".to_owned()),
            subresource: Some(subresource.to_owned()),
            ..ResourceAttributes::default()
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(caller.user.clone()),
                groups: Some(caller.groups.clone()),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| format!("the API server could not be asked: {error}"))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

/// Verb and subresource of `nodes` that a request needs, as real kubelets map them.
fn attributes(method: &Method, path: &str) -> (&'static str, &'static str) {
    let below =
        |root: &str| path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
    let enters = ["/exec", "/attach", "/portForward"].into_iter().any(below);
    let verb = match *method {
        // WebSockets begin with GET; whoever may only look must not get in by that.
        _ if enters => "create",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    };
    let subresource = if below("/stats") {
        "stats"
    } else if below("/metrics") {
        "metrics"
    } else {
        "proxy"
    };
    (verb, subresource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_what_real_kubelets_ask_for() {
        let rows = [
            (Method::GET, "/containerLogs/a/b/c", ("get", "proxy")),
            (Method::POST, "/exec/a/b/c", ("create", "proxy")),
            (Method::GET, "/exec/a/b/c", ("create", "proxy")),
            (Method::GET, "/portForward/a/b", ("create", "proxy")),
            (Method::GET, "/metrics/resource", ("get", "metrics")),
            (Method::GET, "/metricsx", ("get", "proxy")),
            (Method::GET, "/stats/summary", ("get", "stats")),
            (Method::GET, "/pods", ("get", "proxy")),
        ];
        for (method, path, want) in rows {
            assert_eq!(attributes(&method, path), want, "{method} {path}");
        }
    }

    #[test]
    fn a_certificate_names_user_and_groups() {
        let mut parameters = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        let mut name = rcgen::DistinguishedName::new();
        name.push(rcgen::DnType::CommonName, "kube-apiserver");
        name.push(rcgen::DnType::OrganizationName, "system:masters");
        parameters.distinguished_name = name;
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let caller = Caller::from_certificate(certificate.der()).unwrap();
        assert_eq!(caller, Caller { user: "kube-apiserver".into(), groups: vec!["system:masters".into()] });
    }
}
