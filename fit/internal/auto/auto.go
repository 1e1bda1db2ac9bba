// Package auto chooses kernel and mean function by the data. [Tune] tunes a documented set of
// models on the same rows, from the parameters of the best so far, and compares them by BIC.
// [Transform] does the same with transforms of the target.
package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/fit/internal/spectrum"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/matrixrows"
)

// A fit of no more than wholeRows rows compares models on all of them; a larger one on a quarter,
// on at least leastRows and at most mostRows.
const (
	wholeRows = 1000
	leastRows = 750
	mostRows  = 4000
)

// If all rows are fewer than rowsByParameter for each parameter, the objective has several optima, and the optimum of
// one kernel can be far from the best of another: then each begins at the default starts, too.
const rowsByParameter = 10

// singles are the kernels that a choice compares first, in this order. The first one begins at the
// default starts, the others at the optimum of the best. The last one is smooth.
var singles = []string{problem.DefaultKernel, "matern52(ard)", "rbf(ard)"}

// isotropic is for few rows with many columns. rough is added to a smooth kernel, with this share of
// its variance.
const (
	isotropic  = "matern32"
	rough      = "matern12"
	roughShare = 0.2
)

// tuned is a model that was tuned on the rows of the choice.
type tuned struct {
	summary.ChosenModel
	job    *tuning.Job
	result *hyperopt.Result
}

// values returns the parameters, as start values of another fit; nil if there is no model.
func (m *tuned) values() map[string]float64 {
	if m == nil {
		return nil
	}
	return m.job.Params.Named(m.result.X)
}

// chooser is the state of a choice.
type chooser struct {
	ctx     context.Context
	w       *tuning.Workplace
	job     *tuning.Job // whose kernel is chosen
	sample  *problem.Sample
	log     *journal.Journal
	series  bool                // the rows are a series
	seasons *seasonal           // of a series of few rows; nil without any
	values  int                 // the most of each model; 0 for all that it needs
	spent   descent.Evaluations // of transforms
	begun   int                 // models, each of which has a part of the log
	tried   []*tuned
	best    *tuned // nil until a model is tuned
	// few is the choice of columns in the kernels of many columns, "" if they have all, and fewCost what it adds to a BIC.
	few     string
	fewCost float64
	report  summary.ModelChoice
}

// Tune chooses kernel and mean of the job of w, gives w the job of that model and tunes it over all
// rows. It returns the result, which counts all evaluations, and what was compared; nil if nothing
// was; and another model to average with. The error is as [hyperopt.Tune]'s.
func Tune(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*hyperopt.Result, *summary.ModelChoice, *Second, error) {
	c := newChooser(ctx, w, log)
	interrupted := c.all()
	if interrupted == nil {
		c, interrupted = c.withColumns()
	}
	if before := c; interrupted == nil {
		if c, interrupted = c.transformed(); c != before && interrupted == nil {
			c, interrupted = c.withColumns() // which may gain only with a transform of the target
		}
	}
	if c.best == nil {
		return nil, nil, nil, interrupted
	}
	report := &c.report
	if len(report.Models) < 2 {
		report = nil // nothing was compared
	}
	whole := c.sample.N() == c.job.N()
	if chosen := c.best; whole && (chosen == c.tried[0] && chosen.job.Restarts() == c.job.Options.Settings.Restarts || c.series && chosen.result.Status.Converged() || interrupted != nil) {
		tuning.Rebind(w, chosen.job)
		if c.count(chosen.result, chosen); interrupted != nil {
			chosen.result.Status = descent.StatusCancelled
		}
		return chosen.result, report, c.second(), interrupted
	}
	job, err := c.with(c.best.Kernel, c.best.Mean, c.best.values(), c.job.Sample)
	if err != nil {
		return nil, nil, nil, err
	}
	tuning.Rebind(w, job)
	settings := job.Settings(w.Backends[0])
	if c.series || settings.Restarts == 0 && c.seasons.formed(c.best.Kernel) {
		settings.Coarse, settings.Restarts = hyperopt.CoarseOff, 0
	}
	if interrupted != nil {
		result := &hyperopt.Result{}
		result.X, result.F, result.Status, result.BestStart = job.Params.Start(), math.NaN(), descent.StatusCancelled, -1
		result.GradientNorm, result.RelativeChange = math.NaN(), math.NaN()
		c.count(result, nil)
		return result, report, nil, interrupted
	}
	result, err := hyperopt.Tune(ctx, w, settings, log)
	if result != nil {
		if result.X == nil && problem.IsCancelled(err) { // before the first value of the chosen model on more rows
			result.X = job.Params.Start()
		}
		c.count(result, nil)
	}
	return result, report, c.second(), err
}

// Choose chooses kernel and mean of the job of w and gives w the job of that model.
func Choose(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*summary.ModelChoice, error) {
	c := newChooser(ctx, w, log)
	if err := c.all(); err != nil {
		return nil, err
	}
	job, err := c.with(c.best.Kernel, c.best.Mean, c.best.values(), c.job.Sample)
	if err == nil {
		tuning.Rebind(w, job)
	}
	return &c.report, err
}

