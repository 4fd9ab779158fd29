//! What an operator says of the provider.

use std::{io, path::Path};

use maar_issuer::{ClientError, ClientFile, Clients, KeyError, Lives, RsaKey, Sealer};

/// Why there can be no provider.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// The file of clients is none.
    #[error("the file of OpenID clients cannot be understood: {0}")]
    File(String),
    /// One of the clients makes no sense.
    #[error("the file of OpenID clients makes no sense")]
    Client(#[from] ClientError),
    /// A key or secret is none.
    #[error("a key of the OpenID provider cannot be used")]
    Key(#[from] KeyError),
}

/// The OpenID provider.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    pub(crate) clients: Clients,
    pub(crate) sealer: Sealer,
    pub(crate) rsa: Vec<RsaKey>,
    /// How long things last.
    pub lives: Lives,
}

impl IssuerSettings {
    /// A provider for our own programs; `secret` has at least 32 random bytes and seals the keys in the records.
    pub fn new(secret: &[u8]) -> Result<Self, IssuerError> {
        let sealer = Sealer::new(secret)?;
        Ok(Self { clients: Clients::default(), sealer, rsa: Vec::new(), lives: Lives::default() })
    }

    /// With keys for RS256, as PEM; the first signs. Say them before the clients.
    pub fn with_rsa(mut self, keys: &[String]) -> Result<Self, IssuerError> {
        self.rsa = keys.iter().map(|text| RsaKey::from_pem(text)).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// With the clients that a text in YAML names; `read` reads the files that it refers to.
    pub fn with_clients(
        mut self,
        text: &str,
        read: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, IssuerError> {
        let file: ClientFile =
            serde_saphyr::from_str(text).map_err(|error| IssuerError::File(error.to_string()))?;
        self.clients = Clients::new(file, !self.rsa.is_empty(), read)?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_clients_is_read_and_its_faults_are_named() {
        let read = |_: &Path| Ok("a secret of the client".to_owned());
        let settings = || IssuerSettings::new(&[1; 32]).unwrap();
        let good = "clients:\n- { id: grafana, secretFile: s, redirects: ['https://g.example/login'] }\n";
        assert!(settings().with_clients(good, &read).is_ok());
        let bad = [("clients: [", "cannot be understood"), ("clients: [{ id: a }]", "makes no sense")];
        for (text, want) in bad {
            let error = settings().with_clients(text, &read).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        assert!(IssuerSettings::new(b"short").is_err());
    }
}
