//! Written as canonical text; read from strings, numbers and null (zero), as the API server does.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Quantity;

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl de::Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a quantity such as 2, \"500m\" or \"16Gi\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text.trim()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity::from_units(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    /// The shortest text that reads back as the same number is what the author most likely wrote.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_value};

    use super::*;

    #[test]
    fn reads_strings_numbers_and_null() {
        let rows = [
            ("\"500m\"", "500m"),
            ("\" 1Gi \"", "1Gi"),
            ("2", "2"),
            ("-3", "-3"),
            ("0.1", "100m"),
            ("1.5e3", "1500"),
            ("18446744073709551615", "18446744073709551615"),
            ("null", "0"),
        ];
        for (input, want) in rows {
            assert_eq!(from_str::<Quantity>(input).unwrap().to_string(), want, "{input}");
        }
    }

    #[test]
    fn writes_canonical_text() {
        assert_eq!(to_value(Quantity::parse("1024Mi").unwrap()).unwrap(), json!("1Gi"));
    }

    #[test]
    fn refuses_other_types_with_an_example() {
        let error = from_str::<Quantity>("true").unwrap_err().to_string();
        assert!(error.contains("expected a quantity such as 2"), "{error}");
        let error = from_str::<Quantity>("\"1Gb\"").unwrap_err().to_string();
        assert!(error.contains("allowed are n, u, m"), "{error}");
    }
}
