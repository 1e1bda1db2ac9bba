package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/pace"
)

// runner is the state of a comparison.
type runner struct {
	data     problem.Data
	tuning   problem.Options // of the Gaussian process
	opts     Options
	entrants []entrant
	folds    []fold
	split    Split
	sizes    []int // ascending, without all rows
	warnings []string

	trials   []Trial
	finished int // fits that are done or failed
	// spent relates finished fits to their seconds, by method and size.
	spent map[spending]pace.Rate
}

// spending identifies fits that take about the same time.
type spending struct{ entrant, size int }

// newRunner checks data and options, so that mistakes show before the first fit.
func newRunner(data problem.Data, tuning problem.Options, o Options, backends []device.Backend) (*runner, error) {
	if data.TargetNames != nil {
		return nil, optionError("target", "", "gpfit compares methods on one target; compare each target separately")
	}
	if tuning.Objective.LeavesFoldsOut() {
		return nil, optionError("objective", string(tuning.Objective), "cannot have folds in a comparison, which has its own")
	}
	if o.RankBy = cmp.Or(o.RankBy, ByRMSE); !slices.Contains(Rankings(), o.RankBy) {
		return nil, optionError("score", strconv.Quote(string(o.RankBy)), "must be rmse or nlpd")
	}
	data = named(data)
	r := &runner{data: data, tuning: tuning, opts: o, warnings: slices.Clone(data.Warnings), spent: map[spending]pace.Rate{}}
	var err error
	if r.folds, r.split, err = newFolds(data, tuning, o.Folds); err != nil {
		return nil, err
	}
	first := r.folds[0].part(data, 0)
	if _, err := first.Scaled(tuning.Standardize); err != nil {
		return nil, err
	}
	if o.Curves && data.D != 1 {
		return nil, optionError("", "", "curves run over one input, but the table has %d; choose one with option features", data.D)
	}
	if err := r.opts.checkMethods(data.D); err != nil {
		return nil, err
	}
	if err := r.chooseSizes(); err != nil {
		return nil, err
	}
	return r, r.enter(first, backends)
}

// named returns data with default names in place of missing ones.
func named(d problem.Data) problem.Data {
	d.TargetName = cmp.Or(d.TargetName, "y")
	if d.Group != nil {
		d.GroupColumn = cmp.Or(d.GroupColumn, "group")
	}
	if d.FeatureNames == nil {
		for c := range d.D {
			d.FeatureNames = append(d.FeatureNames, fmt.Sprintf("x%d", c))
		}
	}
	return d
}

// chooseSizes keeps the sizes that leave rows out.
func (r *runner) chooseSizes() error {
	least := r.data.N
	for _, f := range r.folds {
		least = min(least, len(f.train))
	}
	for _, m := range slices.Compact(slices.Sorted(slices.Values(r.opts.Sizes))) {
		if m < 1 {
			return optionError("sizes", strconv.Itoa(m), "must be numbers of rows, from 1")
		}
		if m < least {
			r.sizes = append(r.sizes, m)
			continue
		}
		r.warnings = append(r.warnings, fmt.Sprintf("option sizes: %d rows are left out: a fold has %d rows to train on, and all rows are compared anyway", m, least))
	}
	return nil
}

// enter chooses the methods, and prepares each Gaussian process on the first fold.
func (r *runner) enter(first problem.Data, backends []device.Backend) error {
	names := r.opts.Methods
	if names == nil {
		names = Methods()
	}
	all := r.opts.regressions(r.tuning.Settings.Seed, r.tuning.Standardize)
	for _, name := range names {
		if err := CheckMethod(name); err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(m NamedMethod) bool { return m.Name == name }); i >= 0 {
			r.entrants = append(r.entrants, regression(all[i]))
		} else if err := r.enterProcesses(first, backends); err != nil {
			return err
		}
	}
	for _, m := range r.opts.Own {
		r.entrants = append(r.entrants, regression(m))
	}
	if r.entrants == nil {
		return optionError("methods", "", "names no method")
	}
	for i, e := range r.entrants {
		if slices.ContainsFunc(r.entrants[:i], func(other entrant) bool { return other.name == e.name }) {
			return optionError(e.option, e.name, "is given twice")
		}
	}
	return nil
}

func (r *runner) enterProcesses(first problem.Data, backends []device.Backend) error {
	if len(backends) == 0 {
		return optionError("methods", processName, "needs an open device; gpfit.Devices opens one")
	}
	kernels := r.opts.Kernels
	if kernels == nil {
		kernels = []string{r.tuning.Kernel}
	}
	for i, text := range kernels {
		p, err := newProcess(text, r.tuning, r.opts.Events, first, backends)
		if err != nil {
			return err
		}
		p.kernel = i
		r.entrants = append(r.entrants, p)
	}
	return nil
}

