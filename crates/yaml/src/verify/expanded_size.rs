//! The number of values that a document expands to, counted before they are built: the second parser copies the target
//! of each alias.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess as _, Visitor,
};

/// Returns whether the documents of a text expand to at most `limit` values, or the parser rejects the text.
pub(super) fn is_within_limit(text: &str, limit: usize) -> bool {
    if !(text.contains('*') && text.contains('&')) {
        return true;
    }
    let left = Cell::new(limit);
    for document in serde_yaml::Deserializer::from_str(text) {
        // The iterator repeats an error endlessly.
        if Count(&left).deserialize(document).is_err() {
            return left.get() > 0;
        }
    }
    true
}

/// Visitor that counts down the number of values that are allowed.
#[derive(Clone, Copy)]
struct Count<'c>(&'c Cell<usize>);

impl Count<'_> {
    fn take_one<E: Error>(self) -> Result<(), E> {
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
        self.take_one()?;
        while map.next_key_seed(self)?.is_some() {
            map.next_value_seed(self)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.take_one()?;
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        let (_, value) = data.variant::<IgnoredAny>()?;
        value.newtype_variant_seed(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.take_one()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.take_one()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.take_one()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.take_one()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.take_one()
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.take_one()
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.take_one()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.take_one()
    }
}

#[cfg(test)]
mod tests {
    use super::is_within_limit;

    #[test]
    fn aliases_count_as_their_expanded_targets() {
        let list =
            |name: &str, item: &str| format!("{name}: &{name} [{}]\n", [item; 10].join(", "));
        let text = [list("a", "x"), list("b", "*a"), list("c", "*b")].concat();
        assert!(is_within_limit(&text, 2_000));
        assert!(!is_within_limit(&text, 1_000));
        assert!(is_within_limit("a: [1, 2, !x 3]\n", 1));
        assert!(is_within_limit("a: &a 1\nb: *a\nc: !x {d: e}\n", 20));
        assert!(is_within_limit("a: &a 1\nb: *b\n---\n- *a", 20));
    }
}
