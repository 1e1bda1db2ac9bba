package kernel

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/textform"
)

// Kernelhood is the verdict of [CheckKernelhood] on a sample of points.
type Kernelhood struct {
	// N is the number of points.
	N int
	// Asymmetry is the largest |k(x, y) − k(y, x)|, found at the points I and J.
	Asymmetry float64
	I, J      int
	// Smallest and Largest are the extreme eigenvalues of the matrix of covariances. Rounding can
	// make the smallest as low as −Tolerance = −1e-14·n·Largest, and can change a covariance by
	// AsymmetryTolerance, 1e-13 of the largest.
	Smallest, Largest, Tolerance, AsymmetryTolerance float64
	// NonFinite means that the covariance of the points I and J was NaN or infinite.
	NonFinite bool
}

// OK reports whether the sample is consistent with a covariance function: symmetric
// up to rounding, with no eigenvalue below −Tolerance. This does not prove that the
// function is a covariance function.
func (h Kernelhood) OK() bool {
	return !h.NonFinite && h.Asymmetry <= h.AsymmetryTolerance && h.Smallest >= -h.Tolerance
}

// String returns the verdict as a sentence.
func (h Kernelhood) String() string {
	switch {
	case h.NonFinite:
		return fmt.Sprintf("not a covariance function: k(x%d, x%d) is not a finite number", h.I, h.J)
	case h.Asymmetry > h.AsymmetryTolerance:
		return fmt.Sprintf("not a covariance function: k(x%d, x%d) and k(x%d, x%d) differ by %.3g", h.I, h.J, h.J, h.I, h.Asymmetry)
	case h.Smallest < -h.Tolerance:
		return fmt.Sprintf("not a covariance function: on these %d points the matrix has the eigenvalue %.3g (largest %.3g, rounding error up to %.1g)", h.N, h.Smallest, h.Largest, -h.Tolerance)
	}
	return fmt.Sprintf("symmetric and positive semidefinite on these %d points: eigenvalues from %.3g to %.3g", h.N, h.Smallest, h.Largest)
}

// Symmetric reports whether the sample is symmetric up to rounding, and finite.
func (h Kernelhood) Symmetric() bool { return !h.NonFinite && h.Asymmetry <= h.AsymmetryTolerance }

// KernelhoodError reports a function that is not a covariance function.
type KernelhoodError struct {
	// Text is the expression, and Pos the byte offset of the leaf that is none.
	Text string
	Pos  int
	Kernelhood
}

// Culprit returns the byte offset, in the text of e with the names of columns, of the first formula or
// custom family of e that alone is not a covariance function on the points x of the labelled columns.
// theta holds the parameters of e. If each is one, it is the offset of the first.
func Culprit(e Expr, columns []string, labels []int, theta []float64, x *Points) int {
	whole, err := Compile(e, labels)
	if err != nil || whole.NumParams != len(theta) {
		return 0
	}
	names, first, found := whole.Names(), Expr(nil), Expr(nil)
	mapLeaves(e, "", func(l *Leaf, prefix string) *Leaf {
		if found != nil || !Unproved(l) {
			return l
		}
		if first == nil {
			first = l
		}
		alone, err := Compile(l, labels)
		if err != nil {
			return l
		}
		own := make([]float64, alone.NumParams)
		for i, name := range alone.Names() {
			own[i] = 1 // the variance of a factor of a product
			if at := slices.Index(names, prefix+name); at >= 0 {
				own[i] = theta[at]
			}
		}
		if h, err := CheckKernelhood(alone, own, x); err == nil && !h.OK() {
			found = l
		}
		return l
	})
	if found == nil {
		found = first
	}
	return max(0, position(e, found, columns))
}

func (e *KernelhoodError) Error() string {
	return (&textform.Error{What: "kernel", Text: e.Text, Pos: e.Pos, Msg: e.Kernelhood.String()}).Error()
}

// AsymmetryTolerance bounds the asymmetry that rounding causes in a symmetric
// function, relative to the largest covariance.
const AsymmetryTolerance = 1e-13

// CheckKernelhood forms the n×n covariance matrix of the points and looks for properties that a
// covariance function cannot have. It costs O(n³). A few hundred points suffice if they spread
// over the scale on which the kernel changes and some of them are close together. It returns the
// errors of [Program.CheckTheta], and an error if x has the wrong number of columns.
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
	return CheckMatrix(n, k)
}

// CheckMatrix looks for properties that the n×n matrix k, row-major, of the values of a
// covariance function at all pairs of n points cannot have. It overwrites k.
func CheckMatrix(n int, k []float64) (Kernelhood, error) {
	h := Kernelhood{N: n}
	for i := range n {
		for j := range n {
			h.AsymmetryTolerance = max(h.AsymmetryTolerance, AsymmetryTolerance*math.Abs(k[i*n+j]))
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
		return h, fmt.Errorf("kernel: the eigenvalues of the covariance matrix could not be computed")
	}
	h.Smallest, h.Largest = values[0], values[n-1]
	h.Tolerance = 1e-14 * float64(n) * math.Abs(h.Largest)
	return h, nil
}

// eigenvalues returns the eigenvalues of a symmetric matrix in ascending order; it overwrites k.
// It first scales the elements to around 1 by a power of two, which keeps their digits. gonum
// panics on blocks of tiny elements; eigenvalues then factorizes the matrix plus twice the unit
// matrix, to the precision of its largest eigenvalue.
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

// factorize calls gonum on k + shift·I and subtracts shift from the eigenvalues.
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
