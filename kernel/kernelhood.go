package kernel

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Kernelhood is the verdict of [CheckKernelhood] on a sample of points.
type Kernelhood struct {
	// N is the number of points.
	N int
	// Asymmetry is the largest |k(x, y) − k(y, x)|, found at the points I and J.
	Asymmetry float64
	I, J      int
	// Smallest and Largest are the extreme eigenvalues of the matrix of
	// covariances, Tolerance what rounding can take the smallest below 0:
	// 1e-14·n·Largest. AsymmetryTolerance is what it can do to a covariance:
	// 1e-13 of the largest.
	Smallest, Largest, Tolerance, AsymmetryTolerance float64
	// NonFinite says that a covariance was NaN or infinite, that of I and J.
	NonFinite bool
}

// OK reports whether the sample is consistent with a covariance function:
// symmetric up to rounding, and no eigenvalue below −Tolerance. That the function is
// one does not follow.
func (h Kernelhood) OK() bool {
	return !h.NonFinite && h.Asymmetry <= h.AsymmetryTolerance && h.Smallest >= -h.Tolerance
}

// String says it in a sentence.
func (h Kernelhood) String() string {
	switch {
	case h.NonFinite:
		return fmt.Sprintf("no covariance function: k(x%d, x%d) is not a finite number", h.I, h.J)
	case h.Asymmetry > h.AsymmetryTolerance:
		return fmt.Sprintf("no covariance function: k(x%d, x%d) and k(x%d, x%d) differ by %.3g", h.I, h.J, h.J, h.I, h.Asymmetry)
	case h.Smallest < -h.Tolerance:
		return fmt.Sprintf("no covariance function: on these %d points the matrix has the eigenvalue %.3g (largest %.3g, rounding explains %.1g)", h.N, h.Smallest, h.Largest, -h.Tolerance)
	}
	return fmt.Sprintf("symmetric and positive semidefinite on these %d points: eigenvalues from %.3g to %.3g", h.N, h.Smallest, h.Largest)
}

// KernelhoodError reports a function that is no covariance function.
type KernelhoodError struct {
	// Text is the expression.
	Text string
	Kernelhood
}

func (e *KernelhoodError) Error() string { return "kernel " + e.Text + ": " + e.Kernelhood.String() }

// asymmetryTolerance is what rounding can make of a symmetric function of some
// operations, relative to the largest covariance.
const asymmetryTolerance = 1e-13

// CheckKernelhood forms the n×n matrix of covariances of the points and looks
// for what a covariance function cannot have. It costs O(n³): some hundred
// points will do, spread at the scale on which the kernel changes and with some
// close together. Errors are those of [Program.CheckTheta], and of points with
// another number of columns.
func CheckKernelhood(prog *Program, theta []float64, x *Points) (Kernelhood, error) {
	if err := prog.CheckTheta(theta); err != nil {
		return Kernelhood{}, err
	}
	if x.D != prog.D || x.N == 0 {
		return Kernelhood{}, &CompileError{Msg: fmt.Sprintf("%d points of %d columns for a kernel of %d", x.N, x.D, prog.D)}
	}
	e, n := NewEvaluator(prog), x.N
	e.Bind(theta)
	k := make([]float64, n*n)
	for i := range n {
		e.Row(k[i*n:(i+1)*n], x, i, x, 0, n)
	}
	h := Kernelhood{N: n}
	for i := range n {
		for j := range n {
			h.AsymmetryTolerance = max(h.AsymmetryTolerance, asymmetryTolerance*math.Abs(k[i*n+j]))
			if v := k[i*n+j]; math.IsNaN(v) || math.IsInf(v, 0) {
				h.NonFinite, h.I, h.J = true, i, j
				return h, nil
			}
			if d := math.Abs(k[i*n+j] - k[j*n+i]); d > h.Asymmetry {
				h.Asymmetry, h.I, h.J = d, i, j
			}
		}
	}
	values, ok := eigenvalues(n, k)
	if !ok {
		return h, fmt.Errorf("kernel: the eigenvalues of the covariance matrix were not found")
	}
	h.Smallest, h.Largest = values[0], values[n-1]
	h.Tolerance = 1e-14 * float64(n) * math.Abs(h.Largest)
	return h, nil
}

// eigenvalues of a symmetric matrix, ascending; k is overwritten. They are found for
// elements around 1, by a power of two that leaves their digits as they are, and if
// gonum panics, as it does on blocks of tiny elements, for the matrix plus twice the
// unit matrix, to the precision of its largest.
func eigenvalues(n int, k []float64) ([]float64, bool) {
	largest := 0.0
	for _, v := range k {
		largest = max(largest, math.Abs(v))
	}
	_, exponent := math.Frexp(largest)
	for i, v := range k {
		k[i] = math.Ldexp(v, -exponent)
	}
	values, ok := factorize(n, k, 0)
	if !ok {
		values, ok = factorize(n, k, 2)
	}
	for i, v := range values {
		values[i] = math.Ldexp(v, exponent)
	}
	return values, ok
}

// factorize is gonum's, of k + shift·I without that in the eigenvalues.
func factorize(n int, k []float64, shift float64) (values []float64, ok bool) {
	defer func() {
		if recover() != nil {
			values, ok = nil, false
		}
	}()
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			a.SetSym(i, j, k[i*n+j])
		}
		a.SetSym(i, i, k[i*n+i]+shift)
	}
	var eigen mat.EigenSym
	if ok = eigen.Factorize(a, false); !ok {
		return nil, false
	}
	values = eigen.Values(nil)
	for i := range values {
		values[i] -= shift
	}
	return values, true
}
