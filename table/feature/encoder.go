package feature

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// Encoder reads the cells of one column.
type Encoder struct {
	column Coding
	codes  map[string]int
	origin time.Time
	dates  dateReader
}

// Encoder returns an encoder of the column. The error says what is wrong with the column.
func (c *Coding) Encoder() (*Encoder, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	e := &Encoder{column: *c}
	if c.Kind == Date {
		e.origin, _ = ParseDate(c.Origin)
		e.dates.order = c.Order
	}
	if c.Kind == Category {
		e.codes = make(map[string]int, len(c.Categories))
		for k, label := range c.Categories {
			e.codes[label] = k
		}
	}
	return e, nil
}

// Dates returns a function from the numbers of the column to its dates, nil if it has none. The error says what is
// wrong with the column.
func (c *Coding) Dates() (func(v float64) time.Time, error) {
	e, err := c.Encoder()
	if err != nil || c.Kind != Date {
		return nil, err
	}
	return func(v float64) time.Time { return c.Unit.after(v, e.origin) }, nil
}

// UnseenError reports a category that the training table did not have.
type UnseenError struct {
	// Label is the category in the new table, Known are the categories of the training table.
	Label string
	Known []string
}

func (e *UnseenError) Error() string {
	return fmt.Sprintf("the training table has no category %s%s; it has %s", textform.Quote(e.Label), suggest.DidYouMean(e.Label, e.Known), listed(e.Known))
}

// Value returns the number for a cell: the number itself, 1 or 0 for a boolean, the time of a date
// since the origin, or the position of a category. [Coding.Append] makes features of it. Errors say
// what is wrong with the cell; an unknown category is an [*UnseenError].
func (e *Encoder) Value(cell string) (float64, error) {
	switch e.column.Kind {
	case Boolean:
		if v, ok := ParseBoolean(cell); ok {
			return v, nil
		}
		switch cell {
		case "1":
			return 1, nil
		case "0":
			return 0, nil
		}
		return 0, fmt.Errorf("not true, false, yes or no: %s", textform.Quote(cell))
	case Category:
		if k, ok := e.codes[cell]; ok {
			return float64(k), nil
		}
		return 0, &UnseenError{cell, e.column.Categories}
	case Date:
		t, err := e.dates.parse(cell)
		if err != nil {
			return 0, err
		}
		return e.column.Unit.since(t, e.origin), nil
	case Clock:
		t, ok := parseClock(cell)
		if !ok {
			return 0, fmt.Errorf("not a time of day such as 14:30 or 14:30:15: %s", textform.Quote(cell))
		}
		return e.column.Unit.since(t, midnight), nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("not a number: %s", textform.Quote(cell))
	}
	return v, nil
}

// Row returns the features of one row, whose cells are texts in the order of the columns. Numbers
// have a decimal point, or the sign of the encoding. Errors name the column; see [Encoder.Value].
func (e *Encoding) Row(cells []string) ([]float64, error) {
	if len(cells) != len(e.Columns) {
		return nil, fmt.Errorf("%d cells for %d columns", len(cells), len(e.Columns))
	}
	var row []float64
	for i := range e.Columns {
		c := &e.Columns[i]
		cell := cells[i]
		if c.Kind == Number && !e.Text.PlainNumbers() {
			number, ok := e.Text.Number([]byte(cell))
			if !ok {
				return nil, fmt.Errorf("column %q: not a number: %s", c.Name, textform.Quote(cell))
			}
			cell = string(number)
		}
		encoder, err := c.Encoder()
		if err != nil {
			return nil, err
		}
		v, err := encoder.Value(cell)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		row = c.Append(row, v)
	}
	return row, nil
}
