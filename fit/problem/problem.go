package problem

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/each"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/method/experts"
)

// Prepared is a checked problem: scaled data, a model, and its parameters with start values.
// It does not change.
type Prepared struct {
	Options Options
	Sample  *Sample
	Model   *Model
	Params  *ParameterList
	// Held describes the rows that Options.HoldOut holds out, or is nil.
	Held *gp.HeldOut
	// Experts divides the rows among local experts; nil without.
	Experts *experts.Partition
	// Averaging says what option posterior auto found: how few rows there are, or why predictions do
	// not average although there are few; "" with enough rows and with other choices of the option.
	Averaging string
	// autoPosterior says that the number of rows decides whether predictions average, as option posterior auto does.
	autoPosterior bool
	// Barred are the options that advice on a next fit does not name.
	Barred []string
	// disproof says that the kernel is not a covariance function; nil if no check has shown it.
	disproof *kernel.KernelhoodError
}

// New checks data and options and returns the problem.
func New(data Data, opts Options) (*Prepared, error) {
	o, err := opts.resolved(data.Names())
	if err != nil {
		return nil, err
	}
	if err := data.checkShape(); err != nil {
		return nil, err
	}
	if data, err = data.withWeight(); err != nil {
		return nil, err
	}
	data, held, err := o.holdOut(data)
	if err != nil {
		return nil, err
	}
	s, err := newSample(data, o)
	if err != nil {
		return nil, err
	}
	if err := o.withMeanPrior(s); err != nil {
		return nil, err
	}
	warnAliases(o.mean, s)
	j := &Prepared{Options: o.Options, Sample: s, Held: held, autoPosterior: o.Posterior == AutoPosterior}
	asked := o.Options
	asked.TargetTransform = opts.TargetTransform // which is none only if it was asked for
	j.Barred = asked.barred(data.Test != nil && held == nil, data)
	if err := j.fill(o); err != nil {
		return nil, err
	}
	if j.disproof, err = j.checkUnproved(); err != nil {
		return nil, err
	}
	switch {
	case o.Objective.LeavesFoldsOut():
		if j.Sample, err = s.InFolds(o.CriterionFolds(), o.Blocks); err != nil {
			return nil, err
		}
	case o.Objective.leavesPlacesOut():
		j.Sample = s.inPlaces()
	}
	j.Options.Settings.Metric = j.Params.metricFrom(o.earlier, s.N())
	j.Experts, err = o.partition(j.Sample)
	return j, err
}

// fill adds the model, the parameters and what predictions average over.
func (j *Prepared) fill(o *resolved) (err error) {
	if j.Model, err = newModel(j.Sample, o); err != nil {
		return err
	}
	if j.Params, err = newParameters(j.Sample, j.Model, o.Options); err != nil {
		return err
	}
	j.Options.Posterior, j.Averaging = averages(o.Options, j.N(), j.Params)
	return nil
}

// WithTransforms returns the problem with other transforms of the inputs and of the target, and start values that an
// earlier fit found; start values of the options precede them.
func (j *Prepared) WithTransforms(inputs, target transform.Name, found []Assignment) (*Prepared, error) {
	o := j.Options
	o.InputTransform, o.TargetTransform, o.HoldOut, o.HoldOutLast, o.Set = inputs, target, 0, false, slices.Concat(found, o.Set)
	if o.Posterior = cmp.Or(o.Posterior, NoPosterior); j.autoPosterior {
		o.Posterior = AutoPosterior
	}
	p, err := New(j.Sample.Data, o) // which knows the rows that are held out
	if err == nil {
		p.Barred, p.Held, p.Options.HoldOut, p.Options.HoldOutLast = j.Barred, j.Held, j.Options.HoldOut, j.Options.HoldOutLast
	}
	return p, err
}

// WithModel returns the problem with another kernel and mean function, and start values that an
// earlier fit found. Start values that the user chose precede them. Rows, scaling and folds are the same.
func (j *Prepared) WithModel(kernel, mean string, found []Assignment) (*Prepared, error) {
	o := &resolved{Options: j.Options}
	chosen := slices.DeleteFunc(slices.Clone(o.Set), func(a Assignment) bool { return a.Found })
	o.Kernel, o.Mean, o.Set, o.ARD = kernel, mean, slices.Concat(found, chosen), false
	if j.autoPosterior {
		o.Posterior = AutoPosterior
	}
	if err := o.readExpressions(j.Sample.Features); err != nil {
		return nil, err
	}
	changed := *j
	changed.Options = o.Options
	return &changed, changed.fill(o)
}

// N returns the number of training rows.
func (j *Prepared) N() int { return j.Sample.N() }

// D returns the number of columns in use.
func (j *Prepared) D() int { return j.Sample.D() }

// Kernel returns the text form of the kernel.
func (j *Prepared) Kernel() string { return j.Model.program.Text }

// KernelText and meanText are the text forms with the names of columns.
func (j *Prepared) KernelText() string { return kernel.Text(j.Model.expr, j.Sample.Features) }

func (j *Prepared) MeanText() string { return j.Model.Mean.Text(j.Sample.Features) }

