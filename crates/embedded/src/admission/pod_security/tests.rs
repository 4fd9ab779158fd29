use serde_json::json;

use super::*;

/// A Pod that keeps the restricted standard, with changes merged into it.
fn pod(changes: &Value) -> Value {
    let mut pod = json!({"metadata": {}, "spec": {
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "a", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}});
    merge(&mut pod, changes);
    pod
}

fn merge(into: &mut Value, changes: &Value) {
    match changes.as_object() {
        Some(fields) => {
            for (field, value) in fields {
                merge(&mut into[field], value);
            }
        }
        None => *into = changes.clone(),
    }
}

fn container(context: &Value) -> Value {
    let mut context = context.clone();
    for (field, value) in
        [("allowPrivilegeEscalation", json!(false)), ("capabilities", json!({"drop": ["ALL"]}))]
    {
        if context.get(field).is_none() {
            context[field] = value;
        }
    }
    json!({"spec": {"containers": [{"name": "a", "securityContext": context}]}})
}

fn found(standard: &str, pod: &Value) -> Option<String> {
    let (level, version) = standard.split_once(':')?;
    let labels = json!({"pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/enforce-version": version});
    let (policy, errors) = Policy::read(&labels);
    assert!(errors.is_empty());
    detail(&violations(policy.enforce, &Subject::of("pods", pod)?))
}

/// Each row: a change of a good Pod, what baseline says, what restricted says.
type Row = (Value, Option<&'static str>, Option<&'static str>);

fn check(rows: Vec<Row>) {
    for (changes, baseline, restricted) in rows {
        let pod = pod(&changes);
        assert_eq!(found("privileged:latest", &pod), None, "{changes}");
        assert_eq!(found("baseline:latest", &pod).as_deref(), baseline, "{changes}");
        assert_eq!(found("restricted:latest", &pod).as_deref(), restricted, "{changes}");
    }
}

/// A row where both standards say the same.
fn both(changes: Value, want: &'static str) -> Row {
    (changes, Some(want), Some(want))
}

#[test]
fn a_careful_pod_keeps_both_standards() {
    check(vec![(json!({}), None, None)]);
}

