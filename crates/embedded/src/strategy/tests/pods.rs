//! What is refused about new Pods; templates share all of it.

use serde_json::json;

use super::{creates, objects, row};

#[test]
fn a_pod_must_have_sound_containers() {
    creates(
        &objects::pod(),
        &[
            row("a good one"),
            row("none").set("/spec/containers", json!([])).wants(&["Required spec.containers"]),
            row("no name").set("/spec/containers/0/name", "").wants(&["Required spec.containers[0].name"]),
            row("a bad name").set("/spec/containers/0/name", "Main").wants(&["Invalid spec.containers[0].name"]),
            row("no image").set("/spec/containers/0/image", "").wants(&["Required spec.containers[0].image"]),
            row("a padded image").set("/spec/containers/0/image", " a").wants(&["Invalid spec.containers[0].image"]),
            row("a name twice")
                .set("/spec/containers/1", json!({"name": "main", "image": "b"}))
                .wants(&["Duplicate spec.containers[1].name"]),
            row("a name twice across lists")
                .set("/spec/initContainers", json!([{"name": "main", "image": "b"}]))
                .wants(&["Duplicate spec.initContainers[0].name"]),
            row("a pull policy nobody knows")
                .set("/spec/containers/0/imagePullPolicy", "Sometimes")
                .wants(&["NotSupported spec.containers[0].imagePullPolicy"]),
            row("a termination message policy nobody knows")
                .set("/spec/containers/0/terminationMessagePolicy", "Shout")
                .wants(&["NotSupported spec.containers[0].terminationMessagePolicy"]),
            row("a probe of an init container")
                .set("/spec/initContainers", json!([{"name": "i", "image": "b", "readinessProbe": {"exec": {"command": ["a"]}}}]))
                .wants(&["Forbidden spec.initContainers[0].readinessProbe"]),
            row("a probe of a sidecar").set(
                "/spec/initContainers",
                json!([{"name": "i", "image": "b", "restartPolicy": "Always", "readinessProbe": {"exec": {"command": ["a"]}}}]),
            ),
            row("ephemeral containers")
                .set("/spec/ephemeralContainers", json!([{"name": "e", "image": "b"}]))
                .wants(&["Forbidden spec.ephemeralContainers"]),
        ],
    );
}

