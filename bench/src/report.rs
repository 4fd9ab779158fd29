//! What was found: printed as it comes, checked against what is promised, and kept as JSON.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use maar_embedded::Clock;
use serde_json::{Map, Value, json};

use crate::statistics::short;

/// Something promised that was measured.
#[derive(Debug)]
struct Promise {
    what: String,
    found: String,
    missed_by: Option<String>,
}

/// Collects figures and promises.
#[derive(Debug, Default)]
pub(crate) struct Report {
    figures: Map<String, Value>,
    promises: Vec<Promise>,
    /// What could not be measured, and why.
    absent: Vec<String>,
}

/// What is promised, as it was said where that is short.
fn plain(wanted: f64) -> String {
    let said = wanted.to_string();
    if said.len() > 6 { short(wanted) } else { said }
}

impl Report {
    /// A line for the reader.
    pub(crate) fn say(line: &str) {
        // Nobody reading is no reason to stop measuring.
        let _ = writeln!(std::io::stdout(), "{line}");
    }

    pub(crate) fn figure(&mut self, name: &str, value: Value) {
        self.figures.insert(name.to_owned(), value);
    }

    /// A promise of the form "at least".
    pub(crate) fn at_least(&mut self, what: &str, found: f64, wanted: f64, unit: &str) {
        let missed = (found < wanted).then(|| format!("{}{unit} short", short(wanted - found)));
        self.promise(
            what,
            &format!("{}{unit} (promised: at least {}{unit})", short(found), plain(wanted)),
            missed,
        );
    }

    /// A promise of the form "under".
    pub(crate) fn under(&mut self, what: &str, found: f64, wanted: f64, unit: &str) {
        let missed = (found >= wanted).then(|| format!("{}{unit} too much", short(found - wanted)));
        self.promise(
            what,
            &format!("{}{unit} (promised: under {}{unit})", short(found), plain(wanted)),
            missed,
        );
    }

    fn promise(&mut self, what: &str, found: &str, missed_by: Option<String>) {
        self.promises.push(Promise { what: what.to_owned(), found: found.to_owned(), missed_by });
    }

    pub(crate) fn absent(&mut self, what: String) {
        Self::say(&format!("NOT MEASURED: {what}"));
        self.absent.push(what);
    }

    /// Prints the promises, writes the figures, and says whether all promises are kept.
    pub(crate) fn finish(mut self, folder: &Path) -> anyhow::Result<ExitCode> {
        Self::say("\nPromises");
        for Promise { what, found, missed_by } in &self.promises {
            let verdict = missed_by.as_ref().map_or("kept".to_owned(), |by| format!("MISSED, {by}"));
            Self::say(&format!("  {what:<46} {found:<48} {verdict}"));
        }
        for what in &self.absent {
            Self::say(&format!("  not measured: {what}"));
        }
        let promises: Vec<Value> = self
            .promises
            .iter()
            .map(|promise| json!({"what": promise.what, "found": promise.found, "missedBy": promise.missed_by}))
            .collect();
        self.figure("promises", promises.into());
        self.figure("notMeasured", self.absent.clone().into());
        self.write(folder)?;
        let missed = self.promises.iter().filter(|promise| promise.missed_by.is_some()).count();
        if missed == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        Self::say(&format!("{missed} of {} promises missed", self.promises.len()));
        Ok(ExitCode::FAILURE)
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let now = Clock::wall().now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
        let file = folder.join(format!("{now}.json"));
        let write = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(&file, format!("{:#}\n", Value::Object(self.figures.clone())))
        };
        write().with_context(|| format!("writing {}", file.display()))?;
        Self::say(&format!("figures: {}", file.display()));
        Ok(())
    }
}
