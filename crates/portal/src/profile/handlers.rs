//! Which profiles there are, for those who may use them and for administrators.

use std::collections::BTreeSet;

use maar_api::v1alpha1::Backend;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Allowance, Profile};
use crate::{
    access::{Kind, Person, Verb},
    error::ApiError,
    page::{Page, PageQuery, page},
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    let own = Target::Asker(Kind::Workspace);
    vec![
        Route::at_once(Get, "/profiles", "listProfiles", (Verb::See, own), list)
            .says("Profiles that the asker may use; administrators see all of them, and who has them")
            .query::<PageQuery>()
            .answers::<Page<ProfileView>>(),
    ]
}

/// What an administrator has granted beside the ordinary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileView {
    name: String,
    /// What it allows.
    allows: BTreeSet<Allowance>,
    /// Capabilities that containers may add.
    capabilities: BTreeSet<String>,
    /// Folders of nodes that workspaces may have, or folders below them.
    host_paths: Vec<HostPathView>,
    /// Taints of nodes that Pods may tolerate.
    tolerations: BTreeSet<String>,
    /// Classes of runtimes that Pods may name.
    runtime_classes: BTreeSet<String>,
    /// Who else may make and place the Pods of jobs.
    backends: Vec<Backend>,
    /// The longest that Pods may take to stop, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_stop_seconds: Option<i64>,
    /// The asker has it whichever account pays.
    always: bool,
    /// Accounts whose work has it: those the asker may start work for, or all of them for administrators.
    accounts: BTreeSet<String>,
    /// Users who have it whichever account pays; only for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<BTreeSet<String>>,
}

/// A folder of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostPathView {
    path: String,
    read_only: bool,
}

/// `GET /profiles`.
fn list(call: &Call) -> Result<Answer, ApiError> {
    let person = call.person()?;
    let all = call.portal.settings.profiles.profiles.iter();
    let mut found: Vec<ProfileView> = all.filter_map(|profile| view(profile, person)).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Answer::json(&page(found, &call.query::<PageQuery>()?, |one| one.name.clone())?)
}

/// What `person` is shown of a profile; nothing if he may neither use it nor administer.
fn view(profile: &Profile, person: &Person) -> Option<ProfileView> {
    let admin = person.is_platform_admin();
    let starts = |account: &&String| person.accounts.get(*account).is_some_and(|role| role.may_start());
    let accounts: BTreeSet<String> =
        profile.accounts.iter().filter(|account| admin || starts(account)).cloned().collect();
    let always = profile.users.contains(&person.name);
    let shown = admin || always || !accounts.is_empty();
    shown.then(|| ProfileView {
        name: profile.name.clone(),
        allows: profile.allows.clone(),
        capabilities: profile.capabilities.clone(),
        host_paths: profile
            .host_paths
            .iter()
            .map(|one| HostPathView { path: one.path.clone(), read_only: one.read_only })
            .collect(),
        tolerations: profile.tolerations.clone(),
        runtime_classes: profile.runtime_classes.clone(),
        backends: profile.backends.clone(),
        longest_stop_seconds: profile.longest_stop_seconds,
        always,
        accounts,
        users: admin.then(|| profile.users.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{access::AccountRole, profile::Profiles, testing::person};

    #[test]
    fn who_may_use_a_profile_sees_it_and_administrators_see_who_has_it() {
        let file = "
profiles:
  - { name: rdma, users: [ada, bob], accounts: [hpc, other], capabilities: [IPC_LOCK] }
";
        let profile = Profiles::parse(file).unwrap().profiles.remove(0);
        assert_eq!(view(&profile, &person("eve")), None);
        let ada = view(&profile, &person("ada")).unwrap();
        assert_eq!((ada.always, ada.accounts.len(), ada.users), (true, 0, None));
        let mut eve = person("eve");
        eve.accounts.insert("hpc".to_owned(), AccountRole::Viewer);
        assert_eq!(view(&profile, &eve), None, "who only looks starts nothing");
        eve.accounts.insert("hpc".to_owned(), AccountRole::Member);
        let shown = view(&profile, &eve).unwrap();
        assert_eq!((shown.always, shown.accounts), (false, ["hpc".to_owned()].into()));
        let admin = view(&profile, &Person { platform_admin: true, ..person("root") }).unwrap();
        assert_eq!((admin.accounts.len(), admin.users.unwrap().len(), admin.always), (2, 2, false));
    }
}
