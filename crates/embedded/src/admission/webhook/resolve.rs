//! From a Service to an address that answers for it.

use maar_machinery::selector::Labels as _;
use serde_json::Value;

use super::configuration::{ClientConfig, Service};
use super::connection::{self, Address};
use crate::admission::json::items;
use crate::server::Server;

const SLICES: &str = "endpointslices.discovery.k8s.io";
const OF_SERVICE: &str = "kubernetes.io/service-name";
const DEFAULT_PORT: u16 = 443;

impl Server {
    /// Where a webhook is now.
    pub(super) fn resolve_webhook(&self, client: &ClientConfig, timeout: u64) -> Result<Address, String> {
        match (&client.url, &client.service) {
            (Some(url), _) => Address::of_url(url),
            (None, Some(service)) => {
                let mut address = by_name(service);
                match self.behind(service, &address) {
                    Ok(target) => address.target = target,
                    Err(why) => return Err(connection::failure(&address, timeout, &why)),
                }
                Ok(address)
            }
            (None, None) => Err("neither a URL nor a Service is given".to_owned()),
        }
    }

    /// What answers for a Service.
    fn behind(&self, service: &Service, address: &Address) -> Result<(String, u16), String> {
        let Service { namespace, name, .. } = service;
        let port = address.port;
        // Whoever set a dialer knows Services by their names.
        let place = format!("{}:{port}", address.name);
        if self.webhooks.read().as_ref().is_some_and(|dial| dial.dial(&place).is_some()) {
            return Ok(address.target.clone());
        }
        let stored = self.stored("services", namespace, name);
        let object = stored.ok_or_else(|| format!("service {name:?} not found"))?.value();
        if object["spec"]["type"] == "ExternalName" {
            let host = object["spec"]["externalName"].as_str().unwrap_or_default();
            return Ok((host.to_owned(), port));
        }
        let named = port_name(&object, port)
            .ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
        let slices = self.store.list(SLICES, Some(namespace)).rows;
        let slices = slices.iter().filter(|slice| slice.meta.label(OF_SERVICE) == Some(name));
        let found = slices.map(|slice| slice.value()).find_map(|slice| endpoint(&slice, &named));
        found.ok_or_else(|| format!("no endpoints available for service {name:?}"))
    }
}

fn by_name(service: &Service) -> Address {
    let name = format!("{}.{}.svc", service.name, service.namespace);
    let port = service.port.unwrap_or(DEFAULT_PORT);
    let path = service.path.clone().unwrap_or_else(|| "/".to_owned());
    Address { name: name.clone(), port, path, target: (name, port) }
}

/// The name that a port of a Service has, perhaps empty.
fn port_name(service: &Value, port: u16) -> Option<String> {
    let mut ports = items(&service["spec"], "ports");
    let found = ports.find(|one| one["port"].as_u64() == Some(port.into()))?;
    Some(found["name"].as_str().unwrap_or_default().to_owned())
}

/// The first address of a slice that is ready, with the port of that name.
fn endpoint(slice: &Value, port_name: &str) -> Option<(String, u16)> {
    let mut ports = items(slice, "ports");
    let port = ports.find(|port| port["name"].as_str().unwrap_or_default() == port_name)?;
    let port = u16::try_from(port["port"].as_u64()?).ok()?;
    let mut ready = items(slice, "endpoints").filter(|one| one["conditions"]["ready"] != false);
    let address = ready.find_map(|endpoint| items(endpoint, "addresses").next()?.as_str())?;
    Some((address.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_port_leads_to_the_endpoint_port_of_the_same_name() {
        let service =
            json!({"spec": {"ports": [{"name": "metrics", "port": 80}, {"name": "hooks", "port": 443}]}});
        assert_eq!(port_name(&service, 443).as_deref(), Some("hooks"));
        assert_eq!(port_name(&service, 8443), None);
        let slice = json!({"ports": [{"name": "metrics", "port": 8080}, {"name": "hooks", "port": 9443}],
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": false}}, {"addresses": ["10.0.0.2"]}]});
        assert_eq!(endpoint(&slice, "hooks"), Some(("10.0.0.2".to_owned(), 9443)));
        assert_eq!(endpoint(&slice, "other"), None);
    }
}
