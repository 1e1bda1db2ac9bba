package experts

import (
	"cmp"
	"context"

	"gpfit/device"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// Predict implements [device.Workspace] by the rule of the partition. The means are sums
// over the experts of weights times their means; the weights depend only on the variances,
// so that targets and the basis functions of a mean share them.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
		return err
	}
	if reduction != nil && !w.formed {
		return device.ErrStage
	}
	if w.backend.partition.Combine == Nearest || len(w.experts) == 1 {
		return w.predictNearest(ctx, prog, theta, alpha, xs, mean, reduction)
	}
	which := matrixrows.All(xs.N)
	for first := 0; first < xs.N; first += predictPiece {
		piece := which[first:min(first+predictPiece, xs.N)]
		all, err := w.opinions(ctx, prog, theta, alpha, xs.Pick(piece))
		if err != nil {
			return err
		}
		means, sums := combine(all)
		matrixrows.Put(mean, means, piece, xs.N)
		for i, c := range sums {
			c.temperature = cmp.Or(w.backend.partition.Temperature, 1)
			if reduction != nil {
				reduction[first+i] = c.prior - c.variance()
			}
		}
	}
	return nil
}

// predictPiece is the number of points for which a committee keeps the predictions of all experts.
const predictPiece = 2048

// predictNearest predicts each point by its nearest expert.
func (w *workspace) predictNearest(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	centres := each.Of(w.experts, func(e *expert) []float64 { return e.centre })
	asked, row := make([][]int, len(w.experts)), make([]float64, xs.D)
	for i := range xs.N {
		k, _ := nearest(point(row, xs, i), centres)
		asked[k] = append(asked[k], i)
	}
	return w.each(ctx, square, func(k int, e *expert) error {
		if len(asked[k]) == 0 {
			return nil
		}
		m, own := len(asked[k]), matrixrows.Rows(alpha, e.rows, w.x.N, 1)
		means := make([]float64, len(own)/len(e.rows)*m)
		var reductions []float64
		if reduction != nil {
			reductions = make([]float64, m)
		}
		if err := e.ws.Predict(ctx, prog, theta, own, xs.Pick(asked[k]), means, reductions); err != nil {
			return err
		}
		matrixrows.Put(mean, means, asked[k], xs.N)
		if reduction != nil {
			matrixrows.Put(reduction, reductions, asked[k], xs.N)
		}
		return nil
	})
}
