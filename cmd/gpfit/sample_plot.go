package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/gp"
	"gpfit/internal/columns"
	"gpfit/internal/effect"
	"gpfit/internal/plotting"
	"gpfit/internal/suggest"
)

// The points of a plot of draws, the draws without --draws, and the probability of its band.
const (
	samplePoints      = 200
	plottedDraws      = 5
	sampleProbability = 0.95
)

// samplePlot is the plot of prior and posterior along one column, with the other columns at
// their median or most common category.
type samplePlot struct {
	model   *gp.Model
	columns []effect.Variable
	along   int
	draws   int
	seed    uint64
	charts  []plotting.Chart
}

// openSamplePlot prepares the plot for a model, or for the inputs that a prior has. Without
// --plot it returns nil.
func openSamplePlot(c *frame.Command, m *gp.Model) (*samplePlot, error) {
	if c.Plot.Path == "" {
		return nil, nil
	}
	p := &samplePlot{model: m, draws: plottedDraws, seed: c.Predict.Seed}
	if c.Changed("draws") {
		p.draws = c.Predict.Draws
	}
	var err error
	if p.columns, err = effect.Columns(m); err != nil {
		return nil, err
	}
	var order []int
	switch {
	case len(c.Plot.Columns) > 0:
		order, err = chooseColumns(m, p.columns, c.Plot.Columns)
	case len(p.columns) > 1 && c.Sample.Prior == "":
		order, err = effect.ByRelevance(c.Ctx, m, p.columns, c.Compute.Threads, 1)
	}
	if err != nil {
		return nil, err
	}
	if order != nil {
		p.along = order[0]
	}
	return p, nil
}

// rows returns the values along the column and the rows of all features there.
func (p *samplePlot) rows() (values, x []float64) {
	values = p.columns[p.along].Values(samplePoints)
	return values, effect.Along(p.model, p.columns, p.along, values).X
}

// add adds a chart of a distribution at the rows, with the data if they are on its line.
func (p *samplePlot) add(title string, j *gp.Joint, data *plotting.Points) error {
	values, _ := p.rows()
	v, n := &p.columns[p.along], len(values)
	of := &gp.Prediction{Mean: j.Mean, StdLatent: make([]float64, n)}
	for i := range values {
		of.StdLatent[i] = math.Sqrt(max(j.Cov[i*n+i], 0))
	}
	chart := v.Chart(values, of, sampleProbability, p.model.TargetName)
	chart.Title = title
	sampler, err := j.Sampler()
	if err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	draws, err := sampler.Draw(p.draws, p.seed)
	if err != nil {
		return err
	}
	layers := []plotting.Layer{data}
	for k := range p.draws {
		name, y := "", draws[k*n:k*n+n]
		if k == 0 {
			name = "draws"
		}
		if v.Categories != nil {
			layers = append(layers, &plotting.Points{Name: name, X: values, Y: y, Color: k + 1, Shape: plotting.Ring})
		} else {
			layers = append(layers, &plotting.Line{Name: name, X: values, Y: y, Color: k + 1, Thin: true})
		}
	}
	chart.Layers = slices.Insert(chart.Layers, 1, layers...) // between the band and the mean
	p.charts = append(p.charts, chart)
	return nil
}

// addModel adds the charts of the model's prior and, unless posterior is nil, its posterior.
func (p *samplePlot) addModel(ctx context.Context, posterior *gp.Posterior) error {
	_, x := p.rows()
	n := len(x) / len(p.model.FeatureNames)
	prior, err := gp.Prior(ctx, p.model, x, n, gp.JointOptions{})
	if err != nil {
		return err
	}
	if err := p.add("prior", prior, &plotting.Points{}); err != nil || posterior == nil {
		return err
	}
	j, err := posterior.Joint(ctx, x, n, gp.JointOptions{})
	if err != nil {
		return err
	}
	data := &plotting.Points{}
	if len(p.model.Columns) == 1 { // otherwise the rows are not on the line
		data = &plotting.Points{Name: "data", X: columns.Of(p.model.X, p.model.N(), 0), Y: p.model.Y, Color: plotting.Grey}
	}
	return p.add("posterior", j, data)
}

// figure returns the picture.
func (p *samplePlot) figure(what string) *plotting.Figure {
	f := &plotting.Figure{Title: what, Charts: p.charts}
	if f.Title += " along " + p.columns[p.along].Name; len(p.columns) > 1 {
		f.Title += ", others at median or mode"
	}
	if len(f.Charts) == 1 {
		f.Charts[0].Title = ""
	}
	return f
}

// plotPrior draws the plot of a covariance function for the n rows x.
func plotPrior(c *frame.Command, process *gp.Process, at *sampleRows) error {
	if c.Plot.Path == "" {
		return nil
	}
	inputs := &gp.Model{FeatureNames: at.names, Columns: at.used, X: at.x, Y: make([]float64, at.n)}
	for _, name := range c.Plot.Columns {
		if !slices.Contains(at.names, name) {
			return exit.Usagef("--plot-column %s: there is no such column%s", name, suggest.DidYouMean(name, at.names))
		}
	}
	p, err := openSamplePlot(c, inputs)
	if err != nil {
		return err
	}
	_, x := p.rows()
	j, err := process.Joint(c.Ctx, x, len(x)/len(at.names), false)
	if err != nil {
		return err
	}
	if err := p.add("prior", j, &plotting.Points{}); err != nil {
		return err
	}
	p.charts[0].Y.Label = "f"
	at.figure = p.figure("Prior of " + c.Sample.Prior)
	return nil
}

// sampleRows are the rows to draw at: n rows of all features. The result shows the
// features of the indices used.
type sampleRows struct {
	// target is the target to draw, if the model has several.
	target string
	names  []string
	used   []int
	x      []float64
	n      int
	figure *plotting.Figure
}
