package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"gpfit/device"
	"gpfit/fit/fields"
	"gpfit/gp"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/show/effect"
	"gpfit/show/page"
)

// effects shows the effect of each column.
type effects struct{ *subject }

// curves predicts along the most relevant columns, target by target. Of a time among several columns whose picture is too
// small for a line it also predicts the last seasons. notes say which columns have no picture.
func (e *effects) curves(ctx context.Context) (out []curve, notes []string, err error) {
	targets := e.each()
	byTarget := make([][]curve, len(targets))
	for i := range e.axes[:min(len(e.axes), max(1, mostEffects/len(targets)))] {
		parts := []*axis{&e.axes[i]}
		for k := 0; k < len(parts); k++ {
			a, caption := parts[k], ""
			at, predictions, err := e.along(ctx, a, effectPoints)
			if err != nil {
				return nil, nil, fmt.Errorf("effects of the columns: %w", err)
			}
			switch last := e.lastSeasons(a); {
			case k == 1:
				caption = ", the last seasons"
			case at.Values == nil:
				notes = append(notes, at.Why)
			case at.Envelope() && len(e.axes) > 1 && last != nil:
				parts = append(parts, last)
			}
			for t, p := range predictions {
				byTarget[t] = append(byTarget[t], curve{targets[t], a, at, caption, p})
			}
		}
	}
	return slices.Concat(byTarget...), notes, nil
}

// lastSeasons returns a time with the last three turns of its longest season that a line can show, nil if there is none.
func (e *effects) lastSeasons(a *axis) *axis {
	if a.Axis().Date == nil && !a.Ascending {
		return nil
	}
	for _, season := range slices.Backward(a.Seasons(e.model)) {
		last := *a
		last.Low = last.High - 3*season
		if _, whole := last.Line(e.model, effectPoints); whole && last.Low > a.Low {
			return &last
		}
	}
	return nil
}

func (e *effects) section(ctx context.Context) (page.Section, error) {
	section := page.Section{Title: "Effect of each column", Notes: []string{
		"Each picture varies one column over its range in the training table. The others stay in the middle: numbers at their median, categories at the most common one. The band is the 95 % interval of the function, without noise. All pictures of a target have one scale, so a flat line is a column without effect. Columns that act together have effects that one such picture does not show."}}
	curves, notes, err := e.curves(ctx)
	if err != nil {
		return section, err
	}
	for i := range curves {
		c := &curves[i]
		chart, alt := c.chart(c.target)
		chart.Y.Range = effectRange(curves, c.target)
		if err := section.Draw(c.named(c.along.Name+c.caption), fmt.Sprintf("Effect of %s on %s: %s", c.along.Name, c.target, alt), page.Wide, chart); err != nil {
			return section, err
		}
	}
	if slices.ContainsFunc(curves, func(c curve) bool { return c.at.Envelope() }) {
		notes = append(notes, stripsNote)
	}
	section.Notes = append(section.Notes, notes...)
	if shown := max(1, mostEffects/len(e.each())); shown < len(e.axes) {
		section.Notes = append(section.Notes, fmt.Sprintf("The pictures show the %d most relevant of %d columns.", shown, len(e.axes)))
	}
	return section, nil
}

// effectRange returns the range of the effects of a target with their intervals, and some room.
func effectRange(curves []curve, target string) [2]float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range curves {
		if curves[i].target == target {
			lower, upper := curves[i].Function(0.95)
			low, high = min(low, slices.Min(lower)), max(high, slices.Max(upper))
		}
	}
	if room := 0.04 * (high - low); room > 0 && !math.IsInf(room, 0) {
		return [2]float64{low - room, high + room}
	}
	return [2]float64{}
}

// terms shows the terms of an additive kernel.
type terms struct{ *subject }

// term is a term of a sum of kernels, for one target.
type term struct {
	curve      // its Prediction is nil without a picture
	path, text string
	// size is the standard deviation of the term's mean over training rows, in units of
	// the target, and share the same in units of the target's standard deviation.
	size, share float64
	// flat says that the picture has a flat line, apart that the data tell the term from the others, why that there is no picture.
	flat, apart bool
	why         string
}

