package device

import (
	"context"
	"encoding/json"
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

// CachedCrossover returns a function for [Request] that measures once for each
// pair of devices and remembers the result in a file of the user's cache
// directory; renew measures again. A cache that cannot be read or written is
// no failure.
func CachedCrossover(renew bool) func(ctx context.Context, accelerator, host Backend) (int, error) {
	path := ""
	if dir, err := os.UserCacheDir(); err == nil {
		path = filepath.Join(dir, "gpfit", "crossover.json")
	}
	return cachedCrossover(path, renew, MeasureCrossover)
}

func cachedCrossover(path string, renew bool, measure func(ctx context.Context, accelerator, host Backend) (int, error)) func(ctx context.Context, accelerator, host Backend) (int, error) {
	return func(ctx context.Context, accelerator, host Backend) (int, error) {
		key := accelerator.Info().Description + " | " + host.Info().Description
		known := map[string]int{}
		if text, err := os.ReadFile(path); err == nil {
			_ = json.Unmarshal(text, &known)
		}
		if n, ok := known[key]; ok && n > 0 && !renew {
			return n, nil
		}
		n, err := measure(ctx, accelerator, host)
		if err != nil {
			return 0, err
		}
		known[key] = n
		if text, err := json.MarshalIndent(known, "", "  "); err == nil && path != "" {
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			_ = atomicfile.Write(ctx, path, func(w io.Writer) error { _, err := w.Write(text); return err })
		}
		return n, nil
	}
}
