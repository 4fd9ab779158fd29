//! `maar workspace create`.

use serde_json::{Map, Value, json};

use super::{source::Source, state::reach};
use crate::commands::{failure::Failure, output::Output};

/// What `maar workspace create` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Its name
    name: String,
    /// Its image
    #[arg(long, value_name = "IMAGE", required_unless_present = "template")]
    image: Option<String>,
    /// Begin from this template, by its identifier (only through a portal)
    #[arg(long, value_name = "ID")]
    template: Option<String>,
    /// Whole cards
    #[arg(long, value_name = "COUNT", conflicts_with = "share")]
    gpus: Option<u32>,
    /// A part of one card, such as 0.5
    #[arg(long, value_name = "PART")]
    share: Option<String>,
    /// Kind of card
    #[arg(long, value_name = "RESOURCE")]
    card: Option<String>,
    /// Processor time
    #[arg(long, value_name = "AMOUNT")]
    cpu: Option<String>,
    /// Memory
    #[arg(long, value_name = "AMOUNT")]
    memory: Option<String>,
    /// Who pays
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only on this node; several times for several
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
    /// A variable of its environment
    #[arg(long, short, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A volume of its own: NAME=PATH:SIZE, such as work=/work:100Gi
    #[arg(long, value_name = "NAME=PATH:SIZE")]
    volume: Vec<String>,
    /// Mount a volume that is there: CLAIM=PATH
    #[arg(long, value_name = "CLAIM=PATH")]
    mount: Vec<String>,
    /// A profile that an administrator granted: the workspace has what it grants (only through a portal)
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// A folder of the node that the profile names, or one below it: FOLDER=PATH, or FOLDER=PATH:ro to read only
    #[arg(long, value_name = "FOLDER=PATH[:ro]", requires = "profile")]
    host_path: Vec<String>,
    /// Wait until it runs
    #[arg(long)]
    wait: bool,
    /// What to run instead of what the image says
    #[arg(last = true)]
    command: Vec<String>,
}

pub(super) async fn run(source: &Source, output: Output, arguments: &Arguments) -> anyhow::Result<()> {
    let asked = body(arguments)?;
    if matches!(source, Source::Cluster(_)) {
        let kept = [("templates", &arguments.template), ("profiles", &arguments.profile)];
        if let Some((what, _)) = kept.into_iter().find(|(_, asked)| asked.is_some()) {
            let why = format!("{what} are kept by portals: log in with maar login first");
            return Err(Failure::usage(why).into());
        }
    }
    source.create(&asked).await?;
    let wanted = if arguments.wait { Some("Running") } else { None };
    reach(source, output, &arguments.name, wanted).await
}

/// The request.
fn body(arguments: &Arguments) -> Result<Value, Failure> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    set("name", arguments.name.clone().into());
    for (name, value) in [
        ("image", &arguments.image),
        ("template", &arguments.template),
        ("cpu", &arguments.cpu),
        ("memory", &arguments.memory),
        ("account", &arguments.account),
        ("profile", &arguments.profile),
    ] {
        if let Some(value) = value {
            set(name, value.clone().into());
        }
    }
    if let Some(cards) = cards(arguments)? {
        set("cards", cards);
    }
    if !arguments.node.is_empty() {
        set("nodes", json!(arguments.node));
    }
    if !arguments.command.is_empty() {
        set("command", json!(arguments.command));
    }
    let pairs = |list: &[String], shape: &str| -> Result<Vec<(String, String)>, Failure> {
        list.iter().map(|text| pair(text, shape)).collect()
    };
    let env = pairs(&arguments.env, "NAME=VALUE")?;
    if !env.is_empty() {
        set("env", env.into_iter().map(|(name, value)| (name, value.into())).collect::<Map<_, _>>().into());
    }
    let volumes = pairs(&arguments.volume, "NAME=PATH:SIZE")?.into_iter().map(|(name, rest)| {
        let wrong = || Failure::usage(format!("{name}={rest} is not NAME=PATH:SIZE"));
        let (path, size) = rest.rsplit_once(':').ok_or_else(wrong)?;
        Ok(json!({ "name": name, "path": path, "size": size }))
    });
    let volumes = volumes.collect::<Result<Vec<Value>, Failure>>()?;
    if !volumes.is_empty() {
        set("volumes", volumes.into());
    }
    let mounts = pairs(&arguments.mount, "CLAIM=PATH")?;
    if !mounts.is_empty() {
        let mounts: Vec<Value> =
            mounts.into_iter().map(|(claim, path)| json!({ "claim": claim, "path": path })).collect();
        set("mounts", mounts.into());
    }
    let folders = pairs(&arguments.host_path, "FOLDER=PATH")?;
    if !folders.is_empty() {
        set("hostPaths", folders.into_iter().map(host_path).collect::<Vec<Value>>().into());
    }
    Ok(body.into())
}

fn host_path((folder, rest): (String, String)) -> Value {
    match rest.strip_suffix(":ro") {
        Some(path) => json!({ "hostPath": folder, "path": path, "readOnly": true }),
        None => json!({ "hostPath": folder, "path": rest }),
    }
}

fn cards(arguments: &Arguments) -> Result<Option<Value>, Failure> {
    let mut cards = match (arguments.gpus, &arguments.share) {
        (Some(count), _) => json!({ "count": count }),
        (None, Some(share)) => json!({ "share": share }),
        (None, None) if arguments.card.is_some() => {
            return Err(Failure::usage("--card says which kind: say how many with --gpus or --share"));
        }
        (None, None) => return Ok(None),
    };
    if let Some(resource) = &arguments.card {
        cards["resource"] = json!(resource);
    }
    Ok(Some(cards))
}

fn pair(text: &str, shape: &str) -> Result<(String, String), Failure> {
    let found = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = found.ok_or_else(|| Failure::usage(format!("{text} is not {shape}")))?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn asked(words: &[&str]) -> Result<Value, Failure> {
        body(&Line::parse_from([&["create"], words].concat()).arguments)
    }

    #[test]
    fn flags_become_a_request() {
        let words = [
            "desk",
            "--image",
            "busybox",
            "--gpus",
            "2",
            "--cpu",
            "8",
            "--node",
            "gpu-1",
            "-e",
            "A=b=c",
            "--volume",
            "work=/work:10Gi",
            "--mount",
            "data=/data",
            "--",
            "sleep",
            "1d",
        ];
        insta::assert_json_snapshot!(asked(&words).unwrap());
        assert_eq!(
            asked(&["desk", "--template", "t-1"]).unwrap(),
            json!({ "name": "desk", "template": "t-1" })
        );
        let granted = [
            "desk",
            "--image",
            "a",
            "--profile",
            "hpc",
            "--host-path",
            "/scratch/ada=/scratch",
            "--host-path",
            "/data=/data:ro",
        ];
        assert_eq!(
            asked(&granted).unwrap(),
            json!({ "name": "desk", "image": "a", "profile": "hpc", "hostPaths": [
                { "hostPath": "/scratch/ada", "path": "/scratch" },
                { "hostPath": "/data", "path": "/data", "readOnly": true },
            ] })
        );
        assert!(
            Line::try_parse_from(["create", "desk", "--image", "a", "--host-path", "/a=/b"]).is_err(),
            "which profile grants it?"
        );
        for wrong in
            [["-e", "A"], ["--volume", "work=/work"], ["--mount", "=x"], ["--card", "nvidia.com/gpu"]]
        {
            assert!(asked(&[&["desk", "--image", "a"], &wrong[..]].concat()).is_err(), "{wrong:?}");
        }
    }
}
