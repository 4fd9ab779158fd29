//! From the file to a [`Profile`]: every rule, each with an error that names the field and what it allows.

use std::{collections::BTreeMap, time::Duration};

use maar_quantities::{Quantity, ResourceList};
use thiserror::Error;

use super::{Cards, Pool, Profile, Taint, raw, syntax};
use crate::duration;

const SUBDOMAIN: &str =
    "lower-case letters, digits, dashes and dots, starting and ending with a letter or digit";
const QUALIFIED: &str = "a name such as accelerator or example.com/accelerator";
const LABEL_VALUE: &str = "at most 63 letters, digits, dashes, underscores and dots";
const QUANTITY: &str = "a quantity that is not negative, such as 16, 500m or 64Gi";
const WHOLE: &str = "a whole number that is not negative";

/// Why a profile was refused.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ProfileError {
    /// Not YAML, an unknown field, a missing one, or a value of the wrong kind.
    #[error("the profile cannot be read: {0}")]
    Syntax(String),
    /// A value that is not allowed.
    #[error("{field}: {value:?} is not allowed; use {allowed}")]
    Value {
        /// Path of the field.
        field: String,
        /// What the file says.
        value: String,
        /// What it may say.
        allowed: String,
    },
    /// Two fields that do not go together.
    #[error("{field}: {problem}")]
    Conflict {
        /// Path of the field.
        field: String,
        /// What is wrong.
        problem: String,
    },
}

type Result<T> = std::result::Result<T, ProfileError>;

fn refuse<T>(field: &str, value: &str, allowed: &str) -> Result<T> {
    Err(ProfileError::Value { field: field.into(), value: value.into(), allowed: allowed.into() })
}

fn require(holds: bool, field: &str, value: &str, allowed: &str) -> Result<()> {
    if holds { Ok(()) } else { refuse(field, value, allowed) }
}

pub(super) fn profile(raw: raw::Profile) -> Result<Profile> {
    let heartbeat = raw.heartbeat.map(|text| time("heartbeat", &text)).transpose()?;
    if let Some(interval) = heartbeat {
        // Nodes are given up after forty or fifty seconds of silence.
        let sensible = (Duration::from_secs(1)..=Duration::from_secs(30)).contains(&interval);
        require(sensible, "heartbeat", &format!("{interval:?}"), "between 1s and 30s")?;
    }
    let start_delay = raw.start_delay.map(|text| time("startDelay", &text)).transpose()?;
    let pools: Vec<Pool> = raw.pools.into_iter().enumerate().map(pool).collect::<Result<_>>()?;
    distinct(&pools)?;
    Ok(Profile {
        name: raw.name.unwrap_or_else(|| "unnamed".into()),
        heartbeat,
        start_delay: start_delay.unwrap_or(Duration::from_secs(1)),
        events: raw.events,
        pools,
    })
}

/// Two pools must not be able to produce the same node name, however large they grow.
fn distinct(pools: &[Pool]) -> Result<()> {
    for (index, pool) in pools.iter().enumerate() {
        for (other_index, other) in pools.iter().enumerate() {
            let tail = other.name_prefix.strip_prefix(pool.name_prefix.as_str());
            if index != other_index && tail.is_some_and(|tail| tail.bytes().all(|byte| byte.is_ascii_digit()))
            {
                return Err(ProfileError::Conflict {
                    field: format!("pools[{}].namePrefix", index.max(other_index)),
                    problem: format!(
                        "{:?} and {:?} would give nodes of pools {:?} and {:?} the same names",
                        pool.name_prefix, other.name_prefix, pool.name, other.name
                    ),
                });
            }
            if index != other_index && pool.name == other.name {
                return Err(ProfileError::Conflict {
                    field: format!("pools[{}].name", index.max(other_index)),
                    problem: format!("there is another pool {:?}", pool.name),
                });
            }
        }
    }
    Ok(())
}

fn pool((index, raw): (usize, raw::Pool)) -> Result<Pool> {
    let at = |field: &str| format!("pools[{index}].{field}");
    require(syntax::is_subdomain(&raw.name), &at("name"), &raw.name, SUBDOMAIN)?;
    let name_prefix = raw.name_prefix.clone().unwrap_or_else(|| format!("{}-", raw.name));
    let longest = format!("{name_prefix}4294967295");
    let fits = syntax::is_subdomain(&longest) && syntax::is_label_value(&longest);
    require(fits, &at("namePrefix"), &name_prefix, &format!("{SUBDOMAIN}, and at most 53 of them"))?;
    for (number, zone) in raw.zones.iter().enumerate() {
        require(syntax::is_label_value(zone), &at(&format!("zones[{number}]")), zone, LABEL_VALUE)?;
    }
    if let Some(region) = &raw.region {
        require(syntax::is_label_value(region), &at("region"), region, LABEL_VALUE)?;
    }
    require(raw.nodes_per_rack != Some(0), &at("nodesPerRack"), "0", "1 or more, or leave it out")?;
    let architecture = raw.architecture.clone().unwrap_or_else(|| "amd64".into());
    require(
        syntax::is_label_value(&architecture),
        &at("architecture"),
        &architecture,
        "such as amd64 or arm64",
    )?;
    taints(&raw.taints, &at)?;
    let cards = raw.cards.as_ref().map(|raw| cards(raw, &at)).transpose()?;
    let capacity = capacity(&raw, cards.as_ref(), &at)?;
    let allocatable = allocatable(&capacity, &raw.reserved, &at)?;
    Ok(Pool {
        labels: labels(&raw.labels, &at)?,
        annotations: annotations(&raw.annotations, &at)?,
        name: raw.name,
        count: raw.count,
        name_prefix,
        taints: raw.taints,
        capacity,
        allocatable,
        cards,
        region: raw.region,
        zones: raw.zones,
        nodes_per_rack: raw.nodes_per_rack,
        architecture,
    })
}

