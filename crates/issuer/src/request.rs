//! What a client asks for when it sends a browser, checked.

use serde::{Deserialize, Serialize};

use crate::{
    Params, Refusal,
    client::{Client, Clients},
    pkce, redirect,
    scope::OPENID,
};

/// A request that makes sense.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) client: String,
    pub(crate) redirect: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) state: Option<String>,
    pub(crate) nonce: Option<String>,
    pub(crate) challenge: Option<String>,
    pub(crate) prompt: Prompt,
    /// Seconds since the user has shown who he is, at most.
    pub(crate) max_age: Option<i64>,
}

/// What the user is to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prompt {
    pub(crate) none: bool,
    pub(crate) login: bool,
    pub(crate) consent: bool,
}

/// Why there is no request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is not known who asks or where to go back: only the user can be told.
    Here(Refusal),
    /// The client is told, at this address and with its state.
    There { redirect: String, state: Option<String>, refusal: Refusal },
}

/// Reads a request.
pub(crate) fn read(params: &Params, clients: &Clients) -> Result<Request, Wrong> {
    let (client, redirect) = whence(params, clients).map_err(Wrong::Here)?;
    let state = params.get("state").map(str::to_owned);
    rest(params, client, redirect).map_err(|refusal| {
        // A state that is there twice is nobody's.
        let state = state.filter(|_| !params.is_twice("state"));
        Wrong::There { redirect: redirect.to_owned(), state, refusal }
    })
}

/// Who asks, and where to go back: nothing is sent anywhere before both are known.
fn whence<'a>(params: &'a Params, clients: &'a Clients) -> Result<(&'a Client, &'a str), Refusal> {
    if params.is_twice("client_id") || params.is_twice("redirect_uri") {
        return Err(Refusal::request("a parameter is there twice"));
    }
    let client = clients.get(params.need("client_id")?);
    let client =
        client.ok_or_else(|| Refusal::new("unauthorized_client", "this client is not known here"))?;
    let asked = params.need("redirect_uri")?;
    if !redirect::allowed(&client.redirects, asked, client.native) {
        return Err(Refusal::request("redirect_uri is not registered for this client"));
    }
    Ok((client, asked))
}

fn rest(params: &Params, client: &Client, redirect: &str) -> Result<Request, Refusal> {
    params.once()?;
    if params.get("request").is_some() {
        return Err(Refusal::new("request_not_supported", "say it in parameters"));
    }
    if params.get("request_uri").is_some() {
        return Err(Refusal::new("request_uri_not_supported", "say it in parameters"));
    }
    if params.need("response_type")? != "code" {
        return Err(Refusal::new("unsupported_response_type", "only code is"));
    }
    if params.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(Refusal::request("response_mode is query"));
    }
    let scopes = client.granted(params.get("scope"))?;
    if !scopes.iter().any(|scope| scope == OPENID) {
        return Err(Refusal::new("invalid_scope", "scope has to name openid"));
    }
    Ok(Request {
        client: client.id.clone(),
        redirect: redirect.to_owned(),
        scopes,
        state: short(params, "state")?,
        nonce: short(params, "nonce")?,
        challenge: challenge(params, client)?,
        prompt: prompt(params)?,
        max_age: max_age(params)?,
    })
}

