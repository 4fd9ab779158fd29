//! `maar records migrate`.

use anyhow::Context as _;
use maar_records::{Records, Schema};

use super::DatabaseArgs;
use crate::commands::output::print;

pub(super) async fn run(arguments: &DatabaseArgs) -> anyhow::Result<()> {
    let records = Records::open_as_is(&arguments.records).await.context("opening the records")?;
    let schema = records.migrate().await.context("bringing the schema up to date")?;
    print(&said(schema));
    Ok(())
}

fn said(schema: Schema) -> String {
    match schema.steps {
        0 => format!("schema {} was there already\n", schema.version),
        1 => format!("schema {} is there now, after one step\n", schema.version),
        steps => format!("schema {} is there now, after {steps} steps\n", schema.version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_said() {
        let said = |steps| said(Schema { version: 2, steps });
        insta::assert_snapshot!([said(0), said(1), said(2)].concat(), @r"
        schema 2 was there already
        schema 2 is there now, after one step
        schema 2 is there now, after 2 steps
        ");
    }
}
