//! What a scenario gets, and what is left of it afterwards: nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use maar_embedded::Clock;

use super::arena::Arena;
use super::places::{On, Place};

/// Makes names distinct within the process.
static SERIAL: AtomicU32 = AtomicU32::new(0);

/// The clusters of one scenario.
#[derive(Debug)]
pub struct Context {
    on: On,
    arenas: Vec<Arena>,
}

impl Context {
    pub(super) async fn prepare(on: On, name: &str, clusters: usize) -> anyhow::Result<Self> {
        let mut context = Self { on, arenas: Vec::new() };
        let label = label(on, name);
        for number in 0..clusters {
            match arena(on, &label, number).await {
                Ok(arena) => context.arenas.push(arena),
                Err(error) => {
                    // What was prepared so far must not stay; why it went wrong is the first error.
                    let _ = context.clean_up().await;
                    return Err(error);
                }
            }
        }
        Ok(context)
    }

    /// The first cluster, for scenarios that ask for one.
    pub fn arena(&self) -> &Arena {
        self.cluster(0)
    }

    /// The cluster of that number, from 0.
    pub fn cluster(&self, number: usize) -> &Arena {
        &self.arenas[number]
    }

    /// What kind of clusters they are. Scenarios may wait differently, but must not expect differently.
    pub fn on(&self) -> On {
        self.on
    }

    pub(super) async fn clean_up(self) -> anyhow::Result<()> {
        let mut outcome = Ok(());
        for arena in self.arenas {
            outcome = outcome.and(arena.clean_up().await);
        }
        outcome
    }
}

async fn arena(on: On, label: &str, number: usize) -> anyhow::Result<Arena> {
    let place = Place::find(on, number).await?;
    let namespace = if number == 0 { label.to_owned() } else { format!("{label}-{number}") };
    Arena::prepare(on, place, namespace).await
}

/// A name for namespaces and nodes: what the scenario is called, and on shared clusters something nobody else has.
fn label(on: On, name: &str) -> String {
    let words: String = name.replace('_', "-").chars().take(30).collect();
    let words = words.trim_end_matches('-').to_owned();
    if on != On::Real {
        return words;
    }
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let moment = Clock::wall().now().as_millisecond() % 100_000_000;
    format!("{words}-{moment}-{}-{serial}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_namespace_and_are_not_repeated_where_clusters_are_shared() {
        let long = "a_very_long_name_that_says_all_there_is_to_say_about_a_scenario";
        let (one, other) = (label(On::Real, long), label(On::Real, long));
        assert_ne!(one, other);
        assert!(one.len() <= 60 && !one.contains('_'), "{one}");
        assert_eq!(label(On::InProcess, "short_name"), "short-name");
    }
}
