package textform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gpfit/internal/suggest"
)

// Columns are the names of a table's columns, as text forms and names of parameters
// refer to them: by name or by index. A name stands as it is, or in double quotes with
// the escapes of JSON. Digits without quotes are an index.
type Columns []string

const blanks = " \t\n\r"

// inQuotes are the characters that a name without quotes cannot have.
const inQuotes = blanks + `()[],="'\`

// QuoteName returns a name as text forms read it: as it is, or in double quotes if it
// has other characters than a name without quotes can have.
func QuoteName(name string) string {
	odd := func(c rune) bool { return strings.ContainsRune(inQuotes, c) || notPrinted(c) || unicode.IsSpace(c) }
	if name != "" && !strings.ContainsFunc(name, odd) {
		return name
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(name); err != nil {
		return strconv.Quote(name) // no string has such an error
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Label returns how results call a column: by its name, in quotes if it is odd or looks
// like a number. Results use the index of a column whose name is empty, not UTF-8 or not
// unique, and of all columns if their names are those of a table without names, x0, x1, ….
func (c Columns) Label(index int) string {
	if index < 0 || index >= len(c) || c[index] == "" || !utf8.ValidString(c[index]) || c.unnamed() || c.count(c[index]) > 1 {
		return strconv.Itoa(index)
	}
	name := c[index]
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return `"` + name + `"`
	}
	return QuoteName(name)
}

func (c Columns) unnamed() bool {
	for i, name := range c {
		if name != "x"+strconv.Itoa(i) {
			return false
		}
	}
	return true
}

func (c Columns) count(name string) int {
	n := 0
	for _, other := range c {
		if other == name {
			n++
		}
	}
	return n
}

// Index returns the index of the column called name. The error says what is wrong with
// the name.
func (c Columns) Index(name string) (int, error) {
	i := slices.Index(c, name)
	switch {
	case c == nil:
		return 0, fmt.Errorf("%s names a column, but the columns have no names here: use an index from 0", Quote(name))
	case i < 0:
		return 0, fmt.Errorf("no column is called %s%s", Quote(name), c.hint(name))
	case c.count(name) > 1:
		return 0, fmt.Errorf("several columns are called %s: use the index of one of them", Quote(name))
	}
	return i, nil
}

// hint returns the column that a name probably means, or the first columns.
func (c Columns) hint(name string) string {
	const most = 20
	if close := suggest.DidYouMean(name, c); close != "" {
		return close
	}
	labels := make([]string, min(most, len(c)))
	for i := range labels {
		labels[i] = c.Label(i)
	}
	list := strings.Join(labels, ", ")
	if more := len(c) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "; the columns are " + list
}

// Display returns the name of a parameter with the labels of columns in place of
// indices: lengthscale[3] becomes lengthscale[temp], and mean_power[3,2]
// mean_power[temp,2].
func (c Columns) Display(indexed string) string {
	base, rest, ok := strings.Cut(indexed, "[")
	end := strings.IndexAny(rest, ",]")
	if !ok || end < 0 {
		return indexed
	}
	i, err := strconv.Atoi(rest[:end])
	if err != nil {
		return indexed
	}
	return base + "[" + c.Label(i) + rest[end:]
}

// ColumnList formats columns as [Scanner.Dims] reads them.
func (c Columns) ColumnList(indices []int) string {
	words := make([]string, len(indices))
	for k, i := range indices {
		words[k] = c.Label(i)
	}
	if len(words) == 1 {
		return words[0]
	}
	return "[" + strings.Join(words, ", ") + "]"
}
