package cpu

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

// predictElements bounds the block of cross-covariances: 32 MiB.
const predictElements = 4 << 20

// Predict works through xs in blocks of rows: each holds k(x*, x_i) for all i,
// then b·L⁻ᵀ in its place.
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if reduction != nil && w.stage < stageFactored {
		return device.ErrStage
	}
	if xs.D != w.x.D || len(alpha) != w.n || len(mean) != xs.N || reduction != nil && len(reduction) != xs.N {
		return fmt.Errorf("cpu: prediction at %d points of %d columns with %d weights, n = %d, d = %d", xs.N, xs.D, len(alpha), w.n, w.x.D)
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	perRow := float64(w.n) * float64(w.n)
	w.begin("predict", perRow*float64(xs.N))
	block := min(xs.N, max(1, min(1024, predictElements/w.n)))
	if len(w.cross) < block*w.n {
		w.cross = make([]float64, block*w.n)
	}
	for j0 := 0; j0 < xs.N; j0 += block {
		j1 := min(j0+block, xs.N)
		err := parallelFor(ctx, w.threadsFor(w.n), j1-j0, func(worker, r int) {
			row := w.cross[r*w.n : (r+1)*w.n]
			for i := 0; i < w.n; i += tileCols {
				evaluators[worker].Row(row[i:], xs, j0+r, w.x, i, min(i+tileCols, w.n))
			}
			mean[j0+r] = vec.Dot(row, alpha)
		})
		if err != nil {
			return err
		}
		if reduction == nil {
			continue
		}
		if err := w.solveRight(ctx, 0, w.n, w.cross, w.n, j1-j0); err != nil {
			return err
		}
		for r := range j1 - j0 {
			row := w.cross[r*w.n : (r+1)*w.n]
			reduction[j0+r] = vec.Dot(row, row)
		}
	}
	return nil
}
