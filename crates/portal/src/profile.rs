//! Profiles: what an administrator grants some users or accounts beside the ordinary. Pods of jobs and Pods by themselves
//! may ask for it; a workspace has what the profile that it names grants. Without one, nothing leads out of a container.

mod handlers;

use std::collections::BTreeSet;

use maar_api::v1alpha1::Backend;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{access::Person, rules::HostPath};

pub(crate) use handlers::routes;

/// Something that leads out of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Allowance {
    /// Containers that are root on the node.
    Privileged,
    /// The network of the node.
    HostNetwork,
    /// Ports of the node.
    HostPorts,
    /// Processes of the node.
    #[serde(rename = "hostPID")]
    HostPid,
    /// Memory that processes of the node share.
    #[serde(rename = "hostIPC")]
    HostIpc,
}

/// A named set of what is granted, and to whom.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// What it is called, in refusals and for administrators.
    pub name: String,
    /// Users who have it, whichever account pays.
    #[serde(default)]
    pub users: BTreeSet<String>,
    /// Accounts: whoever starts work that one of them pays for has it for that.
    #[serde(default)]
    pub accounts: BTreeSet<String>,
    /// What it allows.
    #[serde(default)]
    pub allows: BTreeSet<Allowance>,
    /// Capabilities that containers may add.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// Folders of nodes that workspaces may have.
    #[serde(default)]
    pub host_paths: Vec<HostPath>,
    /// Taints of nodes, by their keys, that Pods may tolerate.
    #[serde(default)]
    pub tolerations: BTreeSet<String>,
    /// Classes of runtimes that Pods may name.
    #[serde(default)]
    pub runtime_classes: BTreeSet<String>,
    /// Who else may make and place the Pods of jobs.
    #[serde(default)]
    pub backends: Vec<Backend>,
    /// The longest that Pods may take to stop, in seconds.
    #[serde(default)]
    pub longest_stop_seconds: Option<i64>,
}

impl Profile {
    /// Whether it grants something that the Pod Security standard of namespaces would refuse.
    fn leads_out(&self) -> bool {
        !self.allows.is_empty() || !self.capabilities.is_empty() || !self.host_paths.is_empty()
    }
}

/// All profiles of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profiles {
    /// Each of them.
    #[serde(default)]
    pub profiles: Vec<Profile>,
    /// The longest that Pods of those without a profile may take to stop, in seconds.
    #[serde(default)]
    pub longest_stop_seconds: Option<i64>,
}

/// The longest that Pods may take to stop, in seconds, where nobody says otherwise: others wait for what they hold.
const LONGEST_STOP: i64 = 900;
/// The longest that can be granted: more the kinds of Maar do not take.
const MOST_STOP: i64 = 86_400;

/// What is granted for one piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    allows: BTreeSet<Allowance>,
    capabilities: BTreeSet<String>,
    tolerations: BTreeSet<String>,
    runtime_classes: BTreeSet<String>,
    backends: Vec<Backend>,
    longest_stop: i64,
}

impl Default for Granted {
    /// What everybody has.
    fn default() -> Self {
        Self {
            allows: BTreeSet::new(),
            capabilities: BTreeSet::new(),
            tolerations: BTreeSet::new(),
            runtime_classes: BTreeSet::new(),
            backends: Vec::new(),
            longest_stop: LONGEST_STOP,
        }
    }
}

