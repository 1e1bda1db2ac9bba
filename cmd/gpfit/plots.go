package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/gp"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
	"gpfit/show/effect"
	"gpfit/show/plotting"
)

// The charts of an effect plot that names no columns, and the least points of a line.
const (
	mostEffects  = 6
	effectPoints = 200
)

// predictPlot collects predictions for their plot. If the rows differ in at most one of the
// model's features, or if the user names one, the plot shows the rows along it. Otherwise no
// feature orders the rows, and the plot shows the effect of each column.
type predictPlot struct {
	model   *gp.Model
	columns []effect.Variable
	// chosen are the columns whose effects the user asked for.
	chosen []int
	// feature is the index of the feature along which the rows are shown, and by says that the
	// user named it.
	feature int
	by      bool
	// level is the probability of the interval in percent.
	level string
	// varying are the used features in which the rows differ from the first row.
	varying []int
	first   []float64
	x       []float64
	targets []plottedTarget
}

// plottedTarget holds the predictions of a target.
type plottedTarget struct{ mean, lower, upper []float64 }

// openPlot prepares the plot of the options for a model. Without --plot it returns nil.
func openPlot(c *cli.Command, m *gp.Model) (*predictPlot, error) {
	if c.Plot.Path == "" {
		return nil, nil
	}
	p := &predictPlot{model: m, feature: m.Columns[0], level: columns.Level(c.Predict.Probabilities[0]), targets: make([]plottedTarget, m.T())}
	var err error
	if p.columns, err = effect.Columns(m); err != nil {
		return nil, err
	}
	if p.chosen, err = chooseColumns(m, p.columns, c.Plot.Columns); err != nil {
		return nil, err
	}
	if by := c.Plot.By; by != "" {
		p.by = true
		if p.feature = slices.Index(m.FeatureNames, by); p.feature < 0 {
			return nil, exit.Usagef("--plot-by %s: the model has no such feature%s", by, suggest.DidYouMean(by, m.FeatureNames))
		}
	}
	return p, nil
}

// chooseColumns returns the indices of the named columns.
func chooseColumns(m *gp.Model, all []effect.Variable, names []string) ([]int, error) {
	var chosen []int
	for _, name := range names {
		k := slices.IndexFunc(all, func(c effect.Variable) bool { return c.Name == name })
		if k >= 0 {
			if !slices.Contains(chosen, k) {
				chosen = append(chosen, k)
			}
			continue
		}
		if slices.Contains(m.FeatureNames, name) {
			return nil, exit.Usagef("--plot-column %s: the model does not use this column, or it is a category of one: the columns are %s", name, strings.Join(columnNames(all, 40), ", "))
		}
		return nil, exit.Usagef("--plot-column %s: the model uses no such column%s", name, suggest.DidYouMean(name, columnNames(all, math.MaxInt)))
	}
	return chosen, nil
}

// columnNames returns the names of columns, of which longer ones than most characters are cut.
func columnNames(all []effect.Variable, most int) []string {
	return each.Of(all, func(c effect.Variable) string { return textform.Printable(c.Name, most) })
}

// effects reports whether the plot shows effects rather than rows.
func (p *predictPlot) effects() bool { return p.chosen != nil || !p.by && len(p.varying) > 1 }

// add appends the results of the rows in, which have all features.
func (p *predictPlot) add(in dataset.Rows, results []columns.TargetColumns) {
	if in.N == 0 {
		return
	}
	for row := range slices.Chunk(in.X, len(in.X)/in.N) {
		p.compare(row)
	}
	if p.effects() {
		p.x, p.targets = nil, make([]plottedTarget, len(p.targets)) // effects need no rows
		return
	}
	if !p.by && len(p.varying) == 1 && p.varying[0] != p.feature {
		p.feature = p.varying[0]
		for i := range p.x { // the rows before do not differ in it
			p.x[i] = p.first[p.feature]
		}
	}
	p.x = append(p.x, columns.Of(in.X, in.N, p.feature)...)
	for t := range p.targets {
		to, r := &p.targets[t], &results[t]
		to.mean = append(to.mean, r.Values("mean")...)
		to.lower = append(to.lower, r.Values("lower"+p.level)...)
		to.upper = append(to.upper, r.Values("upper"+p.level)...)
	}
}

