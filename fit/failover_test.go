package fit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// failing is the CPU until its k-th factorization, when it fails permanently.
type failing struct {
	device.Backend
	k   *int
	err error
}

func (f failing) Info() device.Info { return device.Info{Name: "cuda:0"} }

func (f failing) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if *f.k == 0 {
		return nil, f.err
	}
	ws, err := f.Backend.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	return failingWorkspace{ws.(curved), f}, nil
}

// curved is a workspace from which a fit takes second derivatives.
type curved interface {
	device.Workspace
	device.DerivativeProducts
}

type failingWorkspace struct {
	curved
	f failing
}

func (w failingWorkspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if *w.f.k--; *w.f.k <= 0 {
		return w.f.err
	}
	return w.curved.Form(ctx, prog, theta, noise)
}

func (w failingWorkspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	return w.curved.(device.InverseDiagonal).InverseDiagonal(ctx, dst)
}

// closeCounter counts calls of Close on the fallback.
type closeCounter struct {
	device.Backend
	closed *int
}

func (c closeCounter) Close() error { *c.closed++; return nil }

// TestFailover checks that the fallback replaces a device that is lost during the fit or has
// too little memory from the start. The result equals an undisturbed run's, with a warning.
func TestFailover(t *testing.T) {
	d, o := synthetic(90), problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}}
	want := mustFit(t, d, o).Report
	for _, cause := range []error{&device.LostError{Device: "cuda:0", Err: errors.New("illegal address")}, &device.MemoryError{Where: "device"}} {
		for _, k := range []int{0, 1, 7} {
			closed, told := 0, 0
			task := watched(t, d, o, problem.Events{
				Fallback:  func(context.Context) (device.Backend, error) { return closeCounter{backend, &closed}, nil },
				OnWarning: func(string) { told++ },
			})
			var lost *device.LostError
			if k == 0 && errors.As(cause, &lost) {
				continue // a device is not lost before it was had
			}
			left := k
			out := testcheck.Get(Run(t.Context(), task, failing{backend, &left, cause}))(t)
			r := out.Report
			if math.Abs(r.NLML-want.NLML) > 1e-12*math.Abs(want.NLML) || r.Device != "cpu" || told != 1 ||
				len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1], "gpfit continued on cpu") {
				t.Errorf("%T at %d: NLML %v, want %v; device %s, %d messages, warnings %q", cause, k, r.NLML, want.NLML, r.Device, told, r.Warnings)
			}
			// The failed evaluation is repeated and counts once.
			if k > 0 && (r.Evaluations != want.Evaluations || r.Iterations != want.Iterations) {
				t.Errorf("%T at %d: %+v in %d iterations, undisturbed %+v in %d", cause, k, r.Evaluations, r.Iterations, want.Evaluations, want.Iterations)
			}
			testcheck.Do(t, out.SaveModel(t.TempDir()+"/m", true))
			out.Close()
			if closed != 1 {
				t.Errorf("the fallback was closed %d times", closed)
			}
		}
	}
}

// TestNoFailover checks that the error is the device's if there is no fallback or the
// fallback fails, too.
func TestNoFailover(t *testing.T) {
	lost := &device.LostError{Device: "cuda:0", Err: errors.New("illegal address")}
	for what, fallback := range map[string]func(context.Context) (device.Backend, error){
		"none":   nil,
		"broken": func(context.Context) (device.Backend, error) { return nil, errors.New("no cpu") },
	} {
		task := watched(t, synthetic(40), problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{Fallback: fallback})
		k := 3
		out, err := Run(t.Context(), task, failing{backend, &k, lost})
		if testcheck.Fail[*device.LostError](t, err, "to continue from there: set lengthscale="); out != nil {
			t.Errorf("%s: outcome %v", what, out)
		}
	}
}

// checking is the CPU with a residual that the test chooses.
type checking struct {
	device.Backend
	residual float64
}

func (c checking) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	ws, err := c.Backend.NewWorkspace(ctx, x)
	return checkingWorkspace{ws, c.residual}, err
}

type checkingWorkspace struct {
	device.Workspace
	residual float64
}

func (w checkingWorkspace) Residual(context.Context) (float64, error) { return w.residual, nil }

