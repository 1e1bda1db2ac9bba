package gp

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/internal/suggest"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// JointOptions configures a joint distribution. The zero value selects the function
// itself, without noise.
type JointOptions struct {
	// Observed selects new observations: it adds the noise variance to the
	// diagonal. Noise is the known noise of the rows.
	Observed bool
	Noise    RowNoise
}

// noise returns the noise on the diagonal, or nil for the function itself.
func (o JointOptions) noise(m *Model, n int) ([]float64, error) {
	if !o.Observed {
		return nil, nil
	}
	return o.Noise.Variances(m, n)
}

// Joint is the multivariate normal distribution of the values at m rows, in original units. With a
// transform it is the distribution of the transformed values, and draws are transformed back.
type Joint struct {
	// Mean has m elements.
	Mean []float64
	// Cov is the m×m covariance, row-major, with both halves filled.
	Cov []float64
	// Transform is the transform of the target; nil without.
	Transform *transform.Map
	// scale is the largest prior variance. Rounding errors in Cov are relative to
	// it, not to Cov, which can be far smaller.
	scale float64
	// order bounds the number of terms in the sum for an element of Cov.
	order int
}

// Joint returns the posterior distribution at m rows of features (see
// [Posterior.Predict]), Rasmussen & Williams (2006), eq. 2.23 and 2.24:
//
//	mean        m(X*) + K*ᵀα
//	covariance  K** − K*ᵀΣ⁻¹K*, plus σ²I for new observations
//
// If least squares found the mean's coefficients, their uncertainty is added (eq.
// 2.42).
//
// The cost is n²m + nm² flops and m×m numbers of host memory, which are checked before. Errors are
// [*ShapeError], [*SizeError], [*device.MemoryError], [*device.UnsupportedError] and [*RangeError].
func (p *Posterior) Joint(ctx context.Context, rows []float64, m int, opts JointOptions) (*Joint, error) {
	mod := p.model
	xs, err := mod.inputs().at(rows, m)
	if err == nil {
		err = p.form(ctx)
	}
	if err != nil {
		return nil, err
	}
	j, err := p.joint(ctx, xs)
	if err != nil {
		return nil, err
	}
	if err := p.ws.Predict(ctx, p.prog, p.theta, mod.Alpha, xs, j.Mean, nil); err != nil {
		return nil, err
	}
	noise, err := opts.noise(mod, m)
	if err != nil {
		return nil, err
	}
	uncertainty, err := p.meanUncertainty(ctx, p.covariance, xs, true)
	if err != nil {
		return nil, err
	}
	floats.Add(j.Mean, mod.Mean.at(xs))
	j.addProducts(uncertainty, len(mod.Mean.Basis))
	j.addNoise(noise)
	j.toOriginal(mod.Scaling)
	return j, j.check()
}

// joint returns K** − K*ᵀΣ⁻¹K* of points, in scaled units, with means of 0.
func (s *system) joint(ctx context.Context, xs *kernel.Points) (*Joint, error) {
	joint, err := device.Capability[device.JointCovariance](s.ws, "the covariance of predictions")
	if err != nil {
		return nil, err
	}
	j, err := newJoint(xs.N)
	if err != nil {
		return nil, err
	}
	j.order += s.x.N
	if err := joint.PredictCovariance(ctx, s.prog, s.theta, xs, j.Cov); err != nil {
		return nil, err
	}
	return j, j.addPrior(ctx, s.covariance, xs, -1)
}

// newJoint returns room for the distribution at m rows. Errors are [*SizeError].
func newJoint(m int) (*Joint, error) {
	if err := checkSize(fmt.Sprintf("the covariance of %d rows", m), float64(m)*float64(m), hostmem.Free()); err != nil {
		return nil, err
	}
	return &Joint{Mean: make([]float64, m), Cov: make([]float64, m*m), order: m}, nil
}

// Prior returns the prior distribution at n rows: the mean function and K**, plus
// σ²I for observations.
func Prior(ctx context.Context, m *Model, rows []float64, n int, opts JointOptions) (*Joint, error) {
	xs, err := m.inputs().at(rows, n)
	if err != nil {
		return nil, err
	}
	c, err := m.covariance()
	if err != nil {
		return nil, err
	}
	noise, err := opts.noise(m, n)
	if err != nil {
		return nil, err
	}
	j, err := c.prior(ctx, xs, noise)
	if err != nil {
		return nil, err
	}
	copy(j.Mean, m.Mean.at(xs))
	j.toOriginal(m.Scaling)
	return j, j.check()
}

// prior returns the zero-mean distribution of the values at xs, with the noise variances (none, or one
// per point) on the diagonal. Errors are [*SizeError] and [*kernel.CompileError].
func (c covariance) prior(ctx context.Context, xs *kernel.Points, noise []float64) (*Joint, error) {
	if err := c.prog.CheckTheta(c.theta); err != nil {
		return nil, err
	}
	j, err := newJoint(xs.N)
	if err != nil {
		return nil, err
	}
	if err := j.addPrior(ctx, c, xs, 1); err != nil {
		return nil, err
	}
	j.addNoise(noise)
	return j, j.check()
}

