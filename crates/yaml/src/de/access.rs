//! Access of serde to lists, mappings and variants.

use std::borrow::Cow;

use serde::de::value::{BorrowedStrDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::error::{Fault, fault};
use super::null_item::NullItem;
use super::reader::Reader;
use crate::field_path::Step;
use crate::merge::key_text;
use crate::tree::{Entry, NodeRef};

/// Access to the items of a list.
pub(super) struct Items<'t, 'b> {
    pub(super) reader: Reader<'t, 'b>,
    pub(super) next: usize,
}

impl<'t> SeqAccess<'t> for Items<'t, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'t>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(item) = self.reader.node.item(self.next) else {
            return Ok(None);
        };
        let step = Step::Index(self.next);
        self.next += 1;
        let read = self.reader.child(item).map_err(|fault| fault.at(item));
        let value = read.and_then(|reader| {
            if item.is_null() {
                seed.deserialize(NullItem).map_err(|fault| fault.at(item))
            } else {
                seed.deserialize(reader)
            }
        });
        value.map(Some).map_err(|fault| fault.below(step))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.reader.node.items().len().saturating_sub(self.next))
    }
}

/// Access to the entries of a mapping, with merge keys applied.
pub(super) struct Entries<'t, 'b> {
    pub(super) reader: Reader<'t, 'b>,
    pub(super) entries: std::vec::IntoIter<Entry<'t>>,
    /// The entry of the key that was read last.
    pub(super) value: Option<Entry<'t>>,
}

impl<'t> MapAccess<'t> for Entries<'t, '_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'t>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(entry);
        read_key(entry.key, seed)
            .map(Some)
            .map_err(|fault| fault.at(entry.key))
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some(entry) = self.value.take() else {
            return Err(fault("a value was requested before its key"));
        };
        read_value(self.reader, entry, seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

fn read_key<'t, S: DeserializeSeed<'t>>(key: NodeRef<'t>, seed: S) -> Result<S::Value, Fault> {
    match key_text(key) {
        Some(Cow::Borrowed(text)) => seed.deserialize(BorrowedStrDeserializer::<Fault>::new(text)),
        Some(Cow::Owned(text)) => {
            let text: StringDeserializer<Fault> = text.into_deserializer();
            seed.deserialize(text)
        }
        None => Err(fault("a key must be a string")),
    }
}

fn read_value<'t, S: DeserializeSeed<'t>>(
    reader: Reader<'t, '_>,
    entry: Entry<'t>,
    seed: S,
) -> Result<S::Value, Fault> {
    let read = reader
        .child(entry.value)
        .map_err(|fault| fault.at(entry.value));
    read.and_then(|reader| seed.deserialize(reader))
        .map_err(|fault| {
            let key = key_text(entry.key).unwrap_or_default();
            fault.below(Step::from(key.into_owned()))
        })
}

/// Access to the only entry of a mapping, as a variant with content.
pub(super) struct Variant<'t, 'b> {
    pub(super) reader: Reader<'t, 'b>,
    pub(super) entry: Entry<'t>,
}

impl<'t> EnumAccess<'t> for Variant<'t, '_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'t>>(self, seed: S) -> Result<(S::Value, Self), Fault> {
        let variant = read_key(self.entry.key, seed).map_err(|fault| fault.at(self.entry.key))?;
        Ok((variant, self))
    }
}

impl<'t> VariantAccess<'t> for Variant<'t, '_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        self.newtype_variant_seed(std::marker::PhantomData::<()>)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'t>>(self, seed: S) -> Result<S::Value, Fault> {
        read_value(self.reader, self.entry, seed)
    }

    fn tuple_variant<V: Visitor<'t>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.reader.child(self.entry.value)?.visit_any(visitor)
    }

    fn struct_variant<V: Visitor<'t>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.reader.child(self.entry.value)?.visit_any(visitor)
    }
}
