// Package effect shows how predictions depend on one column: rows in which this column changes and
// the others keep a typical value, and the chart of the predictions for these rows. Start with
// [Columns].
package effect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gpfit/fit/dataset"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/show/plotting"
	"gpfit/table/feature"
)

// Variable is a column of the training table that a model uses.
type Variable struct {
	Name string
	// Categories are the labels of a column of categories or of true and false, whose values
	// are 0, 1, 2, ….
	Categories []string
	// Low and High are the smallest and the largest training value. Typical is the median, or
	// the most common category.
	Low, High, Typical float64
	// First is the index of the column's first feature.
	First int
	// Whole says that all training values are whole numbers, Ascending that they never fall from
	// a row to the next.
	Whole, Ascending bool
	coding           feature.Coding
	date             func(float64) time.Time
}

// Columns returns the columns that the model uses, in the order of its table.
func Columns(m *gp.Model) ([]Variable, error) {
	all, err := Ranges(m)
	for i := range all {
		c := &all[i]
		values := c.training(m)
		c.Ascending = slices.IsSorted(values)
		slices.Sort(values)
		if c.Typical = median(values); c.Categories != nil {
			c.Typical = mode(values)
		}
	}
	return all, err
}

// Ranges returns the columns as [Columns] does, without what needs sorted values: Typical and Ascending.
func Ranges(m *gp.Model) ([]Variable, error) {
	encoding := m.Encoding
	if encoding == nil {
		encoding = feature.Numbers(m.FeatureNames)
	}
	var all []Variable
	first := 0
	for _, coding := range encoding.Columns {
		c := Variable{Name: coding.Name, coding: coding, First: first}
		first += coding.Width()
		values := c.training(m)
		if values == nil {
			continue
		}
		c.Whole = !slices.ContainsFunc(values, func(v float64) bool { return v != math.Trunc(v) })
		c.Low, c.High = slices.Min(values), slices.Max(values)
		switch coding.Kind {
		case feature.Category:
			c.Categories = coding.Categories
		case feature.Boolean:
			c.Categories = []string{"false", "true"}
		}
		var err error
		if c.date, err = coding.Dates(); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// training returns the values of the column in the training rows, nil if the model does not use it.
func (c *Variable) training(m *gp.Model) []float64 {
	d, width := len(m.Columns), c.coding.Width()
	var used []int // positions in the rows of X
	for at, f := range m.Columns {
		if f >= c.First && f < c.First+width {
			used = append(used, at)
		}
	}
	if used == nil {
		return nil
	}
	values := make([]float64, m.N())
	for i := range values {
		row := m.X[i*d : i*d+d]
		if c.coding.Kind != feature.Category || c.coding.Codes { // no feature for each category
			values[i] = row[used[0]]
			continue
		}
		values[i] = -1 // a category that the model does not use
		for _, at := range used {
			if row[at] == 1 {
				values[i] = float64(m.Columns[at] - c.First)
			}
		}
	}
	return values
}

// median returns the median of ascending values, the lower one of two.
func median(values []float64) float64 { return values[(len(values)-1)/2] }

// mode returns the most common of ascending values, the first one of several.
func mode(values []float64) float64 {
	best, most, from := values[0], 0, 0
	for i := range values {
		if values[i] != values[from] {
			from = i
		}
		if n := i - from + 1; n > most {
			best, most = values[i], n
		}
	}
	return best
}

// TypicalText returns the typical value as the table writes it.
func (c *Variable) TypicalText() string {
	switch {
	case c.Categories != nil && c.Typical < 0:
		return "a category that the model does not use"
	case c.Categories != nil:
		return c.Categories[int(c.Typical)]
	case c.date != nil:
		return c.date(c.Typical).Format(time.DateOnly)
	}
	return strconv.FormatFloat(c.Typical, 'g', 4, 64)
}

// Values returns n equally spaced values from the smallest to the largest training value, or
// all categories.
func (c *Variable) Values(n int) []float64 {
	if c.Categories == nil {
		return matrixrows.Spaced(c.Low, c.High, n)
	}
	values := make([]float64, len(c.Categories))
	for i := range values {
		values[i] = float64(i)
	}
	return values
}

// Widen extends the range to the values of n rows of all features.
func (c *Variable) Widen(x []float64, n int) {
	if c.Categories != nil || n == 0 {
		return
	}
	d := len(x) / n
	for i := range n {
		c.Low, c.High = min(c.Low, x[i*d+c.First]), max(c.High, x[i*d+c.First])
	}
}

// Along returns a row for each value of column c, with the typical values of the other columns.
func Along(m *gp.Model, columns []Variable, c int, values []float64) dataset.Rows {
	d := len(m.FeatureNames)
	out := dataset.Rows{X: make([]float64, len(values)*d), N: len(values), Total: len(values)}
	if len(m.Noise.Labels) > 0 {
		out.Noise.DefaultGroup = m.Noise.Labels[0] // the function does not depend on it
	}
	for i, v := range values {
		row := out.X[i*d : i*d+d]
		for k := range columns {
			column := &columns[k]
			value := column.Typical
			if k == c {
				value = v
			}
			copy(row[column.First:], column.Encode(value))
		}
	}
	return out
}

// The part of a series before a forecast that a picture shows: turns of the longest season with which it is no more than mostAhead times as
// long as the forecast, and the last rows at least.
const recentTurns, mostAhead, recentRows = 3, 4, 100

// Recent returns where the part of a series begins that a picture shows before a forecast along the column that reaches some way ahead.
func (c *Variable) Recent(m *gp.Model, ahead float64) float64 {
	times := slices.Sorted(slices.Values(c.training(m)))
	from := times[max(0, len(times)-recentRows)]
	for _, season := range c.Seasons(m) {
		if span := recentTurns * season; span <= mostAhead*ahead {
			from = min(from, times[len(times)-1]-span)
		}
	}
	return from
}

// Encode returns the features of a value.
func (c *Variable) Encode(value float64) []float64 { return c.coding.Append(nil, value) }

// Relevance returns the largest relevance of the column's features, by the number of the feature.
func (c *Variable) Relevance(byFeature map[int]float64) float64 {
	most := 0.0
	for f := c.First; f < c.First+c.coding.Width(); f++ {
		most = max(most, byFeature[f])
	}
	return most
}

// Order returns the indices of columns in descending order of their relevance.
func Order(columns []Variable, byFeature map[int]float64) []int {
	order := matrixrows.All(len(columns))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(columns[b].Relevance(byFeature), columns[a].Relevance(byFeature))
	})
	return order
}