// check returns a [*RangeError] if a number is not finite.
func (j *Joint) check() error {
	m := len(j.Mean)
	for i := range m {
		if err := checkResult("covariance", m, j.Cov[i*m:(i+1)*m]); err != nil {
			return err
		}
	}
	return checkResult("mean", m, j.Mean)
}

// addPrior replaces Cov by K** + sign·Cov and keeps the largest variance of K**.
func (j *Joint) addPrior(ctx context.Context, c covariance, xs *kernel.Points, sign float64) error {
	m := xs.N
	j.scale = slices.Max(append(c.diagonal(xs), 0))
	return c.eachRow(ctx, 0, m, func(e *kernel.Evaluator, piece []float64, i int) {
		for k0 := 0; k0 <= i; k0 += rowPiece {
			row := piece[:min(rowPiece, i+1-k0)]
			e.Row(row, xs, i, xs, k0, k0+len(row))
			for k, v := range row {
				k += k0
				v += sign * j.Cov[i*m+k]
				j.Cov[i*m+k], j.Cov[k*m+i] = v, v
			}
		}
	})
}

// addProducts adds WᵀW for the q×m matrix w, column-major.
func (j *Joint) addProducts(w []float64, q int) {
	m := len(j.Mean)
	if len(w) == 0 {
		return
	}
	largest := 0.0
	for i := range m {
		own := w[i*q : (i+1)*q]
		for k := range i {
			v := floats.Dot(own, w[k*q:(k+1)*q])
			j.Cov[i*m+k] += v
			j.Cov[k*m+i] += v
		}
		v := floats.Dot(own, own)
		j.Cov[i*m+i] += v
		largest = max(largest, v)
	}
	j.scale += largest
}

func (j *Joint) addNoise(noise []float64) {
	m := len(j.Mean)
	largest := 0.0
	for i, v := range noise {
		j.Cov[i*m+i] += v
		largest = max(largest, v)
	}
	j.scale += largest
}

// toOriginal converts mean and covariance from scaled to original units.
func (j *Joint) toOriginal(s Scaling) {
	s.toOriginal(j.Mean)
	j.Transform = s.Transform
	square := s.YScale * s.YScale
	for i := range j.Cov {
		j.Cov[i] *= square
	}
	j.scale *= square
}

// Marginals returns the distribution of each row by itself. Std and StdLatent are the same.
func (j *Joint) Marginals() *Prediction {
	m := len(j.Mean)
	variance := make([]float64, m)
	for i := range variance {
		variance[i] = max(j.Cov[i*m+i], 0)
	}
	units := Scaling{YScale: 1, Transform: j.Transform}
	return newPrediction(units, append([]float64(nil), j.Mean...), variance, make([]float64, m))
}

// Sampler draws from a [Joint].
//
// Covariances of many close points are singular to working precision. Sampler factors them with
// complete pivoting, PᵀCP = LLᵀ, and stops at the column at which no variance above rounding is
// left (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §10.3). It adds nothing
// to the diagonal and reports the variance that it omits.
type Sampler struct {
	mean []float64
	of   *transform.Map
	// factor is L, m×m row-major with Rank used columns and rows in the order perm.
	factor []float64
	perm   []int
	// Rank is the number of columns of L; m if the covariance is not singular.
	Rank int
	// Dropped is the largest variance, in units of the covariance, that draws omit
	// because Rank < m. It is of the size of rounding errors.
	Dropped float64
}

// ErrNotSemidefinite reports a covariance with a negative direction well beyond rounding errors.
var ErrNotSemidefinite = errors.New("the covariance is not positive semidefinite")

// maxNegative is the size of a negative variance, relative to the prior's, from
// which a covariance counts as wrong. It is the square root of the precision, far
// above the rounding errors of any factor that can be computed.
const maxNegative = 1e-8

// Sampler factors the covariance in place, in m³/3 flops, and thereby destroys Cov.
// Errors are [ErrNotSemidefinite].
func (j *Joint) Sampler() (*Sampler, error) {
	m := len(j.Mean)
	a := j.Cov
	j.Cov = nil
	diag := make([]float64, m)
	for i := range m {
		diag[i] = a[i*m+i]
		if v := diag[i]; v-v != 0 {
			return nil, fmt.Errorf("the variance at row %d is %v", i, v)
		}
	}
	s := &Sampler{mean: j.Mean, of: j.Transform, factor: a, perm: make([]int, m)}
	if m == 0 {
		return s, nil
	}
	// Each element carries rounding errors of about order·ε·scale.
	tol := float64(j.order) * 0x1p-52 * j.scale
	sym := blas64.Symmetric{N: m, Stride: m, Data: a, Uplo: blas.Lower}
	_, s.Rank, _ = lapack64.Pstrf(sym, s.perm, tol, make([]float64, 2*m))
	for i, p := range s.perm {
		row := a[i*m : (i+1)*m]
		clear(row[min(i+1, s.Rank):])
		rest := diag[p]
		for _, v := range row[:s.Rank] {
			rest -= v * v
		}
		if i < s.Rank {
			continue
		}
		if rest < -maxNegative*j.scale {
			return nil, fmt.Errorf("%w: a variance of %.3g where the prior has up to %.3g; the noise variance may be too small for this data", ErrNotSemidefinite, rest, j.scale)
		}
		s.Dropped = max(s.Dropped, math.Abs(rest))
	}
	return s, nil
}