// compare notes in which features a row differs from the first one.
func (p *predictPlot) compare(row []float64) {
	if p.first == nil {
		p.first = slices.Clone(row)
	}
	for _, c := range p.model.Columns {
		if row[c] != p.first[c] && !slices.Contains(p.varying, c) {
			p.varying = append(p.varying, c)
		}
	}
}

// figure returns the plot, with predictions of further rows.
func (p *predictPlot) figure(ctx context.Context, threads int, probability float64, by predictor) (*plotting.Figure, error) {
	if p.effects() {
		return p.effectFigure(ctx, threads, probability, by)
	}
	name := p.model.FeatureNames[p.feature]
	f := &plotting.Figure{Title: "Prediction of " + strings.Join(p.model.TargetNames(), ", ") + " along " + name}
	// Along a line, rows with other values of the other features would mislead.
	separate := slices.ContainsFunc(p.varying, func(c int) bool { return c != p.feature })
	alone := len(p.model.Columns) == 1
	if !separate && !alone {
		f.Title += ", other columns as in the rows"
	}
	axis := plotting.Axis{Label: name}
	k := slices.IndexFunc(p.columns, func(c effect.Variable) bool { return c.Name == name })
	if k >= 0 {
		axis = p.columns[k].Axis()
	}
	for t, target := range p.model.TargetNames() {
		chart := plotting.Chart{X: axis, Y: plotting.Axis{Label: target}}
		data := &plotting.Points{Name: "data", Color: 1}
		if at := slices.Index(p.model.Columns, p.feature); at >= 0 && (separate || alone) {
			data.X, data.Y = columns.Of(p.model.X, p.model.N(), at), p.model.Target(t).Y
			from, low := math.Inf(-1), slices.Min(p.x)
			if k >= 0 && low > p.columns[k].High { // a forecast
				from = p.columns[k].Recent(p.model, slices.Max(p.x)-p.columns[k].High)
			}
			fewDots(data, from, low, slices.Max(p.x))
		}
		chart.Layers = p.layers(t, separate || k >= 0 && p.coarse(k), data)
		f.Charts = append(f.Charts, chart)
	}
	return f, nil
}

// coarse reports whether most rows are too far apart for a line along a column: beyond a quarter of a season or two lengthscales.
func (p *predictPlot) coarse(k int) bool {
	x := slices.Compact(slices.Sorted(slices.Values(p.x)))
	var gaps []float64
	for i := range len(x) - 1 {
		gaps = append(gaps, x[i+1]-x[i])
	}
	slices.Sort(gaps)
	return p.columns[k].Categories == nil && len(gaps) > 0 && gaps[len(gaps)/2] > 4*p.columns[k].Step(p.model)
}

// mostDots is the number of training rows that one plot can show.
const mostDots = 3000

// fewDots leaves training rows out: before a forecast those before a value, and if there are more than mostDots those farther from the
// predicted rows, which reach from low to high, than half their range, and then all but every k-th.
func fewDots(data *plotting.Points, from, low, high float64) {
	margin := (high - low) / 2
	switch forecast := !math.IsInf(from, -1); {
	case forecast:
		from = min(from, low-margin)
	case len(data.X) <= mostDots:
		return
	default:
		from = low - margin
	}
	var near []int
	for i, x := range data.X {
		if x >= from && x <= high+margin {
			near = append(near, i)
		}
	}
	if every := (len(near) + mostDots - 1) / mostDots; every > 1 {
		data.Name = fmt.Sprintf("data, every %dth row", every)
		few := slices.DeleteFunc(matrixrows.All(len(near)), func(k int) bool { return k%every > 0 })
		near = matrixrows.Values(near, few)
	}
	data.X, data.Y = matrixrows.Values(data.X, near), matrixrows.Values(data.Y, near)
}

