package batch

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device"
	"gpfit/table"
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
	Crossover *device.Crossover
	// Accelerated takes "auto" for an accelerator: where the jobs will run there is
	// one.
	Accelerated bool
	// Formats are formats of tables beside text and NumPy's, such as that of
	// table/parquet.
	Formats []table.Format
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
	jobs, err := s.Expand(dir, o.Extra, o.Formats...)
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
	sizes, auto := sizer{load: newLoader(hashes, jobs, o.Formats), known: map[string]jobSize{}}, autoDevice{o: o}
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		job := rundir.PlannedJob{JobSpec: j}
		size := sizes.of(j)
		if job.N, job.D = size.n, size.d; size.err != nil && o.OnWarning != nil {
			// It fails alone, when its turn comes.
			o.OnWarning(j.ID + ": will fail: " + firstLine(size.err))
		}
		if value(j.Options.Threads) == 0 {
			threads := min(max(1, (job.N+rowsPerThread-1)/rowsPerThread), runtime.NumCPU())
			job.Options.Threads = &threads
		}
		if name := value(j.Options.Device); name == device.Auto || name == "" {
			chosen, err := auto.forSize(ctx, job.N)
			if err != nil {
				return nil, err
			}
			job.Options.Device = &chosen
		}
		job.Fingerprint = job.JobSpec.Fingerprint(hashes)
		m.Jobs = append(m.Jobs, job)
	}
	return m, nil
}

// sizer prepares jobs to see how large they are, and whether they can be fitted:
// those that differ in their seeds alone once.
type sizer struct {
	load  *loader
	known map[string]jobSize
}

// jobSize are training rows and columns, or why there are none.
type jobSize struct {
	n, d int
	err  error
}

func (s *sizer) of(j spec.JobSpec) jobSize {
	defer s.load.release(j)
	key := j
	key.ID, key.Data, key.Kernel, key.Split = "", "", "", ""
	if value(j.Options.Subsample) == 0 {
		key.Seed = 0
	}
	text, err := json.Marshal(key)
	if err != nil {
		return jobSize{err: err}
	}
	size, ok := s.known[string(text)]
	if ok {
		return size
	}
	if job, err := s.load.prepare(j, nil); err != nil {
		size.err = err
	} else {
		size.n, size.d = job.N(), job.D()
	}
	s.known[string(text)] = size
	return size
}

// addInputs hashes every file that the jobs read.
func addInputs(m *rundir.Manifest, jobs []spec.JobSpec) error {
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

// autoDevice decides what [device.Auto] means: the kind of an accelerator, any of
// which a job then may take, or the host.
type autoDevice struct {
	o     PlanOptions
	found *device.Found
	asked bool
	host  string
	// kind is that of the accelerator, which is taken from this number of rows on.
	kind string
	from int
}

// forSize decides for a job of n rows. No accelerator is opened for jobs that it is
// known not to pay for.
func (c *autoDevice) forSize(ctx context.Context, n int) (string, error) {
	if c.found == nil {
		found := device.Find(ctx, c.o.Drivers)
		c.found, c.host = &found, found.Host()
	}
	if !c.asked && !c.o.Accelerated && !c.found.MayPay(device.Request{N: n, Crossover: c.o.Crossover}) {
		return c.host, nil
	}
	if !c.asked {
		if err := c.ask(ctx); err != nil {
			return "", err
		}
	}
	if n >= c.from {
		return c.kind, nil
	}
	return c.host, nil
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
