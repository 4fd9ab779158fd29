//! The syntax of schedules: five fields, or a word such as `@daily`.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WORDS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// The values of a field.
struct Field {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { least: 0, most: 59, names: &[] },
    Field { least: 0, most: 23, names: &[] },
    Field { least: 1, most: 31, names: &[] },
    Field { least: 1, most: 12, names: &MONTHS },
    Field { least: 0, most: 6, names: &DAYS },
];

/// What is wrong with a schedule, if anything.
pub(super) fn complaint(schedule: &str) -> Option<String> {
    if let Some(interval) = schedule.strip_prefix("@every ") {
        return (!is_interval(interval)).then(|| format!("failed to parse duration {schedule}"));
    }
    if schedule.starts_with('@') {
        return (!WORDS.contains(&schedule)).then(|| format!("unrecognized descriptor: {schedule}"));
    }
    let parts: Vec<&str> = schedule.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", parts.len(), parts.join(" ")));
    }
    parts
        .iter()
        .zip(&FIELDS)
        .flat_map(|(part, field)| part.split(',').map(move |item| (item, field)))
        .find_map(|(item, field)| field_complaint(item, field))
}

fn field_complaint(item: &str, field: &Field) -> Option<String> {
    let (range, step) = item.split_once('/').map_or((item, None), |(range, step)| (range, Some(step)));
    if let Some(step) = step
        && step.parse::<u32>().is_ok_and(|step| step == 0)
    {
        return Some(format!("step of range should be a positive number: {item}"));
    }
    if step.is_some_and(|step| step.parse::<u32>().is_err()) {
        return Some(format!("failed to parse int from {item}"));
    }
    if range == "*" || range == "?" {
        return None;
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (Some(first), Some(last)) = (field.value(first), field.value(last)) else {
        return Some(format!("failed to parse int from {range}"));
    };
    if first < field.least {
        return Some(format!("beginning of range ({first}) below minimum ({}): {item}", field.least));
    }
    if last > field.most {
        return Some(format!("end of range ({last}) above maximum ({}): {item}", field.most));
    }
    (first > last).then(|| format!("beginning of range ({first}) beyond end of range ({last}): {item}"))
}

impl Field {
    fn value(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| text.eq_ignore_ascii_case(name));
        match named {
            Some(position) => u32::try_from(position).ok().map(|position| position + self.least),
            None => text.parse().ok(),
        }
    }
}

/// `1h30m`: numbers with units, of at least a second altogether.
fn is_interval(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
        if digits.len() == rest.len() {
            return false;
        }
        let units = ["ns", "us", "µs", "ms", "s", "m", "h"];
        // The longer unit first, so that milliseconds are not read as minutes.
        let Some(after) = units.iter().find_map(|unit| digits.strip_prefix(unit)) else { return false };
        rest = after;
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_five_fields_or_a_word() {
        for schedule in
            ["* * * * *", "*/15 0-6 1,15 jan-MAR ?", "0 0 * * sun", "5/10 * * * *", "@daily", "@every 1h30m"]
        {
            assert_eq!(complaint(schedule), None, "{schedule}");
        }
        for schedule in [
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "@never",
            "@every soon",
            "1.5 * * * *",
            "* * * * 1#2",
        ] {
            assert!(complaint(schedule).is_some(), "{schedule}");
        }
    }
}
