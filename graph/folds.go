package graph

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/spd"
)

// checkFolds returns an error unless folds are nil or the ends of at least two folds of n
// rows.
func checkFolds(folds []int, n int) error {
	if folds == nil {
		return nil
	}
	if len(folds) < 2 {
		return fmt.Errorf("graph: %d folds: cross-validation needs two", len(folds))
	}
	first := 0
	for _, end := range folds {
		if end <= first || end > n {
			return fmt.Errorf("graph: folds end at rows %v of %d", folds, n)
		}
		first = end
	}
	if first != n {
		return fmt.Errorf("graph: folds of %d rows for %d points", first, n)
	}
	return nil
}

// foldsOut returns looOp's state at the parameters of the last nlml.
func (s *solver) foldsOut() (*foldOut, error) {
	if s.held != nil {
		return s.held, nil
	}
	n := s.ws.N()
	inverse, err := device.Capability[device.BlockInverse](s.ws, "blocks of the inverse, which K-fold cross-validation needs")
	if err != nil {
		return nil, err
	}
	if s.blocks == nil {
		s.blocks = device.NewBlocks(s.folds)
		if s.engine, err = spd.Open(s.threads); err != nil {
			return nil, err
		}
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	if err := inverse.InverseBlocks(s.ctx, s.blocks); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	f := &foldOut{errorScores: newErrorScores(n, s.targets, s.squaredError)}
	f.v, f.h = make([]float64, n), make([]float64, n)
	f.a, f.e, f.p = make([]float64, len(s.alpha)), make([]float64, len(s.alpha)), make([]float64, len(s.alpha))
	if len(s.h) > 0 {
		f.w = s.whitened()
	}
	fold := 0
	if err := s.blocks.Each(func(first, m int, v []float64) error {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.invertFold(f.w, fold, first, m, v); err != nil {
			return err
		}
		for t := 0; t < len(s.alpha); t += n {
			s.multiplyFold(m, v, s.alpha[t+first:], f.a[t+first:])
		}
		for i := range m {
			f.v[first+i] = v[i*m+i]
		}
		fold++
		return nil
	}); err != nil {
		return nil, err
	}
	f.score()
	f.slopes()
	_ = s.blocks.Each(func(first, m int, v []float64) error {
		for t := 0; t < len(s.alpha); t += n {
			s.multiplyFold(m, v, f.e[t+first:], f.p[t+first:])
		}
		return nil
	})
	s.held = f
	return f, nil
}

// foldMatrix returns space for the computations with a fold of m rows.
func (s *solver) foldMatrix(m int) *spd.Symmetric {
	if s.fold == nil || s.fold.N() != m {
		s.fold = s.engine.New(m)
	}
	return s.fold
}

// invertFold replaces the block of Σ⁻¹ for the rows of a fold by V, both halves.
func (s *solver) invertFold(w []float64, fold, first, m int, v []float64) error {
	n := s.ws.N()
	kappa := make([]float64, m)
	for i := range m {
		kappa[i] = v[i*m+i]
		for j := 0; j < len(w); j += n {
			floats.AddScaled(v[i*m:(i+1)*m], -w[j+first+i], w[j+first:j+first+m])
		}
	}
	q := s.foldMatrix(m)
	q.Load(v)
	minor, err := q.Factor(s.ctx, 0, nil)
	if err != nil {
		return err
	}
	if minor > 0 {
		if len(w) > 0 {
			return &LeverageError{Index: fold, Fold: true}
		}
		return &device.NotPDError{Minor: first + minor, N: n}
	}
	for i, pivot := range q.FactorDiagonal() {
		// As in leaveOneOut.
		if len(w) > 0 && !(pivot*pivot > 1e-12*kappa[i]) {
			return &LeverageError{Index: fold, Fold: true}
		}
	}
	if err := q.Invert(s.ctx, nil); err != nil {
		return err
	}
	q.Inverse(v)
	return nil
}

// multiplyFold writes the product of the m×m matrix v with the first numbers of x to y.
func (s *solver) multiplyFold(m int, v, x, y []float64) {
	for i := range m {
		y[i] = floats.Dot(v[i*m:(i+1)*m], x[:m])
	}
}

// score computes the criteria.
func (f *foldOut) score() {
	n := len(f.v)
	for k, a := range f.a {
		v := f.v[k%n]
		f.density += math.Log(v)/2 + a*a/(2*v) + math.Log(2*math.Pi)/2
		f.squares[k/n] += a * a / float64(n)
		f.standardised += a * a / v / float64(len(f.a))
	}
}

// slopes computes e and h.
func (f *foldOut) slopes() {
	n := len(f.v)
	for k, a := range f.a {
		i := k % n
		v := f.v[i]
		if f.squaredError {
			excess := 1 - 1/f.standardised
			f.e[k] = a/f.squares[k/n] + excess*a/v
			f.h[i] -= excess * a * a / (2 * v * v)
		} else {
			f.e[k] = a / v
			f.h[i] += (1 - a*a/v) / (2 * v)
		}
	}
}

// foldMiddle returns g times the middle term W, which takes the place of V.
func (s *solver) foldMiddle(g float64) (*device.Blocks, error) {
	f := s.held
	if f.scale != 0 {
		floats.Scale(g/f.scale, s.blocks.Elements)
		f.scale = g
		return s.blocks, nil
	}
	n := s.ws.N()
	if err := s.blocks.Each(func(first, m int, v []float64) error {
		q, h := s.foldMatrix(m), slices.Clone(f.h[first:first+m])
		floats.Scale(g, h)
		q.LoadInverse(v)
		if err := q.WeighInverse(s.ctx, h, v); err != nil {
			return err
		}
		for t := 0; t < len(f.a); t += n {
			a, p := f.a[t+first:t+first+m], f.p[t+first:t+first+m]
			for i := range m {
				floats.AddScaled(v[i*m:(i+1)*m], g/2*p[i], a)
				floats.AddScaled(v[i*m:(i+1)*m], g/2*a[i], p)
			}
		}
		return nil
	}); err != nil {
		s.held = nil
		return nil, err
	}
	f.scale = g
	return s.blocks, nil
}

// multiplyMiddle returns the product of the middle term with the n×q matrix x.
func (s *solver) multiplyMiddle(b *device.Blocks, x []float64) []float64 {
	out := make([]float64, len(x))
	_ = b.Each(func(first, m int, elements []float64) error {
		for j := 0; j < len(x); j += s.ws.N() {
			s.multiplyFold(m, elements, x[j+first:], out[j+first:])
		}
		return nil
	})
	return out
}
