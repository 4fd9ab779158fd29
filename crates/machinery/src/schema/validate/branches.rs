//! Alternatives: `allOf`, `anyOf`, `oneOf`, `not`.

use serde_json::Value;

use super::{Walk, validate_at};
use crate::{
    error::{FieldError, Path, quote},
    schema::{Checks, Schema},
};

impl Walk {
    pub(super) fn branches(&mut self, value: &Value, checks: &Checks, path: &Path<'_>) {
        // These errors carry no path of their own; the real server reports them at the root as well.
        let complain =
            |rule: &str| FieldError::invalid("", "", format!("{} {rule}", quote(&path.to_string())));
        if !checks.any_of.is_empty() {
            let (valid, failures) = try_branches(value, &checks.any_of, path);
            if valid == 0 {
                self.errors.push(complain("must validate at least one schema (anyOf)"));
                self.errors.extend(failures);
            }
        }
        if !checks.one_of.is_empty() {
            let (valid, failures) = try_branches(value, &checks.one_of, path);
            match valid {
                1 => {}
                0 => {
                    self.errors
                        .push(complain("must validate one and only one schema (oneOf). Found none valid"));
                    self.errors.extend(failures);
                }
                several => self.errors.push(complain(&format!(
                    "must validate one and only one schema (oneOf). Found {several} valid alternatives"
                ))),
            }
        }
        if !checks.all_of.is_empty() {
            let (valid, _) = try_branches(value, &checks.all_of, path);
            if valid < checks.all_of.len() {
                self.errors
                    .extend(checks.all_of.iter().flat_map(|branch| validate_at(value, None, branch, path)));
                let none = if valid == 0 { ". None validated" } else { "" };
                self.errors.push(complain(&format!("must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(not) = &checks.not
            && validate_at(value, None, not, path).is_empty()
        {
            self.errors.push(complain("must not validate the schema (not)"));
        }
    }
}

/// How many branches hold, and the complaints of the one that comes closest.
fn try_branches(value: &Value, branches: &[Schema], path: &Path<'_>) -> (usize, Vec<FieldError>) {
    let mut valid = 0;
    let mut closest: Option<Vec<FieldError>> = None;
    for branch in branches {
        let errors = validate_at(value, None, branch, path);
        if errors.is_empty() {
            valid += 1;
        } else if closest.as_ref().is_none_or(|closest| errors.len() < closest.len()) {
            closest = Some(errors);
        }
    }
    (valid, closest.unwrap_or_default())
}
