package fit

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/must"
)

// TestManyFits checks that many concurrent fits in one process, each on a separate
// backend or all on one, have the bits of a single fit.
func TestManyFits(t *testing.T) {
	const fits = 32
	d := synthetic(60)
	fit := func(i int, b device.Backend) (string, error) {
		job, err := Prepare(d, problem.Options{Kernel: []string{"rbf(ard)", "matern32 + linear"}[i%2], Settings: hyperopt.Settings{Restarts: 1, MaxEvaluations: 30}}, problem.Events{})
		if err != nil {
			return "", err
		}
		out, err := Run(context.Background(), job, b)
		if err != nil {
			return "", err
		}
		defer out.Close()
		return fmt.Sprintf("%016x %v", math.Float64bits(out.Report.NLML), out.Report.Parameters), nil
	}
	one, err := cpu.New(device.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	var want [2]string
	for i := range want {
		if want[i], err = fit(i, one); err != nil {
			t.Fatal(err)
		}
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
// is 10,000 evaluations, a tenth of that with -short.
func TestSoak(t *testing.T) {
	ctx := context.Background()
	evaluations := 10_000
	if testing.Short() {
		evaluations /= 10
	}
	limit := time.Duration(0)
	if text := os.Getenv("GPFIT_SOAK"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	job := must.Get(Prepare(synthetic(40), problem.Options{Kernel: "rbf(ard) + periodic", Mean: "linear"}, problem.Events{}))(t)
	begin, done := time.Now(), 0
	round := func() {
		err := Measure(ctx, job, backend, func(p *Parts) error { return evaluateAround(ctx, p, 100) })
		if err != nil {
			t.Fatal(err)
		}
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
