//! `maar workspace`: workspaces from the command line, through the portal one is logged in to, or straight to a cluster.

mod create;
mod enter;
mod show;
mod source;
mod state;

use super::{client::ClusterArgs, output::OutputArgs, remote::LoginArgs};
pub(crate) use enter::{CONTAINER, CommandArguments, enter, pod_of};
pub(crate) use source::Source;

/// What `maar workspace` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    login: LoginArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    command: Command,
}

/// A workspace.
#[derive(Debug, clap::Args)]
struct Named {
    /// The workspace
    name: String,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a workspace
    #[command(after_help = "Examples:\n  \
        maar workspace create desk --image pytorch/pytorch --gpus 1 --cpu 8 --memory 64Gi --volume work=/work:100Gi --wait\n  \
        maar workspace create half --image busybox --share 0.5 -- sleep 1d\n  \
        maar workspace create pair --image busybox --node gpu-1 --gpu-index 2,3")]
    Create(Box<create::Arguments>),
    /// List your workspaces
    #[command(visible_alias = "ls")]
    List(show::ListArguments),
    /// Show one workspace
    Get(Named),
    /// Print what the program of a workspace wrote
    Logs(enter::LogArguments),
    /// Run a command in a workspace, a shell if none is said
    #[command(
        after_help = "Examples:\n  maar workspace exec desk\n  maar workspace exec desk -- nvidia-smi\n  maar workspace exec desk -t -- htop"
    )]
    Exec(enter::ExecArguments),
    /// Take the Pod of a workspace away; its volumes stay
    Stop(state::Arguments),
    /// Let a stopped workspace go on
    Resume(state::Arguments),
    /// Delete a workspace with its volumes
    #[command(visible_alias = "rm")]
    Delete(state::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let output = arguments.output.output;
    let source = Source::choose(&arguments.login, &arguments.cluster).await?;
    match arguments.command {
        Command::Create(command) => create::run(&source, output, &command).await,
        Command::List(command) => show::list(&source, output, &command).await,
        Command::Get(named) => show::get(&source, output, &named.name).await,
        Command::Logs(command) => enter::logs(&source, &command).await,
        Command::Exec(command) => enter::exec(&source, command).await,
        Command::Stop(command) => state::stop(&source, output, &command).await,
        Command::Resume(command) => state::resume(&source, output, &command).await,
        Command::Delete(command) => state::delete(&source, &command).await,
    }
}