// layers returns the layers of the rows' predictions: a band and a line, or a bar and a dot for
// each row.
func (p *predictPlot) layers(t int, separate bool, data *plotting.Points) []plotting.Layer {
	order := matrixrows.All(len(p.x))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.x[a], p.x[b]) })
	x, of := matrixrows.Values(p.x, order), p.targets[t]
	mean, lower, upper := matrixrows.Values(of.mean, order), matrixrows.Values(of.lower, order), matrixrows.Values(of.upper, order)
	if len(data.X) == 0 {
		data.Name = ""
	}
	if separate {
		return []plotting.Layer{data, &plotting.Errors{Name: p.level + " % interval", X: x, Lower: lower, Upper: upper}, &plotting.Points{Name: "mean", X: x, Y: mean}}
	}
	return []plotting.Layer{&plotting.Band{Name: p.level + " % interval", X: x, Lower: lower, Upper: upper}, data, &plotting.Line{Name: "mean", X: x, Y: mean}}
}

// predictor predicts rows, with an element of the result for each target.
type predictor struct {
	predict func(ctx context.Context, rows []float64, n int, noise gp.RowNoise) ([]*gp.Prediction, error)
	means   func(ctx context.Context, rows []float64, n int) ([][]float64, error)
}

// effectFigure returns the effect plot: a chart for each target and chosen column.
func (p *predictPlot) effectFigure(ctx context.Context, threads int, probability float64, by predictor) (*plotting.Figure, error) {
	chosen := p.chosen
	if chosen == nil {
		var err error
		if chosen, err = effect.ByRelevance(ctx, p.model, p.columns, threads, mostEffects); err != nil {
			return nil, err
		}
	}
	names := p.model.TargetNames()
	f := &plotting.Figure{Title: effectTitle(names, p.columns, chosen), SharedY: true, Charts: make([]plotting.Chart, len(names)*len(chosen))}
	if len(names) > 1 {
		f.Columns = min(len(chosen), 3)
	}
	for i, k := range chosen {
		c := &p.columns[k]
		at, err := c.Sample(p.model, effectPoints, func(values []float64) ([][]float64, error) {
			rows := effect.Along(p.model, p.columns, k, values)
			return by.means(ctx, rows.X, rows.N)
		})
		var of []*gp.Prediction
		if err == nil {
			rows := effect.Along(p.model, p.columns, k, at.Values)
			of, err = by.predict(ctx, rows.X, rows.N, rows.Noise)
		}
		if err != nil {
			return nil, fmt.Errorf("effect of column %s: %w", c.Name, err)
		}
		if at.Why != "" {
			return nil, exit.Usagef("--plot: %s", at.Why)
		}
		for t, prediction := range of {
			f.Charts[t*len(chosen)+i] = c.Chart(at, prediction, probability, names[t])
		}
	}
	return f, nil
}

// effectTitle says what an effect plot shows.
func effectTitle(targets []string, all []effect.Variable, chosen []int) string {
	title := "Effect of each column on " + strings.Join(targets, ", ")
	if len(chosen) == 1 {
		title = "Effect of " + all[chosen[0]].Name + " on " + strings.Join(targets, ", ")
	}
	var others []string
	for k := range all {
		if len(chosen) > 1 || k != chosen[0] {
			others = append(others, all[k].Name+" = "+all[k].TypicalText())
		}
	}
	switch {
	case len(others) == 0:
		return title
	case len(others) <= 3 && len(chosen) == 1:
		return title + " at " + strings.Join(others, ", ")
	}
	return title + ", others at median or mode"
}

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
func openSamplePlot(c *cli.Command, m *gp.Model) (*samplePlot, error) {
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
	values, _ = p.columns[p.along].Line(p.model, samplePoints)
	return values, effect.Along(p.model, p.columns, p.along, values).X
}

// add adds a chart of a distribution at the rows, with the data if they are on its line.
func (p *samplePlot) add(title string, j *gp.Joint, data *plotting.Points) error {
	values, _ := p.rows()
	v, n := &p.columns[p.along], len(values)
	chart := v.Chart(effect.Plain(values, v.Categories != nil), j.Marginals(), sampleProbability, p.model.TargetName)
	if chart.Title = title; values[0] > v.Low && v.Categories == nil {
		chart.Title += ", the end of the range"
	}
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
func plotPrior(c *cli.Command, process *gp.Process, at *sampleRows) error {
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
