//! `maar workspace create`.

use maar_api::v1alpha1::WorkspaceType;
use serde_json::{Map, Value, json};

use super::{
    source::Source,
    state::{Goal, reach},
};
use crate::commands::{cards::Cards, failure::Failure, output::Output, wait::WaitArgs};

/// What `maar workspace create` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// What it is called: small letters, digits and dashes
    name: String,
    /// Its image, such as pytorch/pytorch; may be left out with --template
    #[arg(long, value_name = "IMAGE", required_unless_present = "template")]
    image: Option<String>,
    /// Begin from this template, by its identifier (only through a portal)
    #[arg(long, value_name = "ID")]
    template: Option<String>,
    /// What its program is if no command is said; the image has to bring it. Without this, and without a template, it waits for
    /// you to come in by a terminal
    #[arg(long = "type", value_name = "KIND")]
    kind: Option<Kind>,
    /// Whole cards
    #[arg(long, value_name = "COUNT", conflicts_with = "share", value_parser = clap::value_parser!(i32).range(1..=1024))]
    gpus: Option<i32>,
    /// A part of one card, such as 0.5, or memory of one, such as 8Gi
    #[arg(long, value_name = "PART")]
    share: Option<String>,
    /// Only these cards of a node, by number, such as 2,3: as many as --gpus, or one with --share. It waits until they are free;
    /// the heat map shows which are
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(0..128))]
    gpu_index: Vec<u16>,
    /// Kind of card; without it nvidia.com/gpu
    #[arg(long, value_name = "RESOURCE")]
    card: Option<String>,
    /// Cores, such as 8 or 500m; without it, and without a template, 1
    #[arg(long, value_name = "AMOUNT")]
    cpu: Option<String>,
    /// Memory, such as 64Gi; without it, and without a template, 4Gi
    #[arg(long, value_name = "AMOUNT")]
    memory: Option<String>,
    /// The account that pays; without it your usual one
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only on this node; may be repeated, for one of several
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
    /// A variable of its environment; may be repeated
    #[arg(long, short, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A volume of its own, which goes with it, such as work=/work:100Gi; may be repeated
    #[arg(long, value_name = "NAME=PATH:SIZE")]
    volume: Vec<String>,
    /// Mount a volume that is there, such as data=/data; may be repeated
    #[arg(long, value_name = "CLAIM=PATH")]
    mount: Vec<String>,
    /// A port that the page of the workspace shows, such as board=6006; may be repeated
    #[arg(long, value_name = "NAME=PORT")]
    port: Vec<String>,
    /// A profile that an administrator granted: the workspace has what it grants (only through a portal)
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// A folder of the node that the profile names, or one below it, with :ro to read only; may be repeated
    #[arg(long, value_name = "FOLDER=PATH[:ro]", requires = "profile")]
    host_path: Vec<String>,
    #[command(flatten)]
    wait: WaitArgs,
    /// What to run instead of what the image says
    #[arg(last = true)]
    command: Vec<String>,
}

/// Types of workspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Terminal,
    Jupyter,
    CodeServer,
}

impl From<Kind> for WorkspaceType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Terminal => Self::Terminal,
            Kind::Jupyter => Self::Jupyter,
            Kind::CodeServer => Self::CodeServer,
        }
    }
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
    reach(source, output, &arguments.name, (Goal::Running, None), arguments.wait).await
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
    if let Some(kind) = arguments.kind {
        set("type", json!(WorkspaceType::from(kind)));
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
    let ports = pairs(&arguments.port, "NAME=PORT")?.into_iter().map(|(name, port)| {
        let number = port.parse::<u16>().ok().filter(|number| *number > 0);
        let wrong = || Failure::usage(format!("{name}={port}: a port is a number from 1 to 65535"));
        Ok(json!({ "name": name, "port": number.ok_or_else(wrong)? }))
    });
    let ports = ports.collect::<Result<Vec<Value>, Failure>>()?;
    if !ports.is_empty() {
        set("ports", ports.into());
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
    let asked =
        Cards { whole: arguments.gpus, part: arguments.share.as_deref(), numbers: &arguments.gpu_index };
    let mut cards = asked.value("--share")?;
    match (&mut cards, &arguments.card) {
        (Some(cards), Some(resource)) => cards["resource"] = json!(resource),
        (None, Some(_)) => {
            return Err(Failure::usage("--card says which kind: say how many with --gpus or --share"));
        }
        (_, None) => {}
    }
    Ok(cards)
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
        for (word, want) in [("terminal", "Terminal"), ("jupyter", "Jupyter"), ("code-server", "CodeServer")]
        {
            assert_eq!(asked(&["desk", "--image", "a", "--type", word]).unwrap()["type"], want);
        }
        let ports = asked(&["desk", "--image", "a", "--port", "board=6006", "--port", "web=80"]).unwrap();
        assert_eq!(ports["ports"], json!([{ "name": "board", "port": 6006 }, { "name": "web", "port": 80 }]));
        let cards =
            |words: &[&str]| asked(&[&["desk", "--image", "a"], words].concat()).unwrap()["cards"].clone();
        assert_eq!(cards(&["--gpu-index", "3,2"]), json!({ "count": 2, "indices": [2, 3] }));
        assert_eq!(cards(&["--share", "8Gi", "--gpu-index", "1"]), json!({ "memory": "8Gi", "index": 1 }));
        assert!(
            Line::try_parse_from(["create", "desk", "--image", "a", "--host-path", "/a=/b"]).is_err(),
            "which profile grants it?"
        );
        for wrong in [
            ["-e", "A"],
            ["--volume", "work=/work"],
            ["--mount", "=x"],
            ["--card", "nvidia.com/gpu"],
            ["--port", "6006"],
            ["--port", "board=0"],
            ["--port", "board=70000"],
        ] {
            assert!(asked(&[&["desk", "--image", "a"], &wrong[..]].concat()).is_err(), "{wrong:?}");
        }
    }
}