// total is the number of fits of the comparison.
func (r *runner) total() int {
	n := len(r.folds) * len(r.entrants) * (1 + len(r.sizes))
	if r.opts.Curves || r.opts.OnModel != nil {
		n += len(r.entrants)
	}
	return n
}

// run fits every method to every fold, and then to the nested subsets. It returns ctx's
// error if ctx is cancelled.
func (r *runner) run(ctx context.Context) error {
	for _, m := range slices.Concat([]int{0}, r.sizes) {
		failed := map[int]bool{}
		for k := range r.folds {
			if err := r.runFold(ctx, k, m, failed); err != nil {
				return err
			}
		}
	}
	return nil
}

// runFold fits the methods that have not failed on a fold before.
func (r *runner) runFold(ctx context.Context, k, m int, failed map[int]bool) error {
	data := r.folds[k].part(r.data, m)
	scaled, err := data.Scaled(r.tuning.Standardize)
	if err == nil {
		r.warn("", k, scaled.Warnings)
	}
	for i, e := range r.entrants {
		if failed[i] {
			r.finished++
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.tell(i, k, m, data)
		began := time.Now()
		t := Trial{Method: e.name, Train: data.N - len(r.folds[k].test), Test: len(r.folds[k].test), Status: Failed}
		var stopped error
		if err != nil {
			t.Error = err.Error()
		} else {
			t, stopped = try(ctx, e, data, scaled)
		}
		if stopped != nil {
			return stopped
		}
		t.Fold, t.Size = k+1, m
		failed[i] = t.Status == Failed
		r.trials, r.finished = append(r.trials, t), r.finished+1
		spent := r.spent[spending{i, m}]
		spent.Add(1, time.Since(began).Seconds())
		r.spent[spending{i, m}] = spent
		if scaled != nil {
			r.warn(t.Method, k, slices.DeleteFunc(t.warnings, func(w string) bool { return slices.Contains(scaled.Warnings, w) }))
		}
	}
	return nil
}

// warn records the warnings of a fit, the same words once for each method.
func (r *runner) warn(method string, k int, warnings []string) {
	for _, w := range warnings {
		switch {
		case method != "" && len(r.folds) > 1:
			w = fmt.Sprintf("%s, fold %d: %s", method, k+1, w)
		case method != "":
			w = fmt.Sprintf("%s: %s", method, w)
		case len(r.folds) > 1:
			w = fmt.Sprintf("fold %d: %s", k+1, w)
		}
		same := func(other string) bool { return words(other) == words(w) }
		if !slices.ContainsFunc(r.warnings, same) {
			r.warnings = append(r.warnings, w)
		}
	}
}

// words returns a text without its digits: warnings of two folds differ only in numbers.
func words(text string) string {
	return string(slices.DeleteFunc([]rune(text), func(c rune) bool { return '0' <= c && c <= '9' || c == '.' }))
}

// tell reports the fit that begins.
func (r *runner) tell(i, k, m int, data problem.Data) {
	if r.opts.OnStep == nil {
		return
	}
	s := Step{Method: r.entrants[i].name, Fold: k + 1, Folds: len(r.folds), Rows: data.N - len(r.folds[k].test), Done: r.finished, Total: r.total()}
	s.Left = r.left(i, k, m)
	r.opts.OnStep(s)
}

// left returns about how much time the rest takes, from the fits of the same methods to as
// many rows, or 0 if there is none of some method yet.
func (r *runner) left(first, k, m int) time.Duration {
	seconds := 0.0
	sizes := slices.Concat([]int{0}, r.sizes)
	for _, size := range sizes[slices.Index(sizes, m):] {
		for i := range r.entrants {
			fits := float64(len(r.folds))
			if size == m {
				fits -= float64(k)
				if i < first {
					fits--
				}
			}
			if fits == 0 {
				continue
			}
			each, ok := r.each(i, size)
			if !ok {
				return 0
			}
			seconds += fits * each
		}
	}
	return time.Duration(seconds * float64(time.Second))
}

// each returns about how many seconds a fit of a method to a size takes. Without such fits
// it assumes that the time grows with the square of the number of rows.
func (r *runner) each(i, size int) (seconds float64, ok bool) {
	rate, share := r.spent[spending{i, size}], 1.0
	if !rate.Known() {
		rate, share = r.spent[spending{i, 0}], float64(size)/float64(r.split.Train)
	}
	return rate.Seconds(share * share), rate.Known()
}