// count adds the evaluations of all models but one to a result.
func (c *chooser) count(r *hyperopt.Result, but *tuned) {
	r.Total.Add(c.spent)
	for _, m := range c.tried {
		if m == but {
			continue
		}
		r.Total.Add(m.result.Total)
		if m.job.N() == c.job.N() {
			r.FullSize.Add(m.result.FullSize)
		}
	}
}

// newChooser returns a choice on the rows of the job of w, or on some of them.
func newChooser(ctx context.Context, w *tuning.Workplace, log *journal.Journal) *chooser {
	c := &chooser{ctx: ctx, w: w, job: w.Job, log: log, sample: w.Job.Sample}
	if c.series = c.isSeries(); c.series {
		c.report.Rows = c.sample.N()
		return c
	}
	if n := w.Rows(); n > wholeRows {
		c.sample = c.sample.WithRows(matrixrows.DrawRows(n, min(mostRows, max(leastRows, n/4)), c.job.Options.Settings.Seed, 1))
	}
	c.report.Rows = c.sample.N()
	return c
}

// all tries the models with the mean of the options, and the best of them with a linear one where that can be
// better. With an error, best is the best until then.
func (c *chooser) all() error {
	defer func() {
		slices.SortStableFunc(c.report.Models, func(a, b summary.ChosenModel) int { return cmp.Compare(a.BIC, b.BIC) })
		if c.best != nil {
			i := slices.IndexFunc(c.report.Models, func(m summary.ChosenModel) bool { return m.Kernel == c.best.Kernel && m.Mean == c.best.Mean })
			copy(c.report.Models[1:], c.report.Models[:i])
			c.report.Models[0] = c.best.ChosenModel
		}
	}()
	mean := c.job.Options.Mean
	linear, leftOut, exact := problem.LinearMean(c.job.Options, c.sample)
	if c.report.LeftOut = leftOut; exact { // no kernel has anything to explain
		return c.try(singles[0], linear, nil)
	}
	if c.series {
		return c.allOfSeries()
	}
	if findSeasons(c); c.seasons != nil && c.seasons.seasons != nil {
		return c.seasons.compare(c)
	}
	kernels, first := c.screen(mean), 0
	if c.manyColumns(kernels[0], mean) {
		kernels, first = append([]string{isotropic}, kernels...), 1
	}
	for _, kernel := range kernels {
		best := c.bestFrom(first)
		if best == nil || fewRows(c, best.Parameters) {
			if err := c.try(kernel, mean, nil); err != nil {
				return err
			}
			if best = c.bestFrom(first); best == nil || best == c.tried[len(c.tried)-1] {
				continue
			}
		}
		if err := c.try(kernel, mean, best.values()); err != nil {
			return err
		}
	}
	smooth := c.tried[len(c.tried)-1]
	for _, m := range c.tried {
		if m.Kernel == smooth.Kernel && m.BIC < smooth.BIC {
			smooth = m
		}
	}
	if err := c.try(smooth.Kernel+" + "+rough, mean, withTerm(smooth.values(), smooth.Kernel, roughShare, 1)); err != nil {
		return err
	}
	if first == 0 {
		if err := c.try(isotropic, mean, map[string]float64{}); err != nil {
			return err
		}
	}
	column, _ := spectrum.PeriodicColumn(c.job.Sample.Points, c.job.Sample.Targets)
	if column < 0 {
		if err := c.sums(mean); err != nil {
			return err
		}
	} else if c.seasons != nil {
		if err := c.seasons.forms(c); err != nil {
			return err
		}
	} else { // the other columns are often functions of this one
		if err := c.try(periodicSum(c.best.Kernel, c.job.Sample.Columns[column]), mean, nil); err != nil {
			return err
		}
	}
	if linear != "" {
		if err := c.try(c.best.Kernel, linear, c.best.values()); err != nil {
			return err
		}
	}
	if d := c.sample.D(); column < 0 && d > 1 && d <= mostAdditive && c.averages(c.best.job) {
		if err := c.try(blend, mean, map[string]float64{}); err != nil {
			return err
		}
	}
	if c.sample.D() == 1 && c.sample == c.job.Sample {
		return c.try(seriesKernels[0], mean, map[string]float64{})
	}
	return nil
}

// manyColumns reports whether the isotropic kernel comes first, because the rows are few for the parameters of the
// others: it costs little, and then they may have lost soon.
func (c *chooser) manyColumns(kernel, mean string) bool {
	_, unsuited := c.with(isotropic, mean, nil, c.sample)
	own, err := c.with(kernel, mean, nil, c.sample)
	return unsuited == nil && err == nil && fewRows(c, own.NumFitted())
}

// fewRows reports whether the rows of the table are few for that many parameters.
func fewRows(c *chooser, parameters int) bool {
	return c.sample == c.job.Sample && c.job.N() < rowsByParameter*parameters
}

// bestFrom returns the best of the models tried from the given one on; nil without any.
func (c *chooser) bestFrom(first int) (best *tuned) {
	for _, m := range c.tried[min(first, len(c.tried)):] {
		if best == nil || m.BIC < best.BIC {
			best = m
		}
	}
	return best
}

