//! Cards that are not the Pod's own stay hidden.
//!
//! Runtimes of makers show a container the cards that a variable names, whatever was given to it, and images carry that
//! variable with the value `all`. What stands in `env` of the container wins over the image, and over `envFrom`: so each
//! container says it itself.

use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec};
use maar_api::{
    cards::{MAKERS, Maker, Runtime, variables},
    names,
};

use super::{containers, from_annotation};
use crate::card;

/// Makers whose runtimes have to be told.
fn runtimes() -> impl Iterator<Item = (&'static Maker, Runtime)> {
    MAKERS.iter().filter_map(|maker| Some((maker, maker.runtime?)))
}

/// Whether a container asks for something of a maker that Maar does not number, such as a slice of a card: only the plug-in
/// on its node can say which it is.
pub fn has_slices(container: &Container) -> bool {
    runtimes().any(|(maker, runtime)| {
        let mut asked = asked(container).filter(|name| name.starts_with(maker.domain)).peekable();
        asked.peek().is_some() && !asked.any(|name| variables(name).contains(&runtime.variable))
    })
}

fn asked(container: &Container) -> impl Iterator<Item = &str> {
    let resources = container.resources.iter();
    let lists = resources.flat_map(|resources| [&resources.requests, &resources.limits]);
    lists.flatten().flat_map(|list| list.keys().map(String::as_str))
}

/// Lets each container of a Pod see the cards that it asks for, and no others.
pub fn hide_cards(spec: &mut PodSpec) {
    let numbered = card::are_numbered(spec);
    for container in containers(spec) {
        for (maker, runtime) in runtimes() {
            let said = container.env.iter().flatten().any(|one| one.name == runtime.variable);
            if let Some(variable) = (!said).then(|| shown(container, maker, runtime, numbered)).flatten() {
                container.env.get_or_insert_default().push(variable);
            }
        }
    }
}

/// What a container says of the cards of a maker, if it says it itself.
fn shown(container: &Container, maker: &Maker, runtime: Runtime, numbered: bool) -> Option<EnvVar> {
    let of_maker = || asked(container).filter(|name| name.starts_with(maker.domain));
    if of_maker().next().is_none() {
        let (name, value) = (runtime.variable.to_owned(), Some(runtime.none.to_owned()));
        return Some(EnvVar { name, value, value_from: None });
    }
    let whole = of_maker().any(|name| variables(name).contains(&runtime.variable));
    (numbered && whole).then(|| from_annotation(runtime.variable, names::ANNOTATION_VISIBLE_CARDS))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn hidden(scheduler: &str, container: &Value) -> Vec<Value> {
        let spec = json!({
            "schedulerName": scheduler, "containers": [container], "initContainers": [{ "name": "init" }],
        });
        let mut spec: PodSpec = serde_json::from_value(spec).unwrap();
        hide_cards(&mut spec);
        let init = &spec.init_containers.as_ref().unwrap()[0].env;
        assert_eq!(init.as_ref().unwrap().len(), runtimes().count(), "{init:?}");
        let env = spec.containers.remove(0).env.unwrap_or_default();
        env.into_iter().map(|one| serde_json::to_value(one).unwrap()).collect()
    }

    fn value<'a>(env: &'a [Value], name: &str) -> Option<&'a Value> {
        env.iter().find(|one| one["name"] == name)
    }

    #[test]
    fn a_container_without_cards_sees_none_whatever_its_image_says() {
        let env = hidden(
            "maar-scheduler",
            &json!({ "name": "main", "envFrom": [{ "configMapRef": { "name": "x" } }] }),
        );
        assert_eq!(value(&env, "NVIDIA_VISIBLE_DEVICES").unwrap()["value"], "void");
        assert_eq!(value(&env, "ASCEND_VISIBLE_DEVICES").unwrap()["value"], "void");
        assert_eq!(env.len(), runtimes().count());
    }

    #[test]
    fn a_container_sees_the_cards_that_it_asks_for() {
        let ask = |resource: &str| json!({ "name": "main", "resources": { "limits": { resource: "1" } } });
        let env = hidden("maar-scheduler", &ask("nvidia.com/gpu"));
        let path = &value(&env, "NVIDIA_VISIBLE_DEVICES").unwrap()["valueFrom"]["fieldRef"]["fieldPath"];
        assert_eq!(path, "metadata.annotations['maar.io/visible-cards']");
        assert_eq!(value(&env, "AMD_VISIBLE_DEVICES").unwrap()["value"], "none", "none of others");
        // Whoever else places it, and what Maar does not number, is for the plug-in of the maker.
        assert_eq!(value(&hidden("volcano", &ask("nvidia.com/gpu")), "NVIDIA_VISIBLE_DEVICES"), None);
        assert_eq!(
            value(&hidden("maar-scheduler", &ask("nvidia.com/mig-1g.5gb")), "NVIDIA_VISIBLE_DEVICES"),
            None
        );
        let said = json!({ "name": "main", "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "3" }] });
        assert_eq!(value(&hidden("maar-scheduler", &said), "NVIDIA_VISIBLE_DEVICES").unwrap()["value"], "3");
    }

    #[test]
    fn slices_are_told_from_cards() {
        let slices = |resource: &str| {
            let container = json!({ "name": "main", "resources": { "requests": { resource: "1" } } });
            has_slices(&serde_json::from_value(container).unwrap())
        };
        assert!(slices("nvidia.com/mig-1g.5gb") && !slices("nvidia.com/gpu") && !slices("cpu"));
    }
}
