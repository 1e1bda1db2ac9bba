package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

// onCPU are the drivers of a machine without GPUs.
var onCPU = []device.Driver{cpu.Driver{}}

// writeTable writes n rows of two inputs and a target.
func writeTable(t testing.TB, path string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	var b strings.Builder
	b.WriteString("u,v,y\n")
	for range n {
		u, v := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(&b, "%g,%g,%g\n", u, v, math.Sin(u)+v+0.1*rng.NormFloat64())
	}
	testcheck.Do(t, os.WriteFile(path, []byte(b.String()), 0o644))
}

// create makes a run of a spec in a new folder. The folder has tables of 40 rows,
// a.csv, and of 200 rows, big.csv, and two that cannot be fitted.
func create(t *testing.T, text string, drivers ...device.Driver) *rundir.Run {
	t.Helper()
	dir := testcheck.Folder(t, map[string]string{
		"bad.csv": "u,v,y\n1,2,x\n", "flat.csv": "u,v,y\n1,2,3\n2,1,3\n4,4,3\n", "groups.csv": "site,u,y\na,1,2\na,2,3\nb,3,5\nb,4,4\nb,5,6\nc,6,7\nc,7,5\nc,8,4\nc,9,3\n"})
	writeTable(t, filepath.Join(dir, "a.csv"), 40)
	writeTable(t, filepath.Join(dir, "big.csv"), 200)
	return createIn(t, dir, text, drivers...)
}

// createIn makes a run of a spec in a folder with the tables.
func createIn(t testing.TB, dir, text string, drivers ...device.Driver) *rundir.Run {
	t.Helper()
	path := filepath.Join(dir, "s.yaml")
	testcheck.Do(t, os.WriteFile(path, []byte(text), 0o644))
	r, lock, err := rundir.Create(filepath.Join(dir, "run"), func() (*rundir.Manifest, []byte, error) {
		s, text, err := spec.Read(path)
		if err != nil {
			return nil, nil, err
		}
		m, err := Plan(t.Context(), s, PlanOptions{SpecPath: path, SpecText: text, Program: "test", Drivers: drivers})
		return m, text, err
	})
	testcheck.Do(t, err)
	t.Cleanup(lock.Release)
	return r
}

func status(t *testing.T, r *rundir.Run, id string) rundir.JobStatus {
	t.Helper()
	i := slices.IndexFunc(r.Jobs, func(j rundir.PlannedJob) bool { return j.ID == id })
	if i < 0 {
		t.Fatalf("no job %s", id)
	}
	return testcheck.Get(r.Status(r.Jobs[i]))(t)
}

// runAll runs a number of jobs, all of which succeed.
func runAll(t *testing.T, r *rundir.Run, o Options, jobs int) Summary {
	t.Helper()
	sum := testcheck.Get(Run(t.Context(), r, o))(t)
	if sum.Done != jobs {
		t.Fatalf("%d jobs are done, want %d", sum.Done, jobs)
	}
	return sum
}

