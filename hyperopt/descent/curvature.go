package descent

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/matrixrows"
)

// Metric is an approximation of a Hessian ∂²f/∂z², symmetric, p×p in row-major order.
type Metric []float64

// Scaled returns the metric of factor·f, or nil for a nil metric.
func (m Metric) Scaled(factor float64) Metric {
	out := slices.Clone(m)
	floats.Scale(factor, out)
	return out
}

// Nats returns ½(b−a)ᵀM(b−a), the rise of f from its minimum at a to b according to
// the quadratic model of the metric, or +Inf if the metric is nil.
func (m Metric) Nats(a, b []float64) float64 {
	if m == nil {
		return math.Inf(1)
	}
	d := make([]float64, len(a))
	floats.SubTo(d, b, a)
	return dot(d, m.times(d)) / 2
}

// times returns the product with x.
func (m Metric) times(x []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = dot(m[i*len(x):(i+1)*len(x)], x)
	}
	return out
}

// floored returns the metric with its eigenvalues below least raised to it, which is positive definite.
func (m Metric) floored(p int, least float64) (Metric, error) {
	e := newRestriction(mat.NewSymDense(p, slices.Clone(m)))
	if e.values == nil {
		return nil, fmt.Errorf("the eigenvalues of a metric cannot be computed")
	}
	b := make(Metric, p*p)
	for k, lambda := range e.values {
		lambda = math.Max(lambda, least)
		for i := range p {
			for j := range p {
				b[i*p+j] += lambda * e.vectors.At(i, k) * e.vectors.At(j, k)
			}
		}
	}
	return b, nil
}

// MostModelled is the number of parameters beyond which no p×p matrix approximates the Hessian: it
// would take more memory and time than the evaluations. L-BFGS then has no such model.
const MostModelled = 1000

// mostDifferenced is the number of parameters beyond which a descent computes no Hessian by differences: its two
// gradients for each parameter cost more than the descent.
const mostDifferenced = 250

// learned returns B, nil before the first pair, updated with the step s and the change y of the gradient
// by the damped BFGS formula (N&W procedure 18.2), which keeps B positive definite for either sign of
// sᵀy. It overwrites B.
func (m Metric) learned(s, y []float64) Metric {
	p := len(s)
	if p > MostModelled {
		return m
	}
	sy := dot(s, y)
	if m == nil {
		if !(sy > minCosine*math.Sqrt(dot(s, s)*dot(y, y))) {
			return nil
		}
		m = make(Metric, p*p)
		for i := range p {
			m[i*p+i] = dot(y, y) / sy // N&W 6.20, for B
		}
	}
	bs := m.times(s)
	sbs := dot(s, bs)
	if !(sbs > 0) || math.IsInf(sbs, 0) {
		return m
	}
	r := slices.Clone(y)
	if sy < 0.2*sbs {
		theta := 0.8 * sbs / (sbs - sy)
		for i := range r {
			r[i] = theta*y[i] + (1-theta)*bs[i]
		}
		sy = dot(s, r)
	}
	for i := range p {
		for j := range p {
			m[i*p+j] += r[i]*r[j]/sy - bs[i]*bs[j]/sbs
		}
	}
	return m
}

// part returns B over some of p parameters, which their indices name.
func (m Metric) part(p int, index []int) *mat.SymDense {
	b := mat.NewSymDense(len(index), nil)
	for a, i := range index {
		for e := a; e < len(index); e++ {
			b.SetSym(a, e, m[i*p+index[e]])
		}
	}
	return b
}

// solve returns B⁻¹g over the parameters with the given indices, and false if it
// cannot compute that.
func (m Metric) solve(p int, index []int, g []float64) (*mat.VecDense, bool) {
	if m == nil {
		return nil, false
	}
	var chol mat.Cholesky
	var x mat.VecDense
	if !chol.Factorize(m.part(p, index)) || chol.SolveVecTo(&x, mat.NewVecDense(len(index), g)) != nil {
		return nil, false // not positive definite, or nearly singular
	}
	return &x, true
}

// newton writes −B⁻¹g over the parameters with the given indices to dir and reports
// whether it succeeded.
func (m Metric) newton(p int, index []int, g, dir []float64) bool {
	x, ok := m.solve(p, index, g)
	if ok {
		for a := range dir {
			dir[a] = -x.AtVec(a)
		}
	}
	return ok
}

// promise returns the decrease of f to the minimum of its quadratic model over the
// parameters with the given indices, ½gᵀB⁻¹g. g is the gradient over all p
// parameters. Without a model it returns +Inf.
func (m Metric) promise(index []int, g []float64) float64 {
	if m == nil {
		return math.Inf(1)
	}
	if len(index) == 0 {
		return 0
	}
	part := matrixrows.Values(g, index)
	x, ok := m.solve(len(g), index, part)
	if !ok {
		return math.Inf(1)
	}
	return mat.Dot(mat.NewVecDense(len(part), part), x) / 2
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// metricFloor is the smallest eigenvalue of a metric, in units of f per squared log
// unit; smaller ones are raised to it. It bounds steps where f is flat (to g/2 log
// units for a slope g) and where the Hessian is not positive definite. On elevators
// (18 columns) 2 works well; 10 stays far from the optimum for a long time.
const metricFloor = 2

// minCosine is the smallest acceptable cosine between the direction and the
// steepest descent, and between the step and the change of the gradient; below it
// the memory is cleared (N&W p. 47 and 7.2: sᵀy must be positive).
const minCosine = 1e-10
