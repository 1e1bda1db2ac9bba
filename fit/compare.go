package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

// selection is the state of a comparison.
type selection struct {
	ctx      context.Context
	data     problem.Data
	opts     problem.Options
	events   problem.Events
	settings SelectOptions
	backends []device.Backend

	candidates  []Candidate
	expressions []candidateExpr
	failures    []error
	tried       map[string]bool
	best        int // −1 until a kernel is fitted
	outcome     *Outcome
	stopped     string
}

// candidateExpr is a kernel to fit, with start values of its parameters.
type candidateExpr struct {
	expr   kernel.Expr
	values leafValues
}

// parse reads the kernels and prepares each one, so that mistakes show before anything is computed.
func (r *selection) parse() ([]candidateExpr, error) {
	var out []candidateExpr
	for _, text := range r.settings.Kernels {
		e, err := kernel.Parser{Families: r.opts.Kernels, Columns: r.data.Names()}.Parse(text)
		if err != nil {
			return nil, err
		}
		if r.opts.ARD {
			e = kernel.WithARD(e)
		}
		if _, leaf := e.(*kernel.Leaf); r.settings.Greedy && !leaf {
			return nil, problem.OptionErrorf("kernels", text, "a search starts from single leaves; it builds sums and products itself")
		}
		if r.tried[e.String()] {
			return nil, problem.OptionErrorf("kernels", r.text(e), "is given twice")
		}
		r.tried[e.String()] = true
		job, err := r.prepare(candidateExpr{expr: e})
		if err == nil {
			_, err = job.Sample.Divide(r.settings.CrossValidation, job.Options.Blocks)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, candidateExpr{expr: e})
	}
	return out, nil
}

func (r *selection) text(e kernel.Expr) string { return kernel.Text(e, r.data.Names()) }

// prepare makes the job of a kernel. Start values of the options precede the start
// values of c and more.
func (r *selection) prepare(c candidateExpr, more ...problem.Assignment) (*tuning.Job, error) {
	o := r.opts
	o.Kernel, o.ARD = c.expr.String(), false
	job, err := Prepare(r.data, o, r.events)
	if err == nil && (c.values.leaves != nil || more != nil) {
		o.Set = slices.Concat(c.values.assignments(c.expr, job.FreeNames()), more, r.opts.Set)
		job, err = Prepare(r.data, o, r.events)
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", r.text(c.expr), err)
	}
	return job, nil
}

// round fits kernels and records the best so far.
func (r *selection) round(number int, kernels []candidateExpr) error {
	for i, c := range kernels {
		if r.settings.Greedy && len(r.candidates) >= r.settings.Budget {
			r.stopped = fmt.Sprintf("the budget of %d kernels is used up", r.settings.Budget)
			return nil
		}
		if err := r.ctx.Err(); err != nil {
			return r.interrupted(err)
		}
		if r.settings.OnCandidate != nil {
			r.settings.OnCandidate(len(r.candidates), len(r.candidates)+len(kernels)-i, r.text(c.expr))
		}
		job, err := r.prepare(c)
		if err == nil && r.settings.Greedy {
			job, err = r.screen(c, job)
		}
		if err != nil {
			return r.interrupted(err)
		}
		candidate, outcome, err := r.fit(job)
		if err != nil {
			return r.interrupted(err)
		}
		candidate.Round = number
		r.candidates, r.expressions = append(r.candidates, candidate), append(r.expressions, c)
		if outcome != nil && (r.best < 0 || r.better(candidate, r.candidates[r.best])) {
			r.best, r.outcome = len(r.candidates)-1, outcome
		}
	}
	return nil
}

// choose fits with the kernel and the mean that a fit chooses, and lists what it compared.
func (r *selection) choose() error {
	o := r.opts
	o.Kernel = problem.AutoKernel
	job, err := Prepare(r.data, o, r.events)
	if err == nil {
		_, err = job.Sample.Divide(r.settings.CrossValidation, job.Options.Blocks)
	}
	if err != nil {
		return err
	}
	chosen, outcome, err := r.fit(job)
	if err != nil {
		return r.interrupted(err)
	}
	r.candidates = []Candidate{chosen}
	if outcome == nil {
		return nil
	}
	r.best, r.outcome = 0, outcome
	if choice := outcome.Report.Choice; choice != nil {
		r.candidates[0].Mean = choice.Models[0].Mean
		r.candidates = append(r.candidates, compared(choice, outcome.Report.N)...)
	}
	return nil
}

