//! Kubeconfigs are made, listed and revoked.

use jiff::{SignedDuration, Timestamp};
use maar_records::{Kubeconfig, KubeconfigId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    KubeconfigMode, KubeconfigSettings, Request, certificate, certificate_name, grant, request,
    text::{Proof, text},
};
use crate::{
    access::{Kind, Object, Person, Verb},
    error::{ApiError, Code},
    identity::identifier,
    namespace::namespace_of,
    page::{Page, PageQuery},
    route::{Answer, Call},
};

/// How many hours one works if it is not said.
const USUAL_HOURS: i64 = 12;
/// With a provider, it is the tokens that end soon; the device is known for so long.
const OIDC_HOURS: i64 = 30 * 24;
/// The cluster makes none that ends sooner.
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);
/// The most that somebody has at once.
const MOST: usize = 50;

/// Which kubeconfigs one can have.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeconfigOffer {
    /// The usual one first; none if this portal gives out no kubeconfigs.
    modes: Vec<KubeconfigMode>,
    /// Where the API server is; empty where there are no kubeconfigs.
    server: String,
    /// The own namespace.
    namespace: String,
    /// How many hours one works at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_hours: Option<i64>,
}

/// A kubeconfig to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewKubeconfigRequest {
    mode: KubeconfigMode,
    /// What the device is called.
    device: String,
    /// How many hours it works; 12 if it is not said. Not for `oidc`.
    hours: Option<i64>,
    /// With `csr`: the identifier that its name holds, `d-` and 24 digits of 0-9a-f, never used before.
    id: Option<String>,
    /// A certificate request as PEM for the name `maar:USER:ID`, so that the key need not leave the device.
    csr: Option<String>,
    /// Whether what a device of this name had before is revoked once this one is made: a device has one. True if it is not
    /// said; who knows his devices better than by their names says false, and revokes himself.
    replace: Option<bool>,
}

/// A kubeconfig that was just made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MadeKubeconfig {
    id: String,
    /// Shown this once; without the key where a request for a certificate was sent.
    kubeconfig: String,
    #[schemars(with = "String")]
    expires: Timestamp,
}

/// A kubeconfig.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KubeconfigView {
    id: String,
    #[schemars(with = "KubeconfigMode")]
    mode: String,
    device: String,
    #[schemars(with = "String")]
    created: Timestamp,
    #[schemars(with = "String")]
    expires: Timestamp,
    /// It was ended.
    revoked: bool,
}

fn view(kubeconfig: Kubeconfig) -> KubeconfigView {
    KubeconfigView {
        id: kubeconfig.id.as_str().to_owned(),
        mode: kubeconfig.mode,
        device: kubeconfig.device,
        created: kubeconfig.created_at,
        expires: kubeconfig.expires_at,
        revoked: kubeconfig.revoked_at.is_some(),
    }
}

/// The modes that work here.
fn modes(call: &Call) -> Vec<KubeconfigMode> {
    let told = call.portal.settings.kubeconfig.iter().flat_map(|told| &told.modes).copied();
    told.filter(|mode| *mode != KubeconfigMode::Oidc || call.portal.issuer.is_some()).collect()
}

/// `GET /kubeconfig`.
pub(super) fn offer(call: &Call) -> Result<Answer, ApiError> {
    let told = call.portal.settings.kubeconfig.as_ref();
    Answer::json(&KubeconfigOffer {
        modes: modes(call),
        server: told.map(|told| told.server.clone()).unwrap_or_default(),
        namespace: call.person()?.namespace.clone(),
        longest_hours: told.map(|told| told.longest_hours),
    })
}

/// `GET /me/kubeconfigs`.
pub(super) async fn list(call: Call) -> Result<Answer, ApiError> {
    let page = call.query::<PageQuery>()?.records()?;
    let found = call.portal.records.kubeconfigs_of(&UserId::new(&call.person()?.id), &page).await?;
    Answer::json(&Page::of_records(found, view))
}

