package grid

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// pointNumbers limits the numbers of a block of predictions.
const pointNumbers = 1 << 20

// axisCovariances computes covariances of points and rows, k* = c·⊗k_a*.
type axisCovariances struct {
	*productModel
	xs []*kernel.Points
}

func (m *productModel) to(xs *kernel.Points) axisCovariances {
	c := axisCovariances{productModel: m}
	for a := range m.axes {
		c.xs = append(c.xs, m.at(xs, a))
	}
	return c
}

// block returns the k_a* of the points from j0 to j1 as rows.
func (c axisCovariances) block(a, j0, j1 int) blas64.General {
	g := c.axes[a].size()
	out := rectangle(j1-j0, g)
	for j := j0; j < j1; j++ {
		c.e.Row(out.Data[(j-j0)*g:], c.xs[a], j, c.points[a], 0, g)
	}
	return out
}

// contractAll writes, for each row j of the factors, factor·⟨⊗ of the rows j, x⟩.
func (l *lattice) contractAll(dst []float64, factor float64, factors []blas64.General, x []float64) {
	last := len(factors) - 1
	g, m := l.axes[last].size(), len(dst)
	lines := l.n / g
	inner := rectangle(m, lines)
	addProducts(inner, factor, factors[last], rows(x, g), *l.threads)
	next := make([]float64, lines)
	for j := range m {
		part := row(inner, j)
		for a := last - 1; a >= 0; a-- {
			own := row(factors[a], j)
			rest := rows(part, len(own))
			for i := range rest.Rows {
				next[i] = vec.Dot(row(rest, i), own)
			}
			part = part[:copy(part, next[:rest.Rows])]
		}
		dst[j] = part[0]
	}
}

// crossAt returns what computes covariances of points and rows. If reduced is true, it needs the axes of
// Form.
func crossAt(w *workspace, prog *kernel.Program, theta []float64, xs *kernel.Points, reduced bool) (axisCovariances, error) {
	if reduced && !w.productModel.isAt(prog, theta) {
		return axisCovariances{}, &device.UnsupportedError{Method: Name, What: "variances at other parameters than those of Form"}
	}
	m, err := w.modelAt(prog, theta)
	if err != nil {
		return axisCovariances{}, err
	}
	return m.to(xs), nil
}

// Predict implements [hostmethod.Engine]: the mean is c⟨⊗k_a*, α⟩, and the reduction is
// c²·⟨⊗(U_aᵀk_a*)², 1/D⟩.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	c, err := crossAt(w, prog, theta, xs, reduction != nil)
	if err != nil {
		return err
	}
	each := 2 * float64(len(alpha))
	if reduction != nil {
		each += 2 * float64(w.N)
	}
	w.Begin("predict", each*float64(xs.N))
	cells := make([]float64, len(alpha))
	for k := 0; k < len(alpha); k += w.N {
		c.gather(cells[k:k+w.N], alpha[k:k+w.N])
	}
	if reduction != nil {
		for i, v := range w.d {
			w.work[0][i] = 1 / v
		}
	}
	size := min(max(1, pointNumbers/c.axes[len(c.axes)-1].before), 512)
	for j0 := 0; j0 < xs.N; j0 += size {
		j1 := min(j0+size, xs.N)
		factors := make([]blas64.General, len(c.axes))
		for a := range factors {
			factors[a] = c.block(a, j0, j1)
		}
		for k := range len(alpha) / w.N {
			c.contractAll(mean[k*xs.N+j0:k*xs.N+j1], c.scale, factors, cells[k*w.N:(k+1)*w.N])
		}
		if reduction != nil {
			c.contractAll(reduction[j0:j1], c.scale*c.scale, squares(w.project(factors)), w.work[0])
		}
		if err := w.Step(ctx, each*float64(j1-j0)); err != nil {
			return err
		}
	}
	return nil
}

// PredictCovariance implements [device.JointCovariance]: the sum of c²·⊗f_j·⊗f_k/D over the cells, with
// f_j = U_aᵀk_a* of point j. It takes the cells of one value of the first axis at a time.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	m := xs.N
	c, err := crossAt(w, prog, theta, xs, true)
	if err != nil {
		return err
	}
	lines := w.axes[0].after
	if err := w.CheckRoom(m, 16*int64(m)*int64(lines)); err != nil {
		return err
	}
	each := float64(m) * float64(m) * float64(lines)
	w.Begin("predict", each*float64(w.axes[0].size()))
	factors := make([]blas64.General, len(c.axes))
	for a := range factors {
		factors[a] = c.block(a, 0, m)
	}
	factors = w.project(factors)
	rest, weighted := w.outerProducts(factors), rectangle(m, lines)
	clear(reduction)
	for p := range w.axes[0].size() {
		w.weighRows(weighted.Data, rest, factors[0], p)
		addProducts(rows(reduction, m), 1, weighted, weighted, w.Threads)
		if err := w.Step(ctx, each); err != nil {
			return err
		}
	}
	return nil
}
