package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
	"gpfit/show/effect"
	"gpfit/show/page"
)

const (
	// effectPoints is the number of values of a column of numbers at which its effect is
	// computed, mostLabels the largest number of categories.
	effectPoints, mostLabels = 61, 24
	// mostEffects is the number of columns with a picture, shared by several targets.
	mostEffects = 12
	// mostAxes is the number of columns, the most relevant ones, along which predictions are made and
	// which tables list: their rows have a number for each column of the table.
	mostAxes = 100
)

// vary finds the effects of the most relevant columns.
func (s *subject) vary(ctx context.Context) error {
	if err := s.findAxes(); err != nil {
		return err
	}
	targets := s.each()
	axes := s.axes[:min(len(s.axes), max(1, mostEffects/len(targets)))]
	s.effects = make([]curve, len(targets)*len(axes))
	for i := range axes {
		rows := &axes[i].rows
		predictions, err := s.Posterior.PredictTargets(ctx, rows.X, rows.N, rows.Noise)
		if err != nil {
			return fmt.Errorf("effects of the columns: %w", err)
		}
		for t, p := range predictions {
			s.effects[t*len(axes)+i] = curve{targets[t], &axes[i], p.Between(0, rows.N)}
		}
	}
	return nil
}

// findAxes finds the columns of the table that the model uses, most relevant first.
func (s *subject) findAxes() error {
	m := s.model
	columns, err := effect.Columns(m)
	if err != nil {
		return err
	}
	byFeature := map[int]float64{}
	for _, r := range s.relevance {
		byFeature[r.Index] = r.Relevance
	}
	order := matrixrows.All(len(columns))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(columns[b].Relevance(byFeature), columns[a].Relevance(byFeature))
	})
	for at, k := range order {
		a := axis{Variable: columns[k], whole: columns[k], relevance: columns[k].Relevance(byFeature)}
		if at >= movedAxes(m) {
			s.axes = append(s.axes, a)
			continue
		}
		a.values = columns[k].Values(effectPoints)
		if a.Categories != nil {
			a.values = a.values[:min(len(a.values), mostLabels)]
		}
		a.rows = effect.Along(m, columns, k, a.values)
		a.Categories = nil
		for _, label := range columns[k].Categories[:min(len(columns[k].Categories), mostLabels)] {
			a.Categories = append(a.Categories, shortLabel(label))
		}
		s.axes = append(s.axes, a)
	}
	return nil
}

// moved returns the axes that have rows.
func moved(s *subject) []axis { return s.axes[:min(len(s.axes), movedAxes(s.model))] }

// movedAxes returns how many columns have rows: at most mostAxes, and fewer if their rows
// would take more than 32 MB.
func movedAxes(m *gp.Model) int {
	const numbers = 4 << 20
	return min(mostAxes, max(mostEffects, numbers/(effectPoints*len(m.FeatureNames))))
}

// effects shows the effect of each column.
func effects(s *subject) (page.Section, error) {
	section := page.Section{Title: "Effect of each column", Notes: []string{
		"Each picture varies one column over its range in the training table. The others stay in the middle: numbers at their median, categories at the most common one. The band is the 95 % interval of the function, without noise. All pictures of a target have one scale, so a flat line is a column without effect. Columns that act together have effects that one such picture does not show."}}
	for i := range s.effects {
		figure, err := s.effects[i].effectFigure(effectRange(s, s.effects[i].target))
		if err != nil {
			return section, err
		}
		section.Pictures = append(section.Pictures, figure)
	}
	if shown := len(s.effects) / len(s.targets()); shown < len(s.axes) {
		section.Notes = append(section.Notes, fmt.Sprintf("The pictures show the %d most relevant of %d columns.", shown, len(s.axes)))
	}
	return section, nil
}

// effectRange returns the range of the effects of a target with their intervals, and some room.
func effectRange(s *subject, target string) [2]float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range s.effects {
		if s.effects[i].target == target {
			lower, upper := s.effects[i].Function(0.95)
			low, high = min(low, slices.Min(lower)), max(high, slices.Max(upper))
		}
	}
	if room := 0.04 * (high - low); room > 0 && !math.IsInf(room, 0) {
		return [2]float64{low - room, high + room}
	}
	return [2]float64{}
}

// mostTermRows is the number of training rows over which the size of a term is averaged.
const mostTermRows = 512

