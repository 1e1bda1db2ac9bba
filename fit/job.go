package fit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/experts"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/kernel"
)

// Prepared is a checked problem: scaled data, a model, and its parameters with start values.
// It does not change.
type Prepared struct {
	opts   Options
	sample *sample
	model  *model
	params *parameters
	// heldOut describes the rows that Options.HoldOut holds out, or is nil.
	heldOut *gp.HeldOut
	// experts divides the rows among local experts; nil without.
	experts *experts.Partition
	// own are the problems of experts with parameters of their own; nil without.
	own []*Prepared
}

// Job is a problem to solve on devices.
type Job struct {
	*Prepared
	events Events
	// parts are the jobs of experts with parameters of their own; nil without.
	parts []*Job
	// residualFrom is the constant of the same name; tests lower it.
	residualFrom int
}

// Prepare checks data and options and returns the job. Errors: [*DataError],
// [*OptionError], [*kernel.ParseError], [*kernel.CompileError], [*mean.ParseError],
// and with RequirePSD [*kernel.KernelhoodError].
func Prepare(data Data, opts Options, events Events) (*Job, error) {
	p, err := newPrepared(data, opts)
	if err != nil {
		return nil, err
	}
	return newJob(p, events), nil
}

// newJob returns the job of a problem.
func newJob(p *Prepared, events Events) *Job {
	j := &Job{Prepared: p, events: events, residualFrom: residualFrom}
	for _, own := range p.own {
		j.parts = append(j.parts, newJob(own, Events{Fallback: events.Fallback, OnWarning: events.OnWarning}))
	}
	return j
}

// newPrepared checks data and options and returns the problem.
func newPrepared(data Data, opts Options) (*Prepared, error) {
	opts, err := opts.fromModel()
	if err != nil {
		return nil, err
	}
	opts, how, err := opts.checked()
	if err != nil {
		return nil, err
	}
	data, held, err := opts.holdOut(data)
	if err != nil {
		return nil, err
	}
	s, err := newSample(data, how, opts.NoNoise)
	if err != nil {
		return nil, err
	}
	m, err := newModel(s, opts)
	if err != nil {
		return nil, err
	}
	p, err := newParameters(s, m, opts)
	if err != nil {
		return nil, err
	}
	if err := checkUnproved(s, m, p, opts.RequirePSD); err != nil {
		return nil, err
	}
	if opts.Objective.LeavesFoldsOut() {
		if s, err = s.inFolds(opts.folds(), opts.Blocks); err != nil {
			return nil, err
		}
	}
	division, err := opts.partition(s)
	if err != nil {
		return nil, err
	}
	own, err := opts.separate(s, m, division)
	if err != nil {
		return nil, err
	}
	// The parameters have all that the job needs of the model.
	opts.Settings.Metric, opts.From = p.metricFrom(opts.From, s.n()), nil
	return &Prepared{opts: opts, sample: s, heldOut: held, experts: division, own: own, model: m, params: p}, nil
}

// residualFrom is the number of points from which a fit checks factors if the device
// can. The check costs n² operations, less than a hundredth of the factorisation.
const residualFrom = 1000

