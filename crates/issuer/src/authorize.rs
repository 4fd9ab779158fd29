//! A browser that a client has sent: its user signs in, agrees where he has to, and goes back with a code.

use jiff::{SignedDuration, Timestamp};
use maar_records::{Code, Interaction, NewGrant, User};
use serde::{Deserialize, Serialize};

use crate::{
    Issuer, Params, Refusal,
    client::Client,
    redirect,
    request::{self, Request, Wrong},
    scope::DEVICE_PREFIX,
    secret::{hash, secret},
};

/// Somebody who has shown who he is.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Who.
    pub user: User,
    /// When, if that is known.
    pub at: Option<Timestamp>,
}

/// What a browser is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorized {
    /// Show this to its user: nobody else can be told.
    Wrong(Refusal),
    /// Go there.
    Go(String),
    /// Ask its user this question.
    Ask {
        /// The question, for [`Issuer::question`] and [`Issuer::answer`].
        id: String,
        /// He has to show who he is first, even if he has before.
        again: bool,
    },
}

/// What a user is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Who wants it, as people are told.
    pub client: String,
    /// What it wants.
    pub scopes: Vec<String>,
    /// Where the answer goes.
    pub redirect: String,
    /// He has to agree; if not, it is a site that is trusted, and he only had to sign in.
    pub consent: bool,
}

/// A request that waits.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    request: Request,
    /// Who has shown who he is before it came has to do it again.
    again: bool,
}

/// What has to happen before a code is given.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    SignIn { again: bool },
    Consent,
    Code,
}

/// The next step; pure.
fn step(request: &Request, asks: bool, who: Option<&SignedIn>, now: Timestamp) -> Step {
    let Some(SignedIn { at, .. }) = who else { return Step::SignIn { again: false } };
    let too_old = request
        .max_age
        .is_some_and(|most| at.is_none_or(|at| now.duration_since(at) > SignedDuration::from_secs(most)));
    if request.prompt.login || too_old {
        return Step::SignIn { again: true };
    }
    if asks || request.prompt.consent { Step::Consent } else { Step::Code }
}

impl Issuer {
    /// A browser comes with a request of a client.
    pub async fn authorize(&self, params: &Params, who: Option<&SignedIn>) -> Authorized {
        match request::read(params, &self.settings.clients) {
            Ok(request) => self.go_on(request, who).await.unwrap_or_else(Authorized::Wrong),
            Err(Wrong::Here(refusal)) => Authorized::Wrong(refusal),
            Err(Wrong::There { redirect, state, refusal }) => {
                Authorized::Go(self.refuse(&redirect, state.as_deref(), &refusal))
            }
        }
    }

    async fn go_on(&self, request: Request, who: Option<&SignedIn>) -> Result<Authorized, Refusal> {
        let asks = self.settings.clients.get(&request.client).is_none_or(Client::asks);
        let now = self.host.now();
        let next = step(&request, asks, who, now);
        let refused = |code| {
            let refusal = Refusal::new(code, "the user has to be asked, and prompt is none");
            Authorized::Go(self.refuse(&request.redirect, request.state.as_deref(), &refusal))
        };
        match (next, who) {
            (Step::SignIn { .. }, _) if request.prompt.none => Ok(refused("login_required")),
            (Step::Consent, _) if request.prompt.none => Ok(refused("consent_required")),
            (Step::Code, Some(who)) => self.code(&request, who).await.map(Authorized::Go),
            (Step::Consent, Some(who)) => {
                let id = self.ask(request, false, Some(who)).await?;
                Ok(Authorized::Ask { id, again: false })
            }
            (Step::SignIn { again: true }, who) => {
                let id = self.ask(request, true, who).await?;
                Ok(Authorized::Ask { id, again: true })
            }
            (_, _) => {
                let id = self.ask(request, false, None).await?;
                Ok(Authorized::Ask { id, again: false })
            }
        }
    }

    /// Keeps a request until its user has answered; only he may, where it is known who he is.
    async fn ask(&self, request: Request, again: bool, who: Option<&SignedIn>) -> Result<String, Refusal> {
        let id = secret(&*self.host, "")?;
        let waiting =
            serde_json::to_value(Waiting { request, again }).map_err(|error| Refusal::unavailable(&error))?;
        let interaction = Interaction {
            id: id.clone(),
            user: who.map(|who| who.user.id.clone()),
            request: waiting,
            created_at: self.host.now(),
            expires_at: self.after(self.settings.lives.wait),
        };
        self.records.create_interaction(&interaction).await?;
        Ok(id)
    }