// try tunes a model, from start values unless they are nil, and compares it. It passes over a model
// that does not suit the options or the rows, unless it is the first. With the little noise of a rough
// kernel, the covariance of a smooth one can be singular: then the noise begins at its default.
func (c *chooser) try(kernel, mean string, start map[string]float64) error {
	job, err := c.with(kernel, mean, start, c.sample)
	if err == nil && c.best != nil && tooLarge(c, job) {
		c.report.TooLarge = append(c.report.TooLarge, job.KernelText())
		return nil
	}
	if err != nil && c.best != nil {
		return nil
	}
	if err != nil {
		return err
	}
	tuning.Rebind(c.w, job)
	settings, name := job.Settings(c.w.Backends[0]), fmt.Sprintf("choice-%d-", c.begun)
	c.begun++
	if (c.sample != c.job.Sample || c.seasons.formed(kernel)) && settings.ToleranceNats == 0 { // the end is only a start of another descent
		settings.ToleranceNats = hyperopt.LargeToleranceNats
	}
	settings.Restarts = job.Options.Settings.Restarts // the default ones are for the chosen model
	if start != nil {
		settings.Coarse, settings.Restarts = hyperopt.CoarseOff, 0
	}
	if c.best != nil && !c.series {
		most := c.best.BIC
		if kernel == blend { // which may have lost, and predictions still average over it
			most += mostBehind
		}
		beat := (most - c.penalty(job)) * float64(c.sample.N()) / (2 * float64(c.job.N()))
		settings.Beat = &beat
	}
	settings.MaxEvaluations = cmp.Or(settings.MaxEvaluations, c.values)
	m := &tuned{job: job}
	m.result, err = hyperopt.Tune(c.ctx, c.w, settings, c.log.Part(name))
	undefined, ok := descent.Undefined(err)
	if known := (summary.Facts{Undefined: ok}); known.Found(summary.LeaveOut) != nil {
		other := maps.Clone(start)
		if maps.DeleteFunc(other, func(name string, _ float64) bool { return strings.HasPrefix(name, graph.NoiseVariance) }); len(other) < len(start) {
			return c.try(kernel, mean, other)
		}
		if c.best != nil {
			return nil
		}
		return undefined
	}
	if m.result != nil && m.result.X != nil && (c.best == nil || !math.IsNaN(m.result.F)) {
		c.add(m)
	}
	return err
}

// periodicSum adds a function of a column with a period to a kernel.
func periodicSum(kernel string, column int) string {
	return fmt.Sprintf("%s + rbf(dims=%d)*periodic(dims=%[2]d)", kernel, column)
}

// tooLarge reports whether a model's matrices of all rows exceed the free memory of a device.
func tooLarge(c *chooser, of *tuning.Job) bool {
	whole := of.On(c.job.Sample)
	return c.job.Events.Fallback == nil && slices.ContainsFunc(c.w.Backends, func(b device.Backend) bool {
		_, memory := errors.AsType[*device.MemoryError](whole.CheckMemory(b))
		return memory
	})
}

// penalty is the part of the BIC of a job's model that its parameters and its choice of columns cost.
func (c *chooser) penalty(job *tuning.Job) float64 {
	cost := float64(job.NumFitted()) * math.Log(float64(c.job.N()*c.sample.T()))
	if c.few != "" && strings.Contains(job.KernelText(), c.few) {
		cost += c.fewCost
	}
	return cost
}

// add compares a tuned model with the best.
func (c *chooser) add(m *tuned) {
	m.ChosenModel = summary.ChosenModel{
		Kernel: m.job.KernelText(), Mean: m.job.MeanText(), Parameters: m.job.NumFitted(), Objective: m.result.F,
		BIC: c.penalty(m.job) + 2*m.result.F*float64(c.job.N())/float64(c.sample.N()),
	}
	c.tried = append(c.tried, m)
	same := func(o summary.ChosenModel) bool { return o.Kernel == m.Kernel && o.Mean == m.Mean }
	if i := slices.IndexFunc(c.report.Models, same); i < 0 {
		c.report.Models = append(c.report.Models, m.ChosenModel)
	} else if m.BIC < c.report.Models[i].BIC {
		c.report.Models[i] = m.ChosenModel
	}
	if c.best == nil || m.BIC < c.best.BIC {
		c.best = m
	}
}

// with returns the job of a model on a sample. Few rows need no local experts.
func (c *chooser) with(kernel, mean string, start map[string]float64, s *problem.Sample) (*tuning.Job, error) {
	prepared, err := c.job.WithModel(kernel, mean, problem.FoundValues(start))
	if err != nil {
		return nil, err
	}
	if !prepared.Model.DeterminedBy(s) {
		return nil, hyperopt.ErrUndetermined
	}
	return c.job.With(func(p *problem.Prepared) {
		*p = *prepared
		if p.Sample = s; s != c.job.Sample {
			p.Experts = nil
		}
	}), nil
}
