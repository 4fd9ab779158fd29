//! `maar completion`: what a shell needs to complete commands.

use clap::CommandFactory as _;

use super::output::print;

/// What `maar completion` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Shell {
    /// For ~/.bashrc: source <(maar completion bash)
    Bash,
    /// For ~/.zshrc: source <(maar completion zsh)
    Zsh,
    /// maar completion fish > ~/.config/fish/completions/maar.fish
    Fish,
}

pub(crate) fn run(arguments: &Arguments) {
    print(&script(arguments.shell));
}

fn script(shell: Shell) -> String {
    let (mut command, mut text) = (super::Cli::command(), Vec::new());
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    clap_complete::generate(shell, &mut command, "maar", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_learns_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = script(shell);
            assert!(text.contains("workspace") && text.contains("resume"), "{shell:?}");
        }
    }
}
