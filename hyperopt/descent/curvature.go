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
	p, d := len(a), make([]float64, len(a))
	floats.SubTo(d, b, a)
	sum := 0.0
	for i, v := range d {
		sum += v * dot(m[i*p:(i+1)*p], d)
	}
	return sum / 2
}

// model is the running approximation B of the Hessian over all p parameters, kept
// positive definite.
type model struct {
	p int
	b Metric // nil before the first pair
}

// floored returns the model of a metric whose eigenvalues below least are raised to it.
func (m Metric) floored(p int, least float64) (model, error) {
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(p, slices.Clone(m)), true) {
		return model{}, fmt.Errorf("hyperopt: the eigenvalues of a metric cannot be computed")
	}
	values := e.Values(nil)
	var v mat.Dense
	e.VectorsTo(&v)
	b := make(Metric, p*p)
	for k, lambda := range values {
		lambda = math.Max(lambda, least)
		for i := range p {
			for j := range p {
				b[i*p+j] += lambda * v.At(i, k) * v.At(j, k)
			}
		}
	}
	return model{p, b}, nil
}

// MostModelled is the number of parameters beyond which no p×p matrix approximates the Hessian: it
// would take more memory and time than the evaluations. L-BFGS then has no such model.
const MostModelled = 1000

// learn updates B with the step s and the change y of the gradient by the damped BFGS formula
// (N&W procedure 18.2), which keeps B positive definite for either sign of sᵀy.
func (m *model) learn(s, y []float64) {
	p := m.p
	if p > MostModelled {
		return
	}
	sy := dot(s, y)
	if m.b == nil {
		if !(sy > minCosine*math.Sqrt(dot(s, s)*dot(y, y))) {
			return
		}
		m.b = make(Metric, p*p)
		for i := range p {
			m.b[i*p+i] = dot(y, y) / sy // N&W 6.20, for B
		}
	}
	bs := make([]float64, p)
	for i := range p {
		bs[i] = dot(m.b[i*p:(i+1)*p], s)
	}
	sbs := dot(s, bs)
	if !(sbs > 0) || math.IsInf(sbs, 0) {
		return
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
			m.b[i*p+j] += r[i]*r[j]/sy - bs[i]*bs[j]/sbs
		}
	}
}

// part returns B over the parameters with the given indices.
func (m *model) part(index []int) *mat.SymDense {
	b := mat.NewSymDense(len(index), nil)
	for a, i := range index {
		for e := a; e < len(index); e++ {
			b.SetSym(a, e, m.b[i*m.p+index[e]])
		}
	}
	return b
}

// solve returns B⁻¹g over the parameters with the given indices, and false if it
// cannot compute that.
func (m *model) solve(index []int, g []float64) (*mat.VecDense, bool) {
	if m.b == nil {
		return nil, false
	}
	var chol mat.Cholesky
	var x mat.VecDense
	if !chol.Factorize(m.part(index)) || chol.SolveVecTo(&x, mat.NewVecDense(len(index), g)) != nil {
		return nil, false // not positive definite, or nearly singular
	}
	return &x, true
}

// newton writes −B⁻¹g over the parameters with the given indices to dir and reports
// whether it succeeded.
func (m *model) newton(index []int, g, dir []float64) bool {
	x, ok := m.solve(index, g)
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
func (m *model) promise(index []int, g []float64) float64 {
	if m.b == nil {
		return math.Inf(1)
	}
	if len(index) == 0 {
		return 0
	}
	part := matrixrows.Values(g, index)
	x, ok := m.solve(index, part)
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
