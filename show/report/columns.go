package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gpfit/fit/dataset"
	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/show/effect"
	"gpfit/show/page"
	"gpfit/show/plotting"
)

const (
	// effectPoints is the number of values of a column of numbers at which its effect is
	// computed, mostLabels the largest number of categories.
	effectPoints, mostLabels = 61, 24
	// A season has pointsOfTurn values, if they are no more than mostTurned.
	pointsOfTurn, mostTurned = 8, 1200
	// mostEffects is the number of columns with a picture, shared by several targets.
	mostEffects = 12
	// mostAxes is the number of columns, the most relevant ones, along which predictions are made and
	// which tables list: their rows have a number for each column of the table.
	mostAxes = 100
)

// columns are the columns of the table that the model uses, most relevant first.
type columns struct {
	axes []axis
	// relevance lists the features in use, most relevant first.
	relevance []summary.ColumnRelevance
	// moved counts the axes with values and rows.
	moved int
}

// axis is a column of the table with the values along which it varies, and rows of features
// with these values and typical ones of the other columns.
type axis struct {
	effect.Variable
	relevance float64
	values    []float64
	rows      dataset.Rows
}

// findColumns finds the columns of the table that the model uses.
func findColumns(ctx context.Context, s *subject) (columns, error) {
	m := s.model
	relevance, err := findRelevance(ctx, s)
	if err != nil {
		return columns{}, err
	}
	all, err := effect.Columns(m)
	if err != nil {
		return columns{}, err
	}
	byFeature := map[int]float64{}
	for _, r := range relevance {
		byFeature[r.Index] = r.Relevance
	}
	// Columns have rows as long as these take no more than 32 MB, and at least the columns with a picture have some.
	const numbers = 4 << 20
	out := columns{relevance: relevance, moved: min(len(all), mostAxes, max(mostEffects, numbers/(effectPoints*len(m.FeatureNames))))}
	for at, k := range effect.Order(all, byFeature) {
		a := axis{Variable: all[k], relevance: all[k].Relevance(byFeature)}
		if at < out.moved {
			a.values = a.Values(pointsOf(m, &a.Variable))
			if a.Categories != nil {
				a.values = a.values[:min(len(a.values), mostLabels)]
			}
			a.rows = effect.Along(m, all, k, a.values)
		}
		out.axes = append(out.axes, a)
	}
	return out, nil
}

// pointsOf returns the number of values of a column at which its effect is computed: more for the shortest season along it.
func pointsOf(m *gp.Model, c *effect.Variable) int {
	seasons, err := m.Seasons(c.First) // none of a kernel that this program does not know
	if err != nil || len(seasons) == 0 {
		return effectPoints
	}
	points := pointsOfTurn * (c.High - c.Low) / slices.Min(seasons)
	return int(min(max(points, effectPoints), mostTurned))
}

// findRelevance finds the relevance of the features. The record has it, unless rows were added since.
func findRelevance(ctx context.Context, s *subject) ([]summary.ColumnRelevance, error) {
	if r := s.fit.Relevance; len(r) > 0 && len(s.Record.Updates) == 0 {
		return r, nil
	}
	values, err := s.Posterior.Relevance(ctx, s.Threads)
	if err != nil {
		return nil, err
	}
	var out []summary.ColumnRelevance
	for i, v := range values {
		at := s.model.Columns[i]
		out = append(out, summary.ColumnRelevance{Column: s.model.FeatureNames[at], Index: at, Relevance: v})
	}
	slices.SortStableFunc(out, func(a, b summary.ColumnRelevance) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return out, nil
}

// curve is a prediction of a target along a column.
type curve struct {
	ofTarget
	along *axis
	*gp.Prediction
}

// chart returns the chart of a curve, with short labels of categories, and its text for people who cannot see it.
func (c *curve) chart(label string) (chart plotting.Chart, alt string) {
	v := c.along.Variable
	if v.Categories != nil {
		v.Categories = slices.Clone(v.Categories[:len(c.along.values)])
		for i, name := range v.Categories {
			v.Categories[i] = shortLabel(name)
		}
	}
	low, high := 0, 0
	for i, mean := range c.Mean {
		if mean < c.Mean[low] {
			low = i
		}
		if mean > c.Mean[high] {
			high = i
		}
	}
	at := func(i int) string {
		v.Typical = c.along.values[i]
		return number(c.Mean[i]) + " at " + v.TypicalText()
	}
	return v.Chart(c.along.values, c.Prediction, 0.95, label), fmt.Sprintf("lowest %s, highest %s", at(low), at(high))
}

// mostLabel is the number of characters of a category that fit below a picture.
const mostLabel = 13

// shortLabel omits the middle of a long label.
func shortLabel(label string) string {
	r := []rune(label)
	if len(r) <= mostLabel {
		return label
	}
	return string(r[:mostLabel/2]) + "…" + string(r[len(r)-mostLabel/2:])
}

// relevantColumns shows how relevant each column is.
type relevantColumns struct{ *subject }

func (c *relevantColumns) section(context.Context) (page.Section, error) {
	section := page.Section{Title: "Relevance of the columns", Tables: []fields.Table{summary.RelevanceTable(c.relevance[:min(len(c.relevance), mostAxes)])}, Notes: []string{
		"Relevance is the standard deviation of the part of the predictions that the column takes part in, in units of the target's standard deviation: 1 means that the predictions follow the column as far as the target varies, 0 that they ignore it."}}
	switch {
	case len(c.relevance) == 0:
		section.Notes = append(section.Notes, "There are too many columns to find their relevance.")
	case len(c.relevance) > mostAxes:
		section.Notes = append(section.Notes, fmt.Sprintf("The table has the %d most relevant of %d columns.", mostAxes, len(c.relevance)))
	}
	return section, nil
}
