//! `$(NAME)` in values, commands and arguments.

/// Replaces `$(NAME)` by the value of a variable that is known; `$$` stands for one `$`, and what is not known stays
/// as it is written.
pub(crate) fn expand(text: &str, variables: &[(String, String)]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('$') {
        result.push_str(&rest[..position]);
        rest = &rest[position + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            result.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            if let Some((_, value)) = variables.iter().find(|(known, _)| known == name) {
                result.push_str(value);
            } else {
                result.push_str("$(");
                result.push_str(name);
                result.push(')');
            }
            rest = after;
        } else {
            result.push('$');
        }
    }
    result.push_str(rest);
    result
}
