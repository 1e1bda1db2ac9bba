package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gpfit/gp"
	"gpfit/table"
)

// watchedColumn is a column that was constant in training and is not in use.
type watchedColumn struct {
	name     string
	constant float64
	// others counts the rows with another value, of which the first has a number and a text.
	others, row int
	text        string
}

// watch keeps the columns of the table that were constant in training.
func watch(m *gp.Model, names []string, columns *table.Options) (all []*watchedColumn) {
	for _, name := range slices.Sorted(maps.Keys(m.Constants)) {
		if columns.ByName && slices.Contains(names, name) {
			all = append(all, &watchedColumn{name: name, constant: m.Constants[name]})
			columns.Keep = append(slices.Clip(columns.Keep), name)
		}
	}
	return all
}

// look counts the texts of some rows that are another number. done rows precede them.
func (c *watchedColumn) look(texts []string, done int) {
	for i, text := range texts {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v == c.constant {
			continue
		}
		if c.others++; c.others == 1 {
			c.row, c.text = done+i+1, text
		}
	}
}

// String is the warning.
func (c *watchedColumn) String() string {
	return fmt.Sprintf("column %q was %v in all training rows, so the model does not know its effect: it has other values here, in row %d (%s) first, and in %d of the rows read", c.name, c.constant, c.row, c.text, c.others)
}
