//! How many values a document stands for, counted before they are built: the second parser copies what an alias names.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess as _, Visitor,
};

/// Returns whether the documents of a text stand for at most `limit` values. A text that the parser refuses does.
pub(super) fn fits(text: &str, limit: usize) -> bool {
    if !(text.contains('*') && text.contains('&')) {
        return true;
    }
    let left = Cell::new(limit);
    for document in serde_yaml::Deserializer::from_str(text) {
        // The iterator repeats an error without end.
        if Count(&left).deserialize(document).is_err() {
            return left.get() > 0;
        }
    }
    true
}

/// Counts the values that are left.
#[derive(Clone, Copy)]
struct Count<'c>(&'c Cell<usize>);

impl Count<'_> {
    fn one<E: Error>(self) -> Result<(), E> {
        let left = self.0.get().saturating_sub(1);
        self.0.set(left);
        if left == 0 {
            return Err(E::custom("too many values"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Count<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Count<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.one()?;
        while map.next_key_seed(self)?.is_some() {
            map.next_value_seed(self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.one()?;
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let (_, value) = data.variant::<IgnoredAny>()?;
        value.newtype_variant_seed(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.one()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.one()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.one()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.one()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.one()
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.one()
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.one()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.one()
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn aliases_count_as_what_they_stand_for() {
        let list =
            |name: &str, item: &str| format!("{name}: &{name} [{}]\n", [item; 10].join(", "));
        let text = [list("a", "x"), list("b", "*a"), list("c", "*b")].concat();
        assert!(fits(&text, 2_000));
        assert!(!fits(&text, 1_000));
        assert!(fits("a: [1, 2, !x 3]\n", 1));
        assert!(fits("a: &a 1\nb: *a\nc: !x {d: e}\n", 20));
        assert!(fits("a: &a 1\nb: *b\n---\n- *a", 20));
    }
}
