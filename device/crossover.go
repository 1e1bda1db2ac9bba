package device

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"gpfit/internal/atomicfile"
	"gpfit/internal/userfile"
	"gpfit/kernel"
)

// Bounds of the crossover measurement: below the first, no accelerator pays off; at
// the last, the measurement gives up.
const (
	crossoverFirst = 128
	crossoverLast  = 8192
)

// NeverPays is the crossover of an accelerator that was not faster at any measured size.
const NeverPays = math.MaxInt

// measureCrossover returns the smallest n, in a series of doublings, from which the accelerator
// computes one value and gradient faster than the host (rbf on 8 columns, the best of three runs),
// or [NeverPays]. The measurement takes from a fraction of a second to a few seconds.
func measureCrossover(ctx context.Context, accelerator, host Backend) (int, error) {
	for n := crossoverFirst; n <= crossoverLast; n *= 2 {
		fast, err := evaluationTime(ctx, accelerator, n)
		if err != nil {
			return 0, err
		}
		slow, err := evaluationTime(ctx, host, n)
		if err != nil {
			return 0, err
		}
		if fast < slow {
			return n, nil
		}
	}
	return NeverPays, nil
}

// evaluationTime returns the time for one value and gradient at synthetic points.
func evaluationTime(ctx context.Context, b Backend, n int) (time.Duration, error) {
	const d = 8
	prog, err := kernel.CompileText("rbf", d)
	if err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rows, alpha := make([]float64, n*d), make([]float64, n)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	ws, err := b.NewWorkspace(ctx, kernel.NewPoints(rows, n, d))
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	theta, grad, diag := []float64{3, 1}, make([]float64, 2), make([]float64, n)
	best := time.Duration(math.MaxInt64)
	for range 3 { // the first run warms up
		begin := time.Now()
		err := ws.Form(ctx, prog, theta, []float64{0.1})
		if err == nil {
			copy(alpha, rows)
			err = ws.Solve(ctx, alpha, 1)
		}
		if err == nil {
			err = ws.Contract(ctx, Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, grad, diag)
		}
		if err != nil {
			return 0, err
		}
		best = min(best, time.Since(begin))
	}
	return best, nil
}

// Crossover determines the number of points from which an accelerator is faster
// than the host, and stores its measurements in a file in the user's cache
// directory. A cache that cannot be read or written is not an error.
type Crossover struct {
	// Path is the file, "" for none.
	Path string
	// Measure is usually a series of doublings of n.
	Measure func(ctx context.Context, accelerator, host Backend) (int, error)
}

// NewCrossover returns the crossovers of this machine, measured by a series of doublings of n.
func NewCrossover() *Crossover {
	c := &Crossover{Measure: measureCrossover}
	if dir, err := os.UserCacheDir(); err == nil {
		c.Path = filepath.Join(dir, "gpfit", "crossover.json")
	}
	return c
}

// opensFrom is the number of points from which an accelerator without a known
// crossover is opened. Opening one takes seconds (context, libraries, compilation,
// self-test); with fewer points, a whole fit on the host takes less.
const opensFrom = 1000

// worthOpening returns why an accelerator is not worth opening for a job of n
// points, or "". It opens nothing.
func (c *Crossover) worthOpening(accelerator, host Finding, n int) string {
	from, known := c.read()[crossoverKey(accelerator, host)]
	switch {
	case known && n >= from:
	case known:
		return paysFrom(accelerator.Name, from, n)
	case n < opensFrom:
		return fmt.Sprintf("%s was not opened: that takes longer than a job of n = %d on the host", accelerator.Name, n)
	}
	return ""
}

func paysFrom(name string, from, n int) string {
	if from == NeverPays {
		return fmt.Sprintf("%s was not faster than the host at any size tried", name)
	}
	return fmt.Sprintf("%s pays off from n = %d on, but this job has n = %d", name, from, n)
}

// Of returns the crossover of two open devices with the given findings. It measures
// the crossover if it is not known.
func (c *Crossover) Of(ctx context.Context, found, hostFound Finding, accelerator, host Backend) (int, error) {
	if n, ok := c.read()[crossoverKey(found, hostFound)]; ok {
		return n, nil
	}
	return c.Renew(ctx, found, hostFound, accelerator, host)
}

// Renew measures and stores the crossover.
func (c *Crossover) Renew(ctx context.Context, found, hostFound Finding, accelerator, host Backend) (int, error) {
	n, err := c.Measure(ctx, accelerator, host)
	if err != nil {
		return 0, err
	}
	known := c.read()
	known[crossoverKey(found, hostFound)] = n
	if text, err := json.MarshalIndent(known, "", "  "); err == nil && c.Path != "" {
		_ = os.MkdirAll(filepath.Dir(c.Path), 0o755)
		_ = atomicfile.Write(ctx, c.Path, func(w io.Writer) error { _, err := w.Write(text); return err })
	}
	return n, nil
}

// read returns the known crossovers.
func (c *Crossover) read() map[string]int {
	known := map[string]int{}
	if text, err := userfile.Read(c.Path, 1<<20); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	if known == nil { // the file contains null
		known = map[string]int{}
	}
	maps.DeleteFunc(known, func(_ string, n int) bool { return n <= 0 })
	return known
}

// crossoverKey returns a key for a pair of devices from their findings, and for the version of the program, because another
// one may compute faster on either.
func crossoverKey(accelerator, host Finding) string {
	return accelerator.Detail + " | " + host.Detail + " | " + build()
}

// build returns the version of the program, "" if it is unknown.
var build = sync.OnceValue(func() (version string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	version = info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	return version
})