/// `POST /me/kubeconfigs`.
pub(super) async fn create(call: Call) -> Result<Answer, ApiError> {
    let mut asked: NewKubeconfigRequest = call.body()?;
    let person = call.person()?;
    let told = call.portal.settings.kubeconfig.as_ref();
    let told = told.filter(|_| modes(&call).contains(&asked.mode)).ok_or_else(|| {
        ApiError::invalid("mode", format!("this portal gives out no kubeconfig by {}", asked.mode.as_str()))
    })?;
    // Whoever has it may look into all work of its owner: a key that is made for less may not have one.
    for kind in [Kind::Job, Kind::Workspace] {
        if !call.may(Verb::Change, &Object::work(kind, &person.namespace, None)) {
            let why = "a kubeconfig needs workspaces:write and jobs:write";
            return Err(ApiError::new(Code::ScopeMissing, why));
        }
    }
    let records = &call.portal.records;
    let mut kubeconfig = planned(&call, &asked, told, person)?;
    asked.csr = checked(&asked, person)?;
    if let Some(end) = records.user(&kubeconfig.user).await?.expires_at {
        kubeconfig.expires_at = kubeconfig.expires_at.min(end);
    }
    if kubeconfig.expires_at.duration_since(kubeconfig.created_at) < SHORTEST {
        return Err(ApiError::new(Code::Conflict, "you may be here for less than ten minutes more"));
    }
    let live = records.live_kubeconfigs(&kubeconfig.user, call.now()).await?;
    let before = |one: &Kubeconfig| asked.replace.unwrap_or(true) && one.device == kubeconfig.device;
    let (replaced, others): (Vec<_>, Vec<_>) = live.into_iter().partition(before);
    if others.len() >= MOST {
        return Err(ApiError::new(Code::QuotaExceeded, format!("one has at most {MOST}: revoke some")));
    }
    records.create_kubeconfig(&kubeconfig).await?;
    let made = match make(&call, &asked, told, &kubeconfig).await {
        Ok(made) => finish(&call, &kubeconfig, &replaced).await.map(|()| made),
        failed => failed,
    };
    if made.is_err() {
        // Nobody has it; what was begun is taken away as far as it can be.
        let _ = grant::revoke(&call.portal, &kubeconfig, &person.namespace).await;
    }
    let (id, expires, made) = (kubeconfig.id.as_str().to_owned(), kubeconfig.expires_at, made?);
    let replaced: Vec<&str> = replaced.iter().map(|one| one.id.as_str()).collect();
    let after = json!({
        "mode": asked.mode, "device": asked.device, "expires": expires.to_string(), "replaced": replaced,
    });
    let answer = Answer::created(&MadeKubeconfig { id: id.clone(), kubeconfig: made, expires })?;
    Ok(answer.about(id).change(None, Some(after)))
}

/// What comes after it was made: it has to hold still, and what its device had before ends.
async fn finish(call: &Call, kubeconfig: &Kubeconfig, before: &[Kubeconfig]) -> Result<(), ApiError> {
    still_holds(call, kubeconfig).await?;
    for one in before {
        grant::revoke(&call.portal, one, &call.person()?.namespace).await?;
    }
    Ok(())
}

/// Whether nobody took it away while it was made. Whoever did has seen nothing in the cluster to take away; who comes after
/// this sees what is there.
async fn still_holds(call: &Call, kubeconfig: &Kubeconfig) -> Result<(), ApiError> {
    let records = &call.portal.records;
    let (kept, user) = (records.kubeconfig(&kubeconfig.id).await?, records.user(&kubeconfig.user).await?);
    if kept.revoked_at.is_none() && user.is_active(call.portal.clock.now()) {
        return Ok(());
    }
    Err(ApiError::new(Code::Conflict, "it was revoked while it was made, or its owner was disabled"))
}

/// The request that came along, as the cluster is to have it.
fn checked(asked: &NewKubeconfigRequest, person: &Person) -> Result<Option<String>, ApiError> {
    let (Some(id), Some(csr)) = (&asked.id, &asked.csr) else { return Ok(asked.csr.clone()) };
    let checked = request::check(csr, &certificate_name(&person.id, id));
    checked.map(Some).map_err(|why| ApiError::invalid("csr", why))
}