// mostTermRows is the number of training rows over which the size of a term is averaged.
const mostTermRows = 256

// find finds the terms; there are none if the kernel is no sum.
func (e *terms) find(ctx context.Context) (out []term, err error) {
	expr, err := kernel.Parser{Families: e.model.Kernels}.Parse(e.model.Kernel)
	if _, sum := expr.(kernel.Sum); err != nil || !sum || e.experts != nil || e.model.Scaling.Transform != nil {
		return nil, err
	}
	parts, err := kernel.Terms(expr, e.model.Columns)
	if err != nil {
		return nil, err
	}
	n := min(e.model.N(), mostTermRows)
	var rows []float64
	for _, i := range effect.Evenly(e.model.N(), n) {
		rows = append(rows, e.trainingRow(i)...)
	}
	for t, name := range e.each() {
		found, meanFunction, err := e.Posterior.Target(t).Terms(ctx, rows, n)
		if err != nil {
			return nil, fmt.Errorf("terms of the kernel: %w", err)
		}
		spread := stat.PopStdDev(e.model.Target(t).Y, nil)
		for i, one := range found {
			size := stat.PopStdDev(one.Mean, nil)
			made := term{curve: curve{ofTarget: name}, path: one.Path, text: one.Text, size: size, share: size / spread}
			if err := e.draw(ctx, &made, e.model.Target(t), parts[i], rows); err != nil {
				return nil, fmt.Errorf("term %s: %w", one.Path, err)
			}
			out = append(out, made)
		}
		if size := stat.PopStdDev(meanFunction, nil); size > 1e-12*spread {
			out = append(out, term{curve: curve{ofTarget: name}, path: "mean", text: e.model.Mean.Text, size: size, share: size / spread})
		}
	}
	return out, nil
}

// alone returns the posterior of one term of a model on the factor of all. A mean function that is constant, which centring takes away,
// stays for its uncertainty.
func (e *terms) alone(m *gp.Model, part kernel.Term) (*gp.Posterior, error) {
	one := *m
	one.Kernel, one.Theta = fmt.Sprint(part.Expr), part.Theta(m.Theta)
	if e.trend() {
		one.Mean = gp.Mean{}
	}
	return one.Attach(e.Posterior.Workspace())
}

// trend reports whether the mean function is more than a constant.
func (e *terms) trend() bool {
	return slices.ContainsFunc(e.model.Mean.Basis, func(f mean.Function) bool { return f.Group != mean.Constant })
}

// draw predicts a term along the column that changes it most, minus its mean over training rows.
func (e *terms) draw(ctx context.Context, to *term, m *gp.Model, part kernel.Term, rows []float64) error {
	one, err := e.alone(m, part)
	if err != nil {
		return err
	}
	most, rng := math.Inf(-1), rand.New(rand.NewPCG(3, 4))
	means := func(a *axis) effect.Means {
		return func(values []float64) ([][]float64, error) {
			at := e.rowsAlong(a, values)
			return one.PredictMeans(ctx, at.X, at.N)
		}
	}
	for i := range e.axes[:e.moved] {
		a := &e.axes[i]
		values := a.Values(effectPoints)
		if a.Categories == nil {
			values = effect.Between(a.Low, a.High, rng, effectPoints, 1) // which a season cannot hide from
		}
		all, err := means(a)(values)
		if err != nil {
			return err
		}
		if size := slices.Max(all[0]) - slices.Min(all[0]); size > most {
			most, to.along = size, a
		}
	}
	if to.at, err = to.along.Sample(e.model, effectPoints, means(to.along)); err != nil || to.at.Values == nil {
		to.why = to.at.Why
		return err
	}
	if to.along.Categories != nil {
		to.at.Values = to.at.Values[:min(len(to.at.Values), mostLabels)]
	}
	to.flat = most < 0.02*stat.PopStdDev(m.Y, nil)
	return e.centre(ctx, to, one, rows)
}

