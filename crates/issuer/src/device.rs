//! Programs without a browser (RFC 8628). Whoever types their code is always asked whether he agrees, whoever the client
//! is: a code can come from somebody who wants to be let in in another's name.

use maar_records::{Device, NewDevice};
use serde_json::{Value, json};

use crate::{
    Issuer, Params, Question, Refusal, SignedIn,
    secret::{hash, secret, typed_code, user_code},
};

/// Seconds between two questions of a device.
const INTERVAL: i64 = 5;
/// How often a code that is taken is made anew.
const ATTEMPTS: usize = 5;

impl Issuer {
    /// A program wants to be let in: what it holds, and what its user types.
    pub async fn device(&self, params: &Params, authorization: Option<&str>) -> Result<Value, Refusal> {
        params.once()?;
        let client = self.client(params, authorization)?;
        if !client.device {
            return Err(Refusal::new("unauthorized_client", "this client may not use the device flow"));
        }
        let scopes = client.granted(params.get("scope"))?;
        if scopes.is_empty() {
            return Err(Refusal::new("invalid_scope", "scope names nothing that this client may have"));
        }
        let token = secret(&*self.host, "maar-dc-")?;
        let mut device = NewDevice {
            token: hash(&token),
            user_code: user_code(&*self.host)?,
            client: client.id.clone(),
            scopes,
            interval: INTERVAL,
            expires_at: self.after(self.settings.lives.wait),
        };
        for _ in 0..ATTEMPTS {
            match self.records.create_device(&device).await {
                Err(maar_records::Error::Conflict { .. }) => device.user_code = user_code(&*self.host)?,
                kept => {
                    kept?;
                    return Ok(self.told(&token, &device.user_code));
                }
            }
        }
        Err(Refusal::new("temporarily_unavailable", "try again"))
    }

    fn told(&self, token: &str, user_code: &str) -> Value {
        json!({
            "device_code": token,
            "user_code": user_code,
            "verification_uri": self.url("/device"),
            "verification_uri_complete": self.url(&format!("/device?code={user_code}")),
            "expires_in": self.settings.lives.wait.as_secs(),
            "interval": INTERVAL,
        })
    }

    async fn found(&self, typed: &str) -> Result<(String, Device), Refusal> {
        let unknown =
            || Refusal::new("not_found", "no device waits with this code: it was answered, or took too long");
        let code = typed_code(typed).ok_or_else(unknown)?;
        let device = self.records.waiting_device(&code, self.host.now()).await?.ok_or_else(unknown)?;
        Ok((code, device))
    }

    /// The device that waits with a code, and until when.
    pub async fn waiting_device(&self, typed: &str) -> Result<(Question, jiff::Timestamp), Refusal> {
        let (_, device) = self.found(typed).await?;
        let name = self.settings.clients.get(&device.client).map(|client| client.name.clone());
        let client = name.ok_or_else(|| Refusal::client("this client is not known any more"))?;
        let redirect = String::new();
        Ok((Question { client, scopes: device.scopes, redirect, consent: true }, device.expires_at))
    }

    /// The answer of whoever typed the code, once.
    pub async fn answer_device(
        &self,
        typed: &str,
        who: &SignedIn,
        approve: bool,
    ) -> Result<Question, Refusal> {
        let (code, device) = self.found(typed).await?;
        let (question, _) = self.waiting_device(typed).await?;
        let grant = if !approve {
            None
        } else if self.may_give(&who.user, &device.scopes).await? {
            Some(self.grant(&device.client, &device.scopes, who).await?)
        } else {
            return Err(Refusal::new("access_denied", "the kubeconfig was revoked, or is somebody else's"));
        };
        let now = self.host.now();
        if self.records.answer_device(&code, grant.as_deref(), now).await? {
            return Ok(question);
        }
        // Somebody was faster: what was just granted is nobody's.
        if let Some(grant) = grant {
            self.records.revoke_grant(&grant, now).await?;
        }
        Err(Refusal::new("not_found", "this device was answered"))
    }
}