    async fn waiting(&self, id: &str, who: &SignedIn) -> Result<Waiting, Refusal> {
        let unknown = || Refusal::new("not_found", "this question does not exist, or was answered");
        let found = self.records.interaction(id, self.host.now()).await?.ok_or_else(unknown)?;
        if found.user.is_some_and(|user| user != who.user.id) {
            return Err(unknown());
        }
        let waiting: Waiting = serde_json::from_value(found.request).map_err(|_| unknown())?;
        if waiting.again && who.at.is_none_or(|at| at < found.created_at) {
            return Err(Refusal::new(
                "login_required",
                "sign in again: the client wants to be sure that it is you",
            ));
        }
        Ok(waiting)
    }

    /// What is to be answered.
    pub async fn question(&self, id: &str, who: &SignedIn) -> Result<Question, Refusal> {
        let Waiting { request, .. } = self.waiting(id, who).await?;
        let client = self.settings.clients.get(&request.client);
        let client = client.ok_or_else(|| Refusal::client("this client is not known any more"))?;
        Ok(Question {
            client: client.name.clone(),
            consent: client.asks() || request.prompt.consent,
            scopes: request.scopes,
            redirect: request.redirect,
        })
    }

    /// The answer of a user, once; where his browser goes with it.
    pub async fn answer(&self, id: &str, who: &SignedIn, approve: bool) -> Result<String, Refusal> {
        let Waiting { request, .. } = self.waiting(id, who).await?;
        if !self.records.end_interaction(id, self.host.now()).await? {
            return Err(Refusal::new("not_found", "this question was answered"));
        }
        if approve {
            return self.code(&request, who).await;
        }
        let refusal = Refusal::new("access_denied", "the user said no");
        Ok(self.refuse(&request.redirect, request.state.as_deref(), &refusal))
    }

    /// The way back with a code.
    async fn code(&self, request: &Request, who: &SignedIn) -> Result<String, Refusal> {
        if !self.may_give(&who.user, &request.scopes).await? {
            let refusal = Refusal::new("access_denied", "the kubeconfig was revoked, or is somebody else's");
            return Ok(self.refuse(&request.redirect, request.state.as_deref(), &refusal));
        }
        let grant = self.grant(&request.client, &request.scopes, who).await?;
        let code = secret(&*self.host, "")?;
        let kept = Code {
            grant,
            redirect: request.redirect.clone(),
            challenge: request.challenge.clone(),
            nonce: request.nonce.clone(),
            expires_at: self.after(self.settings.lives.code),
        };
        self.records.create_code(&hash(&code), &kept).await?;
        let mut pairs = vec![("code", code.as_str()), ("iss", &self.settings.issuer)];
        pairs.extend(request.state.as_deref().map(|state| ("state", state)));
        Ok(redirect::with(&request.redirect, &pairs))
    }

    /// Notes what somebody allowed.
    pub(crate) async fn grant(
        &self,
        client: &str,
        scopes: &[String],
        who: &SignedIn,
    ) -> Result<String, Refusal> {
        let id = secret(&*self.host, "g-")?;
        let grant = NewGrant {
            id: id.clone(),
            user: who.user.id.clone(),
            generation: who.user.generation,
            client: client.to_owned(),
            scopes: scopes.to_vec(),
            signed_in_at: who.at,
            expires_at: self.after(self.settings.lives.grant),
        };
        self.records.create_grant(&grant, self.host.now()).await?;
        Ok(id)
    }

    /// Whether somebody may give away the scopes that name something.
    pub(crate) async fn may_give(&self, user: &User, scopes: &[String]) -> Result<bool, Refusal> {
        for scope in scopes.iter().filter(|scope| scope.starts_with(DEVICE_PREFIX)) {
            let may = self.host.may_give(user, scope).await;
            if !may.map_err(|error| Refusal::unavailable(error.as_ref()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refuse(&self, to: &str, state: Option<&str>, refusal: &Refusal) -> String {
        let mut pairs = vec![
            ("error", refusal.code),
            ("error_description", &refusal.why),
            ("iss", &self.settings.issuer),
        ];
        pairs.extend(state.map(|state| ("state", state)));
        redirect::with(to, &pairs)
    }
}
