package device

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"gpfit/internal/atomicfile"
	"gpfit/kernel"
)

// Crossover sizes: below the first an accelerator never pays; the last is where
// the measurement gives up.
const (
	crossoverFirst = 128
	crossoverLast  = 8192
)

// NeverPays is the crossover of an accelerator that was not faster at any size
// tried.
const NeverPays = math.MaxInt

// MeasureCrossover returns the smallest n, of a doubling series, from which the
// accelerator takes less time than the host for one value and gradient (rbf on 8
// columns, the best of three runs), or [NeverPays]. It takes from a fraction of a
// second to a few seconds.
func MeasureCrossover(ctx context.Context, accelerator, host Backend) (int, error) {
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

// evaluationTime is the time of one value and gradient at synthetic points.
func evaluationTime(ctx context.Context, b Backend, n int) (time.Duration, error) {
	const d = 8
	expr, err := kernel.Parse("rbf")
	if err != nil {
		return 0, err
	}
	prog, err := kernel.Compile(expr, kernel.Columns(d))
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

// Crossover says from how many points on an accelerator takes less time than the
// host, and remembers what it measured in a file of the user's cache directory.
// A cache that cannot be read or written is no failure.
type Crossover struct {
	// Path is the file, "" for none.
	Path string
	// Measure is usually [MeasureCrossover].
	Measure func(ctx context.Context, accelerator, host Backend) (int, error)
}

// NewCrossover returns the crossovers of this machine, by [MeasureCrossover].
func NewCrossover() *Crossover {
	c := &Crossover{Measure: MeasureCrossover}
	if dir, err := os.UserCacheDir(); err == nil {
		c.Path = filepath.Join(dir, "gpfit", "crossover.json")
	}
	return c
}

// opensFrom is the number of points from which an accelerator is opened where no
// crossover is known: opening one takes seconds (context, libraries, compilation,
// self-test), and below this a whole fit takes less on the host.
const opensFrom = 1000

// worthOpening says, without opening anything, why an accelerator is not for a job
// of n points, or "".
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
	return fmt.Sprintf("%s pays from n = %d on, this job has %d", name, from, n)
}

// Of returns the crossover of two open devices that were found as these: the one
// that is known, or it measures.
func (c *Crossover) Of(ctx context.Context, found, hostFound Finding, accelerator, host Backend) (int, error) {
	if n, ok := c.read()[crossoverKey(found, hostFound)]; ok {
		return n, nil
	}
	return c.Renew(ctx, found, hostFound, accelerator, host)
}

// Renew measures and remembers.
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

// read returns what is known.
func (c *Crossover) read() map[string]int {
	known := map[string]int{}
	if text, err := os.ReadFile(c.Path); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	if known == nil { // the file said null
		known = map[string]int{}
	}
	for key, n := range known {
		if n <= 0 {
			delete(known, key)
		}
	}
	return known
}

// crossoverKey names a pair of devices by what is known of them unopened.
func crossoverKey(accelerator, host Finding) string {
	return accelerator.Detail + " | " + host.Detail
}