impl Profiles {
    /// Reads a file of profiles.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut names = BTreeSet::new();
        if let Some(twice) =
            read.profiles.iter().find(|profile| profile.name.is_empty() || !names.insert(&profile.name))
        {
            return Err(format!("two profiles, or none, are called {:?}", twice.name));
        }
        let mut stops = read.profiles.iter().map(|profile| profile.longest_stop_seconds);
        if stops.any(is_too_long) || is_too_long(read.longest_stop_seconds) {
            return Err(format!("longestStopSeconds is between 0 and {MOST_STOP}"));
        }
        for profile in &read.profiles {
            for path in &profile.host_paths {
                path.check().map_err(|wrong| format!("{}: {:?}: {}", profile.name, path.path, wrong.why))?;
            }
        }
        Ok(read)
    }

    /// The profile of this name, if `person` has it for work that `account` pays for.
    pub(crate) fn named(&self, name: &str, person: &Person, account: &str) -> Option<&Profile> {
        let has = |one: &&Profile| one.users.contains(&person.name) || one.accounts.contains(account);
        self.profiles.iter().filter(|one| one.name == name).find(has)
    }

    /// Whether one of them is for the user of this name.
    pub(crate) fn lists(&self, user: &str) -> bool {
        self.profiles.iter().any(|profile| profile.users.contains(user))
    }

    /// What `person` has for work that `account` pays for.
    pub(crate) fn granted(&self, person: &Person, account: &str) -> Granted {
        let mut granted = Granted::default();
        granted.longest_stop = self.longest_stop_seconds.unwrap_or(granted.longest_stop);
        for profile in &self.profiles {
            if profile.users.contains(&person.name) || profile.accounts.contains(account) {
                granted.allows.extend(&profile.allows);
                granted.capabilities.extend(profile.capabilities.iter().cloned());
                granted.tolerations.extend(profile.tolerations.iter().cloned());
                granted.runtime_classes.extend(profile.runtime_classes.iter().cloned());
                granted.backends.extend(&profile.backends);
                granted.longest_stop =
                    granted.longest_stop.max(profile.longest_stop_seconds.unwrap_or_default());
            }
        }
        granted
    }

    /// Whether some work of `person` may be more than ordinary: then the Pod Security standard of his namespace must
    /// not refuse it.
    pub(crate) fn any_for(&self, person: &Person) -> bool {
        let starts = |account: &String| person.accounts.get(account).is_some_and(|role| role.may_start());
        self.profiles
            .iter()
            .filter(|profile| profile.leads_out())
            .any(|profile| profile.users.contains(&person.name) || profile.accounts.iter().any(starts))
    }
}

fn is_too_long(seconds: Option<i64>) -> bool {
    seconds.is_some_and(|seconds| !(0..=MOST_STOP).contains(&seconds))
}

impl Granted {
    /// The longest that a Pod may take to stop, in seconds.
    pub(crate) const fn longest_stop(&self) -> i64 {
        self.longest_stop
    }

    pub(crate) fn allows(&self, what: Allowance) -> bool {
        self.allows.contains(&what)
    }

    pub(crate) fn adds(&self, capability: &str) -> bool {
        self.capabilities.contains(capability)
    }

    pub(crate) fn tolerates(&self, taint: &str) -> bool {
        self.tolerations.contains(taint)
    }

    pub(crate) fn runs_by(&self, class: &str) -> bool {
        self.runtime_classes.contains(class)
    }

    pub(crate) fn left_to(&self, backend: Backend) -> bool {
        self.backends.contains(&backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::person;

    const FILE: &str = "
profiles:
  - name: kernel
    users: [ada]
    allows: [privileged, hostPID]
  - name: fabric
    accounts: [hpc]
    allows: [hostNetwork]
    capabilities: [IPC_LOCK]
";

    #[test]
    fn profiles_are_for_those_they_name() {
        let profiles = Profiles::parse(FILE).unwrap();
        let (ada, bob) = (person("ada"), person("bob"));
        assert!(profiles.granted(&ada, "default").allows(Allowance::Privileged));
        assert!(!profiles.granted(&ada, "default").allows(Allowance::HostNetwork));
        assert_eq!(profiles.granted(&bob, "default"), Granted::default());
        let fabric = profiles.granted(&bob, "hpc");
        assert!(
            fabric.allows(Allowance::HostNetwork) && fabric.adds("IPC_LOCK") && !fabric.adds("SYS_ADMIN")
        );
        assert!(profiles.any_for(&ada) && !profiles.any_for(&bob));
        assert!(!Profiles::default().any_for(&ada));
    }

    #[test]
    fn files_that_make_no_sense_are_refused() {
        for wrong in [
            "profiles: [{ name: a, allows: [everything] }]",
            "profiles: [{ name: a }, { name: a }]",
            "profiles: [{ name: '' }]",
            "profile: []",
            "profiles: [{ name: a, user: [ada] }]",
            "profiles: [{ name: a, hostPaths: [{ path: / }] }]",
            "profiles: [{ name: a, hostPaths: [{ path: /mnt/../etc }] }]",
            "profiles: [{ name: a, hostPaths: [/mnt] }]",
            "longestStopSeconds: -1",
            "profiles: [{ name: a, longestStopSeconds: 86401 }]",
        ] {
            assert!(Profiles::parse(wrong).is_err(), "{wrong}");
        }
    }
}