// compared returns the models that a choice for n rows compared, without the chosen one if that was on all rows.
func compared(choice *summary.ModelChoice, n int) (out []Candidate) {
	for i, m := range choice.Models {
		if nlml := m.Objective * float64(n) / float64(choice.Rows); i > 0 || choice.Rows < n {
			out = append(out, Candidate{Kernel: m.Kernel, Mean: m.Mean, Parameters: m.Parameters, NLML: &nlml, BIC: &m.BIC, Status: fmt.Sprintf("compared on %d rows", choice.Rows)})
		}
	}
	return out
}

// better reports whether a candidate is better than another one by the score. A poor one is not better than others.
func (r *selection) better(c, than Candidate) bool {
	if poor := c.Verdict == summary.Poor; poor != (than.Verdict == summary.Poor) {
		return !poor
	}
	return r.score(c) < r.score(than)
}

// score returns the score that decides about a candidate, +Inf if it is undefined.
func (r *selection) score(c Candidate) float64 {
	v := map[SelectionScore]*float64{ByNLML: c.NLML, ByBIC: c.BIC, ByLOO: c.LOO, ByCV: c.CV}[r.settings.Score]
	if v == nil || math.IsNaN(*v) {
		return math.Inf(1)
	}
	return *v
}

// interrupted turns a cancellation into an error that counts the kernels done.
func (r *selection) interrupted(err error) error {
	if problem.IsCancelled(err) {
		r.stopped = "interrupted"
		msg := "interrupted after " + textform.Counted(len(r.candidates), "kernel")
		if r.best < 0 {
			msg += ": nothing is written, and the same command starts from the beginning; option subsample takes fewer rows"
		}
		return &problem.CancelledError{Msg: msg, Err: err}
	}
	return err
}

// ends reports whether an error ends the comparison, not only the fit of one kernel.
func ends(err error) bool {
	return problem.IsCancelled(err) || errors.As(err, new(*device.LostError)) || errors.As(err, new(*problem.DataError))
}

// fit fits one kernel and scores it. It frees the outcome's memory; the model and the report stay.
func (r *selection) fit(job *tuning.Job) (Candidate, *Outcome, error) {
	began := time.Now()
	c := Candidate{Kernel: job.KernelText(), Parameters: job.NumFitted()}
	done := func(err error) (Candidate, *Outcome, error) {
		c.Seconds = time.Since(began).Seconds()
		if ends(err) {
			return c, nil, err
		}
		c.Status, c.Error = "failed", err.Error()
		r.failures = append(r.failures, err)
		return c, nil, nil
	}
	outcome, err := Run(r.ctx, job, r.backends...)
	if outcome != nil {
		outcome.Close()
	}
	if err != nil {
		return done(err)
	}
	job = outcome.Job
	c.Kernel, c.Parameters = job.KernelText(), job.NumFitted()
	cv, err := CrossValidate(r.ctx, job, r.backends[0], outcome.Report.Parameters, r.settings.CrossValidation, r.backends[1:]...)
	if err != nil {
		return done(err)
	}
	rep := &outcome.Report
	rep.Scores.CrossValidation, rep.Warnings = cv, append(rep.Warnings, cv.Warnings...)
	rep.Judge()
	bic := 2*rep.NLML + float64(c.Parameters)*math.Log(float64(rep.N))
	c.NLML, c.BIC, c.CV = &rep.NLML, &bic, summary.Finite(float64(cv.NLPD))
	if loo := rep.Scores.LeaveOneOut; loo != nil {
		c.LOO = &loo.Sum
	}
	c.CVStandardized, c.CVStdError = summary.Finite(float64(cv.NLPDStandardized)), summary.Finite(float64(cv.NLPDStdError))
	c.Status, c.Evaluations, c.Test, c.Verdict = rep.Status, rep.Evaluations, rep.Test, rep.Verdict.Level
	c.Seconds = time.Since(began).Seconds()
	return c, outcome, nil
}

func (r *selection) noneFitted() error {
	if r.failures == nil {
		return nil
	}
	for i, err := range r.failures {
		r.failures[i] = fmt.Errorf("%s: %w", r.candidates[i].Kernel, err)
	}
	return fmt.Errorf("no kernel could be fitted:\n%w", errors.Join(r.failures...))
}

func (r *selection) result() *Selection {
	report := &r.outcome.Report
	return &Selection{
		Type: "select", SchemaVersion: summary.SchemaVersion, N: report.N, D: report.D, Score: r.settings.Score,
		Candidates: r.candidates, Best: r.best, Stopped: r.stopped, Report: report, Outcome: r.outcome,
	}
}

