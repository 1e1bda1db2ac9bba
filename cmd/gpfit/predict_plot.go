package main

import (
	"slices"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/gp/columns"
	"gpfit/gp/rows"
	"gpfit/internal/plotting"
	"gpfit/internal/suggest"
)

// forecast collects a prediction for its plot along one of the model's features.
type forecast struct {
	plotting.Forecast
	column int
	// others are further features that the model uses, and first their values in the first
	// row.
	others []int
	first  []float64
}

// openPlot checks the flags of the plot against the model. Without --plot it returns
// nil.
func (f *predictFlags) openPlot(m *gp.Model) (*forecast, error) {
	switch {
	case f.plot == "" && f.plotBy != "":
		return nil, exit.Usagef("--plot-by %s: needs --plot FILE", f.plotBy)
	case f.plot == "":
		return nil, nil
	}
	if _, err := plotting.Format(f.plot); err != nil {
		return nil, exit.Usagef("--plot %v", err)
	}
	if len(m.Targets) > 1 {
		return nil, exit.Usagef("--plot: the model has %d targets, and a plot shows one", len(m.Targets))
	}
	p := &forecast{column: m.Columns[0]}
	if f.plotBy != "" {
		if p.column = slices.Index(m.FeatureNames, f.plotBy); p.column < 0 {
			return nil, exit.Usagef("--plot-by %s: the model has no such feature%s", f.plotBy, suggest.DidYouMean(f.plotBy, m.FeatureNames))
		}
	}
	p.XLabel, p.YLabel, p.Band = m.FeatureNames[p.column], m.TargetName, columns.Level(f.predict.Probabilities[0])+" % interval"
	if used := slices.Index(m.Columns, p.column); used >= 0 {
		p.DataX, p.DataY = columns.Of(m.X, m.N(), used), m.Y
	}
	for _, c := range m.Columns {
		if c != p.column {
			p.others = append(p.others, c)
		}
	}
	return p, nil
}

// add appends the result of the rows in, which have all features.
func (p *forecast) add(in rows.Rows, result columns.TargetColumns) {
	if in.N == 0 {
		return
	}
	for row := range slices.Chunk(in.X, len(in.X)/in.N) {
		p.compare(row)
	}
	p.X = append(p.X, columns.Of(in.X, in.N, p.column)...)
	// The columns are mean, std, and lower and upper bound of the first interval.
	p.Mean = append(p.Mean, result.Columns[0].Values...)
	p.Lower = append(p.Lower, result.Columns[2].Values...)
	p.Upper = append(p.Upper, result.Columns[3].Values...)
}

// compare notes whether the rows differ in other features than the one of the plot: then
// the mean is no function of it.
func (p *forecast) compare(row []float64) {
	if p.first == nil {
		p.first = slices.Clone(row)
	}
	for _, c := range p.others {
		if row[c] != p.first[c] {
			p.Separate = true
		}
	}
}
