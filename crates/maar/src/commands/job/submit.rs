//! `maar job submit`.

use std::{io::Read as _, path::PathBuf};

use anyhow::Context as _;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{AIJob, JobType};
use maar_controller::backoff::Dice;
use maar_jobs::lost_fields;
use serde_json::{Map, Value, json};

use super::{show::table, source, wait};
use crate::commands::{
    cards::Cards,
    failure::Failure,
    output::{Output, show},
    wait::{WaitArgs, seconds},
    workspace::Source,
};

/// What `maar job submit` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// File with the job; - reads it from standard input. Flags below make one without a file
    #[arg(long, short, value_name = "FILE", conflicts_with = "image")]
    file: Option<PathBuf>,
    /// Name of the job; one is made up if it is not said
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What kind of program it is
    #[arg(long = "type", value_enum, default_value_t = Kind::Single)]
    kind: Kind,
    /// Image of the Pods
    #[arg(long, required_unless_present = "file")]
    image: Option<String>,
    /// How many Pods
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    replicas: i32,
    /// Whole cards for each Pod
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..=1024))]
    gpus: Option<i32>,
    /// A part of one card for each Pod, such as 0.5, or memory, such as 8Gi
    #[arg(long, value_name = "PART", conflicts_with = "gpus")]
    gpu_share: Option<String>,
    /// Only these cards of a node, by number, such as 2,3: as many as --gpus, or one with --gpu-share. It waits until they are
    /// free
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(0..128))]
    gpu_index: Vec<u16>,
    /// The resource that counts the cards
    #[arg(long, value_name = "NAME", default_value = "nvidia.com/gpu")]
    gpu_resource: String,
    /// Cores for each Pod, such as 8 or 500m
    #[arg(long, value_name = "AMOUNT")]
    cpu: Option<String>,
    /// Memory for each Pod, such as 64Gi
    #[arg(long, value_name = "AMOUNT")]
    memory: Option<String>,
    /// The account that pays; without it your usual one
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// The member of the account whose cap applies
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Run on what is free, and give way to others
    #[arg(long)]
    best_effort: bool,
    /// Higher goes first within the account
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// The longest run, such as 90m or 4h; without it there is no limit
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    max_run_time: Option<i64>,
    /// The moment by which it must be over, such as 2026-11-18T18:00:00Z; it is stopped then
    #[arg(long, value_name = "MOMENT", value_parser = moment, conflicts_with = "cron")]
    deadline: Option<jiff::Timestamp>,
    /// How often it is tried again after a failure, at most
    #[arg(long, default_value_t = 0)]
    retries: i32,
    /// Only nodes of this pool; may be repeated
    #[arg(long, value_name = "POOL")]
    pool: Vec<String>,
    /// Variable of the program, as NAME=VALUE; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Files of a claim, as CLAIM:/PATH; may be repeated
    #[arg(long, value_name = "CLAIM:PATH")]
    mount: Vec<String>,
    /// One job per index, such as 0-9
    #[arg(long, value_name = "INDICES")]
    array: Option<String>,
    /// Jobs by the clock, such as "0 3 * * *"
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
    #[command(flatten)]
    wait: WaitArgs,
    /// Print the job and do not submit it
    #[arg(long)]
    dry_run: bool,
    /// What to run
    #[arg(last = true)]
    command: Vec<String>,
}

/// Types that flags can describe; others need a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Single,
    Jupyter,
    CodeServer,
    #[value(name = "pytorch")]
    PyTorch,
    Ray,
}

pub(super) async fn run(source: &Source, output: Output, arguments: Arguments) -> anyhow::Result<()> {
    let mut job = match &arguments.file {
        Some(file) => read(file)?,
        None => make(&arguments)?,
    };
    let usual = || source::namespace(source).to_owned();
    let namespace = job.metadata.namespace.get_or_insert_with(usual).clone();
    if arguments.dry_run {
        let output = if matches!(output, Output::Json) { Output::Json } else { Output::Yaml };
        return show(output, &table(&[], false), &job);
    }
    let source = source::in_namespace(source, namespace);
    let made = source::create(&source, &job).await?;
    if arguments.wait.wait {
        return wait::until_over(&source, &made.name_any(), output, arguments.wait).await;
    }
    show(output, &table(std::slice::from_ref(&made), false), &made)
}

fn read(file: &std::path::Path) -> anyhow::Result<AIJob> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).context("reading standard input")?;
    } else {
        text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    }
    understand(&text).with_context(|| format!("understanding the job in {}", file.display()))
}