type At<'a> = &'a dyn Fn(&str) -> String;

fn labels(raw: &BTreeMap<String, raw::Scalar>, at: At<'_>) -> Result<BTreeMap<String, String>> {
    raw.iter()
        .map(|(key, value)| {
            let (field, value) = (at(&format!("labels[{key}]")), value.text());
            require(syntax::is_qualified_name(key), &field, key, QUALIFIED)?;
            require(syntax::is_label_value(&value), &field, &value, LABEL_VALUE)?;
            Ok((key.clone(), value))
        })
        .collect()
}

fn annotations(raw: &BTreeMap<String, raw::Scalar>, at: At<'_>) -> Result<BTreeMap<String, String>> {
    raw.iter()
        .map(|(key, value)| {
            require(syntax::is_qualified_name(key), &at(&format!("annotations[{key}]")), key, QUALIFIED)?;
            Ok((key.clone(), value.text()))
        })
        .collect()
}

fn taints(taints: &[Taint], at: At<'_>) -> Result<()> {
    for (number, taint) in taints.iter().enumerate() {
        let field = |name: &str| at(&format!("taints[{number}].{name}"));
        require(syntax::is_qualified_name(&taint.key), &field("key"), &taint.key, QUALIFIED)?;
        require(syntax::is_label_value(&taint.value), &field("value"), &taint.value, LABEL_VALUE)?;
    }
    Ok(())
}

fn cards(raw: &raw::Cards, at: At<'_>) -> Result<Cards> {
    let field = |name: &str| at(&format!("cards.{name}"));
    let extended = syntax::is_qualified_name(&raw.resource) && raw.resource.contains('/');
    require(extended, &field("resource"), &raw.resource, "an extended resource such as nvidia.com/gpu")?;
    require((1..=64).contains(&raw.count), &field("count"), &raw.count.to_string(), "1 to 64")?;
    let replicas = raw.replicas.unwrap_or(1);
    require((1..=1000).contains(&replicas), &field("replicas"), &replicas.to_string(), "1 to 1000")?;
    let power = raw.power.unwrap_or_default();
    let ordered = power.idle >= 0.0 && power.full >= power.idle && power.full.is_finite();
    require(
        ordered,
        &field("power"),
        &format!("{} to {}", power.idle, power.full),
        "watts with 0 <= idle <= full",
    )?;
    Ok(Cards {
        resource: raw.resource.clone(),
        count: raw.count,
        replicas,
        vendor: raw.vendor,
        model: raw.model.clone(),
        memory: quantity(&field("memory"), &raw.memory)?,
        power,
    })
}

fn capacity(raw: &raw::Pool, cards: Option<&Cards>, at: At<'_>) -> Result<ResourceList> {
    let mut capacity = ResourceList::new();
    capacity.insert("cpu", quantity(&at("cpu"), &raw.cpu)?);
    capacity.insert("memory", quantity(&at("memory"), &raw.memory)?);
    let storage = raw.ephemeral_storage.as_ref().map(|text| quantity(&at("ephemeralStorage"), text));
    capacity.insert("ephemeral-storage", storage.unwrap_or(Ok(Quantity::from_bytes(100 << 30)))?);
    let pods = raw.pods.as_ref().map(|text| whole(&at("pods"), text));
    capacity.insert("pods", pods.unwrap_or(Ok(Quantity::from_units(110)))?);
    for (name, amount) in &raw.resources {
        let field = at(&format!("resources[{name}]"));
        require(syntax::is_qualified_name(name), &field, name, "a resource name such as rdma/hca")?;
        let taken = capacity.contains(name);
        require(!taken, &field, name, "the field of that name instead")?;
        let amount = if name.contains('/') { whole(&field, amount) } else { quantity(&field, amount) };
        capacity.insert(name.clone(), amount?);
    }
    if let Some(cards) = cards {
        let slots = Quantity::from_units(i64::from(cards.count) * i64::from(cards.replicas));
        if capacity.insert(cards.resource.clone(), slots).is_some() {
            return Err(ProfileError::Conflict {
                field: at("cards.resource"),
                problem: format!("{:?} is already given under resources", cards.resource),
            });
        }
    }
    Ok(capacity)
}

fn allocatable(
    capacity: &ResourceList,
    reserved: &BTreeMap<String, raw::Scalar>,
    at: At<'_>,
) -> Result<ResourceList> {
    let mut left = capacity.clone();
    for (name, amount) in reserved {
        let field = at(&format!("reserved[{name}]"));
        let amount_of = quantity(&field, amount)?;
        if !capacity.contains(name) {
            let known = capacity.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            return refuse(&field, name, &format!("one of {known}"));
        }
        let have = capacity.get(name);
        require(amount_of <= have, &field, &amount.text(), &format!("at most {have}"))?;
        left.insert(name.clone(), have - amount_of);
    }
    Ok(left)
}

fn time(field: &str, text: &raw::Scalar) -> Result<Duration> {
    let text = text.text();
    duration::parse(&text).map_or_else(|| refuse(field, &text, duration::ALLOWED), Ok)
}

fn quantity(field: &str, text: &raw::Scalar) -> Result<Quantity> {
    let text = text.text();
    match Quantity::parse(&text) {
        Ok(amount) if !amount.is_negative() => Ok(amount),
        _ => refuse(field, &text, QUANTITY),
    }
}

fn whole(field: &str, text: &raw::Scalar) -> Result<Quantity> {
    let amount = quantity(field, text)?;
    require(amount == Quantity::from_units(amount.value()), field, &text.text(), WHOLE)?;
    Ok(amount)
}
