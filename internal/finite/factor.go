package finite

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gpfit/device"
	"gpfit/kernel"
)

const (
	plain      = blas.NoTrans
	transposed = blas.Trans
)

// factor is what Form computes.
type factor struct {
	noise []float64
	// rows is the lower triangle of the factorisation of Φᵀ for one noise variance, which serves as
	// long as the functions stay the same, and otherwise of ΦᵀD^-½.
	rows []float64
	// kept means that rows belongs to phi alone.
	kept bool
	// r is R with RᵀR = B, with a positive diagonal.
	r      []float64
	logDet float64
}

// noiseOf returns the noise variance of the i-th row.
func (f *factor) noiseOf(i int) float64 { return f.noise[min(i, len(f.noise)-1)] }

// triangle returns R for triangular solutions.
func (f *factor) triangle(rank int) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: rank, Stride: rank, Data: f.r}
}

// Form implements [device.Workspace].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if w.x == nil {
		return device.ErrStage
	}
	w.formed = false
	if err := w.poll(ctx); err != nil {
		return err
	}
	e, err := w.expand(prog, theta)
	if err != nil {
		return err
	}
	if err := checkNoise(noise, w.n, e.rank()); err != nil {
		return err
	}
	w.noise = append(w.noise[:0], noise...)
	if err := w.readFeatures(ctx, e); err != nil {
		return err
	}
	r := float64(e.rank())
	small := 4 * r * r * r
	if w.kept && len(noise) == 1 {
		w.Begin("factor", small)
		return w.finish(ctx)
	}
	w.Begin("factor", 2*r*r*float64(w.n)+small)
	if err := w.factorRows(ctx); err != nil {
		return err
	}
	w.kept = len(noise) == 1
	return w.finish(ctx)
}

// checkNoise returns an error if there is not one variance, or one for each point, or if Σ is singular.
func checkNoise(noise []float64, n, rank int) error {
	if len(noise) != 1 && len(noise) != n {
		return fmt.Errorf("finite: %d noise variances for %d points", len(noise), n)
	}
	zeros, each := 0, 1
	if len(noise) == 1 {
		each = n
	}
	for i, v := range noise {
		switch {
		case v-v != 0:
			return &device.NonFiniteError{What: "noise variance", Row: i, Col: -1}
		case v < 0:
			return &device.NotPDError{Minor: i + 1, N: n}
		case v == 0:
			zeros += each
		}
		if zeros > rank {
			return &device.NotPDError{Minor: max(i, rank) + 1, N: n}
		}
	}
	if zeros > 0 {
		return &device.UnsupportedError{Method: Name, What: "evaluations with rows of zero noise; the method dense does"}
	}
	return nil
}

// readFeatures makes e the expansion of the workspace, and computes the features of all rows if the ones
// there are others.
func (w *workspace) readFeatures(ctx context.Context, e *expansion) error {
	if w.other != nil && w.other.expansion == e {
		w.other = nil
	}
	same := w.phi != nil && e.keepsFunctions(w.expansion)
	w.expansion = e
	if same {
		return nil
	}
	w.kept = false
	r := e.rank()
	if len(w.phi) != w.n*r {
		w.phi = nil
		plan := device.Plan{N: w.n, D: w.x.D, Needs: []device.Need{featureNeed(w.n, r)}}
		if err := plan.Check(w.host.Info()); err != nil {
			return err
		}
		w.phi = make([]float64, w.n*r)
	}
	err := w.each(ctx, r, 0, func(int) func(first, last int) {
		t := newAtomTable(e, w.x)
		return func(first, last int) {
			t.read(first, last)
			t.features(w.phi[first*r : last*r])
		}
	})
	if err != nil {
		w.phi = nil
	}
	return err
}

