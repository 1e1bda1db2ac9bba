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
	"gpfit/kernel"
)

// SelectionScore is what kernels are compared by; less is better.
type SelectionScore string

// The scores that decide.
const (
	// ByNLML is the negative log marginal likelihood at the fitted parameters.
	ByNLML SelectionScore = "nlml"
	// ByBIC is 2·NLML + p·log n for p parameters that were fitted (Schwarz 1978),
	// the default: among kernels with different numbers of parameters it counts
	// their cost.
	ByBIC SelectionScore = "bic"
	// ByLOO is the negative log predictive density of leave-one-out.
	ByLOO SelectionScore = "loo"
	// ByCV is the negative log predictive density of K-fold cross-validation.
	ByCV SelectionScore = "cv"
)

// SelectionScores returns all scores.
func SelectionScores() []SelectionScore { return []SelectionScore{ByNLML, ByBIC, ByLOO, ByCV} }

// Defaults of [SelectOptions].
const (
	DefaultMaxTerms = 4
	DefaultBudget   = 60
)

// SelectOptions say what is compared. All but Kernels have usable zero values.
type SelectOptions struct {
	// Kernels are text forms: those to compare, or with Greedy the leaves to
	// build kernels from.
	Kernels []string
	// Score decides; empty means ByBIC.
	Score SelectionScore
	// Greedy searches: from the best leaf on, it tries every kernel that one
	// step makes of the best so far (see neighbours) and goes on from the best
	// of them while the score improves, after Duvenaud, Lloyd, Grosse,
	// Tenenbaum and Ghahramani, Structure discovery in nonparametric regression
	// through compositional kernel search, ICML 2013. A fit begins at the
	// parameters of the kernel that it was made from, new leaves at the best of
	// three scales.
	Greedy bool
	// MaxTerms bounds the leaves of a grown kernel, Budget the kernels that are
	// fitted in a search; 0 means the defaults.
	MaxTerms, Budget int
	// CrossValidation says how, for all kernels alike. Its OnFold is not called.
	CrossValidation CrossValidation
	// OnCandidate, unless nil, is called before each kernel with its number
	// from 0, how many are known to come, and its text.
	OnCandidate func(index, known int, kernel string)
}

func (s SelectOptions) withDefaults() (SelectOptions, error) {
	if s.Score == "" {
		s.Score = ByBIC
	}
	switch {
	case !slices.Contains(SelectionScores(), s.Score):
		return s, &OptionError{Msg: fmt.Sprintf("score %q: must be nlml, bic, loo or cv", s.Score)}
	case len(s.Kernels) == 0:
		return s, &OptionError{Msg: "no kernels to compare"}
	case s.MaxTerms < 0 || s.Budget < 0:
		return s, &OptionError{Msg: "the limits of a search must not be negative"}
	}
	if s.MaxTerms == 0 {
		s.MaxTerms = DefaultMaxTerms
	}
	if s.Budget == 0 {
		s.Budget = DefaultBudget
	}
	s.CrossValidation.OnFold = nil
	return s, nil
}

// Select fits the kernels one after the other and compares them. opts hold for
// each, but for the kernel. If ctx is cancelled it returns what was compared so
// far, with the best, and an error that wraps ctx's; the result is nil only if
// no kernel was done. A kernel that cannot be fitted is a candidate with an
// error. Errors: those of [Prepare] for any kernel in the list before
// anything is fitted, [*device.MemoryError], [*device.LostError], and an error
// if no kernel could be fitted.
func Select(ctx context.Context, data Data, opts Options, s SelectOptions, backends ...device.Backend) (*Selection, error) {
	began := time.Now()
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if data.TargetNames != nil {
		return nil, &OptionError{Msg: "kernels are compared on one target: take them one by one"}
	}
	r := &selection{ctx: ctx, data: data, opts: opts, settings: s, backends: backends, tried: map[string]bool{}, best: -1}
	r.opts.LeaveOneOut = true
	start, err := r.parse()
	if err != nil {
		return nil, err
	}
	if err = r.round(0, start); err == nil && s.Greedy {
		err = r.grow(start)
	}
	if r.best < 0 {
		return nil, errors.Join(err, r.noneFitted())
	}
	result := r.result()
	result.Seconds = time.Since(began).Seconds()
	return result, err
}

// selection is the state of a comparison.
type selection struct {
	ctx      context.Context
	data     Data
	opts     Options
	settings SelectOptions
	backends []device.Backend

	candidates  []Candidate
	expressions []candidateExpr
	tried       map[string]bool
	best        int // −1 while there is none
	outcome     *Outcome
	stopped     string
}

// candidateExpr is a kernel to fit, and what its parameters begin at.
type candidateExpr struct {
	expr   kernel.Expr
	values leafValues
}

