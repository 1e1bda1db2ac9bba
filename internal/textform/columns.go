package textform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gpfit/internal/each"
	"gpfit/internal/suggest"
)

// Columns are the names of a table's columns, as text forms and names of parameters
// refer to them: by name or by index. A name stands as it is, or in double quotes with
// the escapes of JSON. Digits without quotes are an index.
type Columns []string

// Label returns how results call a column: by its name, in quotes if it is odd or looks
// like a number. Results use the index of a column whose name is empty, not UTF-8 or not
// unique, and of all columns if they have the names of a table without names, x0, x1, ….
func (c Columns) Label(index int) string {
	if index < 0 || index >= len(c) || c.unnamed() || c.count(c[index]) > 1 {
		return strconv.Itoa(index)
	}
	return labelled(c[index], index)
}

// Labels returns the labels of all columns. It takes a time that is linear in their number.
func (c Columns) Labels() []string {
	labels, counts, unnamed := make([]string, len(c)), map[string]int{}, c.unnamed()
	for _, name := range c {
		counts[name]++
	}
	for i, name := range c {
		if unnamed || counts[name] > 1 {
			name = ""
		}
		labels[i] = labelled(name, i)
	}
	return labels
}

// labelled returns the label of a column with a name of its own.
func labelled(name string, index int) string {
	if name == "" || !utf8.ValidString(name) {
		return strconv.Itoa(index)
	}
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

// Index returns the index of the column called name. The error says what is wrong with the name.
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
	list := strings.Join(c.Labels()[:min(most, len(c))], ", ")
	if more := len(c) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "; the columns are " + list
}

// Display returns the name of a parameter with the labels of columns in place of indices:
// lengthscale[3] becomes lengthscale[temp], and mean_power[3,2] mean_power[temp,2].
func (c Columns) Display(indexed string) string { return display(indexed, c.Label) }

// Display returns the name of a parameter with labels of columns (see [Columns.Labels]) in place of
// indices.
func Display(indexed string, labels []string) string {
	return display(indexed, func(i int) string {
		if i >= len(labels) {
			return strconv.Itoa(i)
		}
		return labels[i]
	})
}

func display(indexed string, label func(index int) string) string {
	base, rest, ok := strings.Cut(indexed, "[")
	end := strings.IndexAny(rest, ",]")
	if !ok || end < 0 {
		return indexed
	}
	i, err := strconv.Atoi(rest[:end])
	if err != nil || i < 0 {
		return indexed
	}
	return base + "[" + label(i) + rest[end:]
}

// ColumnList formats columns as [Scanner.Dims] reads them.
func (c Columns) ColumnList(indices []int) string {
	words := each.Of(indices, c.Label)
	if len(words) == 1 {
		return words[0]
	}
	return "[" + strings.Join(words, ", ") + "]"
}