// ByRelevance is [Order] for the relevance to the predictions (see [gp.Relevance]), of at most n columns.
func ByRelevance(ctx context.Context, m *gp.Model, columns []Variable, threads, n int) ([]int, error) {
	scores, err := gp.Relevance(ctx, m, threads)
	if err != nil {
		return nil, err
	}
	byFeature := map[int]float64{}
	for at, score := range scores { // nil if there are too many columns to know
		byFeature[m.Columns[at]] = score
	}
	return Order(columns, byFeature)[:min(n, len(columns))], nil
}

// Axis returns the axis of the column's values.
func (c *Variable) Axis() plotting.Axis {
	return plotting.Axis{Label: c.Name, Categories: c.Categories, Date: c.date}
}

// Chart draws the mean of the function along the column, with the central interval of the
// given probability for the function without noise.
func (c *Variable) Chart(s *Sampling, p *gp.Prediction, probability float64, target string) plotting.Chart {
	lower, upper := p.Function(probability)
	return plotting.Chart{X: c.Axis(), Y: plotting.Axis{Label: target}, Layers: s.Layers(Band(probability), p.Mean, lower, upper)}
}

// Band returns the name of the interval in legends.
func Band(probability float64) string {
	return fmt.Sprintf("%s %% interval of the function", strconv.FormatFloat(100*probability, 'g', 10, 64))
}
