package batch

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device"
	"gpfit/internal/table"
)

// PlanOptions say how the jobs of a spec are decided.
type PlanOptions struct {
	// SpecPath and SpecText are the spec file; paths in it are relative to it.
	SpecPath string
	SpecText []byte
	// Extra options come before all of the spec.
	Extra spec.Options
	// Program names this program's version.
	Program string
	// Drivers are the kinds of devices, Crossover as in [device.Request].
	Drivers   []device.Driver
	Crossover func(ctx context.Context, accelerator, host device.Backend) (int, error)
	// OnGPU takes "auto" for a GPU: where the jobs will run there is one.
	OnGPU bool
	// Dir replaces the spec file's folder, if not empty.
	Dir string
	// OnWarning is told what is wrong with single jobs.
	OnWarning func(text string)
}

// rowsPerThread is the number of rows for which a job is given a thread, where
// threads are left to choose: below it further threads wait for one another,
// and jobs side by side use the cores better.
const rowsPerThread = 4000

// Plan reads a spec's data and decides everything about its jobs that results
// depend on, so that they do not depend on the machine that a job meets: device
// and threads. Errors: [*spec.Error], [*table.Error] for a file that is not
// there.
func Plan(ctx context.Context, s *spec.Batch, o PlanOptions) (*rundir.Manifest, error) {
	dir := o.Dir
	if dir == "" {
		dir = filepath.Dir(o.SpecPath)
	}
	jobs, err := s.Expand(dir, o.Extra)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(o.SpecPath)
	if err != nil {
		return nil, err
	}
	m := &rundir.Manifest{
		Name: s.Name, Program: o.Program, Created: time.Now().UTC().Truncate(time.Second),
		SpecPath: path, SpecSHA256: rundir.SHA256(o.SpecText), Extra: o.Extra, Slurm: s.Slurm,
	}
	if err := addInputs(m, jobs); err != nil {
		return nil, err
	}
	hashes := m.Hashes()
	load, choose := newLoader(hashes, jobs), deviceChoice{o: o}
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		job := rundir.PlannedJob{Job: j}
		task, err := load.prepare(j, nil)
		load.release(j)
		if err != nil {
			// It fails alone, when its turn comes.
			if o.OnWarning != nil {
				o.OnWarning(j.ID + ": will fail: " + firstLine(err))
			}
		} else {
			job.N, job.D = task.N(), task.D()
		}
		if value(j.Options.Threads) == 0 {
			threads := min(max(1, (job.N+rowsPerThread-1)/rowsPerThread), runtime.NumCPU())
			job.Options.Threads = &threads
		}
		if name := value(j.Options.Device); name == "auto" || name == "" {
			chosen, err := choose.forSize(ctx, job.N)
			if err != nil {
				return nil, err
			}
			job.Options.Device = &chosen
		}
		job.Fingerprint = job.Job.Fingerprint(hashes)
		m.Jobs = append(m.Jobs, job)
	}
	return m, nil
}

// addInputs hashes every file that the jobs read.
func addInputs(m *rundir.Manifest, jobs []spec.Job) error {
	seen := map[string]bool{"": true}
	for _, j := range jobs {
		for _, path := range []string{j.Path, j.SplitMask} {
			if seen[path] {
				continue
			}
			seen[path] = true
			in, err := rundir.HashInput(path)
			if err != nil {
				var pe *os.PathError
				msg := err.Error()
				if errors.As(err, &pe) {
					msg = pe.Err.Error()
				}
				return &table.Error{Source: path, Msg: msg, Err: err}
			}
			m.Inputs = append(m.Inputs, in)
		}
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// deviceChoice decides what "auto" means: "cuda" (any GPU) or "cpu".
type deviceChoice struct {
	o     PlanOptions
	asked bool
	// from is the number of rows from which a GPU is taken.
	from int
}

func (c *deviceChoice) forSize(ctx context.Context, n int) (string, error) {
	if !c.asked {
		if err := c.ask(ctx); err != nil {
			return "", err
		}
	}
	if n >= c.from {
		return "cuda", nil
	}
	return "cpu", nil
}

func (c *deviceChoice) ask(ctx context.Context) error {
	c.asked, c.from = true, math.MaxInt
	if c.o.OnGPU {
		c.from = 0
		return nil
	}
	gpu, choice, err := device.Dispatch(ctx, device.Request{Device: "auto"}, c.o.Drivers)
	if err != nil {
		return err
	}
	defer gpu[0].Close()
	if choice.Device == "cpu" {
		return nil
	}
	if c.o.Crossover == nil {
		c.from = 0
		return nil
	}
	cpu, _, err := device.Dispatch(ctx, device.Request{Device: "cpu"}, c.o.Drivers)
	if err != nil {
		return err
	}
	defer cpu[0].Close()
	c.from, err = c.o.Crossover(ctx, gpu[0], cpu[0])
	return err
}

// Estimate is what a job is expected to need.
type Estimate struct {
	Job rundir.PlannedJob
	device.Plan
	// Seconds is the expected time, 0 if unknown.
	Seconds float64
}

// TypicalEvaluations is the number of evaluations with gradient that estimates
// count for one start of the optimiser.
const TypicalEvaluations = 40

// Estimates returns the plan of every job, from the CPU of this machine and,
// where there is one, its first GPU.
func Estimates(ctx context.Context, jobs []rundir.PlannedJob, drivers []device.Driver) ([]Estimate, error) {
	backends := map[string]device.Backend{}
	defer func() {
		for _, b := range backends {
			_ = b.Close()
		}
	}()
	var out []Estimate
	for _, j := range jobs {
		e := Estimate{Job: j}
		b, err := estimator(ctx, j, drivers, backends)
		if err != nil {
			return nil, err
		}
		if j.N > 0 && b != nil {
			e.Plan = b.Plan(j.N, j.D)
			if e.FlopRate == 0 {
				// A rough one: small matrices do not reach it.
				e.FlopRate = b.Plan(max(j.N, 2000), j.D).FlopRate
			}
			e.Seconds = e.GradientTime().Seconds() * TypicalEvaluations * float64(1+value(j.Options.Restarts))
		}
		out = append(out, e)
	}
	return out, nil
}

// estimator returns a backend like that of a job, nil if there is none here.
func estimator(ctx context.Context, j rundir.PlannedJob, drivers []device.Driver, open map[string]device.Backend) (device.Backend, error) {
	name, threads := value(j.Options.Device), value(j.Options.Threads)
	key := name
	if name == "cpu" {
		key = deviceKey(threads)
	}
	if b, ok := open[key]; ok {
		return b, nil
	}
	b, _, err := device.Dispatch(ctx, device.Request{Device: name, Options: device.Options{Threads: threads}}, drivers)
	var none *device.UnavailableError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	open[key] = b[0]
	return b[0], nil
}
