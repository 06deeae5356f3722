package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// writer prints a value as YAML in random styles.
type writer struct {
	*generator
	// step is the indentation of nested mappings.
	step int
	// indented reports whether sequences are indented below their key.
	indented bool
	comments int
}

// block returns the lines of a mapping or sequence.
func (w *writer) block(value any, indent int) string {
	var text strings.Builder
	blanks := strings.Repeat(" ", indent)
	switch value := value.(type) {
	case mapping:
		for _, each := range value {
			if w.chance(4) {
				text.WriteString(blanks + "# c" + w.number() + "\n")
			}
			if _, isVerbatim := each.key.(verbatim); !isVerbatim && w.chance(2) {
				text.WriteString(blanks + "? " + w.key(each.key) + "\n" + blanks + ":" + w.value(each.value, indent, false))
				continue
			}
			text.WriteString(blanks + w.key(each.key) + ":" + w.value(each.value, indent, false))
		}
	case list:
		for _, item := range value {
			text.WriteString(blanks + "-" + w.item(item, indent))
		}
	}
	return text.String()
}

// item returns what follows the dash of a sequence item.
func (w *writer) item(item any, indent int) string {
	nested, isMapping := item.(mapping)
	if !isMapping || len(nested) == 0 || w.chance(10) {
		return w.value(item, indent, true)
	}
	// The first key follows the dash.
	lines := w.block(nested, indent+2)
	if strings.HasPrefix(strings.TrimLeft(lines, " "), "#") {
		return "\n" + lines
	}
	return " " + lines[indent+2:]
}

// value returns what follows the colon of a key or the dash of an item, line break included.
func (w *writer) value(value any, indent int, isItem bool) string {
	end := "\n"
	if w.chance(6) {
		end = " # c" + w.number() + "\n"
	}
	if w.hostile && w.chance(2) {
		// For parsers derived from libyaml, the comment ends at the separator.
		hidden := w.text("", "  ", "# d", strings.Repeat(" ", indent)+w.text("scheme: HTTPS", "x: y"))
		end = " # c" + w.text("\u2028", "\u2029", "\u0085") + hidden + "\n"
	}
	switch value := value.(type) {
	case anchored:
		return " &" + value.name + w.value(value.value, indent, isItem)
	case mapping:
		if len(value) == 0 || w.chance(12) {
			return " " + w.flow(value) + end
		}
		return end + w.block(value, indent+w.step)
	case list:
		if len(value) == 0 || w.chance(12) {
			return " " + w.flow(value) + end
		}
		if w.indented || isItem {
			return end + w.block(value, indent+w.step)
		}
		return end + w.block(value, indent)
	case string:
		if strings.Contains(value, "\n") || w.chance(3) {
			return w.blockScalar(value, indent)
		}
		return " " + w.tag(value) + w.scalar(value, indent, false) + end
	case nil:
		return w.text("", " null", " ~") + end
	default:
		return " " + w.tag(value) + w.scalar(value, indent, false) + end
	}
}

func (w *writer) key(key any) string {
	if text, isVerbatim := key.(verbatim); isVerbatim {
		return string(text)
	}
	name := key.(string)
	switch {
	case w.chance(4):
		return strconv.Quote(name)
	case w.chance(2):
		return "'" + name + "'"
	default:
		return name
	}
}

// tag returns a tag for hostile documents, which may change the value, or an empty text.
func (w *writer) tag(value any) string {
	if _, isVerbatim := value.(verbatim); isVerbatim || !w.hostile || !w.chance(3) {
		return ""
	}
	if _, isText := value.(string); isText {
		return w.text("!!str ", "! ", "!custom ", "!!binary ", "!!map ")
	}
	return w.text("!!int ", "!custom ", "! ", "!!seq ")
}

// scalar returns a scalar of one or more lines that is not a block scalar.
func (w *writer) scalar(value any, indent int, inFlow bool) string {
	text, isText := value.(string)
	if !isText {
		if value == nil {
			return "null"
		}
		return fmt.Sprint(value)
	}
	choice := w.random.Intn(10)
	if choice < 5 && isPlain(text) {
		return text
	}
	// The lines of quoted scalars may have any indentation.
	folded := " "
	if strings.Contains(text, " ") && w.chance(40) && !inFlow {
		folded = "\n" + strings.Repeat(" ", w.random.Intn(indent+4))
	}
	if choice < 8 && !strings.ContainsAny(text, "\n\\") {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "'", "''"), " ", folded) + "'"
	}
	quoted, _ := json.Marshal(text)
	escaped := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(string(quoted))
	return strings.ReplaceAll(escaped, " ", folded)
}

// isPlain reports whether a text may be written without quotes. Some of these texts are read as
// another type, which is intended.
func isPlain(text string) bool {
	if text == "" || strings.ContainsAny(text, "\n#:{}[],&*!|>'\"%@`\\?") {
		return false
	}
	return !strings.HasPrefix(text, "-") && text[0] != ' ' && text[len(text)-1] != ' ' && text != "~"
}

func (w *writer) blockScalar(text string, indent int) string {
	if text == "" || strings.HasPrefix(text, " ") {
		return " \"\"\n"
	}
	header := " |"
	switch {
	case !strings.HasSuffix(text, "\n"):
		header += "-"
	case strings.HasSuffix(text, "\n\n"):
		header += "+"
	}
	blanks := strings.Repeat(" ", indent+w.step)
	var lines strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			lines.WriteString(blanks + line)
		}
		lines.WriteString("\n")
	}
	return header + "\n" + lines.String()
}

// flow returns a value in brackets on one line.
func (w *writer) flow(value any) string {
	switch value := value.(type) {
	case mapping:
		parts := make([]string, 0, len(value))
		for _, each := range value {
			parts = append(parts, w.key(each.key)+": "+w.flow(each.value))
		}
		open := "{"
		if len(parts) > 0 && w.chance(2) {
			open = "{? "
		}
		return open + strings.Join(parts, ", ") + "}"
	case list:
		parts := make([]string, 0, len(value))
		for _, each := range value {
			parts = append(parts, w.flow(each))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case anchored:
		return w.flow(value.value)
	default:
		return w.scalar(value, 0, true)
	}
}

// json returns a value as JSON. Aliases become null, because JSON does not have them.
func (w *writer) json(value any, indent int, pretty bool) string {
	open, separator, end := "", ", ", ""
	if pretty {
		open = "\n" + strings.Repeat(" ", indent+2)
		separator, end = ","+open, "\n"+strings.Repeat(" ", indent)
	}
	switch value := value.(type) {
	case mapping:
		parts := make([]string, 0, len(value))
		for _, each := range value {
			if key, isText := each.key.(string); isText {
				parts = append(parts, strconv.Quote(key)+": "+w.json(each.value, indent+2, pretty))
			}
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{" + open + strings.Join(parts, separator) + end + "}"
	case list:
		parts := make([]string, 0, len(value))
		for _, each := range value {
			parts = append(parts, w.json(each, indent+2, pretty))
		}
		return "[" + open + strings.Join(parts, separator) + end + "]"
	case anchored:
		return w.json(value.value, indent, pretty)
	case verbatim:
		return "null"
	default:
		text, _ := json.Marshal(value)
		return string(text)
	}
}

func (w *writer) number() string {
	w.comments++
	return strconv.Itoa(w.comments)
}
