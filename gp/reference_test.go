package gp

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/must"
)

// reference computes posteriors of newModel's models with an explicit inverse, in
// original units throughout. It uses no code of the package.
type reference struct {
	// k returns the sum of the terms.
	k     func(a, b []float64) float64
	terms [2]func(a, b []float64) float64
	mean  func(a []float64) float64
	noise float64
	x     [][]float64
	inv   mat.Dense
	resid *mat.VecDense
}

func newReference(t testing.TB, m *Model) *reference {
	t.Helper()
	s := m.Scaling
	r := &reference{
		noise: m.NoiseVariance * s.YScale * s.YScale,
		terms: [2]func(a, b []float64) float64{
			func(a, b []float64) float64 {
				u, v := (a[0]-b[0])/s.XScale[0], (a[1]-b[1])/s.XScale[1]
				return s.YScale * s.YScale * 1.2 * math.Exp(-(u*u/(0.7*0.7)+v*v/(1.4*1.4))/2)
			},
			func(a, b []float64) float64 {
				u, v := (a[0]-b[0])/s.XScale[0], (a[1]-b[1])/s.XScale[1]
				r := math.Sqrt(3) * math.Sqrt(u*u+v*v) / 3
				return s.YScale * s.YScale * 0.5 * (1 + r) * math.Exp(-r)
			},
		},
		mean: func(a []float64) float64 {
			return s.YMean + s.YScale*(0.3-0.2*(a[0]-s.XMean[0])/s.XScale[0]+0.1*(a[1]-s.XMean[1])/s.XScale[1])
		},
	}
	r.k = func(a, b []float64) float64 { return r.terms[0](a, b) + r.terms[1](a, b) }
	var y []float64
	for i := range m.N() {
		r.x = append(r.x, m.X[2*i:2*i+2])
		y = append(y, m.Y[i])
	}
	r.condition(t, y)
	return r
}

// condition sets the data: r.x with targets y.
func (r *reference) condition(t testing.TB, y []float64) {
	t.Helper()
	n := len(r.x)
	sigma := mat.NewDense(n, n, nil)
	r.resid = mat.NewVecDense(n, nil)
	for i, xi := range r.x {
		for j, xj := range r.x {
			sigma.Set(i, j, r.k(xi, xj))
		}
		sigma.Set(i, i, sigma.At(i, i)+r.noise)
		r.resid.SetVec(i, y[i]-r.mean(xi))
	}
	must.Do(t, r.inv.Inverse(sigma))
}

func (r *reference) cross(x []float64) *mat.VecDense {
	v := mat.NewVecDense(len(r.x), nil)
	for i, xi := range r.x {
		v.SetVec(i, r.k(x, xi))
	}
	return v
}

func (r *reference) posteriorMean(x []float64) float64 {
	return r.mean(x) + mat.Inner(r.cross(x), &r.inv, r.resid)
}

// posteriorCov returns the covariance of the function at a and b.
func (r *reference) posteriorCov(a, b []float64) float64 {
	return r.k(a, b) - mat.Inner(r.cross(a), &r.inv, r.cross(b))
}
