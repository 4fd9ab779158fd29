//! Shapes: one for all Pods of a template.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use maar_api::{names, resources::PodResources};
use serde_json::json;

use super::{CardNames, Ties, Unfit, cards::only, terms};
use crate::{
    adapter::wire::{self, Annotations, LabelSelector, Labels, PodSpec, Requirement},
    model::{Amounts, CardRequest, ResourceId, Resources, Shape, WHOLE_CARD},
};

/// How many shapes are kept before those that nobody uses are dropped.
const FEW: usize = 256;

/// All that a shape follows from. Equal templates have equal shapes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    namespace: Arc<str>,
    spec: PodSpec,
    card_share: Option<String>,
    card_index: Option<String>,
    volumes: Ties,
}

impl Template {
    /// From [`PodSpec::take_template`], with what depends on the Pod's labels filled in.
    pub(crate) fn new(
        namespace: Arc<str>,
        mut spec: PodSpec,
        labels: &Labels,
        annotations: &Annotations,
        volumes: Ties,
        namespaces: &BTreeMap<String, Labels>,
    ) -> Self {
        for constraint in &mut spec.topology_spread_constraints {
            let keys = std::mem::take(&mut constraint.match_label_keys);
            narrow(constraint.label_selector.get_or_insert_default(), &keys, "In", labels);
        }
        let affinity = &mut spec.affinity;
        for term in affinity.pod_affinity.terms_mut().chain(affinity.pod_anti_affinity.terms_mut()) {
            let (same, other) =
                (std::mem::take(&mut term.match_label_keys), std::mem::take(&mut term.mismatch_label_keys));
            if let Some(selector) = &mut term.label_selector {
                narrow(selector, &same, "In", labels);
                narrow(selector, &other, "NotIn", labels);
            }
            resolve_namespaces(term, namespaces);
        }
        let asked = |name| annotations.get(name).map(str::to_owned);
        let (card_share, card_index) =
            (asked(names::ANNOTATION_CARD_SHARE), asked(names::ANNOTATION_CARD_INDEX));
        Self { namespace, spec, card_share, card_index, volumes }
    }

    fn shape(&self, cards: &CardNames, resources: &mut Resources) -> Result<Shape, Unfit> {
        let Self { namespace, spec, card_share, card_index, volumes } = self;
        if let Some(claim) = spec.resource_claims.first() {
            let name = &claim.name;
            return Err(Unfit::new(format!(
                "resource claims (here {name:?}) are not supported by this scheduler"
            )));
        }
        let (requests, whole) = requests(spec, cards, resources)?;
        let cards = match card_share {
            None => match card_index {
                None => whole,
                Some(index) => only(whole, index)?,
            },
            Some(share) if whole == CardRequest::None => cards.share(share, card_index.as_deref())?,
            Some(_) => {
                return Err(Unfit::new("it asks for whole cards and for a share of one at the same time"));
            }
        };
        let required = spec.affinity.node_affinity.required.as_ref();
        Ok(Shape {
            namespace: namespace.to_string(),
            requests,
            cards,
            node_selector: spec.node_selector.clone(),
            node_terms: required.map_or(Ok(Vec::new()), |one| terms::terms(&one.node_selector_terms))?,
            preferred_nodes: terms::preferred(&spec.affinity.node_affinity)?,
            tolerations: spec.tolerations.iter().map(terms::toleration).collect::<Result<_, _>>()?,
            host_ports: host_ports(spec),
            affinity: terms::pod_terms(&spec.affinity.pod_affinity.required, namespace)?,
            anti_affinity: terms::pod_terms(&spec.affinity.pod_anti_affinity.required, namespace)?,
            preferred_pods: terms::preferred_pods(&spec.affinity, namespace)?,
            spread: spec.topology_spread_constraints.iter().map(terms::spread).collect::<Result<_, _>>()?,
            volume_terms: volumes.terms.clone(),
            static_claims: volumes.claims.clone(),
            node_name: None,
        })
    }
}

/// Adds that the Pods meant have the same (or another) value of these labels.
fn narrow(selector: &mut LabelSelector, keys: &[String], operator: &str, labels: &Labels) {
    for key in keys {
        if let Some(value) = labels.get(key) {
            let (key, operator) = (key.clone(), operator.to_owned());
            selector.match_expressions.push(Requirement { key, operator, values: vec![value.clone()] });
        }
    }
}

