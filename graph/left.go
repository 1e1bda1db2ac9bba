package graph

import (
	"fmt"
	"gpfit/device"
	"math"
	"slices"
)

// objective returns the value of looOp.
func (l *errorScores) objective() float64 {
	if !l.squaredError {
		return l.density
	}
	n, all := float64(l.rows), float64(l.rows*len(l.squares))
	f := all / 2 * (l.standardised - 1 - math.Log(l.standardised))
	for _, m := range l.squares {
		f += n / 2 * (math.Log(2*math.Pi*m) + 1)
	}
	return f
}

// slope returns p, n×T.
func (l *leftOut) slope() []float64 {
	if !l.squaredError {
		return l.a
	}
	n := len(l.q)
	p := make([]float64, len(l.a))
	for k, a := range l.a {
		p[k] = a/(l.q[k%n]*l.squares[k/n]) + (1-1/l.standardised)*a
	}
	return p
}

// weights returns w, n numbers.
func (l *leftOut) weights(alpha []float64) []float64 {
	n := len(l.q)
	w := make([]float64, n)
	for k, a := range l.a {
		i := k % n
		if l.squaredError {
			w[i] += a * a * (1/(l.q[i]*l.squares[k/n]) + (1-1/l.standardised)/2)
		} else {
			w[i] += (1 + alpha[k]*a) / 2 / l.q[i]
		}
	}
	return w
}

// LeverageError reports a point, or a fold of them, that has no prediction because the
// other points do not determine the mean's coefficients.
type LeverageError struct {
	// Index is the number of the point, or of the fold, from 0.
	Index int
	Fold  bool
}

func (e *LeverageError) Error() string {
	if e.Fold {
		return fmt.Sprintf("graph: without fold %d (counted from 0) the data do not determine the coefficients of the mean: cross-validation needs a simpler mean function or more folds", e.Index)
	}
	return fmt.Sprintf("graph: without point %d (counted from 0) the data do not determine the coefficients of the mean: leave-one-out needs a simpler mean function", e.Index)
}

// leaveOneOut returns looOp's state at the parameters of the last nlml. It costs
// 2n³/3 operations; a contraction that follows reuses half of them.
func (s *solver) leaveOneOut() (*leftOut, error) {
	if s.left != nil {
		return s.left, nil
	}
	n := s.ws.N()
	l := &leftOut{errorScores: newErrorScores(n, s.targets, s.squaredError), q: make([]float64, n), a: make([]float64, len(s.alpha))}
	inverse, err := device.Capability[device.InverseDiagonal](s.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err != nil {
		return nil, err
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	if err := inverse.InverseDiagonal(s.ctx, l.q); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	kappa := slices.Clone(l.q)
	if len(s.h) > 0 {
		l.w = s.whitened()
		for j := 0; j < len(l.w); j += n {
			for i, v := range l.w[j : j+n] {
				l.q[i] -= v * v
			}
		}
	}
	for i, q := range l.q {
		// Cancellation can turn a zero difference into ε·κ.
		if !(q > 1e-12*kappa[i]) {
			return nil, &LeverageError{Index: i}
		}
	}
	for k, alpha := range s.alpha {
		q := l.q[k%n]
		l.a[k] = alpha / q
		l.density += -math.Log(q)/2 + alpha*l.a[k]/2 + math.Log(2*math.Pi)/2
		l.squares[k/n] += l.a[k] * l.a[k] / float64(n)
		l.standardised += alpha * l.a[k] / float64(len(s.alpha))
	}
	s.left = l
	return l, nil
}

// whitened returns W (n×q, column-major) with WWᵀ = Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹.
func (s *solver) whitened() []float64 {
	n := s.ws.N()
	q := len(s.h) / n
	rows := make([]float64, n*q)
	for i := range n {
		for j := range q {
			rows[i*q+j] = s.solvedH[j*n+i]
		}
	}
	s.gls.Whiten(rows)
	w := make([]float64, n*q)
	for i := range n {
		for j := range q {
			w[j*n+i] = rows[i*q+j]
		}
	}
	return w
}
