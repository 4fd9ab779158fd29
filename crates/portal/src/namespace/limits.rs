//! The most that users may have: usually, and what differs for some of them.

use std::collections::BTreeMap;

use maar_api::{Quantity, ResourceList, resources::is_extended};
use serde::Deserialize;

use crate::access::Person;

/// The most that one user may have, whichever account pays. What an account allows its members counts besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserLimits {
    /// How many workspaces, suspended ones too.
    pub workspaces: i64,
    /// How many jobs, ended ones too.
    pub jobs: i64,
    /// How many Pods.
    pub pods: i64,
    /// How many volumes.
    pub volumes: i64,
    /// How large all volumes are together.
    pub storage: Quantity,
    /// Processor time, memory and cards that Pods ask for together, shares of cards with whole ones. What is not named is not
    /// limited.
    pub requests: ResourceList,
}

impl Default for UserLimits {
    fn default() -> Self {
        Self {
            workspaces: 20,
            jobs: 1000,
            pods: 200,
            volumes: 40,
            storage: Quantity::from_bytes(4 << 40),
            requests: ResourceList::default(),
        }
    }
}

/// Words for what is counted or measured; anything else that can be limited is a resource with a domain.
const WORDS: [&str; 7] = ["workspaces", "jobs", "pods", "volumes", "storage", "cpu", "memory"];

/// Whether limits that somebody says make sense; the error names the word and says why not.
pub(crate) fn check_limits(limits: &BTreeMap<String, Quantity>) -> Result<(), (String, String)> {
    for (what, amount) in limits {
        if !WORDS.contains(&what.as_str()) && !is_extended(what) {
            let why = format!("is one of {}, or a resource such as nvidia.com/gpu", WORDS.join(", "));
            return Err((what.clone(), why));
        }
        UserLimits::default()
            .set(what, *amount)
            .map_err(|why| (what.clone(), format!("{amount} is {why}")))?;
    }
    Ok(())
}

impl UserLimits {
    /// Sets one of them by the word that people use for it; the error says what is wrong with the amount.
    pub fn set(&mut self, what: &str, amount: Quantity) -> Result<(), &'static str> {
        if amount < Quantity::default() {
            return Err("less than nothing");
        }
        let count = match what {
            "workspaces" => &mut self.workspaces,
            "jobs" => &mut self.jobs,
            "pods" => &mut self.pods,
            "volumes" => &mut self.volumes,
            "storage" => {
                self.storage = amount;
                return Ok(());
            }
            resource => {
                self.requests.insert(resource, amount);
                return Ok(());
            }
        };
        let whole = amount.value();
        // Not by its text: a thousand is written as 1k.
        let exact = whole.checked_mul(1000) == Some(amount.millis());
        *count = Some(whole).filter(|_| exact).ok_or("no whole number")?;
        Ok(())
    }
}

/// Limits by the word for what is limited.
type Amounts = BTreeMap<String, Quantity>;

/// What differs for some users, and for those who may start work for some accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecialLimits {
    /// By the name of the user. What is said here holds, whatever is said of accounts.
    #[serde(default)]
    pub users: BTreeMap<String, Amounts>,
    /// By account: more or less than usual. Who is in several has the most of them.
    #[serde(default)]
    pub accounts: BTreeMap<String, Amounts>,
}

impl SpecialLimits {
    /// Reads a file; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let all = [("users", &read.users), ("accounts", &read.accounts)];
        for (kind, list) in all {
            for (name, what, amount) in
                list.iter().flat_map(|(name, one)| one.iter().map(move |(what, amount)| (name, what, amount)))
            {
                let tried = UserLimits::default().set(what, *amount);
                tried.map_err(|why| format!("{kind}.{name}.{what}: {amount} is {why}"))?;
            }
        }
        Ok(read)
    }

    /// What `person` may have.
    pub(crate) fn of(&self, person: &Person, usual: &UserLimits) -> UserLimits {
        let starts = |account: &String| person.accounts.get(account).is_some_and(|role| role.may_start());
        let mut told = Amounts::new();
        for limits in self.accounts.iter().filter(|(name, _)| starts(name)).map(|(_, limits)| limits) {
            for (what, amount) in limits {
                let most = told.entry(what.clone()).or_insert(*amount);
                *most = (*most).max(*amount);
            }
        }
        told.extend(self.users.get(&person.name).cloned().unwrap_or_default());
        // What was said last, while the portal runs, holds.
        told.extend(person.limits.clone());
        let mut limits = usual.clone();
        for (what, amount) in told {
            // All of it was read before, so every amount makes sense.
            let _ = limits.set(&what, amount);
        }
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{access::AccountRole, testing::person};

    const FILE: &str = "
users:
  ada: { workspaces: 40, nvidia.com/gpu: 16 }
accounts:
  hpc: { nvidia.com/gpu: 32, cpu: 500m }
  class: { workspaces: 2, nvidia.com/gpu: 1 }
";

    fn of(name: &str, accounts: &[(&str, AccountRole)]) -> UserLimits {
        let accounts = accounts.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect();
        let person = Person { accounts, ..person(name) };
        let mut usual = UserLimits::default();
        usual.set("nvidia.com/gpu", Quantity::from_units(4)).unwrap();
        SpecialLimits::parse(FILE).unwrap().of(&person, &usual)
    }

    #[test]
    fn the_user_wins_over_his_accounts_and_those_over_what_is_usual() {
        let cards = |limits: &UserLimits| limits.requests.get("nvidia.com/gpu");
        let usual = of("bob", &[("default", AccountRole::Member)]);
        assert_eq!((usual.workspaces, cards(&usual)), (20, Quantity::from_units(4)));
        let ada = of("ada", &[("hpc", AccountRole::Member)]);
        assert_eq!((ada.workspaces, cards(&ada)), (40, Quantity::from_units(16)));
        assert_eq!(
            ada.requests.get("cpu"),
            "500m".parse().unwrap(),
            "what is not said of her is of the account"
        );
        let student = of("eve", &[("class", AccountRole::Member)]);
        assert_eq!((student.workspaces, cards(&student)), (2, Quantity::from_units(1)), "less than usual");
        let both = of("eve", &[("class", AccountRole::Member), ("hpc", AccountRole::Admin)]);
        assert_eq!((both.workspaces, cards(&both)), (2, Quantity::from_units(32)), "the most of both");
        let mut told = person("ada");
        told.limits = BTreeMap::from([("workspaces".to_owned(), Quantity::from_units(7))]);
        let told = SpecialLimits::parse(FILE).unwrap().of(&told, &UserLimits::default());
        assert_eq!(
            (told.workspaces, cards(&told)),
            (7, Quantity::from_units(16)),
            "what was said of her last"
        );
        let looks = of("vic", &[("hpc", AccountRole::Viewer)]);
        assert_eq!(cards(&looks), Quantity::from_units(4), "who starts nothing there has nothing of it");
    }

    #[test]
    fn files_that_make_no_sense_are_refused() {
        for wrong in [
            "users: { ada: { workspaces: many } }",
            "users: { ada: { workspaces: 500m } }",
            "users: { ada: { cpu: -1 } }",
            "user: {}",
            "accounts: [hpc]",
        ] {
            assert!(SpecialLimits::parse(wrong).is_err(), "{wrong}");
        }
    }
}
