//! `restartPolicyRules`: exit codes after which a container is started again whatever its policy says.

use serde::Deserialize;

/// One of them. The first that fits decides; actions other than a restart of the container leave it to the policy.
#[derive(Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RestartRule {
    action: Box<str>,
    exit_codes: Option<ExitCodes>,
}

#[derive(Debug, PartialEq, Eq, Hash, Deserialize)]
struct ExitCodes {
    operator: Box<str>,
    values: Option<Box<[i32]>>,
}

impl RestartRule {
    fn fits(&self, exit_code: i32) -> bool {
        self.exit_codes.as_ref().is_some_and(|codes| {
            let listed = codes.values.iter().flatten().any(|code| *code == exit_code);
            match &*codes.operator {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        })
    }
}

/// Whether the rules have a container started again that ended with `exit_code`.
pub(crate) fn restarts(rules: &[RestartRule], exit_code: i32) -> bool {
    rules.iter().find(|rule| rule.fits(exit_code)).is_some_and(|rule| &*rule.action == "Restart")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rule = |action: &str, operator: &str, values: &[i32]| json!({ "action": action, "exitCodes": { "operator": operator, "values": values } });
        let rules = json!([
            rule("RestartAllContainers", "In", &[5]),
            rule("Restart", "In", &[5, 42]),
            rule("Restart", "NotIn", &[0, 1, 5])
        ]);
        let rules: Vec<RestartRule> = serde_json::from_value(rules).unwrap();
        for (exit_code, want) in [(42, true), (5, false), (0, false), (1, false), (7, true)] {
            assert_eq!(restarts(&rules, exit_code), want, "{exit_code}");
        }
        assert!(!restarts(&[], 1));
    }
}