/// A job from YAML or JSON. A field that would be lost is a typing error.
fn understand(text: &str) -> anyhow::Result<AIJob> {
    let written: Value = serde_saphyr::from_str(text)?;
    let lost = lost_fields::<AIJob>(&written);
    if !lost.is_empty() {
        let message = format!("there are no such fields: {}", lost.join(", "));
        return Err(Failure::usage(message).into());
    }
    // From the text, not from what was read of it: complaints name lines then.
    Ok(serde_saphyr::from_str(text)?)
}

fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse().map_err(|_| "write a moment with its zone, such as 2026-11-18T18:00:00Z".to_owned())
}

/// A job from flags.
fn make(arguments: &Arguments) -> anyhow::Result<AIJob> {
    let mut container = Map::new();
    container.insert("name".to_owned(), json!("main"));
    container.insert("image".to_owned(), json!(arguments.image));
    if !arguments.command.is_empty() {
        container.insert("command".to_owned(), json!(arguments.command));
    }
    container.insert("env".to_owned(), json!(pairs(&arguments.env, '=', ["name", "value"])?));
    let mut requests = Map::new();
    requests.extend(arguments.cpu.as_ref().map(|amount| ("cpu".to_owned(), json!(amount))));
    requests.extend(arguments.memory.as_ref().map(|amount| ("memory".to_owned(), json!(amount))));
    container.insert("resources".to_owned(), json!({ "requests": requests }));
    let template = json!({ "spec": { "containers": [container] } });
    let cards = cards(arguments)?;
    let tasks: Vec<Value> = tasks(arguments.kind, arguments.replicas)
        .into_iter()
        .map(|(name, replicas)| {
            let mut task = json!({ "name": name, "replicas": replicas, "template": template });
            if let Some(cards) = &cards {
                task["cards"] = cards.clone();
            }
            task
        })
        .collect();
    let level = if arguments.best_effort { "BestEffort" } else { "Guaranteed" };
    let mut spec = json!({
        "type": job_type(arguments.kind), "tasks": tasks, "serviceLevel": level,
        "priority": arguments.priority, "retries": arguments.retries, "account": arguments.account,
        "user": arguments.user, "maxRunSeconds": arguments.max_run_time, "deadline": arguments.deadline,
        "mounts": pairs(&arguments.mount, ':', ["claim", "path"])?,
    });
    if !arguments.pool.is_empty() {
        spec["nodes"] = json!({ "pools": arguments.pool });
    }
    if let Some(indices) = &arguments.array {
        spec["array"] = json!({ "indices": indices });
    }
    if let Some(cron) = &arguments.cron {
        spec["schedule"] = json!({ "cron": cron });
    }
    let name = arguments.name.clone().unwrap_or_else(|| {
        let random = Dice::from_entropy().number() % (1 << 20);
        format!("{}-{random:05x}", prefix(arguments.kind))
    });
    let job = json!({ "metadata": { "name": name }, "spec": spec });
    serde_json::from_value(job).context("making a job of the flags")
}

/// `A=B` and the like as objects with two fields.
fn pairs(all: &[String], separator: char, fields: [&str; 2]) -> anyhow::Result<Vec<Value>> {
    all.iter()
        .map(|one| {
            let (first, second) = one
                .split_once(separator)
                .ok_or_else(|| Failure::usage(format!("{one:?} has no {separator:?} in it")))?;
            Ok(json!({ fields[0]: first, fields[1]: second }))
        })
        .collect()
}

fn cards(arguments: &Arguments) -> Result<Option<Value>, Failure> {
    let asked =
        Cards { whole: arguments.gpus, part: arguments.gpu_share.as_deref(), numbers: &arguments.gpu_index };
    let cards = asked.value("--gpu-share")?;
    Ok(cards.map(|mut cards| {
        cards["resource"] = json!(arguments.gpu_resource);
        cards
    }))
}

fn tasks(kind: Kind, replicas: i32) -> Vec<(&'static str, i32)> {
    match kind {
        Kind::Single | Kind::Jupyter | Kind::CodeServer => vec![("main", replicas)],
        Kind::PyTorch => vec![("worker", replicas)],
        Kind::Ray if replicas == 1 => vec![("head", 1)],
        Kind::Ray => vec![("head", 1), ("worker", replicas - 1)],
    }
}