/// What will be given out, if what is asked makes sense.
fn planned(
    call: &Call,
    asked: &NewKubeconfigRequest,
    told: &KubeconfigSettings,
    person: &Person,
) -> Result<Kubeconfig, ApiError> {
    let hours = match (asked.mode, asked.hours) {
        (KubeconfigMode::Oidc, Some(_)) => {
            return Err(ApiError::invalid("hours", "is not for oidc: its tokens last minutes"));
        }
        (KubeconfigMode::Oidc, None) => OIDC_HOURS,
        (_, hours) => hours.unwrap_or(USUAL_HOURS.min(told.longest_hours)),
    };
    if asked.mode != KubeconfigMode::Oidc && !(1..=told.longest_hours).contains(&hours) {
        return Err(ApiError::invalid("hours", format!("is between 1 and {}", told.longest_hours)));
    }
    let id = match (asked.mode, &asked.id, &asked.csr) {
        (KubeconfigMode::Certificate, Some(id), Some(_)) => {
            let digits = id.strip_prefix("d-").filter(|digits| digits.len() == 24);
            let right = digits
                .is_some_and(|digits| digits.bytes().all(|one| matches!(one, b'0'..=b'9' | b'a'..=b'f')));
            if !right {
                return Err(ApiError::invalid("id", "is d- and 24 digits of 0-9a-f"));
            }
            id.clone()
        }
        (_, None, None) => identifier(&call.portal.entropy, "d")?,
        _ => return Err(ApiError::invalid("csr", "goes with id and the mode certificate")),
    };
    let now = call.now();
    Ok(Kubeconfig {
        id: KubeconfigId::new(id),
        user: UserId::new(&person.id),
        mode: asked.mode.as_str().to_owned(),
        device: asked.device.clone(),
        created_at: now,
        expires_at: now.saturating_add(SignedDuration::from_hours(hours)).unwrap_or(now),
        revoked_at: None,
    })
}

async fn make(
    call: &Call,
    asked: &NewKubeconfigRequest,
    told: &KubeconfigSettings,
    kubeconfig: &Kubeconfig,
) -> Result<String, ApiError> {
    let (portal, person, id) = (&call.portal, call.person()?, kubeconfig.id.as_str());
    let ready = portal.namespaces.ensure(person).await;
    ready.map_err(|error| ApiError::unavailable("the cluster", error))?;
    grant::allow(portal, kubeconfig, asked.mode, &person.namespace).await?;
    let seconds = kubeconfig.expires_at.duration_since(kubeconfig.created_at).as_secs();
    let write = |proof: Proof<'_>| text(told, &person.name, &person.namespace, &proof);
    match asked.mode {
        KubeconfigMode::Certificate => {
            let own = match &asked.csr {
                Some(_) => None,
                None => Some(new_request(&person.id, id)?),
            };
            let request = own.as_ref().map(|own| &own.request).or(asked.csr.as_ref());
            let request = request.map(String::as_str).unwrap_or_default();
            let certificate = certificate::sign(portal, id, request, seconds).await?;
            let key = own.as_ref().map(|own| own.key.as_str());
            write(Proof::Certificate { certificate: &certificate, key })
        }
        KubeconfigMode::Token => {
            let token = grant::token(portal, id, seconds).await?;
            write(Proof::Token(&token))
        }
        KubeconfigMode::Oidc => {
            let issuer = portal.settings.origins.first().map(String::as_str).unwrap_or_default();
            write(Proof::Oidc { issuer, id })
        }
    }
}

fn new_request(user: &str, id: &str) -> Result<Request, ApiError> {
    Request::new(&certificate_name(user, id)).map_err(|error| {
        tracing::error!(%error, "a key for a kubeconfig cannot be made");
        ApiError::new(Code::Internal, "a fault of the portal")
    })
}

/// `DELETE /kubeconfigs/{id}`.
pub(super) async fn revoke(call: Call) -> Result<Answer, ApiError> {
    let (portal, kubeconfig) = (&call.portal, call.kubeconfig()?);
    let user = portal.records.user(&kubeconfig.user).await?;
    let namespace = namespace_of(&user.name, user.id.as_str());
    grant::revoke(portal, kubeconfig, &namespace).await?;
    let before = json!({ "user": user.name, "device": kubeconfig.device, "mode": kubeconfig.mode });
    Ok(Answer::done().change(Some(before), None))
}
