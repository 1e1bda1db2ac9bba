package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device"
	"gpfit/device/pool"
	"gpfit/device/queue"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
	"gpfit/table"
)

// PlanOptions configures [Plan].
type PlanOptions struct {
	// SpecPath and SpecText are the path and the content of the spec file. Paths
	// in the spec are relative to the file.
	SpecPath string
	SpecText []byte
	// Extra holds options that override the spec's options.
	Extra SpecOptions
	// Program is the name and version of this program.
	Program string
	// Drivers are the kinds of devices, and Methods the methods that jobs may name; none
	// means only [device.Dense]. Crossover is the same as in [device.Request].
	Drivers   []device.Driver
	Methods   []device.Method
	Crossover *device.Crossover
	// Accelerated means that the jobs will run on machines with an accelerator:
	// "auto" then stands for the accelerator.
	Accelerated bool
	// Formats holds formats of tables besides text and NumPy's, such as Parquet from package formats.
	Formats []table.Format
	// OnWarning, if not nil, receives a warning for each job that will fail.
	OnWarning func(text string)
}

// rowsPerThread is the number of rows for each thread of a job, if the spec does
// not set the threads. With fewer rows per thread, threads wait for one another,
// and jobs side by side use the cores better.
const rowsPerThread = 4000

// Plan reads the data of a spec and decides the threads and the device of every job, so that results do not depend on the
// machine that runs a job, except that the cores and an accelerator share jobs with the device auto. Errors: [*SpecError], also for jobs that
// no data can cure, one for each place in the spec; [*table.Error] if a file does not exist.
func Plan(ctx context.Context, s *Spec, o PlanOptions) (*Manifest, error) {
	path, err := filepath.Abs(o.SpecPath)
	if err != nil {
		return nil, err
	}
	jobs, err := s.Expand(filepath.Dir(path), o.Extra, o.Formats...)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		Name: s.Name, Program: o.Program, Created: time.Now().UTC().Truncate(time.Second),
		SpecPath: path, SpecSHA256: rundir.SHA256(o.SpecText), Extra: o.Extra, Slurm: s.Slurm,
	}
	if err := addInputs(m, jobs); err != nil {
		return nil, err
	}
	hashes := m.Hashes()
	found := device.Find(ctx, o.Drivers, o.Methods...)
	sizes, auto := sizer{load: newLoader(hashes, jobs, o.Formats, o.Methods), found: found, known: map[string]jobSize{}}, autoDevice{o: o, found: found, host: found.Host()}
	var wrong mistakes
	jobs, err = sizes.load.divided(ctx, s, jobs)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		job := PlannedJob{JobSpec: j}
		size := sizes.of(ctx, j)
		if _, ofSystem := errors.AsType[syscall.Errno](size.err); ofSystem {
			return nil, size.err // the data may be readable again: a plan without their size would give other results
		}
		if size.err != nil && wrong.add(j, s.Mistake(j, size.err)) {
			continue
		}
		if size.err == nil {
			wrong.fine = append(wrong.fine, j)
		}
		if job.N, job.D, job.Evaluations, job.Structure = size.n, size.d, size.evaluations, size.structure; size.err != nil && o.OnWarning != nil && j.Each == nil {
			// Only this job fails, when it runs.
			o.OnWarning(j.ID + ": will fail: " + textform.FirstLine(size.err.Error()))
		}
		if value(j.Options.Threads) == 0 {
			threads := min(max(1, (denseSize(job)+rowsPerThread-1)/rowsPerThread), runtime.NumCPU())
			job.Options.Threads = &threads
		}
		if asksAuto(job) {
			if err := auto.consider(ctx, denseSize(job)); err != nil {
				return nil, err
			}
		}
		m.Jobs = append(m.Jobs, job)
	}
	for i := range m.Jobs {
		job := &m.Jobs[i]
		if asksAuto(*job) {
			name := auto.device(*job)
			job.Options.Device = &name
		}
		job.Fingerprint = job.JobSpec.Fingerprint(hashes)
	}
	return m, wrong.err()
}

func asksAuto(j PlannedJob) bool {
	name := value(j.Options.Device)
	return name == device.Auto || name == ""
}

