//! The ways in that lead over providers.

use http::header;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Provider, ProviderKind, Way,
    admit::admit,
    back::safe_back,
    code::{CodeProvider, Returned},
    fetch::word,
    flow::{Flow, LIFE},
};
use crate::{
    error::{ApiError, Code},
    identity::{
        attempt, cookie,
        login::{Login, Refusal, SignedIn, conclude, not_begun, welcome},
        token::secret,
    },
    portal::Portal,
    route::{Answer, Call},
};

/// How one can sign in.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LoginProviders {
    /// With a name and a password of the portal: POST /login.
    password: bool,
    /// As anybody: POST /login/development. Pages have to show it.
    development: bool,
    providers: Vec<LoginProvider>,
}

/// One way.
#[derive(Debug, Serialize, JsonSchema)]
struct LoginProvider {
    id: String,
    /// `ldap` takes name and password at POST /login/{id}; browsers go to GET /login/{id}/begin for the others.
    kind: ProviderKind,
    title: String,
}

/// `GET /login/providers`.
pub(in crate::identity) fn list(call: &Call) -> Result<Answer, ApiError> {
    let settings = &call.portal.settings;
    let providers = settings.providers.iter().filter_map(|provider| {
        let kind = provider.way.kind()?;
        Some(LoginProvider { id: provider.id.clone(), kind, title: provider.title.clone() })
    });
    Answer::json(&LoginProviders {
        password: true,
        development: settings.development,
        providers: providers.collect(),
    })
}

/// Where to go afterwards.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BackQuery {
    /// A path of the portal; anything else means its first page.
    back: Option<String>,
}

/// `GET /login/{provider}/begin`.
pub(in crate::identity) async fn begin(call: Call) -> Result<Answer, ApiError> {
    let (provider, code) = code_provider(&call)?;
    match try_begin(&call, provider, code).await {
        Ok(answer) => Ok(answer),
        Err(refusal) => turned_away(&call, &not_begun(&call, &provider.id, refusal).await),
    }
}

async fn try_begin(call: &Call, provider: &Provider, code: &CodeProvider) -> Result<Answer, Refusal> {
    let portal = &call.portal;
    attempt::count_address(portal, call.address).await?;
    let asked: BackQuery = call.query()?;
    let flow =
        Flow::begin(&provider.id, &secret(&portal.entropy)?, safe_back(asked.back.as_deref()), call.now());
    let place = code.authorize(&flow, &redirect(portal, provider)).await?;
    let kept = cookie::LOGIN.write(flow.cookie(), LIFE, portal.settings.secure())?;
    Ok(Answer::see_other(&place)?.header(header::SET_COOKIE, kept))
}

/// What a provider sends a browser back with.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct CallbackQuery {
    /// What tokens are given for.
    code: Option<String>,
    /// What the browser left with.
    state: Option<String>,
    /// Who sends it back.
    iss: Option<String>,
    /// Why it did not let in.
    error: Option<String>,
}

/// `GET /login/{provider}/callback`.
pub(in crate::identity) async fn callback(call: Call) -> Result<Answer, ApiError> {
    let (provider, code) = code_provider(&call)?;
    match come_back(&call, provider, code).await {
        Ok((signed_in, back)) => {
            let answer =
                Answer::see_other(safe_back(Some(&back)))?.header(header::SET_COOKIE, signed_in.cookie);
            Ok(answer.header(header::SET_COOKIE, forgotten(&call)?))
        }
        Err(told) => turned_away(&call, &told),
    }
}

async fn come_back(
    call: &Call,
    provider: &Provider,
    code: &CodeProvider,
) -> Result<(SignedIn, String), ApiError> {
    let (shown, name, back) = match who_came_back(call, provider, code).await {
        Ok((user, back)) => {
            let name = user.name.clone();
            (Ok(user), name, back)
        }
        Err(refusal) => (Err(refusal), String::new(), String::new()),
    };
    Ok((conclude(call, &provider.id, &name, shown).await?, back))
}

async fn who_came_back(
    call: &Call,
    provider: &Provider,
    code: &CodeProvider,
) -> Result<(maar_records::User, String), Refusal> {
    let (portal, now) = (&call.portal, call.now());
    attempt::count_address(portal, call.address).await?;
    let query: CallbackQuery = call.query()?;
    let kept = cookie::LOGIN.read(call.headers(), portal.settings.secure());
    let flow = Flow::resume(&provider.id, kept.as_deref(), query.state.as_deref(), now);
    let flow = flow.map_err(|error| Refusal::refused(error.to_string()))?;
    if !attempt::first_use(portal, &flow.state()).await? {
        return Err(Refusal::refused("this login was finished before"));
    }
    if let Some(error) = &query.error {
        return Err(Refusal::refused(format!("the provider says {}", word(error))));
    }
    let given = query.code.as_deref().filter(|code| !code.is_empty() && code.len() <= 4096);
    let given = given.ok_or_else(|| Refusal::refused("the provider gave no code"))?;
    let redirect = redirect(portal, provider);
    let returned = Returned { code: given, issuer: query.iss.as_deref(), redirect: &redirect };
    let profile = code.finish(&flow, &returned, now).await?;
    Ok((admit(portal, &profile, &provider.admission).await?, flow.back))
}

/// `POST /login/{provider}`: name and password of a directory.
pub(in crate::identity) async fn login(call: Call) -> Result<Answer, ApiError> {
    let portal = &call.portal;
    let provider = portal.settings.providers.get(call.part("provider")).ok_or_else(missing)?;
    let Way::Ldap(ldap) = &provider.way else { return Err(missing()) };
    let asked: Login = call.body()?;
    let shown = async {
        attempt::count_name(portal, &provider.id, &asked.name).await?;
        attempt::count_address(portal, call.address).await?;
        let profile = ldap.check(&asked.name, &asked.password).await?;
        attempt::forgive_name(portal, &provider.id, &asked.name).await?;
        admit(portal, &profile, &provider.admission).await
    };
    let shown = shown.await;
    welcome(&call, conclude(&call, &provider.id, &asked.name, shown).await?)
}

fn code_provider(call: &Call) -> Result<(&Provider, &CodeProvider), ApiError> {
    let provider = call.portal.settings.providers.get(call.part("provider")).ok_or_else(missing)?;
    match &provider.way {
        Way::Code(code) => Ok((provider, code)),
        _ => Err(missing()),
    }
}

fn missing() -> ApiError {
    ApiError::not_found("this provider")
}

/// Where a provider sends browsers back to: one address for each, so that none answers for another.
fn redirect(portal: &Portal, provider: &Provider) -> String {
    let origin = portal.settings.origins.first().map_or("", String::as_str);
    format!("{origin}/api/v1/login/{}/callback", provider.id)
}

/// Back to the page for signing in, which says why in the words of its reader.
fn turned_away(call: &Call, told: &ApiError) -> Result<Answer, ApiError> {
    let why = match told.code {
        Code::TooMany => "tooMany",
        Code::Unavailable => "unavailable",
        _ => "loginRefused",
    };
    let place = format!("/login?failed={why}&request={}", call.request_id);
    Ok(Answer::see_other(&place)?.header(header::SET_COOKIE, forgotten(call)?))
}

fn forgotten(call: &Call) -> Result<http::HeaderValue, ApiError> {
    cookie::LOGIN.write("", 0, call.portal.settings.secure())
}
