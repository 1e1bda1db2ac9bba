package finite

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

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
	if err := readFeatures(ctx, w, e); err != nil {
		return err
	}
	r := float64(e.rank())
	small := 4 * r * r * r
	if w.kept && len(noise) == 1 {
		w.Begin("factor", small)
		return finish(ctx, w)
	}
	w.Begin("factor", 2*r*r*float64(w.n)+small)
	if err := factorRows(ctx, w); err != nil {
		return err
	}
	w.kept = len(noise) == 1
	return finish(ctx, w)
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
	if len(w.phi) != w.n*r {
		w.phi = nil
		plan := device.Plan{N: w.n, D: w.x.D, Needs: []device.Need{featureNeed(w.n, r)}}
		if err := plan.Check(w.host.Info()); err != nil {
			return err
		}
		w.phi = make([]float64, w.n*r)
	}
	err := each(ctx, w, r, 0, func(int) func(first, last int) {
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
func factorRows(ctx context.Context, w *workspace) error {
	r := w.rank()
	triangles := make([]*stack, parts(w.n, r))
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

// finish computes R from the triangle of the rows. It multiplies the triangle by V^½, divides it by the root of
// a single noise variance, and factors it beside the unit matrix.
func finish(ctx context.Context, w *workspace) error {
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