// Draw returns count independent draws, count×m row-major. The same seed gives the
// same draws, and a larger count only appends draws. Errors are [*SizeError].
func (s *Sampler) Draw(count int, seed uint64) ([]float64, error) {
	m := len(s.mean)
	if err := checkSize(fmt.Sprintf("%d draws at %d rows", count, m), float64(count)*float64(m), hostmem.Free()); err != nil {
		return nil, err
	}
	out := make([]float64, count*m)
	if m == 0 || count == 0 {
		return out, nil
	}
	rng := rand.New(rand.NewPCG(seed, drawStream))
	l := blas64.General{Rows: m, Cols: s.Rank, Stride: m, Data: s.factor}
	z, x := make([]float64, s.Rank), make([]float64, m)
	for d := range count {
		for k := range z {
			z[k] = rng.NormFloat64()
		}
		if s.Rank > 0 {
			blas64.Gemv(blas.NoTrans, 1, l, blas64.Vector{N: s.Rank, Inc: 1, Data: z}, 0, blas64.Vector{N: m, Inc: 1, Data: x})
		}
		row := out[d*m : (d+1)*m]
		for i, p := range s.perm {
			if row[p] = s.mean[p] + x[i]; s.of != nil {
				row[p] = s.of.Inverse(row[p])
			}
		}
	}
	return out, nil
}

// TargetSeed returns the seed for the draws of a target, so that the draws of several targets are
// independent. For the empty name of a single target it returns seed.
func TargetSeed(seed uint64, target string) uint64 {
	if target == "" {
		return seed
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(target)) // never fails
	return seed ^ h.Sum64()
}

// drawStream separates the random numbers of draws from others with the same seed.
const drawStream = 0x64726177

// Process is a Gaussian process with mean 0 and without data: a covariance function
// with a value for each parameter.
type Process struct {
	// NoiseVariance is the noise variance of observations.
	NoiseVariance float64
	covariance
}

// NewProcess returns a process without noise for an expression on d columns. Parameters have the
// values in the expression, or 1 if it gives none. Errors are [*kernel.CompileError].
func NewProcess(expr kernel.Expr, d int) (*Process, error) {
	prog, err := kernel.Compile(expr, kernel.Columns(d))
	if err != nil {
		return nil, err
	}
	p := &Process{covariance: covariance{prog, make([]float64, prog.NumParams)}}
	for _, param := range prog.Params {
		values := p.theta[param.Offset : param.Offset+param.Size]
		for i := range values {
			values[i] = 1
		}
		copy(values, param.Start)
	}
	return p, nil
}

// Parameters returns the names and values of the covariance function's parameters, in
// natural units.
func (p *Process) Parameters() (names []string, values []float64) {
	return p.prog.Names(), slices.Clone(p.theta)
}

// Set sets a parameter to a value in natural units. name is noise_variance, an
// element such as lengthscale[2], or a vector such as lengthscale, all of whose
// elements it sets. Errors are [*NameError].
func (p *Process) Set(name string, value float64) error {
	if name == noiseVariance {
		p.NoiseVariance = value
		return nil
	}
	found := false
	for _, param := range p.prog.Params {
		for i, element := range param.ElementNames() {
			if element == name || param.Vector && param.Name == name {
				p.theta[param.Offset+i], found = value, true
			}
		}
	}
	if !found {
		known := append(p.prog.Names(), noiseVariance)
		return &NameError{name, known, fmt.Sprintf("%s: there is no such parameter%s", name, suggest.DidYouMean(name, known))}
	}
	return nil
}

// Matrix returns the covariances of all pairs of n rows, row-major, whatever they are: they need
// not be finite or symmetric. Errors are [*kernel.CompileError] for an invalid parameter value.
func (p *Process) Matrix(rows []float64, n int) ([]float64, error) {
	if err := p.prog.CheckTheta(p.theta); err != nil {
		return nil, err
	}
	points, e, out := kernel.NewPoints(rows, n, p.prog.D), p.evaluator(), make([]float64, n*n)
	for i := range n {
		e.Row(out[i*n:(i+1)*n], points, i, points, 0, n)
	}
	return out, nil
}

// Joint returns the joint distribution of the values at n rows, row-major, or if
// observed is true, of observations with noise. Errors are [*SizeError], and
// [*kernel.CompileError] for an invalid parameter value.
func (p *Process) Joint(ctx context.Context, rows []float64, n int, observed bool) (*Joint, error) {
	var noise []float64
	if observed {
		noise = slices.Repeat([]float64{p.NoiseVariance}, n)
	}
	return p.prior(ctx, kernel.NewPoints(rows, n, p.prog.D), noise)
}
