package grid

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// productModel is a kernel at some parameters on a grid. The factor of an axis is the kernel between rows that
// differ only in this axis and otherwise have the values of one row, the reference. So each factor has
// the others' values k_b(r, r) as a constant, and
//
//	K = c·⊗K_a,  c = κ^(1−A),  κ = k(r, r),  ∂K = c·Σ_a ∂K_a ⊗ (the others) + (1 − A)·∂κ/κ·K
//
// for A axes, without the need to divide the kernel's expression.
type productModel struct {
	*lattice
	prog  *kernel.Program
	theta []float64
	e     *kernel.Evaluator
	// reference has the reference as its only point, and points are the values of each axis.
	reference *kernel.Points
	points    []*kernel.Points
	// k are the K_a, scale is c, and slopes are the ∂κ/κ.
	k      []blas64.General
	scale  float64
	slopes []float64
}

// newModel computes the factors of all axes.
func newModel(l *lattice, x *kernel.Points, prog *kernel.Program, theta []float64) (*productModel, error) {
	if err := prog.CheckTheta(theta); err != nil {
		return nil, err
	}
	m := &productModel{lattice: l, prog: prog, theta: slices.Clone(theta), e: kernel.NewEvaluator(prog), slopes: make([]float64, len(theta))}
	m.e.Bind(theta)
	largest := m.choose(x)
	for a := range l.axes {
		own := &l.axes[a]
		m.points = append(m.points, m.at(x.Pick(own.rows), a))
		k := square(own.size())
		for i := range own.size() {
			m.e.Row(k.Data[i*k.Stride:], m.points[a], i, m.points[a], 0, own.size())
		}
		if err := checkFinite(k, own.rows); err != nil {
			return nil, err
		}
		m.k = append(m.k, k)
	}
	if largest == 0 {
		return m, nil // K = 0
	}
	m.scale = 1
	for range len(l.axes) - 1 {
		m.scale /= largest
	}
	m.e.RowGradient(m.slopes, []float64{1 / largest}, m.reference, 0, m.reference, 0, 1)
	return m, nil
}

// choose takes the row with the largest variance κ as the reference, and returns κ: no factor then has
// a constant 0 unless K is 0.
func (m *productModel) choose(x *kernel.Points) float64 {
	best, variance := 0, make([]float64, 1)
	m.e.Diagonal(variance, x, 0, 1)
	largest := variance[0]
	if !m.prog.Stationary() {
		all := make([]float64, x.N)
		m.e.Diagonal(all, x, 0, x.N)
		for i, v := range all {
			if v > largest {
				best, largest = i, v
			}
		}
	}
	m.reference = x.Pick([]int{best})
	return largest
}

// checkFinite returns an error for a factor that is not finite.
func checkFinite(k blas64.General, rows []int) error {
	for at, v := range k.Data {
		if v-v != 0 {
			return &device.NonFiniteError{What: "covariance matrix", Row: rows[at/k.Stride], Col: rows[at%k.Stride]}
		}
	}
	return nil
}

// at returns points with the values of the reference in all columns except an axis'.
func (m *productModel) at(x *kernel.Points, a int) *kernel.Points {
	out := &kernel.Points{N: x.N, D: x.D, X: slices.Clone(x.X)}
	for c := range x.D {
		if slices.Contains(m.axes[a].columns, c) {
			continue
		}
		column, v := out.Column(c), m.reference.Column(c)[0]
		for i := range column {
			column[i] = v
		}
	}
	return out
}

// isAt reports whether m belongs to a kernel at theta.
func (m *productModel) isAt(prog *kernel.Program, theta []float64) bool {
	return m != nil && m.prog.Same(prog) && slices.Equal(m.theta, theta)
}
