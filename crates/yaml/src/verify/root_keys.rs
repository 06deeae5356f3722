//! The keys at the root of a document, read without building the values.

use std::fmt;

use serde::de::{
    Deserialize, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess as _, Visitor,
};

/// Kind of a value, with the keys of a mapping.
pub(super) enum Outline {
    /// A mapping, with the keys that are strings.
    Mapping(Vec<String>),
    Text(String),
    Null,
    /// A list, a number or a boolean.
    Other,
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = map.next_key()? {
            if let Outline::Text(key) = key {
                keys.push(key);
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(Outline::Mapping(keys))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Outline, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outline::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Outline, E> {
        Ok(Outline::Text(text.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Outline, E> {
        Ok(Outline::Null)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Outline, E> {
        Ok(Outline::Other)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Outline, A::Error> {
        let (_, value) = data.variant::<IgnoredAny>()?;
        value.newtype_variant::<IgnoredAny>()?;
        Ok(Outline::Other)
    }
}