// split finds the terms of an additive kernel.
func (s *subject) split(ctx context.Context) error {
	expr, err := kernel.Parser{Families: s.model.Kernels}.Parse(s.model.Kernel)
	if _, sum := expr.(kernel.Sum); err != nil || !sum || s.experts != nil || s.model.Scaling.Transform != nil {
		return err
	}
	width, n := len(s.model.FeatureNames), min(s.model.N(), mostTermRows)
	rows := make([]float64, 0, n*width)
	for i := range n {
		rows = append(rows, s.trainingRow(i*s.model.N()/n)...)
	}
	for _, a := range moved(s) {
		rows = append(rows, a.rows.X...)
	}
	for t, name := range s.each() {
		terms, meanFunction, err := s.Posterior.Target(t).Terms(ctx, rows, len(rows)/width)
		if err != nil {
			return fmt.Errorf("terms of the kernel: %w", err)
		}
		spread := stat.PopStdDev(s.model.Target(t).Y, nil)
		for _, one := range terms {
			next := term{path: one.Path, text: one.Text, size: stat.PopStdDev(one.Mean[:n], nil)}
			next.share = next.size / spread
			next.curve = s.along(one, n)
			next.ofTarget = name
			s.terms = append(s.terms, next)
		}
		if size := stat.PopStdDev(meanFunction[:n], nil); size > 1e-12*spread {
			s.terms = append(s.terms, term{curve: curve{ofTarget: name}, path: "mean", text: s.model.Mean.Text, size: size, share: size / spread})
		}
	}
	return nil
}

// along returns a term along the column that changes it most. The predictions of the term
// along the columns begin at index at.
func (s *subject) along(one gp.TermPrediction, at int) curve {
	most := math.Inf(-1)
	var out curve
	for i := range moved(s) {
		end := at + s.axes[i].rows.N
		mean := one.Mean[at:end]
		if size := slices.Max(mean) - slices.Min(mean); size > most {
			most, out = size, curve{along: &s.axes[i], Prediction: &gp.Prediction{Mean: mean, StdLatent: one.Std[at:end]}}
		}
		at = end
	}
	return out
}

// trainingRow returns all features of a training row; features that the model does not use are 0.
func (s *subject) trainingRow(i int) []float64 {
	m := s.model
	d, out := len(m.Columns), make([]float64, len(m.FeatureNames))
	for at, f := range m.Columns {
		out[f] = m.X[i*d+at]
	}
	return out
}

// terms shows the terms of an additive kernel.
func terms(s *subject) (page.Section, error) {
	section := page.Section{Title: "Terms of the kernel"}
	if len(s.terms) == 0 {
		return section, nil
	}
	grid := page.Grid{Caption: "Size of each term: the standard deviation of its posterior mean over training rows",
		Heads: append(page.Words("target", "term", "kernel"), page.Numbers("size", "share of the target's deviation")...)}
	for i := range s.terms {
		t := &s.terms[i]
		line := page.NewRow(t.target, t.path, t.text, number(t.size), percent(t.share))
		line.Cells[4].Bar = t.share
		grid.Rows = append(grid.Rows, line)
		if t.Prediction == nil {
			continue
		}
		figure, err := t.figure()
		if err != nil {
			return section, err
		}
		section.Pictures = append(section.Pictures, figure)
	}
	section.Grids = []page.Grid{grid}
	section.Notes = []string{"The kernel is a sum, so the function is a sum of terms. The terms add up to the prediction, but their deviations do not, because the data determine some terms only together. Each picture shows a term along the column that changes it most, the others in the middle."}
	return section, nil
}

// rank finds the relevance of the columns. The record has it, unless rows were added since.
func (s *subject) rank(ctx context.Context) error {
	if r := s.Record.Report.Relevance; len(r) > 0 && len(s.Record.Updates) == 0 {
		s.relevance = r
		return nil
	}
	var values []float64
	var err error
	if s.model.State.Method != "" {
		values, err = s.Posterior.Relevance(ctx)
	} else {
		values, err = gp.Relevance(ctx, s.model, s.Threads)
	}
	if err != nil {
		return err
	}
	for i, v := range values {
		at := s.model.Columns[i]
		s.relevance = append(s.relevance, summary.ColumnRelevance{Column: s.model.FeatureNames[at], Index: at, Relevance: v})
	}
	slices.SortStableFunc(s.relevance, func(a, b summary.ColumnRelevance) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return nil
}
