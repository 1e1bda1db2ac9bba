// Package feature says how columns become features of a model: numbers as they are, booleans as 0
// and 1, categories as indicator columns or codes, dates and times of day in a unit. [Rules] are
// the user's wishes for reading a training table. An [Encoding] is the result: it is stored in the
// model, so that later tables are read in the same way.
package feature

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/each"
	"gpfit/internal/textform"
)

// ColumnKind is the kind of a column.
type ColumnKind string

// The kinds.
const (
	// Number is a column of numbers, which are used as they are.
	Number ColumnKind = "number"
	// Boolean is a column of true or false, yes or no; it becomes 1 or 0.
	Boolean ColumnKind = "boolean"
	// Category is a column of labels without an order.
	Category ColumnKind = "category"
	// Date is a column of dates, with or without a time of day. It becomes the time
	// since an origin.
	Date ColumnKind = "date"
	// Clock is a column of times of day. It becomes the time since midnight.
	Clock ColumnKind = "time of day"
)

// Rules say how to read the columns of a training table that are not numbers. The zero
// value recognizes booleans, dates and times of day by their form, takes other texts as
// categories, and makes an indicator column of each category.
type Rules struct {
	// Categories, Dates and Numbers are columns that are read as such, whatever they contain:
	// names, indices or ranges of indices such as "0-3". Dates include times of day.
	Categories, Dates, Numbers []string
	// Codes makes one column of each category column, with the codes 0, 1, … in the
	// order of the categories, for kernels such as hamming.
	Codes bool
	// Unit is the unit of dates and times of day; empty means days.
	Unit Unit
	// Origin is the date that becomes 0, in a form of [ParseDate]; empty means 1970-01-01.
	Origin string
	// Order is the order of day and month in dates such as 1/2/2024; empty means that these are an error.
	Order DateOrder
}

// Coding says how a column of a table becomes one or several features.
type Coding struct {
	// Name is the name of the column in the table.
	Name string     `json:"name"`
	Kind ColumnKind `json:"kind"`
	// Categories are the labels of a category column, sorted. Codes says that the column
	// becomes their positions in this list, instead of an indicator for each of them.
	Categories []string `json:"categories,omitempty"`
	Codes      bool     `json:"codes,omitempty"`
	// Unit is the unit of a date or time of day. Origin is the date that becomes 0.
	Unit   Unit   `json:"unit,omitempty"`
	Origin string `json:"origin,omitempty"`
	// Order is the order of day and month in dates such as 1/2/2024; empty means that these are an error.
	Order DateOrder `json:"order,omitempty"`
}

// Width returns the number of features that the column becomes.
func (c *Coding) Width() int {
	if c.Kind == Category && !c.Codes {
		return len(c.Categories)
	}
	return 1
}

// Features returns the names of the features that the column becomes. An indicator is
// called as in pandas, COLUMN_CATEGORY.
func (c *Coding) Features() []string {
	if c.Kind != Category || c.Codes {
		return []string{c.Name}
	}
	var names []string
	for _, label := range c.Categories {
		names = append(names, c.Name+"_"+label)
	}
	return names
}

// Append appends the features of a value that [Encoder.Value] returned.
func (c *Coding) Append(features []float64, v float64) []float64 {
	if c.Kind != Category || c.Codes {
		return append(features, v)
	}
	for k := range c.Categories {
		indicator := 0.0
		if v == float64(k) {
			indicator = 1
		}
		features = append(features, indicator)
	}
	return features
}

// Text describes how the column is read, for people.
func (c *Coding) Text() string {
	switch c.Kind {
	case Boolean:
		return "boolean: 1 is true or yes, 0 is false or no"
	case Category:
		if c.Codes {
			return fmt.Sprintf("category, one column of the codes 0 to %d: %s", len(c.Categories)-1, listed(c.Categories))
		}
		return fmt.Sprintf("category, one column of 0 and 1 for each: %s", listed(c.Categories))
	case Date:
		return fmt.Sprintf("date, in %s since %s", c.Unit, c.Origin)
	case Clock:
		return fmt.Sprintf("time of day, in %s since midnight", c.Unit)
	}
	return string(c.Kind)
}

