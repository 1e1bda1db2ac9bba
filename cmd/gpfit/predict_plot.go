package main

import (
	"cmp"
	"slices"

	"github.com/spf13/pflag"

	"gpfit/gp"
	"gpfit/internal/plotting"
	"gpfit/internal/suggest"
)

// plotFlags ask for a plot of a prediction along one feature.
type plotFlags struct {
	file, by string
}

func (f *plotFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.file, "plot", "", "also draw mean, interval and training data to `FILE`.svg or .png")
	s.StringVar(&f.by, "plot-by", "", "feature along which to draw, by `NAME` (default: the first that the model uses)")
}

// forecastPlot collects a prediction for its plot.
type forecastPlot struct {
	file   string
	column int // among the model's features
	plot   plotting.Forecast
}

// open checks the flags against the model; nil without --plot.
func (f *plotFlags) open(m *gp.Model, probability float64) (*forecastPlot, error) {
	if f.file == "" {
		if f.by != "" {
			return nil, usagef("--plot-by %s: needs --plot FILE", f.by)
		}
		return nil, nil
	}
	if _, err := plotting.Format(f.file); err != nil {
		return nil, usagef("--plot %v", err)
	}
	if len(m.Targets) > 1 {
		return nil, usagef("--plot: the model has %d targets, and a plot shows one", len(m.Targets))
	}
	p := &forecastPlot{file: f.file, column: m.Columns[0]}
	if f.by != "" {
		p.column = slices.Index(m.FeatureNames, f.by)
		if p.column < 0 {
			return nil, usagef("--plot-by %s: the model has no such feature%s", f.by, suggest.DidYouMean(f.by, m.FeatureNames))
		}
	}
	p.plot.XLabel, p.plot.YLabel, p.plot.Band = m.FeatureNames[p.column], m.TargetName, levelName(probability)+" % interval"
	if used := slices.Index(m.Columns, p.column); used >= 0 {
		for i, y := range m.Y {
			p.plot.DataX, p.plot.DataY = append(p.plot.DataX, m.X[i*len(m.Columns)+used]), append(p.plot.DataY, y)
		}
	}
	return p, nil
}

// add takes the results of rows of all features.
func (p *forecastPlot) add(rows rowsToPredict, features int, result part) {
	for i := range rows.n {
		p.plot.X = append(p.plot.X, rows.rows[i*features+p.column])
	}
	for q, to := range []*[]float64{&p.plot.Mean, nil, &p.plot.Lower, &p.plot.Upper} {
		if to != nil { // the columns are mean, std, lower, upper
			*to = append(*to, result.columns[q].values...)
		}
	}
}

// write draws the rows in the order of the feature.
func (p *forecastPlot) write() error {
	order := make([]int, len(p.plot.X))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.plot.X[a], p.plot.X[b]) })
	for _, v := range []*[]float64{&p.plot.X, &p.plot.Mean, &p.plot.Lower, &p.plot.Upper} {
		sorted := make([]float64, len(order))
		for i, k := range order {
			sorted[i] = (*v)[k]
		}
		*v = sorted
	}
	return p.plot.Write(p.file)
}