// parse reads the kernels and prepares each, so that mistakes are found before
// anything is computed.
func (r *selection) parse() ([]candidateExpr, error) {
	var out []candidateExpr
	for _, text := range r.settings.Kernels {
		e, err := kernel.Parser{Custom: r.opts.Kernels}.Parse(text)
		if err != nil {
			return nil, err
		}
		if r.opts.ARD {
			e = kernel.WithARD(e)
		}
		if r.settings.Greedy {
			if _, ok := e.(*kernel.Leaf); !ok {
				return nil, &OptionError{Msg: fmt.Sprintf("kernel %s: a search begins with single leaves, and makes sums and products of them itself", text)}
			}
		}
		if r.tried[e.String()] {
			return nil, &OptionError{Msg: fmt.Sprintf("kernel %s is given twice", e)}
		}
		r.tried[e.String()] = true
		job, err := r.prepare(candidateExpr{expr: e})
		if err == nil {
			err = r.settings.CrossValidation.Check(job.N())
		}
		if err != nil {
			return nil, err
		}
		out = append(out, candidateExpr{expr: e})
	}
	return out, nil
}

// prepare makes the job of a kernel. Start values that are passed on yield to
// those of the options.
func (r *selection) prepare(c candidateExpr, more ...Assignment) (*Job, error) {
	o := r.opts
	o.Kernel, o.ARD = c.expr.String(), false
	job, err := Prepare(r.data, o)
	if err == nil && (c.values.leaves != nil || more != nil) {
		o.Set = slices.Concat(c.values.assignments(c.expr, job.FreeNames()), more, r.opts.Set)
		job, err = Prepare(r.data, o)
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", c.expr, err)
	}
	return job, nil
}

// round fits kernels and notes the best of all so far.
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
			r.settings.OnCandidate(len(r.candidates), len(r.candidates)+len(kernels)-i, c.expr.String())
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
		if outcome != nil && (r.best < 0 || r.score(candidate) < r.score(r.candidates[r.best])) {
			r.best, r.outcome = len(r.candidates)-1, outcome
		}
	}
	return nil
}

// score is what decides about a candidate.
func (r *selection) score(c Candidate) float64 {
	v := map[SelectionScore]*float64{ByNLML: c.NLML, ByBIC: c.BIC, ByLOO: c.LOO, ByCV: c.CV}[r.settings.Score]
	if v == nil || math.IsNaN(*v) {
		return math.Inf(1)
	}
	return *v
}

// interrupted says how far a comparison came.
func (r *selection) interrupted(err error) error {
	if isCancelled(err) {
		r.stopped = "interrupted"
		return &CancelledError{Msg: fmt.Sprintf("interrupted after %d kernels", len(r.candidates))}
	}
	return err
}

// ends tells the errors that end a comparison from those of one kernel.
func ends(err error) bool {
	var memory *device.MemoryError
	var lost *device.LostError
	var data *DataError
	return isCancelled(err) ||
		errors.As(err, &memory) || errors.As(err, &lost) || errors.As(err, &data)
}

// fit fits one kernel and scores it. The outcome's memory is given back: its
// model and report stay.
func (r *selection) fit(job *Job) (Candidate, *Outcome, error) {
	began := time.Now()
	c := Candidate{Kernel: job.Kernel(), Parameters: job.NumFitted()}
	done := func(err error) (Candidate, *Outcome, error) {
		c.Seconds = time.Since(began).Seconds()
		if err != nil && ends(err) {
			return c, nil, err
		}
		c.Status, c.Error = "failed", err.Error()
		return c, nil, nil
	}
	outcome, err := job.Fit(r.ctx, r.backends...)
	if outcome != nil {
		outcome.Close()
	}
	if err != nil {
		return done(err)
	}
	cv, err := job.CrossValidate(r.ctx, r.backends[0], outcome.Report.Parameters, r.settings.CrossValidation)
	if err != nil {
		return done(err)
	}
	outcome.Report.Scores.CrossValidation = cv
	outcome.Report.Warnings = append(outcome.Report.Warnings, cv.Warnings...)
	rep := &outcome.Report
	bic := 2*rep.NLML + float64(c.Parameters)*math.Log(float64(rep.N))
	c.NLML, c.BIC, c.CV = &rep.NLML, &bic, Finite(float64(cv.NLPD))
	if loo := rep.Scores.LeaveOneOut; loo != nil {
		c.LOO = &loo.Sum
	}
	c.CVStandardized, c.CVStdError = Finite(float64(cv.NLPDStandardized)), Finite(float64(cv.NLPDStdError))
	c.Status, c.Evaluations, c.Test = rep.Status, rep.Evaluations, rep.Test
	c.Seconds = time.Since(began).Seconds()
	return c, outcome, nil
}

func (r *selection) noneFitted() error {
	var words []string
	for _, c := range r.candidates {
		words = append(words, c.Kernel+": "+c.Error)
	}
	if words == nil {
		return nil
	}
	return fmt.Errorf("no kernel could be fitted:\n%s", strings.Join(words, "\n"))
}