// denseSize returns the number of rows with which the dense method takes as many operations as a job.
func denseSize(j PlannedJob) int {
	if j.Structure == nil {
		return j.N
	}
	return device.DenseSize(structured(j), j.N)
}

// sizer prepares jobs to find their sizes and whether they can be fitted. Jobs
// that differ only in their seeds are prepared once.
type sizer struct {
	load  *loader
	found device.Found
	known map[string]jobSize
	// host plans jobs; nil before the first.
	host device.Backend
}

// jobSize holds the numbers of training rows n and columns d, or the reason why
// the job cannot be fitted.
type jobSize struct {
	n, d        int
	evaluations float64
	structure   *rundir.Structure
	err         error
}

func (s *sizer) of(ctx context.Context, j spec.JobSpec) jobSize {
	defer s.load.release(j)
	if j.Each != nil {
		return s.ofPart(ctx, j)
	}
	key := j
	key.ID, key.Data, key.Kernel, key.Split = "", "", "", ""
	if value(j.Options.Subsample) == 0 && j.Options.Holdout == nil {
		key.Seed = 0
	}
	text, err := json.Marshal(key)
	if err != nil {
		return jobSize{err: err}
	}
	size, ok := s.known[string(text)]
	if !ok {
		size = s.measure(ctx, j, "")
		s.known[string(text)] = size
	}
	return size
}

// measure prepares a job, or the fit of one value of a part, to find its size.
func (s *sizer) measure(ctx context.Context, j spec.JobSpec, label string) (size jobSize) {
	job, err := s.load.prepare(j, label, problem.Events{}, nil)
	if size.err = err; err == nil {
		size.n, size.d, size.structure = job.N(), job.D(), s.structure(ctx, j, job)
		size.evaluations = s.evaluations(ctx, PlannedJob{JobSpec: j, N: size.n, D: size.d, Structure: size.structure}, job)
	}
	return size
}

// evaluations returns how many values with gradient of all rows cost as much as a fit, 0 if that is unknown.
func (s *sizer) evaluations(ctx context.Context, j PlannedJob, job *tuning.Job) (sum float64) {
	if s.host == nil {
		b, _, err := s.found.Open(ctx, device.Request{Device: s.found.Host(), Options: device.Options{Threads: 1}})
		if err != nil {
			return 0
		}
		s.host = b[0]
	}
	d := newDemand(j)
	one := d.GradientTime(s.host)
	if !(one > 0) {
		return 0
	}
	for _, part := range fit.Expect(job, s.host) {
		sum += part.Seconds / one
	}
	return math.Round(100*sum) / 100
}

// structure returns the cheapest method for a job on the host, nil if that is the dense one. A fit that chooses its kernel leaves
// out kernels that are too large. If a matrix is too large, the first kernel of the choice decides.
func (s *sizer) structure(ctx context.Context, j spec.JobSpec, job *tuning.Job) *rundir.Structure {
	w := tuning.Workload(job)
	w.Factor = value(j.Options.SaveFactor)
	out, fits := s.planned(ctx, j, job, w)
	if !fits && job.Options.Auto() && job.Experts == nil {
		w.Program = job.Program()
		if own, fits := s.planned(ctx, j, job, w); fits {
			return own
		}
	}
	return out
}

// planned returns the cheapest method for a workload on the host, nil if that is the dense one, and whether it fits there.
func (s *sizer) planned(ctx context.Context, j spec.JobSpec, job *tuning.Job, w device.Workload) (out *rundir.Structure, fits bool) {
	if w.Points == nil || s.found.Host() == "" {
		return nil, true
	}
	b, _, err := s.found.Open(ctx, device.Request{Device: s.found.Host(), Method: value(j.Options.Method), Workload: w})
	if err != nil { // the job says why, when it runs
		return nil, true
	}
	defer b[0].Close()
	plan, method := tuning.WholePlan(job, b[0].Plan(w), b[0].Info()), b[0].Capabilities().Method
	if method != device.DenseName {
		out = &rundir.Structure{Method: method, Bytes: plan.HostBytes(), Operations: plan.FlopsGradient, Seconds: plan.GradientTime().Seconds()}
	}
	return out, plan.Check(b[0].Info()) == nil
}