func TestResidual(t *testing.T) {
	for _, c := range []struct {
		from     int
		residual float64
		wrong    bool
	}{{30, 1e-13, false}, {30, 1e-8, true}, {30, 0.1, true}, {31, 0.1, false}} {
		task := mustPrepare(t, synthetic(30), problem.Options{Kernel: "rbf", Mean: "zero"})
		task.ResidualFrom = c.from
		r, err := Evaluate(t.Context(), task, checking{backend, c.residual}, nil)
		if c.wrong {
			testcheck.Fail[error](t, err, "cpu computes wrong results: do not use this device or its libraries (factor")
			_, err = Run(t.Context(), task, checking{backend, c.residual})
			testcheck.Fail[error](t, err)
			continue
		}
		testcheck.Do(t, err)
		if checked := c.from <= 30; checked != (r.Residual != nil) || checked && *r.Residual != c.residual {
			t.Errorf("%+v: residual %v", c, r.Residual)
		}
	}
}

// slipping is the CPU, called a GPU, whose inverse has a relative error from the k-th gradient on.
type slipping struct {
	device.Backend
	left *int
}

func (s slipping) Info() device.Info { return device.Info{Name: "cuda:0"} }

func (s slipping) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	ws, err := s.Backend.NewWorkspace(ctx, x)
	return slippingWorkspace{ws.(curved), s.left}, err
}

type slippingWorkspace struct {
	curved
	left *int
}

func (w slippingWorkspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if *w.left--; *w.left < 0 {
		adj.Inv *= 1 + 1e-6
	}
	return w.curved.Contract(ctx, adj, prog, theta, grad, diag)
}

// TestWrongGradient checks that a fit on a device that begins to compute wrong gradients ends with
// an error that names it, or continues on the fallback to the same result.
func TestWrongGradient(t *testing.T) {
	d := synthetic(90)
	want := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}).Report
	for _, k := range []int{0, 3} {
		left := k
		_, err := Run(t.Context(), mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}), slipping{backend, &left})
		testcheck.Fail[*device.WrongError](t, err, "cuda:0")
		fallback := func(context.Context) (device.Backend, error) { return backend, nil }
		task := watched(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}, problem.Events{Fallback: fallback})
		left = k
		out := testcheck.Get(Run(t.Context(), task, slipping{backend, &left}))(t)
		if r := out.Report; r.Device != "cpu" || math.Abs(r.NLML-want.NLML) > 1e-9*math.Abs(want.NLML) || !strings.Contains(strings.Join(r.Warnings, "\n"), "do not use this device") {
			t.Errorf("gradient %d: NLML %v on %s, want %v; %q", k, r.NLML, r.Device, want.NLML, r.Warnings)
		}
		out.Close()
	}
}

// TestWrongFactor checks that the fit verifies the first factor before it uses it.
func TestWrongFactor(t *testing.T) {
	fallback := func(context.Context) (device.Backend, error) { return backend, nil }
	task := watched(t, synthetic(30), problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{Fallback: fallback})
	task.ResidualFrom = 30
	out := testcheck.Get(Run(t.Context(), task, checking{backend, 0.1}))(t)
	defer out.Close()
	testcheck.Words(t, strings.Join(out.Report.Warnings, "\n"), "gpfit continued on cpu from evaluation 1")
}

// TestManyFits checks that many concurrent fits in one process, each on a separate
// backend or all on one, have the bits of a single fit.
func TestManyFits(t *testing.T) {
	fits := 12
	if testcheck.Long() {
		fits = 32
	}
	d := synthetic(60)
	fit := func(i int, b device.Backend) (string, error) {
		job, err := Prepare(d, problem.Options{Mean: "zero", Kernel: []string{"rbf(ard)", "matern32 + linear"}[i%2], Settings: hyperopt.Settings{Restarts: 1, MaxEvaluations: 30}}, problem.Events{})
		if err != nil {
			return "", err
		}
		out, err := Run(t.Context(), job, b)
		if err != nil {
			return "", err
		}
		defer out.Close()
		return fmt.Sprintf("%016x %v", math.Float64bits(out.Report.NLML), out.Report.Parameters), nil
	}
	one := testcheck.Get(cpu.New(device.Options{Threads: 1}))(t)
	var want [2]string
	for i := range want {
		want[i] = testcheck.Get(fit(i, one))(t)
	}
	var all sync.WaitGroup
	for i := range fits {
		all.Go(func() {
			b := one
			if i%4 == 0 {
				own, err := cpu.New(device.Options{Threads: 1})
				if err != nil {
					t.Error(err)
					return
				}
				b = own
			}
			if got, err := fit(i, b); err != nil || got != want[i%2] {
				t.Errorf("fit %d: %s, %v; alone %s", i, got, err, want[i%2])
			}
		})
	}
	all.Wait()
}

// held holds the resources of a process.
type held struct {
	heap              uint64
	goroutines, files int
}

func holds() held {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd") // nil where there is none
	return held{m.HeapAlloc, runtime.NumGoroutine(), len(files)}
}

