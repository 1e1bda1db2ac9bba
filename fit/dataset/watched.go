package dataset

import (
	"fmt"
	"math"
	"slices"

	"gpfit/gp"
	"gpfit/table"
	"gpfit/table/feature"
)

// watchedColumn is a column that was constant in training and is not in use.
type watchedColumn struct {
	column   feature.Coding
	encoder  *feature.Encoder
	text     feature.Text
	constant float64
	// others counts the rows with another value, of which the first has a number and a text.
	others, row int
	first       string
}

// watch keeps the columns of the table that were constant in training.
func watch(m *gp.Model, from *columns, names []string, columns *table.Options) (all []*watchedColumn) {
	for k, c := range from.encoding.Columns {
		value, constant := m.Constants[c.Features()[0]]
		encoder, err := from.encoding.Columns[k].Encoder()
		if constant && err == nil && columns.ByName && slices.Contains(names, c.Name) {
			all = append(all, &watchedColumn{column: c, encoder: encoder, text: from.encoding.Text, constant: value})
			columns.Keep = append(slices.Clip(columns.Keep), c.Name)
		}
	}
	return all
}

// look counts the texts of some rows that have another value. done rows precede them.
func (c *watchedColumn) look(texts []string, done int) {
	for i, text := range texts {
		if text == "" || c.value(text) == c.constant {
			continue
		}
		if c.others++; c.others == 1 {
			c.row, c.first = done+i+1, text
		}
	}
}

// value returns the value of a text, NaN if the column has none for it. The indicator of the only category is 1.
func (c *watchedColumn) value(text string) float64 {
	if number, ok := c.text.Number([]byte(text)); ok && c.column.Kind == feature.Number {
		text = string(number)
	}
	v, err := c.encoder.Value(text)
	switch {
	case err != nil:
		return math.NaN()
	case c.column.Kind == feature.Category && !c.column.Codes:
		return 1
	}
	return v
}

// String is the warning.
func (c *watchedColumn) String() string {
	return fmt.Sprintf("column %q had one value in all training rows, so the model does not know its effect: it has other values here, in row %d (%s) first, and in %d of the rows read", c.column.Name, c.row, c.first, c.others)
}
