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
	// effectPoints is the least number of values of a line, mostLabels the largest number of categories.
	effectPoints, mostLabels = 61, 24
	// mostEffects is the number of columns with a picture, shared by several targets.
	mostEffects = 12
	// mostAxes is the number of columns, the most relevant ones, along which predictions are made and
	// which tables list: their rows have a number for each column of the table.
	mostAxes = 100
)

// columns are the columns of the table that the model uses, most relevant first.
type columns struct {
	axes []axis
	// all are the columns in the order of the table.
	all []effect.Variable
	// relevance lists the features in use, most relevant first.
	relevance []summary.ColumnRelevance
	// moved counts the axes along which terms are predicted.
	moved int
}

// axis is a column of the table, with its number among them.
type axis struct {
	effect.Variable
	relevance float64
	number    int
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
	// Rows along columns take no more than 32 MB, unless columns with a picture need more.
	const numbers = 4 << 20
	out := columns{all: all, relevance: relevance, moved: min(len(all), mostAxes, max(mostEffects, numbers/(effectPoints*len(m.FeatureNames))))}
	for _, k := range effect.Order(all, byFeature) {
		out.axes = append(out.axes, axis{all[k], all[k].Relevance(byFeature), k})
	}
	return out, nil
}

// stripsNote says what an envelope is.
const stripsNote = "Where a picture is too small for a line, a dark band is the range of the mean within each narrow strip of the picture."

// rowsAlong returns rows with values of a column, and typical ones of the others.
func (s *subject) rowsAlong(a *axis, values []float64) dataset.Rows {
	return effect.Along(s.model, s.all, a.number, values)
}

// along predicts every target along the range of a column, with a line of some points at least.
func (s *subject) along(ctx context.Context, a *axis, least int) (*effect.Sampling, []*gp.Prediction, error) {
	at, err := a.Sample(s.model, least, func(values []float64) ([][]float64, error) {
		rows := s.rowsAlong(a, values)
		return s.Posterior.PredictMeans(ctx, rows.X, rows.N)
	})
	if err != nil || at.Values == nil {
		return at, nil, err
	}
	if a.Categories != nil {
		at.Values = at.Values[:min(len(at.Values), mostLabels)]
	}
	rows := s.rowsAlong(a, at.Values)
	predictions, err := s.Posterior.PredictTargets(ctx, rows.X, rows.N, rows.Noise)
	return at, predictions, err
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
	at    *effect.Sampling
	// caption follows the name of the column.
	caption string
	*gp.Prediction
}

// chart returns the chart of a curve, with short labels of categories, and its text for people who cannot see it.
func (c *curve) chart(label string) (chart plotting.Chart, alt string) {
	v := c.along.Variable
	if v.Categories != nil {
		v.Categories = slices.Clone(v.Categories[:len(c.at.Values)])
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
		v.Typical = c.at.Values[i]
		return number(c.Mean[i]) + " at " + v.TypicalText()
	}
	return v.Chart(c.at, c.Prediction, 0.95, label), fmt.Sprintf("lowest %s, highest %s", at(low), at(high))
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
