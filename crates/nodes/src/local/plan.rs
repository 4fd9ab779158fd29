//! What to run for a container: command, user, folder. Pure.

use k8s_openapi::api::core::v1::{Container, PodSpec, SecurityContext};

use crate::environment::{Variables, expand};

/// Why a container cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Problem {
    /// The reason shown on the waiting container.
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Problem {
    /// Something the Pod asks for that cannot be had.
    pub(super) fn config(message: impl Into<String>) -> Self {
        Self { reason: "CreateContainerConfigError", message: message.into() }
    }

    /// Something that went wrong on the way.
    pub(super) fn create(message: impl Into<String>) -> Self {
        Self { reason: "CreateContainerError", message: message.into() }
    }
}

/// What to run and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) command: Vec<String>,
    pub(super) working_dir: String,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) read_only_root: bool,
    pub(super) terminal: bool,
    pub(super) stdin: bool,
}

/// Reads the plan out of the container, or says why there can be none.
pub(super) fn plan(spec: &PodSpec, container: &Container, variables: &Variables) -> Result<Plan, Problem> {
    let words = |list: &Option<Vec<String>>| -> Vec<String> {
        list.iter().flatten().map(|word| expand(word, variables)).collect()
    };
    let mut command = words(&container.command);
    if command.is_empty() {
        return Err(Problem::config(format!(
            "the local node runs programs of this machine, not images: give container {:?} a command",
            container.name
        )));
    }
    command.extend(words(&container.args));
    let (pod, own) = (spec.security_context.as_ref(), container.security_context.as_ref());
    not_offered(spec, own)?;
    let user = own.and_then(|context| context.run_as_user).or(pod.and_then(|context| context.run_as_user));
    let group = own.and_then(|context| context.run_as_group).or(pod.and_then(|context| context.run_as_group));
    let not_root =
        own.and_then(|context| context.run_as_non_root).or(pod.and_then(|context| context.run_as_non_root));
    let number = |id: Option<i64>| {
        u32::try_from(id.unwrap_or(0)).map_err(|_| Problem::config("user or group out of range"))
    };
    let (user, group) = (number(user)?, number(group)?);
    if user == 0 && not_root == Some(true) {
        return Err(Problem::config("container has runAsNonRoot and would run as root"));
    }
    Ok(Plan {
        command,
        working_dir: container.working_dir.clone().unwrap_or_default(),
        user,
        group,
        read_only_root: own.and_then(|context| context.read_only_root_filesystem) == Some(true),
        terminal: container.tty == Some(true),
        stdin: container.stdin == Some(true),
    })
}

/// What would mislead if it were ignored.
fn not_offered(spec: &PodSpec, own: Option<&SecurityContext>) -> Result<(), Problem> {
    if own.and_then(|context| context.privileged) == Some(true) {
        return Err(Problem::config("privileged containers are not offered by the local node"));
    }
    let shared = [(spec.host_pid, "hostPID"), (spec.share_process_namespace, "shareProcessNamespace")];
    if let Some((_, name)) = shared.iter().find(|(wanted, _)| *wanted == Some(true)) {
        let message =
            format!("{name} is not offered by the local node: containers see their own processes only");
        return Err(Problem::config(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: Value) -> PodSpec {
        serde_json::from_value(spec).expect("a spec")
    }

    fn plan_of(pod: &Value, container: &Value) -> Result<Plan, Problem> {
        let mut spec = pod.clone();
        spec["containers"] = json!([container]);
        let spec = read(spec);
        plan(&spec, &spec.containers[0], &vec![("N".into(), "7".into())])
    }

    #[test]
    fn commands_are_expanded_and_users_inherited() {
        let got = plan_of(
            &json!({ "securityContext": { "runAsUser": 1000, "runAsGroup": 100 } }),
            &json!({ "name": "c", "command": ["echo", "$(N)"], "args": ["$$(N)"], "securityContext": { "runAsUser": 5 } }),
        )
        .unwrap();
        assert_eq!(got.command, ["echo", "7", "$(N)"]);
        assert_eq!((got.user, got.group), (5, 100));
    }

    #[test]
    fn what_the_node_does_not_offer_is_refused_with_words() {
        let rows = [
            (json!({ "name": "c", "image": "nginx" }), "command"),
            (
                json!({ "name": "c", "command": ["a"], "securityContext": { "privileged": true } }),
                "privileged",
            ),
            (
                json!({ "name": "c", "command": ["a"], "securityContext": { "runAsNonRoot": true } }),
                "runAsNonRoot",
            ),
        ];
        for (container, want) in rows {
            let problem = plan_of(&json!({}), &container).unwrap_err();
            assert_eq!(problem.reason, "CreateContainerConfigError");
            assert!(problem.message.contains(want), "{problem}");
        }
        for want in ["hostPID", "shareProcessNamespace"] {
            let problem =
                plan_of(&json!({ want: true }), &json!({ "name": "c", "command": ["a"] })).unwrap_err();
            assert!(problem.message.contains(want), "{problem}");
        }
    }
}
