package kernel

import (
	"fmt"
	"math"
	"strconv"

	"gpfit/kernel/code"
	"gpfit/kernel/pair"
)

// FeatureKind says what a [Feature] is computed from.
type FeatureKind uint8

// The kinds of features, with sums over the columns c = Dims[q] and
// Δ_c = x_c − x'_c. Each column has the weight w_c = 1 if Param < 0, and
// otherwise 1/θ[Param+q]², or 1/θ[Param+q] for Differences.
const (
	// SquaredDistance is Σ_c w_c Δ_c².
	SquaredDistance FeatureKind = iota
	// InnerProduct is Σ_c w_c x_c x'_c.
	InnerProduct
	// SinSquares is Σ_c w_c sin²(πΔ_c/p_c), with p_c = θ[Period] for all columns
	// if Periods = 1, and θ[Period+q] otherwise. Δ_c/p_c is to be reduced to
	// [−½, ½], which is exact, before the multiplication by π.
	SinSquares
	// Differences is Σ_c w_c Δ_c, the phase of a wave in turns.
	Differences
	// Mismatches is Σ_c w_c [x_c ≠ x'_c].
	Mismatches
	// First is Σ_c x_c and Second is Σ_c x'_c, both without weights.
	First
	Second
	// FirstNorm is Σ_c w_c x_c² and SecondNorm is Σ_c w_c x'_c².
	FirstNorm
	SecondNorm
	// SinePhases is Σ_c u sin(2πu) with u = Δ_c/p_c, without weights. It belongs to
	// a SinSquares with one period and no weights, to whose derivative by the log
	// of the period it is proportional, and stands in gradients only.
	SinePhases
)

// Feature is a quantity of a pair of points that leaves share.
type Feature struct {
	Kind FeatureKind
	// Dims are columns of X (positions, not labels).
	Dims []int
	// Param is the offset in θ of the first of len(Dims) parameters that the
	// columns are divided by, or −1.
	Param int
	// Period is the offset in θ of the first of Periods (1 or len(Dims))
	// periods of SinSquares and SinePhases; of no meaning elsewhere.
	Period, Periods int
}

// Power is that of the parameters at Param that the columns are divided by.
func (f *Feature) Power() int {
	if f.Kind == Differences {
		return 1
	}
	return 2
}

// OnePeriod tells a SinSquares whose derivative by its one period is a feature.
func (f *Feature) OnePeriod() bool { return f.Kind == SinSquares && f.Periods == 1 && f.Param < 0 }

// Kind says what a parameter is, for start values and bounds.
type Kind uint8

// The kinds of kernel parameters.
const (
	// Lengthscale is in units of the (scaled) inputs, compared with distances.
	Lengthscale Kind = iota + 1
	// Variance is in squared units of the (scaled) target.
	Variance
	// Period is in units of the (scaled) inputs.
	Period
	// Shape is a number without units of order one, such as α, or the
	// lengthscale of periodic, which is compared with a sine.
	Shape
	// Offset is what poly adds to an inner product.
	Offset
	// InnerScale is a lengthscale by which inner products are divided twice.
	InnerScale
	// Weight is a signal variance relative to others that it is multiplied
	// with: a number without units.
	Weight
)

// Units says how a parameter changes with the units of the data: multiplied by
// (scale of the target)^Target · (scale of its column)^Input, a parameter for
// scaled data becomes that for original units.
type Units struct{ Target, Input float64 }

// Param is one parameter of a program, a scalar or, with ARD, a vector. All
// are positive.
type Param struct {
	// Name is "lengthscale", or with a path in a composite, "k1.lengthscale".
	Name string
	Kind Kind
	// Offset and Size place it in θ.
	Offset, Size int
	// Vector tells an ARD parameter of one column from a scalar.
	Vector bool
	// Dims are the columns of X (positions) that it belongs to; for a signal
	// variance those of the one linear leaf of its product, if Units depend on
	// them. nil if there are none.
	Dims []int
	// Units holds what becomes of it in other units.
	Units Units
	// Start holds Size values given in the text, or is nil.
	Start []float64
	// labels name the elements of a vector: the columns' labels.
	labels []int
}

// ElementNames returns the name of every element: "lengthscale", or
// "lengthscale[0]", "lengthscale[1]", … for a vector.
func (p Param) ElementNames() []string {
	if !p.Vector {
		return []string{p.Name}
	}
	names := make([]string, p.Size)
	for i := range names {
		names[i] = p.Name + "[" + strconv.Itoa(p.labels[i]) + "]"
	}
	return names
}

// Program is a compiled covariance function on points of D columns: features of a
// pair, and operations on them. It is immutable and safe for concurrent use.
type Program struct {
	// D is the number of columns of X.
	D int
	// Text is the expression it was compiled from.
	Text string
	// Features are what the operations start from.
	Features []Feature
	// List holds the operations for a value without derivatives, Value says which
	// of them is k(x, x′).
	List  *code.List
	Value code.ID
	// Params describes θ, a vector of NumParams positive numbers.
	Params    []Param
	NumParams int
	// terms are those of the outermost sum.
	terms    []termRange
	gradient func() *Gradient
	graph    *pair.Graph
	root     *Node
}

// Names returns the names of all elements of θ in order.
func (p *Program) Names() []string {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.ElementNames()...)
	}
	return names
}

// LinearIn tells a program that is factor·s of one feature s, and returns them.
func (p *Program) LinearIn(theta []float64) (feature int, factor float64, ok bool) {
	coef, core := p.List.Factor(p.Value)
	if core == code.None || p.List.At(core).Op != code.Feature {
		return 0, 0, false
	}
	uniforms := make([]float64, len(p.List.Values))
	p.List.Uniforms(uniforms, theta, p.List.Needed(p.Value))
	return p.List.At(core).Index, uniform(uniforms, coef), true
}

// CheckTheta returns an error if theta is not NumParams positive finite
// numbers.
func (p *Program) CheckTheta(theta []float64) error {
	if len(theta) != p.NumParams {
		return &CompileError{Msg: fmt.Sprintf("%d parameters for a kernel with %d", len(theta), p.NumParams)}
	}
	names := p.Names()
	for i, v := range theta {
		if !(v > 0) || math.IsInf(v, 0) {
			return &CompileError{Msg: fmt.Sprintf("%s = %v: must be a positive finite number", names[i], v)}
		}
	}
	return nil
}