// listed joins labels and counts the labels beyond the first ten.
func listed(labels []string) string {
	const most = 10
	shown := each.Of(labels[:min(most, len(labels))], func(label string) string { return textform.Printable(label, 40) })
	text := strings.Join(shown, ", ")
	if more := len(labels) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Sort sorts the labels of a category column: numbers by value, before other texts.
func Sort(labels []string) {
	slices.SortFunc(labels, func(a, b string) int {
		x, xErr := strconv.ParseFloat(a, 64)
		y, yErr := strconv.ParseFloat(b, 64)
		switch {
		case xErr == nil && yErr == nil:
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
		case (xErr == nil) != (yErr == nil):
			if xErr == nil {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// check returns an error for a column that no table can have made.
func (c *Coding) check() error {
	switch c.Kind {
	case Number, Boolean:
	case Category:
		if len(c.Categories) == 0 {
			return fmt.Errorf("the column %q has no categories", c.Name)
		}
		seen := map[string]bool{}
		for _, label := range c.Categories {
			if seen[label] {
				return fmt.Errorf("the column %q has the category %q twice", c.Name, label)
			}
			seen[label] = true
		}
	case Date, Clock:
		if err := c.Unit.check(); err != nil {
			return fmt.Errorf("the column %q: %w", c.Name, err)
		}
		if orders()[c.Order] == nil {
			return fmt.Errorf("the column %q: the order of dates %q is none of dmy and mdy", c.Name, c.Order)
		}
		if _, err := ParseDate(c.Origin); err != nil && c.Kind == Date {
			return fmt.Errorf("the column %q: %w", c.Name, err)
		}
	default:
		return fmt.Errorf("the column %q has the unknown kind %q", c.Name, c.Kind)
	}
	return nil
}

// Encoding says how the columns of a table become the features of a model.
type Encoding struct {
	// Text says how the table writes its cells.
	Text
	// Columns are the columns that the features come from, in the order of the features.
	Columns []Coding `json:"columns"`
}

// Numbers returns the encoding of columns of numbers.
func Numbers(names []string) *Encoding {
	e := &Encoding{}
	for _, name := range names {
		e.Columns = append(e.Columns, Coding{Name: name, Kind: Number})
	}
	return e
}

// AsIs reports whether the encoding takes numbers with decimal points, in UTF-8, as they are.
func (e *Encoding) AsIs() bool {
	return e.Text == (Text{}) && !slices.ContainsFunc(e.Columns, func(c Coding) bool { return c.Kind != Number })
}

// Features returns the names of all features.
func (e *Encoding) Features() []string {
	var names []string
	for i := range e.Columns {
		names = append(names, e.Columns[i].Features()...)
	}
	return names
}

// Check returns an error unless the encoding is valid and makes features of these names.
func (e *Encoding) Check(features []string) error {
	if err := e.Text.Check(); err != nil {
		return err
	}
	for i := range e.Columns {
		if err := e.Columns[i].check(); err != nil {
			return err
		}
	}
	if made := e.Features(); !slices.Equal(made, features) {
		return fmt.Errorf("the encoding makes %d features of the columns, but the features are %d others", len(made), len(features))
	}
	return nil
}

// Reading says what was read of a table and what was not.
type Reading struct {
	// Rows counts the rows of data, and Columns the columns of the file. Dropped rows, which have
	// missing values, were left out.
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
	Dropped int `json:"dropped"`
	// Comments and BlankLines are lines of text that are no rows.
	Comments   int `json:"comments"`
	BlankLines int `json:"blank_lines"`
}

// Skipped returns the number of lines that are no rows.
func (r *Reading) Skipped() int { return r.Comments + r.BlankLines }

// Text says in words what was read.
func (r *Reading) Text() string {
	text := "read " + textform.Counted(r.Rows, "row") + ", " + textform.Counted(r.Columns, "column")
	var why []string
	if r.Comments > 0 {
		why = append(why, textform.Counted(r.Comments, "comment"))
	}
	if r.BlankLines > 0 {
		why = append(why, textform.Counted(r.BlankLines, "blank line"))
	}
	if len(why) > 0 {
		text += "; skipped " + textform.And(why)
	}
	if r.Dropped > 0 {
		text += "; left out " + textform.Counted(r.Dropped, "row") + " with missing values"
	}
	return text
}

// Recognize returns the kind of a text by its form: boolean, date, time of day, or category.
func Recognize(text string) ColumnKind {
	if _, ok := ParseBoolean(text); ok {
		return Boolean
	}
	if _, err := ParseDate(text); err == nil {
		return Date
	}
	if _, ok := parseClock(text); ok {
		return Clock
	}
	return Category
}

// ParseBoolean returns 1 for true and yes and 0 for false and no, in any case.
func ParseBoolean(cell string) (v float64, ok bool) {
	switch strings.ToLower(cell) {
	case "true", "yes":
		return 1, true
	case "false", "no":
		return 0, true
	}
	return 0, false
}

// IsColumn reports whether a feature is all that its column becomes, as numbers and dates are, and every column without an encoding.
func (e *Encoding) IsColumn(f int) bool { return e == nil || e.Columns[e.Sources()[f]].Width() == 1 }

// Sources returns the column of each feature, as its position among Columns; nil without an encoding.
func (e *Encoding) Sources() (of []int) {
	if e == nil {
		return nil
	}
	for i := range e.Columns {
		of = append(of, slices.Repeat([]int{i}, e.Columns[i].Width())...)
	}
	return of
}