// heapSlack is how much the heap may vary between two evaluations, because the
// collector empties pools and they fill again.
const heapSlack = 2 << 20

// TestSoak checks that evaluations, and jobs that are opened and closed, leak neither
// memory nor goroutines nor open files. GPFIT_SOAK is a time such as 10m; the default
// is 2,000 evaluations, in the long form 10,000.
func TestSoak(t *testing.T) {
	ctx := t.Context()
	evaluations := 2000
	if testcheck.Long() {
		evaluations = 10_000
	}
	limit := time.Duration(0)
	if text := os.Getenv("GPFIT_SOAK"); text != "" {
		limit = testcheck.Get(time.ParseDuration(text))(t)
	}
	job := mustPrepare(t, synthetic(40), problem.Options{Kernel: "rbf(ard) + periodic", Mean: "linear"})
	begin, done := time.Now(), 0
	round := func() {
		testcheck.Do(t, Measure(ctx, job, backend, func(p *Parts) error { return evaluateAround(ctx, p, 100) }))
		done += 100
	}
	for range 5 { // pools and caches fill
		round()
	}
	before := holds()
	for done < evaluations || time.Since(begin) < limit {
		round()
		if now := holds(); now.heap > before.heap+heapSlack || now.goroutines > before.goroutines+2 || now.files > before.files+2 {
			t.Fatalf("after %d evaluations %+v, at first %+v", done, now, before)
		}
	}
	t.Logf("%d evaluations in %v: %+v, at first %+v", done, time.Since(begin).Round(time.Second), holds(), before)
}

// evaluateAround evaluates n values and gradients at points around the start.
func evaluateAround(ctx context.Context, p *Parts, n int) error {
	z, grad := make([]float64, len(p.Start)), make([]float64, len(p.Start))
	for i := range n {
		for k, v := range p.Start {
			z[k] = v + 0.3*math.Sin(float64(i*(k+1)))
		}
		if _, err := p.Objective.ValueGradient(ctx, z, grad); err != nil {
			return err
		}
	}
	return nil
}

// counting is a backend that records how many of its workspaces are open at most.
type counting struct {
	device.Backend
	now, most *atomic.Int32
}

func (c counting) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	ws, err := c.Backend.NewWorkspace(ctx, x)
	if n := c.now.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	return countedWorkspace{ws.(device.DenseWorkspace), ws.(device.ThreadLimiter), c}, err
}

type countedWorkspace struct {
	device.DenseWorkspace
	device.ThreadLimiter
	c counting
}

func (w countedWorkspace) Close() error {
	w.c.now.Add(-1)
	return w.DenseWorkspace.Close()
}

// TestSideBySide checks that starts on one host run at the same time, and that neither
// that nor the number of threads changes a bit of the result.
func TestSideBySide(t *testing.T) {
	for name, o := range map[string]problem.Options{
		"race":   {Kernel: "rbf(ard)", Settings: hyperopt.Settings{Restarts: 4, Seed: 2}},
		"to end": {Kernel: "matern32", Settings: hyperopt.Settings{Restarts: 4, Seed: 2, Coarse: hyperopt.CoarseOff}},
	} {
		var want []byte
		for _, threads := range []int{1, 2, 8} {
			host := testcheck.Get(cpu.New(device.Options{Threads: threads}))(t)
			c := counting{host, new(atomic.Int32), new(atomic.Int32)}
			out := testcheck.Get(Run(t.Context(), mustPrepare(t, synthetic(230), o), c))(t)
			if out.Report.Device != "cpu" {
				t.Errorf("%s: device %s", name, out.Report.Device)
			}
			got := bits(t, out)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s with %d threads: other bits:\n%s\nwant\n%s", name, threads, tail(got), tail(want))
			}
			out.Close()
			if most := int(c.most.Load()); most < min(threads, 5) || c.now.Load() != 0 {
				t.Errorf("%s with %d threads: %d workspaces at once, %d are still open", name, threads, most, c.now.Load())
			}
		}
	}
}

// TestCrewSize checks the limits of rows and memory.
func TestCrewSize(t *testing.T) {
	for _, c := range []struct{ rows, threads, want int }{
		{300, 2, 2}, {300, 64, 64}, {2000, 4, 4}, {2000, 64, 16}, {2001, 64, 1}, {1, 1, 1}, {0, 3, 3},
	} {
		if got := tuning.CrewSize(c.rows, c.threads); got != c.want {
			t.Errorf("%d rows, %d threads: %d, want %d", c.rows, c.threads, got, c.want)
		}
	}
}
