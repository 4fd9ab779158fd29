//! The keys as they are now: made, shown and forgotten when it is time, by whichever process comes first.

use maar_records::SigningKey;
use serde_json::{Value, json};

use crate::{
    Issuer, Refusal,
    client::{Algorithm, Client},
    key::{Signer, make},
    rotation::{Plan, plan},
};

impl Issuer {
    /// The keys that are in use, and where among them the plan is about.
    async fn keys(&self) -> Result<(Vec<SigningKey>, Plan), Refusal> {
        let now = self.host.now();
        let mut kept = self.records.signing_keys().await?;
        // Another secret than the one they were sealed with: they are shown on, and new ones sign.
        let opens = |key: &SigningKey| Signer::open(&self.settings.sealer, &key.id, &key.sealed).is_some();
        let made = |kept: &[SigningKey]| -> Vec<_> {
            kept.iter().filter(|key| opens(key)).map(|key| key.created_at).collect()
        };
        let mut planned = plan(&made(&kept), now, self.settings.lives.schedule());
        if planned.make {
            self.add_key(kept.last().map(|key| key.created_at)).await?;
            kept = self.records.signing_keys().await?;
            planned = plan(&made(&kept), now, self.settings.lives.schedule());
        }
        let oldest = kept.iter().filter(|key| opens(key)).nth(planned.forget).map(|key| key.created_at);
        for key in kept.iter().filter(|key| planned.forget > 0 && Some(key.created_at) < oldest) {
            tracing::info!(key.id, "a key that signed tokens is forgotten");
            self.records.remove_signing_key(&key.id).await?;
        }
        kept.retain(|key| planned.forget == 0 || Some(key.created_at) >= oldest);
        Ok((kept, planned))
    }

    async fn add_key(&self, newest: Option<jiff::Timestamp>) -> Result<(), Refusal> {
        let mut nonce = [0; 12];
        if !self.host.fill(&mut nonce) {
            return Err(Refusal::new("temporarily_unavailable", "there is no randomness"));
        }
        let made = make(&self.settings.sealer, nonce).map_err(|error| Refusal::unavailable(&error))?;
        tracing::info!(key.id = made.id, "a new key will sign tokens");
        let (now, id) = (self.host.now(), made.id);
        let key = SigningKey { id, sealed: made.sealed, public: made.public, created_at: now };
        // Whether it was ours or that of another who was faster, there is one now.
        self.records.add_signing_key(&key, newest).await?;
        Ok(())
    }

    /// The key that signs for a client.
    pub(crate) async fn signer(&self, client: &Client) -> Result<Signer, Refusal> {
        let missing = || Refusal::new("temporarily_unavailable", "there is no key that signs");
        let brought = self.settings.rsa.first().map(crate::RsaKey::signer);
        match (client.algorithm, brought) {
            (Algorithm::Rs256 | Algorithm::AsBrought, Some(brought)) => return Ok(brought),
            (Algorithm::Rs256, None) => return Err(missing()),
            (Algorithm::AsBrought, None) | (Algorithm::Es256, _) => {}
        }
        let (kept, planned) = self.keys().await?;
        let opened = kept.iter().filter_map(|key| Signer::open(&self.settings.sealer, &key.id, &key.sealed));
        let opened: Vec<Signer> = opened.collect();
        let place = planned.signer.map(|place| place.saturating_sub(planned.forget));
        place.and_then(|place| opened.into_iter().nth(place)).ok_or_else(missing)
    }

    /// The public keys, as a JSON Web Key Set.
    pub async fn jwks(&self) -> Result<Value, Refusal> {
        let (kept, _) = self.keys().await?;
        let own = kept.into_iter().map(|key| key.public);
        let all: Vec<Value> = own.chain(self.settings.rsa.iter().map(|key| key.public.clone())).collect();
        Ok(json!({ "keys": all }))
    }
}
