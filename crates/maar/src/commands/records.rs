//! `maar records`: looking after the database of users, sessions, keys and the audit log.

mod audit;
mod backup;
mod migrate;
mod prune;

/// What `maar records` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Copy a SQLite database while it is in use (for PostgreSQL there is pg_dump)
    Backup(backup::Arguments),
    /// Bring the schema up to date, as every start does
    Migrate(DatabaseArgs),
    /// Read the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Take out what is too old to keep; of audit entries it leaves an entry that says so
    Prune(prune::Arguments),
}

#[derive(Debug, clap::Subcommand)]
enum AuditCommand {
    /// Print entries as lines of JSON, oldest first
    Export(Box<audit::Arguments>),
}

/// Which database.
#[derive(Debug, clap::Args)]
struct DatabaseArgs {
    /// Database: sqlite:///path/to/file.db or postgres://…
    #[arg(long, value_name = "URL", env = "MAAR_RECORDS", hide_env_values = true)]
    records: String,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Backup(command) => backup::run(&command).await,
        Command::Migrate(database) => migrate::run(&database).await,
        Command::Audit(AuditCommand::Export(command)) => audit::run(*command).await,
        Command::Prune(command) => prune::run(&command).await,
    }
}
