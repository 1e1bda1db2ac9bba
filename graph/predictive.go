package graph

import (
	"gpfit/device"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// predictive returns looOp's value at the parameters of the last nlml.
func (s *solver) predictive() (float64, error) {
	if s.folds != nil {
		f, err := s.foldsOut()
		if err != nil {
			return 0, err
		}
		return f.objective(), nil
	}
	l, err := s.leaveOneOut()
	if err != nil {
		return 0, err
	}
	return l.objective(), nil
}

// predictiveSlope returns b = Qp, n×T.
func (s *solver) predictiveSlope() (b []float64, err error) {
	if f := s.held; s.folds != nil {
		if f.b == nil {
			f.b, err = s.multiplyQ(f.w, f.p)
		}
		return f.b, err
	}
	l := s.left
	if l.b == nil {
		l.b, err = s.multiplyQ(l.w, l.slope())
	}
	return l.b, err
}

// multiplyQ returns Qp for the n×T matrix p, with Q = Σ⁻¹ − wwᵀ.
func (s *solver) multiplyQ(w, p []float64) ([]float64, error) {
	n := s.ws.N()
	b := slices.Clone(p)
	if err := s.ws.Solve(s.ctx, b, s.targets); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	for t := 0; t < len(b); t += n {
		for j := 0; j < len(w); j += n {
			floats.AddScaled(b[t:t+n], -floats.Dot(w[j:j+n], p[t:t+n]), w[j:j+n])
		}
	}
	return b, nil
}

// contractPredictive contracts g times the adjoint of Σ under looOp.
func (s *solver) contractPredictive(g float64) error {
	n := s.ws.N()
	b, err := s.predictiveSlope()
	if err != nil {
		return err
	}
	var adj device.Adjoint
	for t := 0; t < len(b); t += n {
		addPair(&adj, -g/2, s.alpha[t:t+n], b[t:t+n])
	}
	if s.folds != nil {
		w := s.held.w
		middle, err := s.foldMiddle(g)
		if err != nil {
			return err
		}
		if err := s.addWhitened(&adj, w, s.multiplyMiddle(middle, w)); err != nil {
			return err
		}
		inverse := s.ws.(device.BlockInverse) // foldsOut has used it
		return inverse.ContractBlocks(s.ctx, adj, middle, s.prog, s.theta, s.grad, s.diag)
	}
	middle := s.left.weights(s.alpha)
	floats.Scale(g, middle)
	product := slices.Clone(s.left.w)
	for j := 0; j < len(product); j += n {
		floats.Mul(product[j:j+n], middle)
	}
	if err := s.addWhitened(&adj, s.left.w, product); err != nil {
		return err
	}
	inverse := s.ws.(device.InverseDiagonal) // leaveOneOut has used it
	return inverse.ContractDiagonal(s.ctx, adj, middle, s.prog, s.theta, s.grad, s.diag)
}

// addWhitened adds to an adjoint with a middle term D the part of the mean's
// coefficients. With Q = Σ⁻¹ − WWᵀ, the middle term is
//
//	QDQ = Σ⁻¹DΣ⁻¹ − UWᵀ − WUᵀ,  U = Σ⁻¹DW − ½W(WᵀDW).
//
// product is DW.
func (s *solver) addWhitened(adj *device.Adjoint, w, product []float64) error {
	if len(w) == 0 {
		return nil
	}
	n, u := s.ws.N(), slices.Clone(product)
	if err := s.ws.Solve(s.ctx, u, len(u)/n); err != nil {
		s.formed, s.solved = false, false
		return err
	}
	for j := 0; j < len(u); j += n {
		for k := 0; k < len(u); k += n {
			floats.AddScaled(u[j:j+n], -floats.Dot(w[k:k+n], product[j:j+n])/2, w[k:k+n])
		}
		addPair(adj, -1, u[j:j+n], w[j:j+n])
	}
	return nil
}

// addPair adds c(xyᵀ + yxᵀ) = ½c((x+y)(x+y)ᵀ − (x−y)(x−y)ᵀ) to the outer products.
// It first scales x and y to the same norm to limit cancellation.
func addPair(adj *device.Adjoint, c float64, x, y []float64) {
	nx, ny := floats.Norm(x, 2), floats.Norm(y, 2)
	if nx == 0 || ny == 0 {
		return
	}
	sx, sy := math.Sqrt(ny/nx), math.Sqrt(nx/ny)
	plus, minus := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		plus[i], minus[i] = sx*x[i]+sy*y[i], sx*x[i]-sy*y[i]
	}
	adj.Outer = append(adj.Outer, c/2, -c/2)
	adj.Vectors = append(append(adj.Vectors, plus...), minus...)
}