// events returns the types of the events of a job, with the kinds of failures.
func events(s rundir.JobStatus) string {
	var out []string
	for _, e := range s.Record {
		text := e.Type
		if e.Kind != "" {
			text += ":" + e.Kind
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestFailures checks that a failed job does not stop others, and that a resume
// does not retry a job with wrong data or options unless RetryFailed is set.
func TestFailures(t *testing.T) {
	r := create(t, `
defaults: {device: cpu, threads: 1}
data: [a.csv, bad.csv, flat.csv]
kernels:
  - rbf
  - {name: singular, kernel: rbf, fix: {noise_variance: 1e-300, lengthscale: 1e10}}
`, cpu.Driver{})
	sum, err := Run(t.Context(), r, Options{Drivers: onCPU, Cores: 2})
	var failed *JobsFailedError
	if !errors.As(err, &failed) || len(failed.Failed) != 5 || sum.Done != 1 || sum.Total != 6 {
		t.Fatalf("%v, %+v", err, sum)
	}
	for id, want := range map[string]string{
		"a.rbf.seed-1": "started done", "a.singular.seed-1": "started failed:not-positive-definite",
		"bad.rbf.seed-1": "started failed:data", "flat.rbf.seed-1": "started failed:data",
	} {
		if got := events(status(t, r, id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	testcheck.Words(t, status(t, r, "bad.rbf.seed-1").Record.Last().Error, "bad.csv:2: column 3")
	for retry, want := range []string{"started failed:data", "started failed:data started failed:data"} {
		_, err = Run(t.Context(), r, Options{Drivers: onCPU, RetryFailed: retry == 1})
		testcheck.Fail[*JobsFailedError](t, err)
		if got := events(status(t, r, "flat.rbf.seed-1")); got != want {
			t.Errorf("RetryFailed %v: %s, want %s", retry == 1, got, want)
		}
	}
}

// TestHoldOut checks that every seed holds out rows of its own, and groups whole, with the
// numbers of rows that the plan has.
func TestHoldOut(t *testing.T) {
	r := create(t, `
defaults: {device: cpu, threads: 1}
data: [{name: rows, path: a.csv, holdout: 0.25}, {name: groups, path: groups.csv, holdout: 1, group: site}]
kernels: [rbf]
seeds: [1, 2, 3, 4]
`, cpu.Driver{})
	runAll(t, r, Options{Drivers: onCPU}, 8)
	held := map[string]bool{}
	for _, j := range r.Jobs {
		report := status(t, r, j.ID).Record.Last().Report
		if report.Test == nil || report.HeldOut.Seed != j.Seed || report.N != j.N || report.N+report.Test.N != 40 && report.N+report.Test.N != 9 {
			t.Errorf("%s: planned %d rows, %d used, test %+v", j.ID, j.N, report.N, report.Test)
		}
		held[fmt.Sprint(j.Data, report.HeldOut.Rows)] = true
	}
	if len(held) < 6 { // of 4 seeds, two may draw the same of 3 groups
		t.Errorf("the seeds hold out %v", held)
	}
}

// TestLostDevice checks that the job of a lost GPU continues on another GPU.
// Without another GPU it fails, unless the spec has a fallback.
func TestLostDevice(t *testing.T) {
	const text = "defaults: {device: cuda, threads: 1}\ndata: [a.csv]\nkernels: [rbf, matern32]\nseeds: [1, 2]\n"
	lose := func(d *gpuDriver, which ...string) {
		d.fail = func(name string, _ int) error {
			if slices.Contains(which, name) {
				return &device.LostError{Device: name, Err: errors.New("fell off the bus")}
			}
			return nil
		}
	}
	d := newGPUs(2, 1<<30)
	lose(d, "cuda:0")
	drivers := []device.Driver{d, cpu.Driver{}}
	r := create(t, text, drivers...)
	runAll(t, r, Options{Drivers: drivers, JobsPerDevice: 1}, 4)
	retried := 0
	for _, j := range r.Jobs {
		if events(status(t, r, j.ID)) == "started retry:device started done" {
			retried++
		}
	}
	if retried != 1 {
		t.Errorf("%d jobs met the lost device, want 1", retried)
	}

	lose(d, "cuda:0", "cuda:1")
	r = create(t, text, drivers...)
	var failed *JobsFailedError
	if _, err := Run(t.Context(), r, Options{Drivers: drivers, JobsPerDevice: 1}); !errors.As(err, &failed) || len(failed.Failed) != 4 {
		t.Errorf("without any device: %v", err)
	}
	// A later resume, when the devices work again, retries the jobs.
	d.fail = nil
	runAll(t, r, Options{Drivers: drivers, JobsPerDevice: 1}, 4)

	lose(d, "cuda:0", "cuda:1")
	r = create(t, strings.Replace(text, "device: cuda", "device: cuda, fallback: cpu", 1), drivers...)
	runAll(t, r, Options{Drivers: drivers, JobsPerDevice: 1}, 4)
	for _, j := range r.Jobs {
		report := status(t, r, j.ID).Record.Last().Report
		if report.Device != "cpu" || len(report.Warnings) == 0 {
			t.Errorf("%s: on %s, warnings %v: a warning must report the fallback", j.ID, report.Device, report.Warnings)
		}
	}
}

// TestMemory checks that a GPU takes as many jobs as fit, that a job that finds too
// little memory runs again alone, and that a job that can never fit fails.
func TestMemory(t *testing.T) {
	d := newGPUs(1, 3*8*40*40+100)
	d.meet = make(chan struct{})
	drivers := []device.Driver{d, cpu.Driver{}}
	const text = "defaults: {device: cuda, threads: 1}\ndata: [a.csv]\nkernels: [rbf]\nseeds: [1, 2, 3, 4, 5, 6, 7, 8]\n"
	r := create(t, text, drivers...)
	runAll(t, r, Options{Drivers: drivers, JobsPerDevice: 5}, 8)
	if d.most["cuda:0"] > 3 || d.most["cuda:0"] < 2 {
		t.Errorf("%d jobs side by side, want 2 or 3", d.most["cuda:0"])
	}

	// The device has less memory than it reports as soon as it has two jobs.
	d = newGPUs(1, 1<<30)
	d.fail = func(name string, n int) error {
		if d.now[name] > 0 {
			return &device.MemoryError{Where: "device", Need: 2, Free: 1}
		}
		return nil
	}
	drivers = []device.Driver{d, cpu.Driver{}}
	r = create(t, text, drivers...)
	runAll(t, r, Options{Drivers: drivers, JobsPerDevice: 5}, 8)

	d = newGPUs(1, 8*40*40)
	drivers = []device.Driver{d, cpu.Driver{}}
	r = create(t, "defaults: {device: cuda, threads: 1}\ndata: [a.csv, big.csv]\nkernels: [rbf]\n", drivers...)
	sum, err := Run(t.Context(), r, Options{Drivers: drivers})
	var failed *JobsFailedError
	if !errors.As(err, &failed) || sum.Done != 1 || failed.Failed[0].Job != "big.rbf.seed-1" || failed.Failed[0].Kind != KindMemory {
		t.Errorf("%+v, %v", sum, err)
	}
	r = create(t, "defaults: {device: cpu, threads: 1, memory: 10KiB}\ndata: [a.csv]\nkernels: [rbf]\n", cpu.Driver{})
	if _, err := Run(t.Context(), r, Options{Drivers: onCPU}); !errors.As(err, &failed) || failed.Failed[0].Kind != KindMemory {
		t.Errorf("the spec's limit on memory: %v", err)
	}
}

// TestLanes checks that small jobs share GPUs, each with a device of its own, and large ones do not, and that the
// results of jobs do not depend on that.
func TestLanes(t *testing.T) {
	d := newGPUs(2, 1<<30)
	d.meet = make(chan struct{})
	drivers := []device.Driver{d, cpu.Driver{}}
	const text = "defaults: {device: cuda, threads: 1}\ndata: [a.csv]\nkernels: [rbf, matern32]\nseeds: [1, 2, 3, 4]\n"
	r := create(t, text, drivers...)
	runAll(t, r, Options{Drivers: drivers}, 8)
	for _, name := range []string{"cuda:0", "cuda:1"} {
		if d.most[name] < 2 || d.shared[name] > 0 {
			t.Errorf("%s: %d workspaces side by side, %d of them on a lane in use", name, d.most[name], d.shared[name])
		}
	}
	d.meet = nil
	alone := create(t, text, drivers...)
	runAll(t, alone, Options{Drivers: drivers, JobsPerDevice: 1}, 8)
	for _, j := range r.Jobs {
		if got, want := status(t, r, j.ID).Record.Last().Report.NLML, status(t, alone, j.ID).Record.Last().Report.NLML; got != want {
			t.Errorf("%s: NLML %v in a lane, %v alone", j.ID, got, want)
		}
	}
}

// TestCancel checks that a cancelled run returns ctx's error and that a later run
// finishes the jobs.
func TestCancel(t *testing.T) {
	drivers := onCPU
	r := create(t, "defaults: {device: cpu, threads: 1, restarts: 20}\ndata: [big.csv]\nkernels: [rbf(ard), matern12]\nseeds: [1, 2, 3]\n", drivers...)
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	sum, err := Run(ctx, r, Options{Drivers: drivers, Cores: 2, OnProgress: func(p RunProgress) {
		if p.Running > 0 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || sum.Done == 6 {
		t.Fatalf("%+v, %v after %v", sum, err, time.Since(began))
	}
	var last RunProgress
	u := runAll(t, r, Options{Drivers: drivers, Cores: 2, OnProgress: func(p RunProgress) { last = p }}, 6).Utilization()
	if last.Done != 6 || last.Total != 6 || last.Running != 0 || !(u > 0 && u <= 1.0001) {
		t.Errorf("last progress: %+v, utilization %v", last, u)
	}
}

// TestPanic checks that a panic fails only the job that panicked.
func TestPanic(t *testing.T) {
	d := newGPUs(1, 1<<30)
	d.fail = func(_ string, n int) error {
		if n == 200 {
			panic("a bug")
		}
		return nil
	}
	drivers := []device.Driver{d, cpu.Driver{}}
	r := create(t, "defaults: {device: cuda, threads: 1}\ndata: [big.csv, a.csv]\nkernels: [rbf]\n", drivers...)
	sum, err := Run(t.Context(), r, Options{Drivers: drivers})
	var failed *JobsFailedError
	if !errors.As(err, &failed) || sum.Done != 1 || failed.Failed[0].Kind != KindPanic {
		t.Errorf("%+v, %v", sum, err)
	}
	testcheck.Words(t, string(testcheck.Get(os.ReadFile(r.Path("logs", "big.rbf.seed-1")))(t)), "batch_test.go") // the stack
}

// TestPlan checks that Plan decides the device, the threads and the sizes of jobs.
func TestPlan(t *testing.T) {
	d := newGPUs(1, 1<<30)
	drivers := []device.Driver{d, cpu.Driver{}}
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "a.csv"), 40)
	writeTable(t, filepath.Join(dir, "big.csv"), 200)
	s := testcheck.Get(spec.Parse("s.yaml", []byte("data: [a.csv, big.csv]\nkernels: [rbf]\n")))(t)
	crossover := &device.Crossover{Path: filepath.Join(dir, "crossover.json"), Measure: func(context.Context, device.Backend, device.Backend) (int, error) { return 100, nil }}
	found := device.Find(t.Context(), drivers).Findings
	testcheck.Get(crossover.Renew(t.Context(), found[0], found[len(found)-1], nil, nil))(t)
	path := filepath.Join(dir, "s.yaml")
	m := testcheck.Get(Plan(t.Context(), s, PlanOptions{SpecPath: path, Drivers: drivers, Crossover: crossover}))(t)
	for i, want := range []string{"auto", "auto"} { // the larger one pays off
		if o := m.Jobs[i].Options; *o.Device != want || *o.Threads != 1 {
			t.Errorf("%s: %s, %d threads", m.Jobs[i].ID, *o.Device, *o.Threads)
		}
	}
	if m.Jobs[0].N != 40 || m.Jobs[0].D != 2 || len(m.Inputs) != 2 {
		t.Errorf("%+v", m)
	}
	again := testcheck.Get(Plan(t.Context(), s, PlanOptions{SpecPath: path, Drivers: drivers, Crossover: crossover}))(t)
	if diff := cmp.Diff(m.Jobs, again.Jobs); diff != "" {
		t.Error(diff)
	}
	// With Accelerated, "auto" stands for an accelerator if a driver has one.
	for want, drivers := range map[string][]device.Driver{"cuda": drivers, "cpu": {cpu.Driver{}}} {
		m := testcheck.Get(Plan(t.Context(), s, PlanOptions{SpecPath: filepath.Join(dir, "s.yaml"), Drivers: drivers, Accelerated: true}))(t)
		for _, j := range m.Jobs {
			if *j.Options.Device != want {
				t.Errorf("%s with Accelerated: %s, want %s", j.ID, *j.Options.Device, want)
			}
		}
	}
	s = testcheck.Get(spec.Parse("s.yaml", []byte("data: [none.csv]\nkernels: [rbf]\n")))(t)
	_, err := Plan(t.Context(), s, PlanOptions{SpecPath: path, Drivers: drivers})
	if testcheck.Fail[error](t, err, "none.csv: no such file"); !isData(err) {
		t.Errorf("%v", err)
	}
}

// TestOptions checks that every option of a spec reaches the fit.
func TestOptions(t *testing.T) {
	s := testcheck.Get(spec.Parse("s.yaml", []byte(`
data: [a.csv]
kernels:
  - {kernel: rbf, ard: true, mean: linear, standardize: x, require_psd: true, max_jitter: 0.1, restarts: 3, max_evals: 9,
     set: {"lengthscale[0]": 2, lengthscale: 1}, fix: {noise_variance: 0.5, signal_variance: null}, bounds: {lengthscale: [0.1, 4]}, tie: {noise_variance: signal_variance},
     prior: {lengthscale: "lognormal(0, 1)"}, noise: none, noise_floor: 0.0001, mean_fit: free, objective: loo, scores: [loo], std_errors: true}
seeds: [5]
`)))(t)
	jobs := testcheck.Get(s.Expand(".", spec.Options{}))(t)
	want := problem.Options{
		Kernel: "rbf", ARD: true, Mean: "linear", Standardize: "x", RequirePSD: true, MaxJitter: 0.1,
		Set:    []problem.Assignment{{Name: "lengthscale", Value: 1, Given: true}, {Name: "lengthscale[0]", Value: 2, Given: true}},
		Fix:    []problem.Assignment{{Name: "noise_variance", Value: 0.5, Given: true}, {Name: "signal_variance"}},
		Bounds: []problem.Interval{{Name: "lengthscale", Lo: 0.1, Hi: 4}},
		Ties:   []problem.Tie{{Name: "noise_variance", Source: "signal_variance"}}, NoNoise: true, NoiseFloor: problem.NoiseFloor{Variance: 0.0001}, MeanFit: problem.MeanFree,
		Objective: problem.LOO, LeaveOneOut: true, StdErrors: true,
	}
	want.Priors = []problem.ParameterPrior{{Name: "lengthscale", Density: testcheck.Get(graph.ParsePrior("lognormal(0, 1)"))(t)}}
	want.Settings.Restarts, want.Settings.Seed, want.Settings.MaxEvaluations, want.FoldSeed = 3, 5, 9, 5
	got := testcheck.Get(jobs[0].Values())(t).Fit
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestParseShard(t *testing.T) {
	for _, c := range []struct {
		text, env string
		want      Shard
		err       string
	}{
		{"0/4", "", Shard{0, 4}, ""}, {"3/4", "", Shard{3, 4}, ""},
		{"4/4", "", Shard{}, "not in the range 0 … 3"}, {"-1/4", "", Shard{}, "not in the range"},
		{"a/4", "", Shard{}, "not the index"}, {"1/0", "", Shard{}, "not a number of shards"},
		{"1", "", Shard{}, "must be i/N"}, {"auto", "", Shard{}, "neither"},
		{"auto", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_COUNT=5", Shard{3, 5}, ""},
		{"auto", "SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=4 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=5", Shard{2, 5}, ""},
		{"auto/8", "JOB_COMPLETION_INDEX=6", Shard{6, 8}, ""},
		{"auto", "JOB_COMPLETION_INDEX=6", Shard{}, "use auto/N"},
		{"auto/4", "JOB_COMPLETION_INDEX=6", Shard{}, "not in the range"},
		{"auto/4", "JOB_COMPLETION_INDEX=x", Shard{}, "not a number"},
		{"auto/4", "JOB_COMPLETION_INDEX=x SLURM_ARRAY_TASK_ID=2", Shard{2, 4}, ""},
		{"auto/4", "JOB_COMPLETION_INDEX=3 SLURM_ARRAY_TASK_COUNT=x", Shard{3, 4}, ""},
		{"auto/4", "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=x", Shard{}, "not a number"},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		got, err := ParseShard(c.text, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if c.err != "" {
			testcheck.Fail[error](t, err, c.err)
		} else if err != nil || got != c.want {
			t.Errorf("%s %s: %v, %v", c.text, c.env, got, err)
		}
	}
}

// FuzzParseShard checks that ParseShard returns an error or an index below the
// count, that the shard printed as i/N parses to the same shard, and that the shard
// contains the job of its own index but not the next one.
func FuzzParseShard(f *testing.F) {
	for _, c := range [][3]string{{"0/3"}, {"auto", "4", "2"}, {"auto/3", "2", ""}, {"3/3"}, {"-1/2"}, {"1/0"}, {" 1/2 "}, {"a/b"}, {"9223372036854775807/9223372036854775807"}, {"auto", "x", "1"}} {
		f.Add(c[0], c[1], c[2])
	}
	f.Fuzz(func(t *testing.T, text, index, count string) {
		fuzzguard.Run(t, func() {
			variables := map[string]string{"SLURM_ARRAY_TASK_ID": index, "SLURM_ARRAY_TASK_COUNT": count, "JOB_COMPLETION_INDEX": index}
			lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
			s, err := ParseShard(text, lookup)
			if err != nil {
				if err.Error() == "" {
					t.Fatal("the error has no text")
				}
				return
			}
			if s.Index < 0 || s.Index >= s.Count {
				t.Fatalf("%q: %+v", text, s)
			}
			again, err := ParseShard(fmt.Sprintf("%d/%d", s.Index, s.Count), nil)
			if err != nil || again != s {
				t.Fatalf("%+v read back as %+v, %v", s, again, err)
			}
			if !s.holds(s.Index) || s.Count > 1 && s.holds(s.Index+1) {
				t.Fatalf("%+v holds the wrong jobs", s)
			}
		})
	})
}
