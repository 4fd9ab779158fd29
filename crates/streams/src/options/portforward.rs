//! `PodPortForwardOptions`.

use super::OptionsError;
use super::query::{Query, QueryWriter};

/// The ports of a port-forward request. Only the WebSocket channel protocol names them ahead; the
/// others name a port with each connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortForwardOptions {
    /// In the order of the channels.
    pub ports: Vec<u16>,
}

impl PortForwardOptions {
    /// Reads a client's `ports=80,81` and an API server's `port=80,81`; both may be repeated.
    pub fn from_query(query: Option<&str>) -> Result<Self, OptionsError> {
        let query = Query::parse(query);
        let mut ports = Vec::new();
        for name in ["ports", "port"] {
            for value in query.all(name).flat_map(|values| values.split(',')) {
                let port = value.parse().ok().filter(|port| *port > 0);
                let invalid = || OptionsError::Invalid {
                    name,
                    value: value.to_owned(),
                    problem: "must be a port from 1 to 65535",
                };
                ports.push(port.ok_or_else(invalid)?);
            }
        }
        Ok(Self { ports })
    }

    /// The query an API server sends to a kubelet.
    pub fn to_kubelet_query(&self) -> String {
        let ports: Vec<_> = self.ports.iter().map(ToString::to_string).collect();
        let ports = (!ports.is_empty()).then(|| ports.join(","));
        QueryWriter::new().text("port", ports.as_deref()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_both_kinds_of_list_are_read() {
        for query in ["ports=80,8080", "ports=80&ports=8080", "port=80%2C8080", "port=80&port=8080"] {
            assert_eq!(PortForwardOptions::from_query(Some(query)).unwrap().ports, [80, 8080], "{query}");
        }
        assert!(PortForwardOptions::from_query(None).unwrap().ports.is_empty());
    }

    #[test]
    fn what_is_no_port_is_refused() {
        for query in ["ports=0", "ports=", "port=http", "ports=65536", "ports=80,,81"] {
            let error = PortForwardOptions::from_query(Some(query)).unwrap_err();
            assert!(error.to_string().contains("must be a port"), "{query}: {error}");
        }
    }

    #[test]
    fn the_kubelet_gets_one_list() {
        assert_eq!(PortForwardOptions { ports: vec![80, 81] }.to_kubelet_query(), "port=80%2C81");
        assert_eq!(PortForwardOptions::default().to_kubelet_query(), "");
    }
}