// newParameters chooses start values and bounds from the data, then applies the
// kernel's text and the options.
func newParameters(s *sample, m *model, o Options) (*parameters, error) {
	all, err := defaultParameters(s, m)
	if err != nil {
		return nil, err
	}
	p := &parameters{free: all, zeros: m.program.Zeros, indexed: s.indexed}
	from := func(o Options) error { return p.startFrom(s, m, o.From) }
	floor := func(o Options) error { return p.floorNoise(s, o) }
	for _, step := range []func(Options) error{p.tie, from, p.assign, p.bound, floor, p.addPriors} {
		if err := step(o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// on returns the job on another sample of the same table. Basis functions and
// parameters remain those from all rows.
func (j *Job) on(s *sample) *Job {
	return j.with(func(p *Prepared) { p.sample = s })
}

// with returns the job with a changed copy of its problem.
func (j *Job) with(change func(p *Prepared)) *Job {
	sub, p := *j, *j.Prepared
	change(&p)
	sub.Prepared = &p
	return &sub
}

// N returns the number of training rows.
func (j *Prepared) N() int { return j.sample.n() }

// D returns the number of columns in use.
func (j *Prepared) D() int { return j.sample.d() }

// Kernel returns the text form of the kernel.
func (j *Prepared) Kernel() string { return j.model.program.Text }

// kernelText and meanText are the text forms with the names of columns.
func (j *Prepared) kernelText() string { return kernel.Text(j.model.expr, j.sample.names()) }
func (j *Prepared) meanText() string   { return j.model.mean.Text(j.sample.names()) }

// Program returns the compiled kernel, for the choice of a device.
func (j *Prepared) Program() *kernel.Program { return j.model.program }

// CheckKernel tests on training rows, at the start values and around them, whether
// the kernel can be a covariance function: whether its matrix is symmetric and has no
// negative eigenvalue. Each check takes O(points³) operations.
func (j *Prepared) CheckKernel(o KernelCheckOptions) (*KernelReport, error) {
	return checkKernel(j.sample, j.model, j.params, o)
}

// Warnings returns the warnings about the data and the options. Reports include them.
func (j *Prepared) Warnings() []string { return slices.Concat(j.sample.warnings, j.params.warnings) }

// FreeNames returns the names of the free parameters, fixed ones included, in the
// order of the objective's vector.
func (j *Prepared) FreeNames() []string {
	names := make([]string, len(j.params.free))
	for i, p := range j.params.free {
		names[i] = p.Name
	}
	return names
}

// NumFitted returns the number of parameters that a fit finds, including the
// coefficients of a mean by least squares.
func (j *Prepared) NumFitted() int {
	n := 0
	for _, part := range j.own {
		n += part.NumFitted()
	}
	if n > 0 {
		return n
	}
	for _, p := range j.params.free {
		if !p.Fixed {
			n++
		}
	}
	if !j.model.meanFree {
		n += len(j.model.basis)
	}
	return n
}

// Expected returns the stages of a fit and about how many values each takes; nil for experts
// with parameters of their own, which Events.OnExpert follows.
func (j *Job) Expected() []hyperopt.Expectation {
	if j.parts != nil {
		return nil
	}
	free := 0
	for _, p := range j.params.free {
		if !p.Fixed {
			free++
		}
	}
	return hyperopt.Expected(j.opts.Settings, j.N(), free)
}

// Plan returns the memory plan of an evaluation of the job on b.
func (j *Job) Plan(b device.Backend) device.Plan {
	return j.backend(b).Plan(j.workload())
}

// workload describes the evaluations of the job.
func (j *Job) workload() device.Workload {
	w := j.opts.Objective.Workload(j.N(), j.D(), j.sample.foldEnds())
	w.Points, w.Program, w.NoiseByRow = j.sample.points, j.Program(), len(j.sample.noise.Known) > 0
	return w
}

// CheckMemory returns a [*device.MemoryError] if the plan exceeds the free memory of
// b. A workspace checks the n×n matrix itself, but checks the additional memory for
// the gradient of an objective that scores predictions only when that gradient is requested.
func (j *Job) CheckMemory(b device.Backend) error {
	return j.adviseExperts(j.Plan(b).Check(b.Info()))
}

// withPrior follows the objective's name if the objective includes the negative log
// prior.
const withPrior = "+neg_log_prior"

// objectiveName returns the name of the quantity that the job minimises.
func (j *Prepared) objectiveName() string {
	name := string(j.opts.Objective)
	if len(j.params.priors) > 0 {
		name += withPrior
	}
	return name
}

// ObjectiveLabel returns a short name of the objective for people.
func (j *Prepared) ObjectiveLabel() string { return objectiveLabel(j.objectiveName()) }

func objectiveLabel(name string) string {
	base, prior := strings.CutSuffix(name, withPrior)
	if prior {
		return "objective"
	}
	return strings.ToUpper(base)
}

// spec returns the specification of the objective's graph.
func (j *Prepared) spec() graph.Spec {
	s, m := j.sample, j.model
	spec := graph.Spec{
		Program: m.program, X: s.points, Y: s.targets, Mean: m.basis, MeanFree: m.meanFree, Noise: s.noise, MaxJitter: j.opts.MaxJitter,
		Derive: j.params.derived(), LeaveOneOut: j.opts.Objective.predictive(), SquaredError: j.opts.Objective.squaredError(),
		Folds: s.foldEnds(), Labels: graph.Labels{Kernel: j.kernelText(), Column: s.label, Parameter: s.display},
	}
	if len(j.params.priors) > 0 {
		spec.Prior = graph.NegLogPrior(j.params.indexedPriors())
	}
	return spec
}

// id returns a hash of everything that a fit depends on: data, options, and the
// resulting start values and bounds. The hash leaves out the device, because a fit
// may continue on another one.
func (j *Prepared) id() string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	opts := j.opts
	opts.Checkpoint, opts.DiscardCancelled = "", false
	for _, v := range []any{opts, j.sample.data, j.Kernel(), j.params.hashed()} {
		hashValue(w, v)
	}
	w.Flush()
	return hex.EncodeToString(h.Sum(nil))
}

// backend returns the backend on which the job computes: b, or one with its experts on b.
func (j *Job) backend(b device.Backend) device.Backend {
	if j.experts == nil {
		return b
	}
	return j.experts.On(b)
}

// LargestMatrix returns the number of rows of the largest matrix of the job: all rows, or
// those of the largest local expert.
func (j *Prepared) LargestMatrix() int {
	if j.experts == nil {
		return j.N()
	}
	return j.experts.Largest()
}

// plain returns the job without experts if a number of rows is no more than the largest of
// them has. One exact process then says more about the parameters and costs no more.
func (j *Job) plain(rows int) *Job {
	if j.experts == nil || rows > j.experts.Largest() {
		return j
	}
	return j.with(func(p *Prepared) { p.experts = nil })
}

// usualExpert is the number of rows of each expert in advice: an evaluation takes a fraction
// of a second for each.
const usualExpert = 2000

// adviseExperts adds local experts to the advice of an error about memory.
func (j *Job) adviseExperts(err error) error {
	var memory *device.MemoryError
	if !errors.As(err, &memory) || memory.What != "" || j.N() < 2*usualExpert {
		return err
	}
	if j.experts != nil {
		return fmt.Errorf("%w; or more local experts with fewer rows each (option experts)", err)
	}
	return fmt.Errorf("%w; or divide the rows among local experts, which is an approximation (option experts kmeans:%d)", err, (j.N()+usualExpert-1)/usualExpert)
}

// separate returns the parts of a job with the given experts; nil if they share their
// parameters, or if there is one expert.
func (o Options) separate(s *sample, m *model, p *experts.Partition) ([]*Prepared, error) {
	if o.ExpertParameters != experts.Separate || len(p.Centres) == 1 {
		return nil, nil
	}
	rows := make([][]int, len(p.Centres))
	for i, k := range p.Assign(s.points) {
		rows[k] = append(rows[k], i)
	}
	var parts []*Prepared
	for k, own := range rows {
		part, err := o.part(s.withRows(own), m)
		if err != nil {
			return nil, fmt.Errorf("local expert %d (%d rows): %w", k, len(own), err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// part returns the job of an expert with the rows of s.
func (o Options) part(s *sample, m *model) (*Prepared, error) {
	s.warnings, s.testX, s.testY, s.testNoise = nil, nil, nil, gp.RowNoise{}
	if !m.determinedBy(s) {
		return nil, optionErrorf("mean", "", "the rows do not determine its coefficients; use a simpler mean function, fewer experts, or option expert-parameters shared")
	}
	p, err := newParameters(s, m, o)
	if err != nil {
		return nil, err
	}
	o.Settings.Metric, o.From = p.metricFrom(o.From, s.n()), nil
	o.Experts, o.Combine, o.ExpertRows, o.ExpertParameters = "", "", 0, ""
	o.Checkpoint = ""
	return &Prepared{opts: o, sample: s, model: m, params: p}, nil
}

// sharedParameters returns an error if experts have parameters of their own, for results that
// need one set of parameters.
func (j *Prepared) sharedParameters(what string) error {
	if j.own == nil {
		return nil
	}
	return optionErrorf("expert-parameters", string(experts.Separate), "%s need parameters that all experts share; use option expert-parameters shared", what)
}
