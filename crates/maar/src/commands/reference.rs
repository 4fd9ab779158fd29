//! `maar reference`: the pages of docs/reference and the definitions in deploy/crds, made from the code so that there is
//! no second list to keep.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::CommandFactory as _;
use kube::ResourceExt as _;
use maar_controller::metrics::Metrics;
use maar_jobs::JobsMetrics;
use maar_portal::PortalMetrics;
use maar_scheduler::metrics::SchedulerMetrics;

/// How wide help texts are in the pages.
const WIDTH: usize = 110;

/// What `maar reference` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder the pages are written to
    folder: PathBuf,
    /// Folder the definitions of Maar's kinds are written to
    #[arg(long, value_name = "FOLDER")]
    definitions: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(folder) = &arguments.definitions {
        for (name, text) in definitions()? {
            write(folder, &name, &text)?;
        }
    }
    write(&arguments.folder, "cli.md", &commands())?;
    write(&arguments.folder, "openapi.json", &openapi()?)?;
    write(&arguments.folder, "metrics.md", &metrics())
}

fn write(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    let file = folder.join(name);
    std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))
}

/// File name and text of each definition.
fn definitions() -> anyhow::Result<Vec<(String, String)>> {
    maar_api::v1alpha1::definitions()
        .iter()
        .map(|definition| {
            let text = serde_saphyr::to_string(definition).context("writing a definition as YAML")?;
            let head = "# Made by `make generate` from crates/api/src/v1alpha1; do not edit.\n";
            Ok((format!("{}.yaml", definition.name_any()), format!("{head}{text}")))
        })
        .collect()
}

/// The document of the portal's API.
fn openapi() -> anyhow::Result<String> {
    let text =
        serde_json::to_string_pretty(&maar_portal::openapi()).context("writing the OpenAPI document")?;
    Ok(text + "\n")
}

fn commands() -> String {
    let mut root = super::Cli::command().term_width(WIDTH);
    root.build();
    let mut page = "# Commands\n\nMade by `make generate` from the code; do not edit.\n".to_owned();
    describe(&mut page, &mut root);
    page
}

fn describe(page: &mut String, command: &mut clap::Command) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    // Writing to a String cannot fail, here and below.
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", trimmed(&help));
    for child in
        command.get_subcommands_mut().filter(|child| !child.is_hide_set() && child.get_name() != "help")
    {
        describe(page, child);
    }
}

/// Without the spaces that pad the ends of lines.
fn trimmed(help: &str) -> String {
    help.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn metrics() -> String {
    let mut page = "# Metrics\n\nMade by `make generate` from the code; do not edit. Counters end in `_total`, histograms in\n\
                    `_bucket`, `_sum` and `_count` when scraped.\n\n| Name | Unit | What it tells |\n|---|---|---|\n"
        .to_owned();
    let metrics = Metrics::new();
    SchedulerMetrics::register(&metrics);
    JobsMetrics::register(&metrics);
    PortalMetrics::default().register(&metrics);
    for one in metrics.descriptions() {
        let _ = writeln!(page, "| `{}` | {} | {} |", one.name, one.unit.unwrap_or_default(), one.help);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_in_the_repository_are_what_the_code_says() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        for (name, made) in
            [("cli.md", commands()), ("metrics.md", metrics()), ("openapi.json", openapi().unwrap())]
        {
            let kept = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(kept == made, "docs/reference/{name} is not what the code says: run make generate");
        }
    }

    #[test]
    fn the_definitions_in_the_repository_are_what_the_code_says() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
        for (name, made) in definitions().unwrap() {
            let kept = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
            assert!(kept == made, "deploy/crds/{name} is not what the code says: run make generate");
        }
    }

    #[test]
    fn every_command_and_metric_has_its_place() {
        let page = commands();
        assert!(page.contains("## `maar up`") && page.contains("--data-dir"), "{page}");
        assert!(!page.contains("## `maar reference`"), "hidden commands are for those who build Maar");
        assert!(metrics().contains("| `maar_pool_work_seconds` | seconds |"), "{}", metrics());
    }
}
