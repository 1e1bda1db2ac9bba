package speed

import (
	"context"
	"slices"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/internal/hostmem"
	"gpfit/internal/testcheck"
	"gpfit/show/plotting"
)

func TestSynthetic(t *testing.T) {
	long, short := Synthetic(50, 3, 7), Synthetic(20, 3, 7)
	first := FirstRows(long, 20)
	if first.N != 20 || !slices.Equal(first.X, short.X) || !slices.Equal(first.Y, short.Y) {
		t.Error("a shorter table is not the beginning of a longer one")
	}
	if slices.Equal(Synthetic(20, 3, 8).Y, short.Y) {
		t.Error("another seed gives the same table")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 3, 2, 1}, 2.5}} {
		if got := Median(c.v); got != c.want {
			t.Errorf("median of %v: %v", c.v, got)
		}
	}
}

// TestNothingIsReused checks by counting operations that every timed evaluation factors again.
func TestNothingIsReused(t *testing.T) {
	const n, repeat = 96, 3
	job := testcheck.Get(fit.Prepare(Synthetic(n, 2, 1), problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{}))(t)
	b, err := cpu.New(device.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	var flops float64
	err = fit.Measure(t.Context(), job, b, func(p *fit.Parts) error {
		if _, err := measure(t.Context(), p, repeat); err != nil {
			return err
		}
		flops = p.Workspace.Work().Flops
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cube := float64(n * n * n)
	predictions := float64(1+repeat) * cube
	if least := float64(1+repeat)*cube + repeat*cube/3 + predictions; flops < 0.99*least {
		t.Errorf("%.3g operations, expected at least %.3g", flops, least)
	}
}

// TestPeak checks that the memory of one n is measured and that the next n starts over.
func TestPeak(t *testing.T) {
	if hostmem.Peak() == 0 {
		t.Skip("this system does not tell the peak memory")
	}
	exclusive := resetPeak()
	before := hostmem.Peak()
	buffer := make([]byte, 64<<20)
	for i := range buffer {
		buffer[i] = byte(i)
	}
	if rise := hostmem.Peak() - before; rise < 60<<20 {
		t.Errorf("peak rose by %d bytes for a buffer of 64 MiB", rise)
	}
	clear(buffer)
	buffer = nil
	high := hostmem.Peak()
	if resetPeak() && exclusive && hostmem.Peak() > high-32<<20 {
		t.Errorf("peak %d after the reset, %d before it", hostmem.Peak(), high)
	}
}

// bare is a backend that does not list its devices.
type bare struct{ device.Backend }

func (bare) Capabilities() device.Capabilities { return device.Capabilities{} }

func TestDgemmRate(t *testing.T) {
	b := testcheck.Get(cpu.New(device.Options{Threads: 1}))(t)
	limit, err := DgemmRate(t.Context(), b)
	if err != nil || limit.Rate < 1e6 || limit.N < 256 {
		t.Errorf("limit %+v, error %v", limit, err)
	}
	before := limit
	if err := limit.Again(t.Context(), b); err != nil || limit.Rate < before.Rate || limit.N != before.N {
		t.Errorf("limit %+v after %+v, error %v", limit, before, err)
	}
	if limit, err := DgemmRate(context.Background(), bare{b}); err != nil || limit != (Limit{}) {
		t.Errorf("a backend without the measurement: %+v, error %v", limit, err)
	}
}

func TestPlot(t *testing.T) {
	var results []*Result
	for _, device := range []string{"cpu", "cuda:0"} {
		for _, n := range []int{4000, 1000, 2000} {
			r := &Result{Device: device, N: n, D: 8, Kernel: "rbf", Seconds: Seconds{SecondsValue: float64(n) * 1e-5, SecondsValueGradient: float64(n) * 2e-5}}
			if device == "cpu" {
				r.DgemmGFlops = 160
			}
			results = append(results, r)
		}
	}
	f := Plot(results)
	var names []string
	for _, layer := range f.Charts[0].Layers {
		l, ok := layer.(*plotting.Line)
		if !ok {
			continue
		}
		names = append(names, l.Name)
		if !slices.Equal(l.X, []float64{1000, 2000, 4000}) {
			t.Errorf("%s: n = %v", l.Name, l.X)
		}
	}
	want := []string{"cpu: value and gradient", "cpu: value", "cpu: limit of value and gradient, n³ at 160 GFLOP/s", "cuda:0: value and gradient", "cuda:0: value"}
	if !slices.Equal(names, want) {
		t.Errorf("series %q", names)
	}
}
