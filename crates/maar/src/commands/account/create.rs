//! `maar account create`.

use anyhow::Context as _;
use kube::{Api, api::PostParams};
use maar_api::{
    Quantity, ResourceList,
    v1alpha1::{Account, AccountSpec, MemberRole, MemberSpec},
};

use super::{Usage, show::table};
use crate::commands::{
    client::Connection,
    output::{Output, show},
};

/// What `maar account create` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Its name
    name: String,
    /// The account it is part of
    #[arg(long, value_name = "ACCOUNT")]
    parent: Option<String>,
    /// Kept free for it, such as cpu=64,nvidia.com/gpu=8
    #[arg(long, value_name = "AMOUNTS", value_parser = amounts)]
    guaranteed: Option<ResourceList>,
    /// Its fair part
    #[arg(long, value_name = "AMOUNTS", value_parser = amounts)]
    deserved: Option<ResourceList>,
    /// Never more than this
    #[arg(long, value_name = "AMOUNTS", value_parser = amounts)]
    capability: Option<ResourceList>,
    /// How what nobody deserves is divided
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    weight: i32,
    /// Who may use it, as USER, USER=admin or USER=viewer; may be repeated
    #[arg(long, value_name = "USER", value_parser = member)]
    member: Vec<MemberSpec>,
    /// Node pool it may use; may be repeated
    #[arg(long, value_name = "POOL")]
    pool: Vec<String>,
    /// Node pool that is its alone; may be repeated
    #[arg(long, value_name = "POOL")]
    owned_pool: Vec<String>,
}

pub(super) async fn run(connection: &Connection, output: Output, arguments: Arguments) -> anyhow::Result<()> {
    let spec = AccountSpec {
        parent: arguments.parent,
        guaranteed: arguments.guaranteed.unwrap_or_default(),
        deserved: arguments.deserved.unwrap_or_default(),
        capability: arguments.capability.unwrap_or_default(),
        weight: arguments.weight,
        members: arguments.member,
        pools: arguments.pool,
        owned_pools: arguments.owned_pool,
        ..AccountSpec::default()
    };
    let api: Api<Account> = Api::all(connection.client.clone());
    let account = Account::new(&arguments.name, spec);
    let made = api.create(&PostParams::default(), &account).await;
    let made = made.with_context(|| format!("making account {}", arguments.name))?;
    show(output, &table(std::slice::from_ref(&made), &Usage::default()), &made)
}

/// `cpu=64,nvidia.com/gpu=8`.
fn amounts(text: &str) -> Result<ResourceList, String> {
    let mut all = ResourceList::new();
    for part in text.split(',') {
        let (name, amount) =
            part.split_once('=').ok_or_else(|| format!("write {part} as RESOURCE=AMOUNT, such as cpu=64"))?;
        let amount = Quantity::parse(amount).map_err(|error| format!("{name}: {error}"))?;
        all.insert(name, amount);
    }
    Ok(all)
}

fn member(text: &str) -> Result<MemberSpec, String> {
    let (user, role) = text.split_once('=').unwrap_or((text, "member"));
    let role = match role {
        "member" => MemberRole::Member,
        "admin" => MemberRole::Admin,
        "viewer" => MemberRole::Viewer,
        other => return Err(format!("{other} is neither member, admin nor viewer")),
    };
    Ok(MemberSpec { user: user.to_owned(), role, ..MemberSpec::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_members_are_read_or_refused() {
        let list = amounts("cpu=64,nvidia.com/gpu=8").unwrap();
        assert_eq!((list.get("cpu").value(), list.get("nvidia.com/gpu").value()), (64, 8));
        assert!(amounts("cpu").is_err() && amounts("cpu=many").is_err());
        assert_eq!(member("ada=admin").unwrap().role, MemberRole::Admin);
        assert_eq!(member("bob").unwrap().role, MemberRole::Member);
        assert_eq!(member("eve=viewer").unwrap().role, MemberRole::Viewer);
        assert!(member("eve=king").is_err());
    }
}