/// Turns a selector of namespaces into their names. The empty one stays: it means all of them.
fn resolve_namespaces(term: &mut wire::PodAffinityTerm, namespaces: &BTreeMap<String, Labels>) {
    let Some(selector) = term.namespace_selector.take_if(|one| *one != LabelSelector::default()) else {
        return;
    };
    let matching = namespaces.iter().filter(|(_, labels)| matches(&selector, labels));
    term.namespaces.extend(matching.map(|(name, _)| name.clone()));
    term.namespaces.sort();
    term.namespaces.dedup();
    if term.namespaces.is_empty() {
        // Nobody's namespace: the term is about no Pod at all, not about the Pod's own namespace.
        term.namespaces.push(String::new());
    }
}

fn matches(selector: &LabelSelector, labels: &Labels) -> bool {
    let has = |one: &Requirement| {
        let value = labels.get(&one.key);
        match one.operator.as_str() {
            "In" => value.is_some_and(|value| one.values.contains(value)),
            "NotIn" => value.is_none_or(|value| !one.values.contains(value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    };
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(has)
}

/// What a Pod takes of its node beside cards, and the whole cards it asks for.
fn requests(
    spec: &PodSpec,
    cards: &CardNames,
    resources: &mut Resources,
) -> Result<(Amounts, CardRequest), Unfit> {
    let container = |one: &wire::Container| json!({"restartPolicy": one.restart_policy, "resources": {"requests": one.resources.requests}});
    let document = json!({"spec": {
        "containers": spec.containers.iter().map(container).collect::<Vec<_>>(),
        "initContainers": spec.init_containers.iter().map(container).collect::<Vec<_>>(),
        "resources": {"requests": spec.resources.requests},
        "overhead": spec.overhead,
    }});
    let list = PodResources::from_json(&document)
        .map_err(|error| {
            Unfit::new(format!("its resources cannot be read: {}", maar_controller::error::chain(&error)))
        })?
        .requests();
    let mut whole = CardRequest::None;
    for (name, quantity) in &list {
        let Some(kind) = cards.find(name).filter(|_| quantity.millis() != 0) else { continue };
        if whole != CardRequest::None {
            return Err(Unfit::new("it asks for cards of two kinds at once"));
        }
        let count = u16::try_from(quantity.value())
            .ok()
            .filter(|count| i64::from(*count) * i64::from(WHOLE_CARD) == quantity.millis())
            .ok_or_else(|| Unfit::new(format!("{quantity} is not a number of cards ({name})")))?;
        whole = CardRequest::whole(kind, count);
    }
    if let Some((name, quantity)) = list.iter().find(|(_, quantity)| quantity.nanos() < 0) {
        return Err(Unfit::new(format!("it asks for {quantity} of {name}")));
    }
    let mut amounts = resources.amounts(&list.filtered(|name| cards.find(name).is_none()));
    amounts.set(ResourceId::PODS, 1);
    Ok((amounts, whole))
}

fn host_ports(spec: &PodSpec) -> Vec<(String, String, u16)> {
    let sidecars = spec.init_containers.iter().filter(|one| one.restart_policy.as_deref() == Some("Always"));
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    let taken = ports.filter(|port| port.host_port != 0).map(|port| {
        let protocol = if port.protocol.is_empty() { "TCP" } else { &port.protocol };
        let address = if port.host_ip.is_empty() { "0.0.0.0" } else { &port.host_ip };
        (address.to_owned(), protocol.to_owned(), port.host_port)
    });
    taken.collect()
}

/// The shapes in use. Pods of one template share one, and what is wrong with a template is found out once.
#[derive(Debug)]
pub(crate) struct Shapes {
    known: HashMap<Template, Result<Arc<Shape>, Unfit>>,
    sweep_at: usize,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { known: HashMap::new(), sweep_at: FEW }
    }
}

impl Shapes {
    pub(crate) fn get(
        &mut self,
        template: Template,
        cards: &CardNames,
        resources: &mut Resources,
    ) -> Result<Arc<Shape>, Unfit> {
        if let Some(known) = self.known.get(&template) {
            return known.clone();
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, shape| shape.as_ref().is_ok_and(|shape| Arc::strong_count(shape) > 1));
            self.sweep_at = FEW.max(self.known.len() * 2);
        }
        let shape = template.shape(cards, resources).map(Arc::new);
        self.known.insert(template, shape.clone());
        shape
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests;