#[test]
fn what_leads_out_of_the_container_is_refused_by_both() {
    let volume = json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}});
    check(vec![
        both(
            json!({"spec": {"hostNetwork": true, "hostIPC": true}}),
            "host namespaces (hostNetwork=true, hostIPC=true)",
        ),
        both(
            container(&json!({"privileged": true})),
            "privileged (container \"a\" must not set securityContext.privileged=true)",
        ),
        (
            volume,
            Some("hostPath volumes (volume \"v\")"),
            Some("restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")"),
        ),
        both(
            json!({"spec": {"initContainers": [{"name": "i", "ports": [{"hostPort": 80}, {"hostPort": 0}],
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}),
            "hostPort (container \"i\" uses hostPort 80)",
        ),
        both(
            json!({"spec": {"containers": [{"name": "a", "livenessProbe": {"httpGet": {"host": "h"}},
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}),
            "probe or lifecycle host (container \"a\" uses probe or lifecycle host \"h\")",
        ),
        both(
            container(&json!({"procMount": "Unmasked"})),
            "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")",
        ),
        both(
            json!({"spec": {"securityContext": {"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}}}),
            "forbidden sysctls (kernel.msgmax)",
        ),
        both(
            json!({"spec": {"securityContext": {"windowsOptions": {"hostProcess": true}}}}),
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
    ]);
}

#[test]
fn profiles_that_confine_nothing_are_refused_by_both() {
    check(vec![
        both(
            container(&json!({"appArmorProfile": {"type": "Unconfined"}})),
            "forbidden AppArmor profile (container \"a\" must not set AppArmor profile type to \"Unconfined\")",
        ),
        both(
            json!({"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}}}),
            "forbidden AppArmor profile (annotation must not set AppArmor profile type to \
             \"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\")",
        ),
        both(
            container(&json!({"seLinuxOptions": {"type": "spc_t", "user": "u"}})),
            "seLinuxOptions (container \"a\" set forbidden securityContext.seLinuxOptions: type \"spc_t\"; user may not be set)",
        ),
        both(
            json!({"spec": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}}),
            "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
    ]);
}

#[test]
fn the_restricted_standard_asks_for_more() {
    let only = |changes: Value, want: &'static str| (changes, None, Some(want));
    check(vec![
        only(
            container(&json!({"allowPrivilegeEscalation": true})),
            "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false)",
        ),
        only(
            container(&json!({"capabilities": {"add": ["CHOWN", "NET_BIND_SERVICE"]}})),
            "unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]; \
             container \"a\" must not include \"CHOWN\" in securityContext.capabilities.add)",
        ),
        only(
            json!({"spec": {"volumes": [{"name": "v", "nfs": {}}, {"name": "w", "emptyDir": {}}]}}),
            "restricted volume types (volume \"v\" uses restricted volume type \"nfs\")",
        ),
        only(
            json!({"spec": {"securityContext": {"runAsNonRoot": null}}}),
            "runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true)",
        ),
        only(
            json!({"spec": {"securityContext": {"runAsNonRoot": false}}}),
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
        ),
        only(container(&json!({"runAsUser": 0})), "runAsUser=0 (container \"a\" must not set runAsUser=0)"),
        only(
            json!({"spec": {"securityContext": {"seccompProfile": null}}}),
            "seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \
             \"RuntimeDefault\" or \"Localhost\")",
        ),
        (
            container(&json!({"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}})),
            Some(
                "non-default capabilities (container \"a\" must not include \"SYS_ADMIN\" in securityContext.capabilities.add)",
            ),
            Some(
                "unrestricted capabilities (container \"a\" must not include \"SYS_ADMIN\" in securityContext.capabilities.add)",
            ),
        ),
        (
            json!({"spec": {"hostUsers": false, "securityContext": {"runAsNonRoot": null, "runAsUser": 0}}}),
            None,
            None,
        ),
    ]);
}

#[test]
fn older_versions_of_a_standard_know_less() {
    let rows = [
        (
            "baseline:v1.26",
            json!({"spec": {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}}),
            true,
        ),
        (
            "baseline:v1.32",
            json!({"spec": {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}}),
            false,
        ),
        ("baseline:v1.30", container(&json!({"seLinuxOptions": {"type": "container_engine_t"}})), true),
        ("baseline:v1.31", container(&json!({"seLinuxOptions": {"type": "container_engine_t"}})), false),
        ("restricted:v1.7", container(&json!({"allowPrivilegeEscalation": true})), false),
        ("restricted:v1.22", container(&json!({"runAsUser": 0})), false),
        ("restricted:v1.23", container(&json!({"runAsUser": 0})), true),
        (
            "restricted:v1.24",
            json!({"spec": {"os": {"name": "windows"}, "containers": [{"name": "a"}]}}),
            true,
        ),
        (
            "restricted:v1.25",
            json!({"spec": {"os": {"name": "windows"}, "containers": [{"name": "a"}]}}),
            false,
        ),
        (
            "baseline:v1.18",
            json!({"metadata": {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}}),
            true,
        ),
    ];
    for (standard, changes, want) in rows {
        assert_eq!(found(standard, &pod(&changes)).is_some(), want, "{standard} {changes}");
    }
}

#[test]
fn labels_name_the_standards() {
    let read = |labels: Value| {
        let mut whole = json!({});
        for (key, value) in labels.as_object().unwrap() {
            whole[format!("pod-security.kubernetes.io/{key}")] = value.clone();
        }
        let (policy, errors) = Policy::read(&whole);
        (format!("{} {}", policy.enforce, policy.warn), errors.len())
    };
    let rows = [
        (json!({}), "privileged:latest privileged:latest", 0),
        (json!({"enforce": "baseline", "enforce-version": "v1.30"}), "baseline:v1.30 baseline:v1.30", 0),
        (json!({"enforce": "restricted", "warn": "baseline"}), "restricted:latest baseline:latest", 0),
        (json!({"enforce": "stern"}), "restricted:latest privileged:latest", 1),
        (
            json!({"warn": "stern", "warn-version": "1.2", "audit": "x"}),
            "privileged:latest privileged:latest",
            3,
        ),
        (json!({"enforce-version": "v1.01"}), "privileged:latest privileged:latest", 1),
    ];
    for (labels, want, errors) in rows {
        assert_eq!(read(labels.clone()), (want.to_owned(), errors), "{labels}");
    }
}

#[test]
fn existing_pods_are_counted_by_what_is_wrong_with_them() {
    let pods: Vec<Arc<Entry>> = ["a", "b", "c"]
        .iter()
        .map(|name| {
            let context = json!({"privileged": *name != "c"});
            let pod = json!({"metadata": {"name": name}, "spec": {"hostPID": *name == "c",
                "containers": [{"name": "x", "securityContext": context}]}});
            Arc::new(crate::store::decode(&pod, 1))
        })
        .collect();
    let standard = Policy::read(&json!({"pod-security.kubernetes.io/enforce": "baseline"})).0.enforce;
    assert_eq!(
        warn_about_existing("team", standard, &pods),
        [
            "existing pods in namespace \"team\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "a (and 1 other pod): privileged",
            "c: host namespaces",
        ]
    );
}
