package table

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"gpfit/table/feature"
)

// unnamedColumn matches the names that pandas gives columns without a name.
var unnamedColumn = regexp.MustCompile(`^Unnamed: \d+(\.\d+)*(_level_\d+)?$`)

// rowIndex follows the first columns of a table whose names are names of an index: no name, as
// pandas and R write it, "Unnamed: 0", as pandas reads that, and "index", as pandas' reset_index
// writes it. Such a column is no input if it counts the rows.
type rowIndex struct {
	columns []indexColumn
	place   int
}

// indexColumn describes the cells of a column so far: numbers from first to last.
type indexColumn struct {
	named       bool // "index": it counts from 0 or 1, because a table may have such an input
	first, last float64
	whole       bool // all are whole numbers
	counts      bool // each follows the one before, or begins another file
}

// newRowIndex returns the columns to follow among the features.
func (in *head) newRowIndex(features []int, columns []cells) *rowIndex {
	x := &rowIndex{}
	for i, c := range features {
		learned, asked := columns[i].(*learnedCells)
		named := in.names[c] == "index"
		if c != i || !named && !unnamedColumn.MatchString(in.names[c]) && !(c < len(in.blank) && in.blank[c]) || asked && learned.asked != "" {
			break
		}
		x.columns = append(x.columns, indexColumn{named: named, first: math.NaN(), whole: true, counts: true})
	}
	return x
}

// follow takes the features of the next row, read at a line or row of its file.
func (x *rowIndex) follow(row []float64, place int) {
	for i := range x.columns {
		c, v := &x.columns[i], row[i]
		switch another := place <= x.place; {
		case c.first != c.first:
			c.first, c.counts = v, v == math.Trunc(v) && (!c.named || v == 0 || v == 1)
		case v != c.last+1 && !(another && v == c.first):
			c.counts = false
		}
		c.last, c.whole = v, c.whole && v == math.Trunc(v)
	}
	x.place = place
}

// leaveOut removes the columns that count the rows from t, and returns their number. An only
// input stays.
func (x *rowIndex) leaveOut(t *Table, columns []cells) int {
	number := func(i int) bool {
		learned, ok := columns[i].(*learnedCells)
		return !ok || learned.kind == feature.Number
	}
	out := 0
	for out < min(len(x.columns), t.D-1) && x.columns[out].counts && number(out) {
		t.Warnings = append(t.Warnings, fmt.Sprintf("left out column %d (%s), which counts the rows from %v, as the index of a data frame does; name it in option features to keep it", out+1, quote(t.FeatureNames[out]), x.columns[out].first))
		out++
	}
	if out < min(len(x.columns), t.D-1) && x.columns[out].whole && !x.columns[out].named && number(out) {
		t.Warnings = append(t.Warnings, fmt.Sprintf("column %d (%s) is an input, but it has no name and only whole numbers, as the index of a data frame; option exclude leaves it out", out+1, quote(t.FeatureNames[out])))
	}
	d := t.D - out
	for i := range t.N {
		copy(t.X[i*d:], t.X[i*t.D+out:(i+1)*t.D])
	}
	t.X, t.D, t.FeatureNames = t.X[:t.N*d], d, slices.Clone(t.FeatureNames[out:])
	return out
}
