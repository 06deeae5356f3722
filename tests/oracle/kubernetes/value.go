package main

import "strings"

// value is a YAML value with ordered entries. It can contain what a Go value cannot: the spelling of a scalar.
type value struct {
	scalar string
	keys   []string
	items  []*value
	isList bool
	isMap  bool
}

func scalar(text string) *value {
	return &value{scalar: text}
}

func list(items ...*value) *value {
	return &value{isList: true, items: items}
}

// mapping returns a mapping of alternating keys (string) and values (*value, or string for a scalar).
func mapping(entries ...any) *value {
	made := &value{isMap: true}
	for at := 0; at < len(entries); at += 2 {
		made.set(entries[at].(string), asValue(entries[at+1]))
	}
	return made
}

func asValue(entry any) *value {
	if text, isText := entry.(string); isText {
		return scalar(text)
	}
	return entry.(*value)
}

// get returns the value of a key, or nil.
func (v *value) get(key string) *value {
	for at, name := range v.keys {
		if name == key {
			return v.items[at]
		}
	}
	return nil
}

// set replaces or adds an entry of a mapping.
func (v *value) set(key string, item *value) {
	for at, name := range v.keys {
		if name == key {
			v.items[at] = item
			return
		}
	}
	v.keys, v.items = append(v.keys, key), append(v.items, item)
}

// without returns a copy of a list or mapping without the item at an index.
func (v *value) without(at int) *value {
	copied := &value{isList: v.isList, isMap: v.isMap}
	copied.items = append(append(copied.items, v.items[:at]...), v.items[at+1:]...)
	if v.isMap {
		copied.keys = append(append(copied.keys, v.keys[:at]...), v.keys[at+1:]...)
	}
	return copied
}

// with returns a copy of a list or mapping with another item at an index.
func (v *value) with(at int, item *value) *value {
	copied := &value{isList: v.isList, isMap: v.isMap, keys: v.keys}
	copied.items = append(copied.items, v.items...)
	copied.items[at] = item
	return copied
}

// String returns the value as flow YAML.
func (v *value) String() string {
	switch {
	case v.isList:
		texts := make([]string, len(v.items))
		for at, item := range v.items {
			texts[at] = item.String()
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case v.isMap:
		texts := make([]string, len(v.items))
		for at, item := range v.items {
			texts[at] = v.keys[at] + ": " + item.String()
		}
		return "{" + strings.Join(texts, ", ") + "}"
	default:
		return v.scalar
	}
}

// smaller returns all copies of the value that lack one item at any depth.
func (v *value) smaller() []*value {
	var found []*value
	for at, item := range v.items {
		found = append(found, v.without(at))
		for _, reduced := range item.smaller() {
			found = append(found, v.with(at, reduced))
		}
	}
	return found
}
