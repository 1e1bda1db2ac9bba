package fit

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
	"gpfit/kernel"
)

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
			host := must.Get(cpu.New(device.Options{Threads: threads}))(t)
			c := counting{host, new(atomic.Int32), new(atomic.Int32)}
			out := must.Get(Run(t.Context(), mustPrepare(t, synthetic(230), o), c))(t)
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
