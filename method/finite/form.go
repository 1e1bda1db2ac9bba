package finite

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// Form implements [hostmethod.Engine].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error) {
	e, err := w.expand(prog, theta)
	if err != nil {
		return 0, err
	}
	if err := checkNoise(noise, w.N, e.rank()); err != nil {
		return 0, err
	}
	w.noise = append(w.noise[:0], noise...)
	if err := readFeatures(ctx, w, e); err != nil {
		return 0, err
	}
	r := float64(e.rank())
	small := 4 * r * r * r
	if w.kept && len(noise) == 1 {
		w.Begin("factor", small)
		return finish(w)
	}
	w.Begin("factor", 2*r*r*float64(w.N)+small)
	if err := factorRows(ctx, w); err != nil {
		return 0, err
	}
	w.kept = len(noise) == 1
	return finish(w)
}

// checkNoise returns an error if Σ is singular or a row has no noise.
func checkNoise(noise []float64, n, rank int) error {
	zeros, each := 0, 1
	if len(noise) == 1 {
		each = n
	}
	for i, v := range noise {
		switch {
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
func readFeatures(ctx context.Context, w *workspace, e *expansion) error {
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
	if len(w.phi) != w.N*r {
		w.phi = nil
		if err := w.CheckNeed(featureNeed(w.N, r)); err != nil {
			return err
		}
		w.phi = make([]float64, w.N*r)
	}
	err := each(ctx, w, r, 0, func(int) func(first, last int) {
		t := newAtomTable(e, w.Points)
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
func factorRows(ctx context.Context, w *workspace) error {
	r := w.rank()
	triangles := make([]*stack, parts(w.N, r))
	err := each(ctx, w, r, 2*float64(r)*float64(r), func(part int) func(first, last int) {
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

// finish computes R from the triangle of the rows, and returns log|Σ|. It multiplies the triangle by V^½, divides it by the root of
// a single noise variance, and factors it beside the unit matrix.
func finish(w *workspace) (logDet float64, err error) {
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
	w.size, w.r = r, make([]float64, r*r)
	for i := range r {
		for j := range i + 1 {
			w.r[j*r+i] = s.data[i*s.stride+j]
		}
	}
	for _, d := range w.noise {
		logDet += math.Log(d)
	}
	if len(w.noise) == 1 {
		logDet *= float64(w.N)
	}
	for i := range r {
		if w.r[i*r+i] < 0 {
			blas64.Scal(-1, vector(w.r[i*r:(i+1)*r]))
		}
		logDet += 2 * math.Log(w.r[i*r+i])
	}
	if math.IsNaN(logDet) || math.IsInf(logDet, 0) {
		return 0, &device.NonFiniteError{What: "covariance matrix", Row: -1, Col: -1}
	}
	w.Worked(4 * float64(r) * float64(r) * float64(r))
	return logDet, nil
}