// factorRows computes the triangle of Φ, or of D^-½Φ: block after block is factored beside the triangle
// of those before.
func (w *workspace) factorRows(ctx context.Context) error {
	r := w.rank()
	triangles := make([]*stack, parts(w.n, r))
	err := w.each(ctx, r, 2*float64(r)*float64(r), func(part int) func(first, last int) {
		s := newStack(r, blockRows(r))
		triangles[part] = s
		return func(first, last int) {
			m, rest := last-first, s.rest(last-first)
			for j := range r {
				row := rest.Data[j*rest.Stride:][:m]
				copy(row, w.phi[first*r+j*m:])
				for i := first; len(w.noise) > 1 && i < last; i++ {
					row[i-first] /= math.Sqrt(w.noise[i])
				}
			}
			s.factor(m)
		}
	})
	if err != nil {
		return err
	}
	first := newStack(r, r)
	for _, s := range triangles {
		s.copyTo(first.rest(r))
		first.factor(r)
	}
	w.rows = make([]float64, r*r)
	first.copyTo(matrix(w.rows, r))
	return nil
}

// stack is a lower triangle with columns beside it: the transpose of rows below a triangle.
type stack struct {
	rank, stride    int
	data, tau, work []float64
}

func newStack(rank, columns int) *stack {
	s := &stack{rank: rank, stride: rank + columns, data: make([]float64, rank*(rank+columns)), tau: make([]float64, rank), work: make([]float64, 1)}
	lapack64.Gelqf(matrix(s.data, rank), s.tau, s.work, -1)
	s.work = make([]float64, int(s.work[0]))
	return s
}

// all returns the triangle and the columns beside it.
func (s *stack) all(columns int) blas64.General {
	return blas64.General{Rows: s.rank, Cols: s.rank + columns, Stride: s.stride, Data: s.data}
}

// rest returns the columns beside the triangle.
func (s *stack) rest(columns int) blas64.General {
	return slice(s.all(columns), s.rank, s.rank+columns)
}

// factor replaces the triangle by that of all columns.
func (s *stack) factor(columns int) {
	lapack64.Gelqf(s.all(columns), s.tau, s.work, len(s.work))
	for i := range s.rank {
		clear(s.data[i*s.stride+i+1 : i*s.stride+s.rank])
	}
}

// copyTo copies the triangle.
func (s *stack) copyTo(dst blas64.General) {
	for i := range s.rank {
		copy(dst.Data[i*dst.Stride:][:s.rank], s.data[i*s.stride:])
	}
}

// finish computes R from the triangle of the rows: that of its product with V^½, divided by the noise if it
// is one, beside the unit matrix.
func (w *workspace) finish(ctx context.Context) error {
	r := w.rank()
	s := newStack(r, r)
	rest := s.rest(r)
	scale := 1.0
	if len(w.noise) == 1 {
		scale = 1 / math.Sqrt(w.noise[0])
	}
	for i := range r {
		for j := range i + 1 {
			s.data[i*s.stride+j] = w.rows[i*r+j] * w.roots[i] * scale
		}
		rest.Data[i*rest.Stride+i] = 1
	}
	s.factor(r)
	w.r = make([]float64, r*r)
	for i := range r {
		for j := range i + 1 {
			w.r[j*r+i] = s.data[i*s.stride+j]
		}
	}
	w.logDet = 0
	for _, d := range w.noise {
		w.logDet += math.Log(d)
	}
	if len(w.noise) == 1 {
		w.logDet *= float64(w.n)
	}
	for i := range r {
		if w.r[i*r+i] < 0 {
			blas64.Scal(-1, vector(w.r[i*r:(i+1)*r]))
		}
		w.logDet += 2 * math.Log(w.r[i*r+i])
	}
	if math.IsNaN(w.logDet) || math.IsInf(w.logDet, 0) {
		return &device.NonFiniteError{What: "covariance matrix", Row: -1, Col: -1}
	}
	w.Worked(4 * float64(r) * float64(r) * float64(r))
	w.formed = true
	return w.poll(ctx)
}
