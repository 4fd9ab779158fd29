//! What commands print: a table for people, JSON and YAML for programs.

use std::io::Write as _;

use jiff::Timestamp;
use serde::Serialize;

/// How to print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    /// A table
    #[default]
    Table,
    /// A table with more columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// The flag for it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OutputArgs {
    /// How to print: json and yaml for programs, wide for more columns
    #[arg(long, short, value_enum, default_value_t, global = true, display_order = 900, help_heading = None::<&'static str>)]
    pub(crate) output: Output,
}

/// Rows with a title. Columns after the first `narrow` are for `wide` only.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) titles: Vec<&'static str>,
    pub(crate) narrow: usize,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The text of the table, columns lined up.
    pub(crate) fn text(&self, wide: bool) -> String {
        let columns = if wide { self.titles.len() } else { self.narrow };
        let titles = self.titles.iter().map(|title| (*title).to_owned()).collect();
        let rows: Vec<&Vec<String>> = std::iter::once(&titles).chain(&self.rows).collect();
        let width = |column: usize| rows.iter().map(|row| length(row, column)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in rows {
            let mut line = String::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                line.push_str(cell);
                line.push_str(&" ".repeat(width - length(row, column) + 3));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

fn length(row: &[String], column: usize) -> usize {
    row.get(column).map_or(0, |cell| cell.chars().count())
}

/// Prints objects as asked: the table of them, or the objects.
pub(crate) fn show<T: Serialize>(output: Output, table: &Table, objects: &T) -> anyhow::Result<()> {
    if table.rows.is_empty() && matches!(output, Output::Table | Output::Wide) {
        // Beside the table, so that programs find only the headings.
        let _ = std::io::stderr().write_all(b"Nothing found.\n");
    }
    match output {
        Output::Table => print(&table.text(false)),
        Output::Wide => print(&table.text(true)),
        Output::Json => print(&format!("{}\n", serde_json::to_string_pretty(objects)?)),
        Output::Yaml => print(&serde_saphyr::to_string(objects)?),
    }
    Ok(())
}

/// Prints text as it is.
pub(crate) fn print(text: &str) {
    // Nobody listening any more (`| head`) is no reason to fall over.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// A list as Kubernetes writes it.
pub(crate) fn list<T: Serialize>(items: &[T]) -> serde_json::Value {
    serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// How long ago, in one or two units.
pub(crate) fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    let Some(since) = since else { return "-".to_owned() };
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A dash for what is not there.
pub(crate) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_wide_has_more() {
        let row = |words: [&str; 3]| words.map(str::to_owned).to_vec();
        let table = Table {
            titles: vec!["NAME", "PHASE", "NODES"],
            narrow: 2,
            rows: vec![row(["train", "Running", "a,b"]), row(["é", "-", ""])],
        };
        assert_eq!(table.text(false), "NAME    PHASE\ntrain   Running\né       -\n");
        assert_eq!(table.text(true), "NAME    PHASE     NODES\ntrain   Running   a,b\né       -\n");
    }

    #[test]
    fn ages_are_short() {
        let now = Timestamp::constant(1_000_000, 0);
        let rows = [(999_990, "10s"), (999_700, "5m"), (990_000, "2h"), (1, "11d")];
        for (since, want) in rows {
            assert_eq!(age(Some(Timestamp::constant(since, 0)), now), want);
        }
    }
}