// centre predicts a term minus its mean over rows, whose deviation says whether the data tell it from the other terms.
func (e *terms) centre(ctx context.Context, to *term, one *gp.Posterior, rows []float64) error {
	at := e.rowsAlong(to.along, to.at.Values)
	n, d := len(rows)/len(e.model.FeatureNames), len(to.at.Values)
	all := slices.Concat(rows, at.X)
	means, err := one.PredictMeans(ctx, all, n+d)
	if err != nil {
		return err
	}
	to.Prediction = &gp.Prediction{Mean: means[0][n:], StdLatent: make([]float64, d)}
	floats.AddConst(-stat.Mean(means[0][:n], nil), to.Mean)
	j, err := one.Joint(ctx, all, n+d, gp.JointOptions{})
	if _, lacks := errors.AsType[*device.UnsupportedError](err); lacks {
		return nil // no band
	} else if err != nil {
		return err
	}
	// var(f − f̄) = var f − 2 cov(f, f̄) + var f̄
	with, total := make([]float64, n+d), 0.0
	for i := range with {
		with[i] = stat.Mean(j.Cov[i*(n+d):i*(n+d)+n], nil)
	}
	own := stat.Mean(with[:n], nil)
	variance := func(i int) float64 { return max(j.Cov[i*(n+d)+i]-2*with[i]+own, 0) }
	for i := range n {
		total += variance(i) / float64(n)
	}
	if to.apart = math.Sqrt(total) < to.size/2; to.apart {
		for i := range d {
			to.StdLatent[i] = math.Sqrt(variance(n + i))
		}
	}
	return nil
}

func (e *terms) section(ctx context.Context) (page.Section, error) {
	section := page.Section{Title: "Terms of the kernel"}
	found, err := e.find(ctx)
	if err != nil || len(found) == 0 {
		return section, err
	}
	table := fields.Table{Caption: "Size of each term: the standard deviation of its posterior mean over training rows",
		Heads: append(fields.Words("target", "term", "kernel"), fields.Numbers("size", "share of the target's deviation")...)}
	section.Notes = []string{"The kernel is a sum, so the function is a sum of terms. Each picture shows a term along the column that changes it most, the others in the middle, minus its mean over training rows; the mean function takes the sum of these. The band is the 95 % interval of this difference. The deviations of terms do not add up, because the data determine some terms only together: a term that they do not tell from the others, with a deviation of more than half its size, has no band. All pictures of a target have one scale."}
	if e.trend() {
		section.Notes = append(section.Notes, "The bands leave out the uncertainty of the mean function.")
	}
	if slices.ContainsFunc(found, func(t term) bool { return t.Prediction != nil && t.at.Envelope() }) {
		section.Notes = append(section.Notes, stripsNote)
	}
	var curves []curve
	for i := range found {
		if found[i].Prediction != nil {
			curves = append(curves, found[i].curve)
		}
	}
	for i := range found {
		t := &found[i]
		table.Add(t.target, t.path, t.text, number(t.size), percent(t.share)).Cells[4].Bar = t.share
		if t.why != "" {
			section.Notes = append(section.Notes, t.named(t.path+": "+t.why))
		}
		if t.Prediction == nil {
			continue
		}
		chart, alt := t.chart("part of " + t.target)
		chart.Y.Range = effectRange(curves, t.target)
		if !t.apart {
			chart.Layers = chart.Layers[1:]
		}
		caption := fmt.Sprintf("%s, %s along %s%s", t.path, t.text, t.along.Name, e.remark(t))
		if err := section.Draw(t.named(caption), fmt.Sprintf("Term %s of %s along %s: %s", cmp.Or(t.path, t.text), t.target, t.along.Name, alt), page.Wide, chart); err != nil {
			return section, err
		}
	}
	section.Tables = []fields.Table{table}
	return section, nil
}

// remark says that a term has no effect, beyond the mean function where this has one.
func (e *terms) remark(t *term) string {
	at := slices.Index(e.model.Columns, t.along.First)
	switch {
	case !t.flat:
		return ""
	case slices.ContainsFunc(e.model.Mean.Basis, func(f mean.Function) bool { return f.Group != mean.Constant && f.Column == at }):
		return ": no effect beyond the mean function"
	}
	return ": no effect"
}
