//! What is refused about new objects of the network.

use serde_json::{Value, json};

use super::{creates, objects, row};

#[test]
fn services_have_ports_and_a_type() {
    creates(
        &objects::service(),
        &[
            row("a good one"),
            row("no ports").set("/spec/ports", json!([])).wants(&["Required spec.ports"]),
            row("no ports, headless").set("/spec/ports", json!([])).set("/spec/clusterIP", "None"),
            row("two ports without names")
                .set("/spec/ports", json!([{"port": 1}, {"port": 2}]))
                .wants(&["Required spec.ports[0].name", "Required spec.ports[1].name"]),
            row("a name twice")
                .set("/spec/ports", json!([{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]))
                .wants(&["Duplicate spec.ports[1].name"]),
            row("a port twice")
                .set("/spec/ports", json!([{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]))
                .wants(&["Duplicate spec.ports[1]"]),
            row("a high port")
                .set("/spec/ports", json!([{"port": 70000}]))
                .wants(&["Invalid spec.ports[0].port", "Invalid spec.ports[0].targetPort"]),
            row("a protocol nobody knows")
                .set("/spec/ports/0/protocol", "IPX")
                .wants(&["NotSupported spec.ports[0].protocol"]),
            row("a port of the nodes without the type")
                .set("/spec/ports/0/nodePort", 30000)
                .wants(&["Forbidden spec.ports[0].nodePort"]),
            row("a type nobody knows").set("/spec/type", "Magic").wants(&["NotSupported spec.type"]),
            row("a bad address").set("/spec/clusterIP", "x").wants(&["Invalid spec.clusterIPs[0]"]),
            row("a headless balancer")
                .set("/spec/type", "LoadBalancer")
                .set("/spec/clusterIP", "None")
                .wants(&["Invalid spec.clusterIPs[0]"]),
            row("no external name").set("/spec/type", "ExternalName").wants(&["Required spec.externalName"]),
            row("an affinity nobody knows")
                .set("/spec/sessionAffinity", "Love")
                .wants(&["NotSupported spec.sessionAffinity"]),
            row("a policy for traffic from nowhere")
                .set("/spec/externalTrafficPolicy", "Local")
                .wants(&["Invalid spec.externalTrafficPolicy"]),
            row("ranges without a balancer")
                .set("/spec/loadBalancerSourceRanges", json!(["10.0.0.0/8"]))
                .wants(&["Forbidden spec.LoadBalancerSourceRanges"]),
            row("a family nobody knows")
                .set("/spec/ipFamilies", json!(["IPX"]))
                .wants(&["NotSupported spec.ipFamilies[0]"]),
            row("an external address of this machine")
                .set("/spec/externalIPs", json!(["127.0.0.1"]))
                .wants(&["Invalid spec.externalIPs[0]"]),
            row("a bad selector")
                .set("/spec/selector", json!({"a": "b c"}))
                .wants(&["Invalid spec.selector"]),
            row("a name with a dot").set("/metadata/name", "a.b").wants(&["Invalid metadata.name"]),
        ],
    );
}

#[test]
fn endpoints_are_addresses_that_others_can_reach() {
    creates(
        &objects::endpoints(),
        &[
            row("none").set("/subsets/0/addresses", json!([])).wants(&["Required subsets[0]"]),
            row("this machine")
                .set("/subsets/0/addresses/0/ip", "127.0.0.1")
                .wants(&["Invalid subsets[0].addresses[0].ip"]),
            row("two ports without names")
                .set("/subsets/0/ports", json!([{"port": 1}, {"port": 2}]))
                .wants(&["Required subsets[0].ports[0].name", "Required subsets[0].ports[1].name"]),
        ],
    );
    creates(
        &objects::endpoint_slice(),
        &[
            row("no type").set("/addressType", "").wants(&["Required addressType"]),
            row("a type nobody knows").set("/addressType", "IPX").wants(&["NotSupported addressType"]),
            row("no address")
                .set("/endpoints/0/addresses", json!([]))
                .wants(&["Required endpoints[0].addresses"]),
            row("another family")
                .set("/endpoints/0/addresses", json!(["2001:db8::1"]))
                .wants(&["Invalid endpoints[0].addresses"]),
            row("a link-local address")
                .set("/endpoints/0/addresses", json!(["169.254.1.1"]))
                .wants(&["Invalid endpoints[0].addresses[0]"]),
            row("a name twice")
                .set("/ports", json!([{"port": 1}, {"port": 2}]))
                .wants(&["Duplicate ports[1].name"]),
        ],
    );
}

#[test]
fn ingresses_lead_somewhere() {
    creates(
        &objects::ingress(),
        &[
            row("nowhere").set("/spec/rules", json!([])).wants(&["Invalid spec"]),
            row("an address for a host")
                .set("/spec/rules/0/host", "1.2.3.4")
                .wants(&["Invalid spec.rules[0].host"]),
            row("a wildcard").set("/spec/rules/0/host", "*.example.com"),
            row("a bad wildcard").set("/spec/rules/0/host", "a.*.com").wants(&["Invalid spec.rules[0].host"]),
            row("no kind of path")
                .set("/spec/rules/0/http/paths/0/pathType", Value::Null)
                .wants(&["Required spec.rules[0].http.paths[0].pathType"]),
            row("a relative path")
                .set("/spec/rules/0/http/paths/0/path", "a")
                .wants(&["Invalid spec.rules[0].http.paths[0].path"]),
            row("a doubled slash")
                .set("/spec/rules/0/http/paths/0/path", "/a//b")
                .wants(&["Invalid spec.rules[0].http.paths[0].path"]),
            row("no backend")
                .set("/spec/rules/0/http/paths/0/backend", json!({}))
                .wants(&["Invalid spec.rules[0].http.paths[0].backend"]),
            row("no port")
                .set("/spec/rules/0/http/paths/0/backend/service/port", json!({}))
                .wants(&["Required spec.rules[0].http.paths[0].backend"]),
            row("two names of the class")
                .set("/metadata/annotations", json!({"kubernetes.io/ingress.class": "a"}))
                .set("/spec/ingressClassName", "b")
                .wants(&["Invalid annotations.kubernetes.io/ingress.class"]),
        ],
    );
    creates(
        &objects::ingress_class(),
        &[
            row("no domain").set("/spec/controller", "x").wants(&["Invalid spec.controller"]),
            row("no namespace")
                .set("/spec/parameters/scope", "Namespace")
                .wants(&["Required spec.parameters.namespace"]),
            row("a namespace for a cluster")
                .set("/spec/parameters/namespace", "a")
                .wants(&["Forbidden spec.parameters.namespace"]),
        ],
    );
}

#[test]
fn network_policies_name_peers_and_ports() {
    creates(
        &objects::network_policy(),
        &[
            row("a good one"),
            row("no peer").set("/spec/egress/0/to", json!([{}])).wants(&["Required spec.egress[0].to[0]"]),
            row("two kinds of peers")
                .set("/spec/egress/0/to/0/podSelector", json!({}))
                .wants(&["Forbidden spec.egress[0].to[0]"]),
            row("a network with host bits")
                .set("/spec/egress/0/to/0/ipBlock", json!({"cidr": "10.0.0.1/8"}))
                .wants(&["Invalid spec.egress[0].to[0].ipBlock.cidr"]),
            row("an exception from another network")
                .set("/spec/egress/0/to/0/ipBlock/except", json!(["11.0.0.0/16"]))
                .wants(&["Invalid spec.egress[0].to[0].ipBlock.except[0]"]),
            row("a range that ends before it starts")
                .set("/spec/egress/0/ports/0/endPort", 79)
                .wants(&["Invalid spec.egress[0].ports[0].endPort"]),
            row("a range from a name")
                .set("/spec/egress/0/ports/0", json!({"port": "http", "endPort": 90}))
                .wants(&["Invalid spec.egress[0].ports[0].endPort"]),
            row("a direction nobody knows")
                .set("/spec/policyTypes", json!(["Up"]))
                .wants(&["NotSupported spec.policyTypes[0]"]),
        ],
    );
}