// screenScales multiply the default starts of new leaves' lengthscales and periods: the kernel
// before usually explains the long range, and a single long start often misses the rest.
var screenScales = []float64{1, 1. / 4, 1. / 16}

// screen returns the job of c that starts at the best of the scales for its new
// leaves. It evaluates the job once at each scale.
func (r *selection) screen(c candidateExpr, job *tuning.Job) (*tuning.Job, error) {
	best, chosen := math.Inf(1), job
	var at map[string]float64
	for _, scale := range screenScales {
		trial := job
		if at != nil {
			var more []problem.Assignment
			for _, name := range c.values.newScales(c.expr, at) {
				more = append(more, problem.Assignment{Name: name, Value: at[name] * scale, Given: true, Found: true})
			}
			if more == nil {
				break
			}
			var err error
			if trial, err = r.prepare(c, more...); err != nil {
				return nil, err
			}
		}
		report, err := Evaluate(r.ctx, trial, r.backends[0], nil)
		switch {
		case err != nil && ends(err):
			return nil, err
		case err != nil && at == nil: // the fit reports a start that cannot be evaluated
			return job, nil
		case err != nil:
			continue
		case at == nil:
			at = report.Parameters
		}
		if report.Objective < best {
			best, chosen = report.Objective, trial
		}
	}
	return chosen, nil
}

// leafValues holds fitted parameters by leaf, as start values for other kernels with the same
// leaves. The signal variance of a product belongs to no leaf and takes its default.
type leafValues struct {
	leaves map[*kernel.Leaf]map[string]float64
	noise  []problem.Assignment
}

func newLeafValues(e kernel.Expr, parameters map[string]float64) leafValues {
	v := leafValues{leaves: map[*kernel.Leaf]map[string]float64{}}
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		v.leaves[l] = map[string]float64{}
		for name, value := range parameters {
			rest, ok := strings.CutPrefix(name, prefix)
			path, _, _ := strings.Cut(rest, "[") // the name of a column may have a dot
			if ok && !strings.Contains(path, ".") && !strings.HasPrefix(rest, graph.NoiseVariance) && !strings.HasPrefix(rest, "mean_") {
				v.leaves[l][rest] = value
			}
		}
	})
	for name, value := range parameters {
		if strings.HasPrefix(name, graph.NoiseVariance) {
			v.noise = append(v.noise, problem.Assignment{Name: name, Value: value, Given: true, Found: true})
		}
	}
	return v
}

// newScales returns the names of the lengthscales and periods of the leaves that have
// no fitted values yet.
func (v leafValues) newScales(e kernel.Expr, parameters map[string]float64) []string {
	var out []string
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		if _, known := v.leaves[l]; known {
			return
		}
		for name := range parameters {
			rest, ok := strings.CutPrefix(name, prefix)
			if ok && (strings.HasPrefix(rest, "lengthscale") || strings.HasPrefix(rest, "period")) {
				out = append(out, name)
			}
		}
	})
	slices.Sort(out)
	return out
}

// walk visits the leaves with the prefix of their parameters' names.
func walk(e kernel.Expr, prefix string, visit func(l *kernel.Leaf, prefix string)) {
	if l, ok := e.(*kernel.Leaf); ok {
		visit(l, prefix)
		return
	}
	parts, _ := children(e)
	for i, p := range parts {
		walk(p, kernel.PartPrefix(prefix, i), visit)
	}
}

// assignments assigns the values of e's leaves to its parameters among names.
func (v leafValues) assignments(e kernel.Expr, names []string) []problem.Assignment {
	var out []problem.Assignment
	for _, a := range v.noise {
		if slices.Contains(names, a.Name) {
			out = append(out, a)
		}
	}
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		for rest, value := range v.leaves[l] {
			if name := prefix + rest; slices.Contains(names, name) {
				out = append(out, problem.Assignment{Name: name, Value: value, Given: true, Found: true})
			}
		}
	})
	slices.SortFunc(out, func(a, b problem.Assignment) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// children returns the parts of a sum or product, and a function that joins parts.
func children(e kernel.Expr) ([]kernel.Expr, func([]kernel.Expr) kernel.Expr) {
	switch e := e.(type) {
	case kernel.Sum:
		return e, func(p []kernel.Expr) kernel.Expr { return kernel.Sum(p) }
	case kernel.Product:
		return e, func(p []kernel.Expr) kernel.Expr { return kernel.Product(p) }
	}
	return nil, nil
}
