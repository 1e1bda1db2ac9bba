package device

import (
	"fmt"
	"slices"

	"gpfit/internal/hostmem"
	"gpfit/kernel"
)

// This file has checks of the arguments of a [Workspace], for implementations.

// Invalid returns the error of a device or a method of this name for arguments of which a check returned an error, and nil if it
// returned none.
func Invalid(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// CheckNoise returns an error if noise is neither one variance nor one for each of n points.
func CheckNoise(noise []float64, n int) error {
	if len(noise) != 1 && len(noise) != n {
		return fmt.Errorf("%d noise variances for %d points", len(noise), n)
	}
	return nil
}

// CheckProgram returns an error if a program at theta cannot be evaluated at points of d columns.
func CheckProgram(prog *kernel.Program, theta []float64, d int) error {
	if prog.D != d {
		return fmt.Errorf("kernel for %d columns on points of %d", prog.D, d)
	}
	return prog.CheckTheta(theta)
}

// CheckColumns returns an error if b is not an n×m matrix.
func CheckColumns(b []float64, n, m int) error {
	if m < 0 || len(b) != n*m {
		return fmt.Errorf("%d numbers for %d columns of %d points", len(b), m, n)
	}
	return nil
}

// CheckPrediction returns an error if the arguments of a Predict for points x do not fit.
func CheckPrediction(x, xs *kernel.Points, alpha, mean, reduction []float64) error {
	if xs.D != x.D || len(alpha)%x.N != 0 || len(mean) != len(alpha)/x.N*xs.N || reduction != nil && len(reduction) != xs.N {
		return fmt.Errorf("prediction at %d points of %d columns with %d weights, %d means and %d variances, n = %d, d = %d",
			xs.N, xs.D, len(alpha), len(mean), len(reduction), x.N, x.D)
	}
	return nil
}

// CheckCovariance returns an error if the arguments of [JointCovariance] for points x do not fit.
func CheckCovariance(x, xs *kernel.Points, reduction []float64) error {
	if xs.D != x.D || len(reduction) != xs.N*xs.N {
		return fmt.Errorf("covariance of %d points of %d columns in %d elements, d = %d", xs.N, xs.D, len(reduction), x.D)
	}
	return nil
}

// CheckProducts returns an error if the arguments of [DerivativeProducts] do not fit n points and
// the program.
func CheckProducts(prog *kernel.Program, n int, vectors []float64, m int, dst []float64) error {
	if m < 0 || len(vectors) != n*m || len(dst) != n*m*prog.NumParams {
		return fmt.Errorf("products of %d elements of %d vectors with %d results for n = %d, %d parameters", len(vectors), m, len(dst), n, prog.NumParams)
	}
	return nil
}

// CheckFactorRow returns a [*NonFiniteError] if row i of a Cholesky factor, up to the diagonal, has a number that is not finite,
// or a diagonal element that is not positive.
func CheckFactorRow(row []float64, i int) error {
	if !(row[i] > 0) || slices.ContainsFunc(row, func(v float64) bool { return v-v != 0 }) {
		return &NonFiniteError{What: "Cholesky factor", Row: i, Col: -1}
	}
	return nil
}

// CheckHost returns a [*MemoryError] if what a call on n points of d columns needs, in bytes, is not free on the host.
func CheckHost(n, d int, need int64, what string) error {
	free := hostmem.Free()
	if free == 0 || need <= free {
		return nil
	}
	return &MemoryError{Plan: Plan{N: n, D: d}, Where: "host", Need: need, Free: free, What: what}
}
