package gp

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gpfit/internal/hostmem"
)

// Sampler draws from a [Joint].
//
// Covariances of many close points are singular to working precision. Sampler
// factors them with complete pivoting, PᵀCP = LLᵀ, and stops at the column at which
// no variance above rounding is left (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., §10.3). It adds nothing to the diagonal and reports the
// variance that it omits.
type Sampler struct {
	mean []float64
	// factor is L, m×m row-major with Rank used columns and rows in the order perm.
	factor []float64
	perm   []int
	// Rank is the number of columns of L; m if the covariance is not singular.
	Rank int
	// Dropped is the largest variance, in units of the covariance, that draws omit
	// because Rank < m. It is of the size of rounding errors.
	Dropped float64
}

// ErrNotSemidefinite reports a covariance with a negative direction well beyond rounding
// errors.
var ErrNotSemidefinite = errors.New("gp: the covariance is not positive semidefinite")

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
			return nil, fmt.Errorf("gp: the variance at row %d is %v", i, v)
		}
	}
	s := &Sampler{mean: j.Mean, factor: a, perm: make([]int, m)}
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
	if err := checkSize(fmt.Sprintf("%d draws at %d rows", count, m), count, m, hostmem.Free()); err != nil {
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
			row[p] = s.mean[p] + x[i]
		}
	}
	return out, nil
}

// TargetSeed returns the seed for the draws of a target, so that the draws of
// several targets are independent. For the empty name of a single target it returns
// seed.
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