fn short(params: &Params, name: &str) -> Result<Option<String>, Refusal> {
    match params.get(name) {
        Some(text) if text.len() > 1024 => {
            Err(Refusal::request(format!("{name} is longer than 1024 characters")))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn challenge(params: &Params, client: &Client) -> Result<Option<String>, Refusal> {
    let Some(challenge) = params.get("code_challenge") else {
        if client.is_public() {
            return Err(Refusal::request("code_challenge is missing: a client without a secret needs it"));
        }
        if params.get("code_challenge_method").is_some() {
            return Err(Refusal::request("code_challenge is missing"));
        }
        return Ok(None);
    };
    // Without a method it would be plain, which proves nothing to who has seen the request.
    if params.get("code_challenge_method") != Some("S256") {
        return Err(Refusal::request("code_challenge_method is S256"));
    }
    if !pkce::is_challenge(challenge) {
        return Err(Refusal::request("code_challenge is no SHA-256 in base64url"));
    }
    Ok(Some(challenge.to_owned()))
}

fn prompt(params: &Params) -> Result<Prompt, Refusal> {
    let mut prompt = Prompt::default();
    for word in params.get("prompt").unwrap_or_default().split(' ').filter(|word| !word.is_empty()) {
        match word {
            "none" => prompt.none = true,
            "login" | "select_account" => prompt.login = true,
            "consent" => prompt.consent = true,
            _ => return Err(Refusal::request("prompt is none, login, consent or select_account")),
        }
    }
    if prompt.none && (prompt.login || prompt.consent) {
        return Err(Refusal::request("prompt is none alone"));
    }
    Ok(prompt)
}

fn max_age(params: &Params) -> Result<Option<i64>, Refusal> {
    let Some(text) = params.get("max_age") else { return Ok(None) };
    let seconds = text.parse().ok().filter(|seconds| *seconds >= 0);
    seconds.map(Some).ok_or_else(|| Refusal::request("max_age is a number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "client_id=kubernetes&redirect_uri=http://127.0.0.1:9/callback&response_type=code&scope=openid%20kubeconfig:d-1&state=s\
                        &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

    fn asked(text: &str) -> Result<Request, Wrong> {
        read(&Params::parse(text.as_bytes()), &Clients::default())
    }

    #[test]
    fn nobody_is_sent_where_it_is_not_known_that_it_is_the_client() {
        assert!(asked(GOOD).is_ok());
        let rows = [
            GOOD.replace("kubernetes", "unknown"),
            GOOD.replace("client_id=kubernetes&", ""),
            GOOD.replace("http://127.0.0.1:9/callback", "https://evil.example/callback"),
            GOOD.replace("redirect_uri=http://127.0.0.1:9/callback&", ""),
            format!("{GOOD}&redirect_uri=https://evil.example/"),
            format!("{GOOD}&client_id=maar-cli"),
            GOOD.replace("kubernetes", "maar-cli").replace("%20kubeconfig:d-1", "%20maar"),
        ];
        for text in rows {
            assert!(matches!(asked(&text), Err(Wrong::Here(_))), "{text}");
        }
    }

    #[test]
    fn the_client_hears_what_is_wrong_with_its_state() {
        let without = |part: &str| GOOD.replace(part, "");
        let rows = [
            (GOOD.replace("=code&", "=token&"), "unsupported_response_type"),
            (without("openid%20"), "invalid_scope"),
            (without("%20kubeconfig:d-1"), "invalid_scope"),
            (without("scope=openid%20kubeconfig:d-1&"), "invalid_scope"),
            (without("&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"), "invalid_request"),
            (without("&code_challenge_method=S256"), "invalid_request"),
            (GOOD.replace("S256", "plain"), "invalid_request"),
            (GOOD.replace("E9Mel", "E9"), "invalid_request"),
            (format!("{GOOD}&response_mode=fragment"), "invalid_request"),
            (format!("{GOOD}&request=eyJ"), "request_not_supported"),
            (format!("{GOOD}&request_uri=https://evil.example"), "request_uri_not_supported"),
            (format!("{GOOD}&prompt=none%20login"), "invalid_request"),
            (format!("{GOOD}&max_age=-1"), "invalid_request"),
            (format!("{GOOD}&nonce=a&nonce=b"), "invalid_request"),
        ];
        for (text, want) in rows {
            let Err(Wrong::There { state, refusal, .. }) = asked(&text) else { panic!("{text}") };
            assert_eq!((state.as_deref(), refusal.code), (Some("s"), want), "{text}");
        }
    }
}