// addInputs hashes every file that the jobs read.
func addInputs(m *Manifest, jobs []spec.JobSpec) error {
	seen := map[string]bool{"": true}
	for _, j := range jobs {
		for _, path := range []string{j.Path, j.SplitMask} {
			if seen[path] {
				continue
			}
			seen[path] = true
			in, err := rundir.HashInput(path)
			if err != nil {
				return &table.Error{Source: path, Msg: atomicfile.Cause(err).Error(), Err: err}
			}
			m.Inputs = append(m.Inputs, in)
		}
	}
	return nil
}

// autoDevice decides what [device.Auto] means: the host, or what is free first of the host and an accelerator.
type autoDevice struct {
	o     PlanOptions
	found device.Found
	asked bool
	host  string
	// kind is the kind of the accelerator. One evaluation of a job of at least from rows is faster there.
	kind string
	from int
}

// consider opens the accelerator for a job of n rows, unless it is known not to pay off for n rows.
func (c *autoDevice) consider(ctx context.Context, n int) error {
	if c.asked || !c.o.Accelerated && !c.found.MayPay(device.Request{Workload: device.Workload{N: n}, Crossover: c.o.Crossover}) {
		return nil
	}
	return c.ask(ctx)
}

// device returns the device of a job after all jobs were considered. If an accelerator pays off for some, the host and the
// accelerator share the jobs: auto. A method that uses the structure of the rows may be of the host only and has other last
// digits, so that these jobs have a place. On other machines, the jobs run only on the accelerator.
func (c *autoDevice) device(j PlannedJob) string {
	switch {
	case !c.asked || c.kind == "" || c.from == device.NeverPays:
		return c.host
	case c.o.Accelerated:
		return c.kind
	case j.Structure == nil:
		return device.Auto
	case denseSize(j) >= c.from:
		return c.kind
	}
	return c.host
}

func (c *autoDevice) ask(ctx context.Context) error {
	found := c.found
	c.asked, c.from = true, math.MaxInt
	if c.o.Accelerated {
		if c.kind = found.AcceleratorKind(); c.kind != "" {
			c.from = 0
		}
		return nil
	}
	auto, choice, err := found.Open(ctx, device.Request{Device: device.Auto})
	if err != nil {
		return err
	}
	defer auto[0].Close()
	if auto[0].Info().Host {
		return nil
	}
	c.kind, c.from = device.Kind(choice.Device), 0
	if c.o.Crossover == nil {
		return nil
	}
	c.from, err = found.Crossover(ctx, c.o.Crossover.Of, choice.Device, auto[0])
	return err
}

// mistakes are the mistakes of a spec that make jobs impossible, one for each place.
type mistakes struct {
	places []mistake
	jobs   int
	// fine are the jobs without mistakes.
	fine []spec.JobSpec
}

// mistake is a mistake at a place of the spec, with the jobs that it concerns.
type mistake struct {
	at    spec.Error
	found error
	jobs  []spec.JobSpec
}

// add adds a mistake of a job and reports whether there is one.
func (m *mistakes) add(j spec.JobSpec, err error) bool {
	at, ok := errors.AsType[*spec.Error](err)
	if !ok {
		return false
	}
	m.jobs++
	i := slices.IndexFunc(m.places, func(p mistake) bool { return p.at.Line == at.Line && p.at.Column == at.Column })
	if i < 0 {
		i, m.places = len(m.places), append(m.places, mistake{at: *at, found: err})
	}
	m.places[i].jobs = append(m.places[i].jobs, j)
	return true
}

// err returns the mistakes, or nil.
func (m *mistakes) err() error {
	if m.places == nil {
		return nil
	}
	var found []error
	for _, p := range m.places {
		found = append(found, p.found)
		if advice := m.advice(p); advice != "" {
			found = append(found, errors.New(advice))
		}
	}
	if len(found) == 1 && m.jobs == 1 {
		return found[0]
	}
	return fmt.Errorf("%w\nthis concerns %d jobs; no job has run", errors.Join(found...), m.jobs)
}

