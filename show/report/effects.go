package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"gpfit/fit/fields"
	"gpfit/gp"
	"gpfit/kernel"
	"gpfit/show/page"
)

// effects shows the effect of each column.
type effects struct{ *subject }

// curves predicts along the most relevant columns, target by target.
func (e *effects) curves(ctx context.Context) ([]curve, error) {
	targets := e.each()
	axes := e.axes[:min(len(e.axes), max(1, mostEffects/len(targets)))]
	out := make([]curve, len(targets)*len(axes))
	for i := range axes {
		rows := &axes[i].rows
		predictions, err := e.Posterior.PredictTargets(ctx, rows.X, rows.N, rows.Noise)
		if err != nil {
			return nil, fmt.Errorf("effects of the columns: %w", err)
		}
		for t, p := range predictions {
			out[t*len(axes)+i] = curve{targets[t], &axes[i], p.Between(0, rows.N)}
		}
	}
	return out, nil
}

func (e *effects) section(ctx context.Context) (page.Section, error) {
	section := page.Section{Title: "Effect of each column", Notes: []string{
		"Each picture varies one column over its range in the training table. The others stay in the middle: numbers at their median, categories at the most common one. The band is the 95 % interval of the function, without noise. All pictures of a target have one scale, so a flat line is a column without effect. Columns that act together have effects that one such picture does not show."}}
	curves, err := e.curves(ctx)
	if err != nil {
		return section, err
	}
	for i := range curves {
		c := &curves[i]
		chart, alt := c.chart(c.target)
		chart.Y.Range = effectRange(curves, c.target)
		if err := section.Draw(c.named(c.along.Name), fmt.Sprintf("Effect of %s on %s: %s", c.along.Name, c.target, alt), page.Wide, chart); err != nil {
			return section, err
		}
	}
	if shown := len(curves) / len(e.each()); shown < len(e.axes) {
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
	curve      // its Prediction is nil for the mean function
	path, text string
	// size is the standard deviation of the term's mean over training rows, in units of
	// the target, and share the same in units of the target's standard deviation.
	size, share float64
}

// mostTermRows is the number of training rows over which the size of a term is averaged.
const mostTermRows = 512

// find finds the terms; there are none if the kernel is no sum.
func (e *terms) find(ctx context.Context) (out []term, err error) {
	expr, err := kernel.Parser{Families: e.model.Kernels}.Parse(e.model.Kernel)
	if _, sum := expr.(kernel.Sum); err != nil || !sum || e.experts != nil || e.model.Scaling.Transform != nil {
		return nil, err
	}
	width, n := len(e.model.FeatureNames), min(e.model.N(), mostTermRows)
	rows := make([]float64, n*width) // features that the model does not use are 0
	for i := range n {
		for at, f := range e.model.Columns {
			rows[i*width+f] = e.model.X[i*e.model.N()/n*len(e.model.Columns)+at]
		}
	}
	for _, a := range e.axes[:e.moved] {
		rows = append(rows, a.rows.X...)
	}
	for t, name := range e.each() {
		found, meanFunction, err := e.Posterior.Target(t).Terms(ctx, rows, len(rows)/width)
		if err != nil {
			return nil, fmt.Errorf("terms of the kernel: %w", err)
		}
		spread := stat.PopStdDev(e.model.Target(t).Y, nil)
		for _, one := range found {
			size := stat.PopStdDev(one.Mean[:n], nil)
			out = append(out, term{e.along(name, one, n), one.Path, one.Text, size, size / spread})
		}
		if size := stat.PopStdDev(meanFunction[:n], nil); size > 1e-12*spread {
			out = append(out, term{curve{ofTarget: name}, "mean", e.model.Mean.Text, size, size / spread})
		}
	}
	return out, nil
}

// along returns a term along the column that changes it most. The predictions of the term
// along the columns begin at index at.
func (e *terms) along(target ofTarget, one gp.TermPrediction, at int) curve {
	most := math.Inf(-1)
	var out curve
	for i := range e.axes[:e.moved] {
		end := at + e.axes[i].rows.N
		mean := one.Mean[at:end]
		if size := slices.Max(mean) - slices.Min(mean); size > most {
			most, out = size, curve{target, &e.axes[i], &gp.Prediction{Mean: mean, StdLatent: one.Std[at:end]}}
		}
		at = end
	}
	return out
}

func (e *terms) section(ctx context.Context) (page.Section, error) {
	section := page.Section{Title: "Terms of the kernel"}
	found, err := e.find(ctx)
	if err != nil || len(found) == 0 {
		return section, err
	}
	table := fields.Table{Caption: "Size of each term: the standard deviation of its posterior mean over training rows",
		Heads: append(fields.Words("target", "term", "kernel"), fields.Numbers("size", "share of the target's deviation")...)}
	for i := range found {
		t := &found[i]
		table.Add(t.target, t.path, t.text, number(t.size), percent(t.share)).Cells[4].Bar = t.share
		if t.Prediction == nil {
			continue
		}
		chart, alt := t.chart("part of " + t.target)
		caption := fmt.Sprintf("%s, %s along %s", t.path, t.text, t.along.Name)
		if err := section.Draw(t.named(caption), fmt.Sprintf("Term %s of %s along %s: %s", cmp.Or(t.path, t.text), t.target, t.along.Name, alt), page.Wide, chart); err != nil {
			return section, err
		}
	}
	section.Tables = []fields.Table{table}
	section.Notes = []string{"The kernel is a sum, so the function is a sum of terms. The terms add up to the prediction, but their deviations do not, because the data determine some terms only together. Each picture shows a term along the column that changes it most, the others in the middle."}
	return section, nil
}
