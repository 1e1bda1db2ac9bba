package kernel

import "math"

// Homogeneous returns weights w of the elements of θ for which K is homogeneous of
// degree one, K(θ·c^w) = c·K(θ), so that by Euler's theorem
//
//	Σ_p w_p ∂K/∂log θ_p = K.
//
// The weights follow from the parameters' units: signal variances have weight 1,
// and lengthscales that set the size have, for example, −½. Homogeneous checks the
// weights on a few points of x and returns nil if the equation does not hold.
func (p *Program) Homogeneous(x *Points) []float64 {
	weights := make([]float64, p.NumParams)
	theta, scaled := make([]float64, p.NumParams), make([]float64, p.NumParams)
	const factor = 2
	for _, q := range p.Params {
		for i := q.Offset; i < q.Offset+q.Size; i++ {
			weights[i] = q.Units.Target / 2
			theta[i] = 0.6 + 0.15*float64(i*3%5)
			scaled[i] = theta[i] * math.Pow(factor, weights[i])
		}
	}
	before, after := p.sampleOf(x, theta), p.sampleOf(x, scaled)
	largest := 0.0
	for _, v := range before {
		largest = max(largest, math.Abs(v))
	}
	for i, v := range before {
		if !(math.Abs(after[i]-factor*v) <= 1e-10*largest) || math.IsInf(largest, 1) {
			return nil
		}
	}
	return weights
}

// sampleOf returns the covariances between a few points spread over x.
func (p *Program) sampleOf(x *Points, theta []float64) []float64 {
	const most = 8
	m := min(x.N, most)
	e := NewEvaluator(p)
	e.Bind(theta)
	out := make([]float64, 0, m*m)
	value := make([]float64, 1)
	for i := range m {
		for j := range m {
			b := j * (x.N - 1) / max(m-1, 1)
			e.Row(value, x, i*(x.N-1)/max(m-1, 1), x, b, b+1)
			out = append(out, value[0])
		}
	}
	return out
}