#[test]
fn ports_have_numbers_and_unique_names() {
    creates(
        &objects::pod(),
        &[
            row("a good one").set("/spec/containers/0/ports", json!([{"containerPort": 80, "name": "http"}])),
            row("no number")
                .set("/spec/containers/0/ports", json!([{"name": "http"}]))
                .wants(&["Required spec.containers[0].ports[0].containerPort"]),
            row("a high number")
                .set("/spec/containers/0/ports", json!([{"containerPort": 70000}]))
                .wants(&["Invalid spec.containers[0].ports[0].containerPort"]),
            row("a name twice")
                .set(
                    "/spec/containers/0/ports",
                    json!([{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
                )
                .wants(&["Duplicate spec.containers[0].ports[1].name"]),
            row("a long name")
                .set(
                    "/spec/containers/0/ports",
                    json!([{"containerPort": 80, "name": "a-very-long-port-name"}]),
                )
                .wants(&["Invalid spec.containers[0].ports[0].name"]),
            row("a protocol nobody knows")
                .set("/spec/containers/0/ports", json!([{"containerPort": 80, "protocol": "IPX"}]))
                .wants(&["NotSupported spec.containers[0].ports[0].protocol"]),
            row("a port of the node twice")
                .set(
                    "/spec/containers/0/ports",
                    json!([{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]),
                )
                .wants(&["Duplicate spec.containers[0].ports[1].hostPort"]),
            row("another port of the node in its own network")
                .set("/spec/containers/0/ports", json!([{"containerPort": 80, "hostPort": 81}]))
                .set("/spec/hostNetwork", true)
                .wants(&["Invalid spec.containers[0].ports[0].hostPort"]),
        ],
    );
}

#[test]
fn resources_are_quantities_and_requests_stay_below_limits() {
    let requests = "/spec/containers/0/resources/requests";
    let limits = "/spec/containers/0/resources/limits";
    creates(
        &objects::pod(),
        &[
            row("good ones").set(limits, json!({"cpu": "1", "nvidia.com/gpu": "2", "memory": "1Gi"})),
            row("a negative amount")
                .set(requests, json!({"cpu": "-1"}))
                .wants(&["Invalid spec.containers[0].resources.requests[cpu]"]),
            row("a request above the limit")
                .set(requests, json!({"cpu": "2"}))
                .set(limits, json!({"cpu": "1"}))
                .wants(&["Invalid spec.containers[0].resources.requests"]),
            row("a device that is not whole").set(limits, json!({"nvidia.com/gpu": "500m"})).wants(&[
                "Invalid spec.containers[0].resources.limits[nvidia.com/gpu]",
                "Invalid spec.containers[0].resources.requests[nvidia.com/gpu]",
            ]),
            row("fewer devices requested than allowed")
                .set(requests, json!({"nvidia.com/gpu": "1"}))
                .set(limits, json!({"nvidia.com/gpu": "2"}))
                .wants(&["Invalid spec.containers[0].resources.requests"]),
            row("a device without a limit")
                .set(requests, json!({"nvidia.com/gpu": "1"}))
                .wants(&["Required spec.containers[0].resources.limits"]),
            row("a resource nobody knows").set(requests, json!({"gpu": "1"})).wants(&[
                "Invalid spec.containers[0].resources.requests[gpu]",
                "Invalid spec.containers[0].resources.requests[gpu]",
            ]),
            row("a resource that containers do not use")
                .set(requests, json!({"storage": "1"}))
                .wants(&["Invalid spec.containers[0].resources.requests[storage]"]),
            row("huge pages alone")
                .set(limits, json!({"hugepages-2Mi": "4Mi"}))
                .wants(&["Forbidden spec.containers[0].resources"]),
            row("a fraction of a huge page")
                .set(limits, json!({"hugepages-2Mi": "3Mi", "memory": "1Gi"}))
                .wants(&[
                    "Invalid spec.containers[0].resources.limits[hugepages-2Mi]",
                    "Invalid spec.containers[0].resources.requests[hugepages-2Mi]",
                ]),
            row("a whole smaller than its parts")
                .set(requests, json!({"cpu": "2"}))
                .set("/spec/resources", json!({"requests": {"cpu": "1"}}))
                .wants(&["Invalid spec.resources.requests[cpu]"]),
            row("a whole of devices")
                .set("/spec/resources", json!({"limits": {"nvidia.com/gpu": "1"}}))
                .wants(&["NotSupported spec.resources.limits[nvidia.com/gpu]"]),
        ],
    );
}

#[test]
fn volumes_have_one_source_and_mounts_have_volumes() {
    let volumes = "/spec/volumes";
    let mounts = "/spec/containers/0/volumeMounts";
    creates(
        &objects::pod(),
        &[
            row("good ones").set(volumes, json!([{"name": "a"}])).set(mounts, json!([{"name": "a", "mountPath": "/a"}])),
            row("no name").set(volumes, json!([{"emptyDir": {}}])).wants(&["Required spec.volumes[0].name"]),
            row("a bad name").set(volumes, json!([{"name": "A"}])).wants(&["Invalid spec.volumes[0].name"]),
            row("a name twice")
                .set(volumes, json!([{"name": "a"}, {"name": "a"}]))
                .wants(&["Duplicate spec.volumes[1].name"]),
            row("two sources")
                .set(volumes, json!([{"name": "a", "emptyDir": {}, "hostPath": {"path": "/a"}}]))
                .wants(&["Forbidden spec.volumes[0].hostPath"]),
            row("a secret without a name")
                .set(volumes, json!([{"name": "a", "secret": {}}]))
                .wants(&["Required spec.volumes[0].secret.secretName"]),
            row("a mode that is none")
                .set(volumes, json!([{"name": "a", "configMap": {"name": "c", "defaultMode": 1000}}]))
                .wants(&["Invalid spec.volumes[0].configMap.defaultMode"]),
            row("a key that leaves the volume")
                .set(volumes, json!([{"name": "a", "configMap": {"name": "c", "items": [{"key": "k", "path": "../x"}]}}]))
                .wants(&["Invalid spec.volumes[0].configMap.items[0].path"]),
            row("a claim without a name")
                .set(volumes, json!([{"name": "a", "persistentVolumeClaim": {"claimName": ""}}]))
                .wants(&["Required spec.volumes[0].persistentVolumeClaim.claimName"]),
            row("a path of the node that is nothing")
                .set(volumes, json!([{"name": "a", "hostPath": {"path": "/a", "type": "Thing"}}]))
                .wants(&["NotSupported spec.volumes[0].hostPath.type"]),
            row("a relative path of a server")
                .set(volumes, json!([{"name": "a", "nfs": {"server": "s", "path": "a"}}]))
                .wants(&["Invalid spec.volumes[0].nfs.path"]),
            row("a mount of nothing")
                .set(mounts, json!([{"name": "a", "mountPath": "/a"}]))
                .wants(&["NotFound spec.containers[0].volumeMounts[0].name"]),
            row("a mount nowhere")
                .set(volumes, json!([{"name": "a"}]))
                .set(mounts, json!([{"name": "a", "mountPath": ""}]))
                .wants(&["Required spec.containers[0].volumeMounts[0].mountPath"]),
            row("two mounts in one place")
                .set(volumes, json!([{"name": "a"}]))
                .set(mounts, json!([{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/a"}]))
                .wants(&["Invalid spec.containers[0].volumeMounts[1].mountPath"]),
            row("a part outside of the volume")
                .set(volumes, json!([{"name": "a"}]))
                .set(mounts, json!([{"name": "a", "mountPath": "/a", "subPath": "/x"}]))
                .wants(&["Invalid spec.containers[0].volumeMounts.subPath"]),
            row("a device of a volume with files")
                .set(volumes, json!([{"name": "a"}]))
                .set("/spec/containers/0/volumeDevices", json!([{"name": "a", "devicePath": "/dev/x"}]))
                .wants(&["Invalid spec.containers[0].volumeDevices[0].name"]),
            row("a token that ends at once")
                .set("/spec/serviceAccountName", "default")
                .set(volumes, json!([{"name": "a", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}}]))
                .wants(&["Invalid spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds"]),
            row("two files of one name")
                .set(volumes, json!([{"name": "a", "projected": {"sources": [
                    {"configMap": {"name": "c", "items": [{"key": "k", "path": "x"}]}},
                    {"secret": {"name": "s", "items": [{"key": "k", "path": "x"}]}},
                ]}}]))
                .wants(&["Invalid spec.volumes[0].projected"]),
        ],
    );
}

#[test]
fn variables_have_names_and_one_source() {
    let env = "/spec/containers/0/env";
    creates(
        &objects::pod(),
        &[
            row("no name").set(env, json!([{"value": "x"}])).wants(&["Required spec.containers[0].env[0].name"]),
            row("an equals sign")
                .set(env, json!([{"name": "a=b"}]))
                .wants(&["Invalid spec.containers[0].env[0].name"]),
            row("no source")
                .set(env, json!([{"name": "A", "valueFrom": {}}]))
                .wants(&["Invalid spec.containers[0].env[0].valueFrom"]),
            row("a value and a source")
                .set(env, json!([{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]))
                .wants(&["Invalid spec.containers[0].env[0].valueFrom"]),
            row("a field that is not offered")
                .set(env, json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.restartPolicy"}}}]))
                .wants(&["NotSupported spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"]),
            row("a label").set(env, json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}])),
            row("a resource that is not offered")
                .set(env, json!([{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]))
                .wants(&["NotSupported spec.containers[0].env[0].valueFrom.resourceFieldRef.resource"]),
            row("a key without a name")
                .set(env, json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}}]))
                .wants(&["Required spec.containers[0].env[0].valueFrom.secretKeyRef.key"]),
            row("a whole object without a name")
                .set("/spec/containers/0/envFrom", json!([{"configMapRef": {}}]))
                .wants(&["Required spec.containers[0].envFrom[0].configMapRef.name"]),
            row("a whole of nothing")
                .set("/spec/containers/0/envFrom", json!([{}]))
                .wants(&["Invalid spec.containers[0].envFrom"]),
        ],
    );
}

#[test]
fn probes_have_one_handler_and_sensible_numbers() {
    let probe = "/spec/containers/0/livenessProbe";
    creates(
        &objects::pod(),
        &[
            row("no handler").set(probe, json!({})).wants(&["Required spec.containers[0].livenessProbe"]),
            row("two handlers")
                .set(probe, json!({"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}))
                .wants(&["Forbidden spec.containers[0].livenessProbe.tcpSocket"]),
            row("no command")
                .set(probe, json!({"exec": {}}))
                .wants(&["Required spec.containers[0].livenessProbe.exec.command"]),
            row("a high port")
                .set(probe, json!({"httpGet": {"port": 70000}}))
                .wants(&["Invalid spec.containers[0].livenessProbe.httpGet.port"]),
            row("a scheme nobody knows")
                .set(probe, json!({"httpGet": {"port": 80, "scheme": "FTP"}}))
                .wants(&["NotSupported spec.containers[0].livenessProbe.httpGet.scheme"]),
            row("a period in the past")
                .set(probe, json!({"tcpSocket": {"port": 1}, "periodSeconds": -1}))
                .wants(&["Invalid spec.containers[0].livenessProbe.periodSeconds"]),
            row("two successes to live")
                .set(probe, json!({"tcpSocket": {"port": 1}, "successThreshold": 2}))
                .wants(&["Invalid spec.containers[0].livenessProbe.successThreshold"]),
            row("two successes to be ready").set(
                "/spec/containers/0/readinessProbe",
                json!({"tcpSocket": {"port": 1}, "successThreshold": 2}),
            ),
            row("a sleep longer than the end")
                .set("/spec/containers/0/lifecycle", json!({"preStop": {"sleep": {"seconds": 31}}}))
                .wants(&["Invalid spec.containers[0].lifecycle.preStop.sleep"]),
        ],
    );
}

#[test]
fn the_rest_of_the_specification_is_checked_too() {
    creates(
        &objects::pod(),
        &[
            row("a restart policy nobody knows")
                .set("/spec/restartPolicy", "Rarely")
                .wants(&["NotSupported spec.restartPolicy"]),
            row("a resolver nobody knows").set("/spec/dnsPolicy", "Magic").wants(&["NotSupported spec.dnsPolicy"]),
            row("no resolver at all").set("/spec/dnsPolicy", "None").wants(&["Required spec.dnsConfig"]),
            row("a bad host name").set("/spec/hostname", "A.b").wants(&["Invalid spec.hostname"]),
            row("a bad node name").set("/spec/nodeName", "N!").wants(&["Invalid spec.nodeName"]),
            row("no time").set("/spec/activeDeadlineSeconds", 0).wants(&["Invalid spec.activeDeadlineSeconds"]),
            row("a bad selector of nodes")
                .set("/spec/nodeSelector", json!({"a b": "c"}))
                .wants(&["Invalid spec.nodeSelector"]),
            row("a node while the gates are closed")
                .set("/spec/nodeName", "n")
                .set("/spec/schedulingGates", json!([{"name": "g"}]))
                .wants(&["Forbidden spec.nodeName"]),
            row("a gate twice")
                .set("/spec/schedulingGates", json!([{"name": "g"}, {"name": "g"}]))
                .wants(&["Duplicate spec.schedulingGates[1]"]),
            row("a toleration of nothing")
                .set("/spec/tolerations", json!([{"operator": "Equal", "value": "x"}]))
                .wants(&["Invalid spec.tolerations[0].operator"]),
            row("a toleration with an end and no eviction")
                .set("/spec/tolerations", json!([{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1}]))
                .wants(&["Invalid spec.tolerations[0].effect"]),
            row("an effect nobody knows")
                .set("/spec/tolerations", json!([{"key": "a", "operator": "Exists", "effect": "Nothing"}]))
                .wants(&["NotSupported spec.tolerations[0].effect"]),
            row("affinity without terms")
                .set("/spec/affinity", json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}))
                .wants(&["Required spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"]),
            row("affinity without values")
                .set("/spec/affinity", json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "a", "operator": "In"}]},
                ]}}}))
                .wants(&["Required spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values"]),
            row("affinity without a topology")
                .set("/spec/affinity", json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}, "topologyKey": ""}]}}))
                .wants(&[
                    "Required spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                    "Invalid spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                    "Invalid spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
                ]),
            row("a weight of nothing")
                .set("/spec/affinity", json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}}))
                .wants(&["Invalid spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"]),
            row("spreading by nothing")
                .set("/spec/topologySpreadConstraints", json!([{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Cry"}]))
                .wants(&[
                    "Invalid spec.topologySpreadConstraints[0].maxSkew",
                    "Required spec.topologySpreadConstraints[0].topologyKey",
                    "NotSupported spec.topologySpreadConstraints[0].whenUnsatisfiable",
                ]),
            row("a user below zero")
                .set("/spec/securityContext", json!({"runAsUser": -1}))
                .wants(&["Invalid spec.securityContext.runAsUser"]),
            row("privileges that may not be gained and are there")
                .set("/spec/containers/0/securityContext", json!({"privileged": true, "allowPrivilegeEscalation": false}))
                .wants(&["Invalid spec.containers[0].securityContext"]),
            row("a profile without a file")
                .set("/spec/securityContext", json!({"seccompProfile": {"type": "Localhost"}}))
                .wants(&["Required spec.securityContext.seccompProfile.localhostProfile"]),
            row("a bad address")
                .set("/spec/hostAliases", json!([{"ip": "x", "hostnames": ["a"]}]))
                .wants(&["Invalid spec.hostAliases[0].ip"]),
            row("a finalizer without a domain")
                .set("/metadata/finalizers", json!(["mine"]))
                .wants(&["Invalid metadata.finalizers[0]"]),
            row("a bad label").set("/metadata/labels", json!({"a": "b c"})).wants(&["Invalid metadata.labels"]),
            row("a bad name").set("/metadata/name", "A").wants(&["Invalid metadata.name"]),
        ],
    );
}