fn job_type(kind: Kind) -> JobType {
    match kind {
        Kind::Single => JobType::Single,
        Kind::Jupyter => JobType::Jupyter,
        Kind::CodeServer => JobType::CodeServer,
        Kind::PyTorch => JobType::PyTorch,
        Kind::Ray => JobType::Ray,
    }
}

fn prefix(kind: Kind) -> &'static str {
    match kind {
        Kind::Single => "job",
        Kind::Jupyter => "jupyter",
        Kind::CodeServer => "code",
        Kind::PyTorch => "pytorch",
        Kind::Ray => "ray",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(words: &[&str]) -> Arguments {
        Command::try_parse_from(["submit"].iter().chain(words)).unwrap().arguments
    }

    fn made(words: &[&str]) -> anyhow::Result<AIJob> {
        make(&parsed(words))
    }

    #[test]
    fn flags_make_a_job() {
        let words = [
            "--name",
            "train",
            "--type",
            "pytorch",
            "--image",
            "img",
            "--replicas",
            "4",
            "--gpus",
            "2",
            "--cpu",
            "8",
            "--account",
            "vision",
            "--best-effort",
            "--max-run-time",
            "1h30m",
            "--pool",
            "a100",
            "--env",
            "A=b=c",
            "--mount",
            "data:/data",
            "--array",
            "0-3",
            "--",
            "python",
            "train.py",
        ];
        insta::assert_yaml_snapshot!(made(&words).unwrap());
    }

    #[test]
    fn a_deadline_is_a_moment_of_one_job() {
        let job = made(&["--image", "i", "--deadline", "2026-11-18T18:00:00+01:00"]).unwrap();
        assert_eq!(job.spec.deadline.unwrap().0.to_string(), "2026-11-18T17:00:00Z");
        for (words, want) in [
            (vec!["--deadline", "tomorrow"], "such as 2026-11-18T18:00:00Z"),
            (vec!["--deadline", "2026-11-18T18:00:00Z", "--cron", "0 3 * * *"], "cannot be used with"),
        ] {
            let words = ["submit", "--image", "i"].into_iter().chain(words);
            let refused = Command::try_parse_from(words).unwrap_err().to_string();
            assert!(refused.contains(want), "{refused}");
        }
    }

    #[test]
    fn a_share_is_a_fraction_or_memory() {
        let share =
            |part| made(&["--image", "i", "--gpu-share", part]).unwrap().spec.tasks[0].cards.clone().unwrap();
        assert!(share("0.5").share.is_some() && share("8Gi").memory.is_some());
    }

    #[test]
    fn cards_are_asked_for_by_number() {
        let cards = |words: &[&str]| {
            let job = made(&[&["--image", "i"], words].concat())?;
            anyhow::Ok(job.spec.tasks[0].cards.clone().unwrap())
        };
        let two = cards(&["--gpu-index", "2,3"]).unwrap();
        assert_eq!((two.count, two.indices, two.index), (Some(2), vec![2, 3], None));
        assert_eq!(cards(&["--gpus", "1", "--gpu-index", "5"]).unwrap().indices, [5]);
        assert_eq!(cards(&["--gpu-share", "0.5", "--gpu-index", "3"]).unwrap().index, Some(3));
        for wrong in [
            &["--gpus", "1", "--gpu-index", "2,3"][..],
            &["--gpu-share", "0.5", "--gpu-index", "2,3"],
            &["--gpu-index", "2,2"],
        ] {
            assert!(cards(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn nonsense_is_a_matter_of_usage() {
        assert!(made(&["--image", "i", "--env", "A"]).is_err());
        for words in [["--image", "i", "--max-run-time", "soon"], ["--image", "i", "--gpus", "0"]] {
            assert!(Command::try_parse_from(["submit"].iter().chain(&words)).is_err(), "{words:?}");
        }
        assert!(Command::try_parse_from(["submit"]).is_err(), "neither file nor image");
    }

    #[test]
    fn a_field_that_would_be_lost_is_named() {
        let job = "metadata: { name: a }\nspec: { tasks: [{ name: main, replica: 4, template: { spec: { containers: [\
                   { name: main, image: i, resource: { limits: { cpu: 1 } } }] } } }] }";
        let error = understand(job).unwrap_err().to_string();
        let fields = "spec.tasks[0].replica, spec.tasks[0].template.spec.containers[0].resource";
        assert_eq!(error, format!("there are no such fields: {fields}"));
        let right = job.replace("replica:", "replicas:").replace("resource:", "resources:");
        assert_eq!(understand(&right).unwrap().spec.tasks[0].replicas, 4);
    }
}
