package main

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// firstDifference describes the first field in which two values differ; it returns an empty text if
// they are equal.
func firstDifference(before, after any, route string) string {
	switch old := before.(type) {
	case map[string]any:
		current, isMapping := after.(map[string]any)
		if !isMapping {
			break
		}
		for _, key := range sortedKeys(old) {
			value, exists := current[key]
			if !exists {
				return fmt.Sprintf("%s/%s is lost", route, key)
			}
			if difference := firstDifference(old[key], value, route+"/"+key); difference != "" {
				return difference
			}
		}
		for _, key := range sortedKeys(current) {
			if _, exists := old[key]; !exists {
				return fmt.Sprintf("%s/%s appears", route, key)
			}
		}
		return ""
	case []any:
		current, isList := after.([]any)
		if !isList || len(old) != len(current) {
			break
		}
		for index := range old {
			if difference := firstDifference(old[index], current[index], fmt.Sprintf("%s/%d", route, index)); difference != "" {
				return difference
			}
		}
		return ""
	default:
		if reflect.DeepEqual(before, after) || fmt.Sprint(before) == fmt.Sprint(after) && sameKind(before, after) {
			return ""
		}
	}
	return fmt.Sprintf("%s: %#v became %#v", route, before, after)
}

// sameKind reports whether both values are numbers of any Go type.
func sameKind(before, after any) bool {
	isNumber := func(value any) bool {
		switch value.(type) {
		case json.Number, float64, int, int64:
			return true
		default:
			return false
		}
	}
	return isNumber(before) && isNumber(after)
}

// copied returns a deep copy of a value.
func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		fields := make(map[string]any, len(value))
		for key, each := range value {
			fields[key] = copied(each)
		}
		return fields
	case []any:
		items := make([]any, len(value))
		for index, each := range value {
			items[index] = copied(each)
		}
		return items
	default:
		return value
	}
}