// advice says how to divide the batch if a mistake concerns some kernels and not others.
func (m *mistakes) advice(p mistake) string {
	var suits, not []string
	add := func(list *[]string, kernel string) {
		if !slices.Contains(slices.Concat(not, suits), kernel) {
			*list = append(*list, kernel)
		}
	}
	for _, j := range p.jobs {
		add(&not, j.Kernel)
	}
	for _, j := range m.fine {
		if slices.ContainsFunc(p.jobs, func(wrong spec.JobSpec) bool { return wrong.Data == j.Data }) {
			add(&suits, j.Kernel)
		}
	}
	if suits == nil {
		return ""
	}
	return fmt.Sprintf("it suits %s, but not %s: move it to the kernels that it suits, or to an entry of overrides with match: {kernel: [%s]}",
		kernelList(suits), kernelList(not), strings.Join(suits, ", "))
}

// kernelList names kernels: the kernel rbf, or the kernels rbf and periodic.
func kernelList(names []string) string {
	if len(names) == 1 {
		return "the kernel " + names[0]
	}
	return "the kernels " + textform.And(names)
}

// Forecast says where the jobs of a batch are expected to run on this machine, and for how long, if they run side by side and no others disturb them.
type Forecast struct {
	// OnCores and OnAccelerators are numbers of jobs.
	OnCores, OnAccelerators int
	// Cores is the number of cores.
	Cores   int
	Seconds float64
}

// Estimates returns the plan of every job, and what all jobs are expected to take on this machine. The plan of a job with the
// device auto is for the device that it is expected to take. If this machine has no device for a job, its plan is for a typical one.
func Estimates(ctx context.Context, jobs []PlannedJob, o Options) ([]Estimate, Forecast, error) {
	p, err := pool.New(ctx, o.pool())
	if err != nil {
		return nil, Forecast{}, err
	}
	defer p.Close()
	demands, order := make([]demand, len(jobs)), make([]int, len(jobs))
	for i, j := range jobs {
		if demands[i], order[i] = newDemand(j), i; p.Sides(&demands[i].Demand)[queue.Cores] == "" || demands[i].Auto() {
			p.OpenAccelerators(ctx, func(string) {})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, Forecast{}, err
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(demands[b].Cost(), demands[a].Cost()) })
	all := make([]queue.Load, len(jobs))
	for i, k := range order {
		all[i] = p.Load(&demands[k].Demand)
	}
	ran, ends := queue.Simulate(all, &queue.Rates{})
	e, out := Forecast{Cores: p.Cores, Seconds: ends}, make([]Estimate, len(jobs))
	for i, k := range order {
		if out[k], err = estimateOn(ctx, p, &demands[k], ran[i]); err != nil {
			return nil, e, err
		}
		if all[i].On(queue.Cards) && ran[i] == queue.Cards {
			e.OnAccelerators++
		} else if all[i].On(queue.Cores) {
			e.OnCores++
		}
	}
	return out, e, nil
}

// estimateOn plans a job on its device on a side, or on its only one.
func estimateOn(ctx context.Context, p *pool.Pool, d *demand, on queue.Side) (Estimate, error) {
	names := p.Sides(&d.Demand)
	if names[queue.Cores] != "" && (on == queue.Cores || names[queue.Cards] == "") {
		at := d.Key(names[queue.Cores])
		b, err := p.Take(ctx, at)
		if err != nil {
			return Estimate{Job: d.job}, unlessUnavailable(err)
		}
		defer p.Give(at, b)
		return estimate(d, b), nil
	}
	for _, a := range p.Accelerators {
		if a.Means(names[queue.Cards]) {
			b, err := p.Found.On(d.Method, a.Backend.Capabilities().Devices, device.Workload{})
			if err != nil {
				return Estimate{Job: d.job}, unlessUnavailable(err)
			}
			return estimate(d, b[0]), nil
		}
	}
	b, model := p.Found.Typical(names[queue.Cards], d.Method)
	one := estimate(d, b)
	if one.N > 0 {
		one.Model = model
	}
	return one, nil
}

// unlessUnavailable returns an error unless it says that the machine has no such device.
func unlessUnavailable(err error) error {
	if as[*device.UnavailableError](err) {
		return nil
	}
	return err
}
