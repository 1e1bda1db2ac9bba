package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/show/effect"
)

const (
	// mostOutside is the number of rows that JSON names, and mostNamed the number that a warning names.
	mostOutside, mostNamed = 1000, 3
	// priorShare is the share of the prior's standard deviation from which the training rows say nothing of the function.
	priorShare = 0.99
)

// outside finds rows far from the training rows. A row is far if a column, or its transform, is outside of its range by more than the
// width of the range, or by less if the mean function extrapolates it and the covariance knows nothing there.
type outside struct {
	model   *gp.Model
	columns []effect.Variable
	// N counts the rows; Rows has the first.
	N    int          `json:"n"`
	Rows []outsideRow `json:"rows"`
	// byMean says that some are less far, where only the mean function goes on.
	byMean bool
	// Medians are rows, the first ones, whose mean is the median, and medians counts all.
	Medians []int `json:"-"`
	medians int
}

// outsideRow is a row with the column that is farthest outside.
type outsideRow struct {
	// Row is the number of the row, from 0.
	Row    int     `json:"row"`
	Column string  `json:"column"`
	Value  float64 `json:"value"`
	// Seen is the range of the training rows. Widths is the distance from it, in widths of the range; nil for a column that is constant there.
	Seen   [2]float64 `json:"seen"`
	Widths *float64   `json:"widths,omitempty"`
	column effect.Variable
}

// newOutside returns what finds rows for a model; a regression, which has no training rows, finds none.
func newOutside(m *gp.Model) (*outside, error) {
	o := &outside{model: m, Rows: []outsideRow{}}
	if len(m.X) == 0 {
		return o, nil
	}
	all, err := effect.Ranges(m)
	o.columns = slices.DeleteFunc(all, func(c effect.Variable) bool { return c.Categories != nil })
	return o, err
}

// add looks at rows with their predictions; number returns the number of a row in the table.
func (o *outside) add(in dataset.Rows, parts []columns.TargetColumns, number func(i int) int) {
	p := parts[0].Prediction
	for i := range in.N {
		x := in.X[i*len(o.model.FeatureNames) : (i+1)*len(o.model.FeatureNames)]
		worst, farthest := -1, 0.0
		for k := range o.columns {
			c := &o.columns[k]
			if far := o.widths(c, x[c.First]); far > farthest && (far > 1 || p != nil && o.extrapolates(c, x, p, i)) {
				worst, farthest = k, far
			}
		}
		if worst < 0 {
			continue
		}
		o.byMean = o.byMean || farthest <= 1
		if o.N++; len(o.Rows) < mostOutside {
			c := o.columns[worst]
			row := outsideRow{Row: number(i), Column: c.Name, Value: x[c.First], Seen: [2]float64{c.Low, c.High}, column: c}
			if c.High > c.Low {
				row.Widths = &farthest
			}
			o.Rows = append(o.Rows, row)
		}
	}
	for t := range parts {
		if p := parts[t].Prediction; p != nil {
			o.medians += len(p.Medians)
			for _, i := range p.Medians[:min(len(p.Medians), mostOutside-len(o.Medians))] {
				o.Medians = append(o.Medians, number(i))
			}
		}
	}
}

// widths returns how far a value is outside of the range of a column, in widths of the range, or of the range of its transform where that is more.
func (o *outside) widths(c *effect.Variable, v float64) float64 {
	far := max(0, c.Low-v, v-c.High)
	if far == 0 {
		return 0
	}
	far /= c.High - c.Low
	if q, all := slices.Index(o.model.Columns, c.First), o.model.Scaling.XTransforms; all != nil && all[q] != nil {
		low, high, at := all[q].Forward(c.Low), all[q].Forward(c.High), all[q].Forward(v)
		far = max(far, max(low-at, at-high)/(high-low))
	}
	return far
}

// extrapolates says whether the mean function goes on in a column, and the function is as uncertain as the prior at row i.
func (o *outside) extrapolates(c *effect.Variable, x []float64, p *gp.Prediction, i int) bool {
	m := o.model
	if !slices.ContainsFunc(m.Mean.Basis, func(f mean.Function) bool {
		return (f.Group == mean.Linear || f.Group == mean.Power) && m.Columns[f.Column] == c.First
	}) {
		return false
	}
	if p.Parts != nil {
		p = p.Parts[0]
	}
	latent := p.StdLatent
	if p.Transformed != nil {
		latent = p.Transformed.StdLatent
	}
	prog, err := m.Program()
	if err != nil || latent == nil {
		return false
	}
	used, prior := make([]float64, len(m.Columns)), make([]float64, 1)
	for q, f := range m.Columns {
		used[q] = x[f]
	}
	e := kernel.NewEvaluator(prog)
	e.Bind(m.Theta)
	e.Diagonal(prior, kernel.NewPoints(m.Scaling.Inputs(used), 1, len(used)), 0, 1)
	return latent[i] >= priorShare*math.Sqrt(prior[0])*m.Scaling.YScale
}

// warnings returns the warnings about the rows.
func (o *outside) warnings() (out []string) {
	var named []string
	for _, row := range o.Rows[:min(len(o.Rows), mostNamed)] {
		texts := make([]string, 3)
		for k, v := range []float64{row.Value, row.Seen[0], row.Seen[1]} {
			row.column.Typical = v
			texts[k] = row.column.TypicalText()
		}
		named = append(named, fmt.Sprintf("row %d (from 1) with %s = %s, seen %s to %s", row.Row+1, row.Column, texts[0], texts[1], texts[2]))
	}
	if o.N > 0 {
		where := "far outside of the training rows, where predictions say little"
		if o.byMean {
			where = "far outside of the training rows, or where only the mean function goes on"
		}
		out = append(out, fmt.Sprintf("%s %s: %s", textform.Counted(o.N, "row is", "rows are"), where, enumerated(named, o.N)))
	}
	named = nil
	for _, row := range o.Medians[:min(len(o.Medians), mostNamed)] {
		named = append(named, fmt.Sprint(row+1))
	}
	if o.medians > 0 {
		out = append(out, fmt.Sprintf("the mean of %s is the median, because the tail of the transformed target rules the expected value: row %s (from 1)", textform.Counted(o.medians, "row", "rows"), enumerated(named, o.medians)))
	}
	return out
}

// enumerated joins the names of the first of n things.
func enumerated(names []string, n int) string {
	text := strings.Join(names, ", ")
	if n > len(names) {
		text += ", …"
	}
	return text
}
