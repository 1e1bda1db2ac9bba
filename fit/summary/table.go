package summary

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An entry is a value of a result: where JSON has it, what text calls it, and how text
// writes it. The format has the unit and the space before the value.
type entry struct {
	path, label, format string
	// none stands for a value that is missing; without one the entry ends the line.
	none string
}

// Path of the name or the number of a row, instead of a value in JSON.
const rowName = "#"

// nothing stands for a missing value in columns that may be empty.
const nothing = " "

// writer writes a result as text. Values come from the result by their paths in JSON; in a
// path, * stands for the name of the row.
type writer struct {
	strings.Builder
	of reflect.Value
	// width is the width of the first column, for formats with *.
	width int
}

func newWriter(result any) *writer { return &writer{of: reflect.ValueOf(result)} }

// at returns a value; ok is false if the result does not have it.
func (w *writer) at(path, name string) (v any, ok bool) {
	if path == rowName {
		return name, true
	}
	found := w.of
	for key := range strings.SplitSeq(path, ".") {
		if key == "*" {
			key = name
		}
		if found = step(found, key); !found.IsValid() {
			return nil, false
		}
	}
	if found = deref(found); !found.IsValid() {
		return nil, false
	}
	return found.Interface(), true
}

// deref follows pointers.
func deref(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

// step returns the element or the field that JSON calls key, or the zero Value. A field that
// JSON omits is missing.
func step(v reflect.Value, key string) reflect.Value {
	switch v = deref(v); v.Kind() {
	case reflect.Map:
		return v.MapIndex(reflect.ValueOf(key))
	case reflect.Slice, reflect.Array:
		if i, err := strconv.Atoi(key); err == nil && i < v.Len() {
			return v.Index(i)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			tag, option, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Anonymous && tag == "":
				if found := step(v.Field(i), key); found.IsValid() {
					return found
				}
			case tag == key && (option == "" || !v.Field(i).IsZero()):
				return v.Field(i)
			}
		}
	}
	return reflect.Value{}
}

// fit widens the first column to some names.
func (w *writer) fit(least int, names ...string) *writer {
	w.width = least
	for _, name := range names {
		w.width = max(w.width, utf8.RuneCountInString(name))
	}
	return w
}

var verb = regexp.MustCompile(`%(-?)(\d*|\*)(?:\.\d+)?[a-z]`)

// head writes the labels of columns above their values.
func (w *writer) head(columns []entry) {
	for _, c := range columns {
		w.put(verb.ReplaceAllString(c.format, "%$1${2}s"), c.label)
	}
	w.WriteByte('\n')
}

// row writes the values of columns for a name, without the end of the line.
func (w *writer) row(columns []entry, name string) {
	for _, c := range columns {
		switch v, ok := w.at(c.path, name); {
		case ok:
			w.put(c.format, v)
		case c.none == "":
			return
		default:
			w.put(verb.ReplaceAllString(c.format, "%$1${2}s"), strings.TrimSpace(c.none))
		}
	}
}

// put writes a value, padded to the width of the first column if the format has a *.
// Formats with a percent sign show shares.
func (w *writer) put(format string, v any) {
	if share, ok := v.(float64); ok && strings.Contains(format, "%%") {
		v = 100 * share
	}
	if strings.Contains(format, "*") {
		fmt.Fprintf(w, format, w.width, v)
		return
	}
	fmt.Fprintf(w, format, v)
}

// line writes a label and the values of entries, in one line. It writes nothing if the first
// value is missing.
func (w *writer) line(l line) {
	if _, ok := w.at(l.entries[0].path, ""); ok {
		fmt.Fprintf(w, "%-22s ", l.label)
		w.row(l.entries, "")
		w.WriteByte('\n')
	}
}

func (w *writer) lines(lines []line) {
	for _, l := range lines {
		w.line(l)
	}
}

// table writes rows of columns, below their labels unless head is nil.
func (w *writer) table(head, columns []entry, names []string) {
	if head != nil {
		w.head(head)
	}
	for _, name := range names {
		w.row(columns, name)
		w.WriteByte('\n')
	}
}

// labelled returns columns with another label of one of them.
func labelled(columns []entry, k int, label string) []entry {
	columns = slices.Clone(columns)
	columns[k].label = label
	return columns
}

// counting returns the numbers below n as names of rows.
func counting(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// A line is a line of text: its label, and its entries.
type line struct {
	label   string
	entries []entry
}