// Program returns the compiled kernel, for the choice of a device.
func (j *Prepared) Program() *kernel.Program { return j.Model.program }

// Warnings returns the warnings about the data and the options. Reports include them.
func (j *Prepared) Warnings() []string { return slices.Concat(j.Sample.warnings, j.Params.Warnings) }

// FreeNames returns the names of the free parameters, fixed ones included, in the
// order of the objective's vector.
func (j *Prepared) FreeNames() []string {
	return each.Of(j.Params.Free, func(q *Parameter) string { return q.Name })
}

// WithPrior follows the objective's name if the objective includes the negative log prior.
const WithPrior = "+neg_log_prior"

// ObjectiveName returns the name of the quantity that the job minimizes.
func (j *Prepared) ObjectiveName() string {
	name := string(j.Options.Objective)
	if len(j.Params.Priors) > 0 {
		name += WithPrior
	}
	return name
}

// ObjectiveLabel returns a short name for people of an objective with the given name.
func ObjectiveLabel(name string) string {
	base, prior := strings.CutSuffix(name, WithPrior)
	if prior {
		return "objective"
	}
	// The criteria of squared errors are n·log RMSE and a constant, in nats, and no RMSE.
	return strings.Replace(strings.ToUpper(base), "-RMSE", " log-RMSE", 1)
}

// ChoosesFloor reports whether a fit may raise the lower bounds of the noise variances: a floor, bounds,
// a prior and fixed or known variances are decisions of the user.
func (j *Prepared) ChoosesFloor() bool {
	if o := j.Options; o.NoiseFloor != (NoiseFloor{}) || o.Objective != NLML || o.Experts != "" || j.Sample.Noise.Known != nil {
		return false
	}
	noise := j.Params.Find(graph.NoiseVariance)
	return noise != nil && !slices.ContainsFunc(noise, func(i int) bool {
		q := j.Params.Free[i]
		_, prior := j.Params.Priors[q.Name]
		return q.Bounded || q.Fixed || prior
	})
}

// Spec returns the specification of the objective's graph.
func (j *Prepared) Spec() graph.Spec {
	s, m := j.Sample, j.Model
	spec := graph.Spec{
		Program: m.program, X: s.Points, Y: s.Targets, Transform: targetTransform(s), Mean: m.Basis, MeanFree: m.MeanFree, Noise: s.Noise, MaxJitter: j.Options.MaxJitter,
		Derive: j.Params.derived(), LeaveOneOut: j.Options.Objective.Predictive(), SquaredError: j.Options.Objective.squaredError(),
		Folds: s.FoldEnds(), Unproved: kernel.Unproved(m.expr), Labels: graph.Labels{Kernel: j.KernelText(), Column: s.label, Parameter: s.Display},
	}
	if len(j.Params.Priors) > 0 {
		spec.Prior = graph.NegLogPrior(j.Params.indexedPriors())
	}
	return spec
}

// ID returns a hash of everything that a fit depends on: data, options, and the resulting start
// values and bounds. The hash leaves out the device, because a fit may continue on another one.
func (j *Prepared) ID() string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	opts := j.Options
	// The parameters have all that the job needs of the model From.
	opts.Checkpoint, opts.DiscardCancelled, opts.From = "", false, nil
	if opts.Posterior == AutoPosterior { // what follows from the rest is no part of the identity
		opts.Posterior = ""
	}
	data := j.Sample.Data
	data.Reading = nil // the lines between the rows are no part of the identity
	for _, v := range []any{opts, data, j.Kernel(), j.Params.hashed()} {
		hashValue(w, v)
	}
	w.Flush()
	return hex.EncodeToString(h.Sum(nil))
}

// CheckSymmetry returns a [*kernel.KernelhoodError] if the kernel is known not to be symmetric and
// finite: the factor of a matrix uses one half of it, and derivatives both.
func (j *Prepared) CheckSymmetry() error {
	if d := j.disproof; d != nil && !d.Symmetric() {
		return d
	}
	return nil
}

// Disproof returns a finding that the kernel is not a covariance function, as a
// [*kernel.KernelhoodError], or nil. After a failure of the linear algebra it looks at the start values
// and around them.
func (j *Prepared) Disproof() error {
	if !kernel.Unproved(j.Model.expr) {
		return nil
	}
	if j.disproof != nil {
		return j.disproof
	}
	if r, err := j.CheckKernel(KernelCheckOptions{Draws: disproofDraws, Seed: 2}); err == nil {
		return r.Err()
	}
	return nil
}

// DisproofAt returns a finding that the kernel is not a covariance function at its parameters theta, as
// a [*kernel.KernelhoodError], or nil. A descent can move a formula to where it is none.
func (j *Prepared) DisproofAt(theta []float64) error {
	if !kernel.Unproved(j.Model.expr) {
		return nil
	}
	if r, err := j.CheckKernel(KernelCheckOptions{Around: theta, Seed: 3}); err == nil {
		return r.Err()
	}
	return nil
}

// disproofDraws is the number of random parameters that Disproof looks at.
const disproofDraws = 16
