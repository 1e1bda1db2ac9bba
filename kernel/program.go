package kernel

import (
	"fmt"
	"math"
	"strconv"
)

// Op is an instruction of a [Program].
type Op uint8

// The instructions. A leaf pushes its value; Add and Mul replace the two
// topmost values by their sum or product; Scale multiplies the topmost value
// by a parameter. With s the leaf's feature and w its scale ([Instr.Param]),
// the leaves push
//
//	OpRBF       exp(−½ws)
//	OpMatern12  exp(−r),                       r = √(ws)
//	OpMatern32  (1 + √3 r) exp(−√3 r)
//	OpMatern52  (1 + √5 r + 5r²/3) exp(−√5 r)
//	OpRQ        (1 + ws/(2α))^−α,              α = θ[Shape]
//	OpPeriodic  exp(−2ws)
//	OpCosine    cos(2πws)
//	OpLinear    ws
//	OpPoly      (θ[Shape] + ws)^Degree
//	OpConstant  1
//	OpCustom    the value of Customs[Feature]
const (
	OpRBF Op = iota + 1
	OpMatern12
	OpMatern32
	OpMatern52
	OpAdd
	OpMul
	OpScale
	OpRQ
	OpPeriodic
	OpCosine
	OpLinear
	OpPoly
	OpConstant
	OpCustom
)

// Instr is one instruction.
type Instr struct {
	Op Op
	// Feature is the index of the feature that a leaf reads; of the element of
	// Customs for OpCustom; −1 for OpConstant.
	Feature int
	// Param is the offset in θ of the factor of Scale, or of the one parameter
	// that scales the feature of an isotropic leaf: w = 1/θ[Param], squared but
	// for OpCosine. It is −1 where the instruction has none, and then w = 1.
	Param int
	// Shape is the offset in θ of the α of OpRQ or the offset of OpPoly; of no
	// meaning elsewhere. Degree is that of OpPoly, at least 1.
	Shape, Degree int
}

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
	// periods of SinSquares; of no meaning elsewhere.
	Period, Periods int
}

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

// Program is a compiled covariance function on points of D columns: features
// of a pair, and a postfix list of instructions. It is immutable and safe for
// concurrent use.
type Program struct {
	// D is the number of columns of X.
	D int
	// Text is the expression it was compiled from.
	Text string
	// Features and Code are what backends run.
	Features []Feature
	Code     []Instr
	// Customs are the user's own leaves among them.
	Customs []CustomLeaf
	// Depth is the largest number of values on the stack.
	Depth int
	// Params describes θ, a vector of NumParams positive numbers.
	Params    []Param
	NumParams int
	// terms are those of the outermost sum.
	terms []termRange
}

// Names returns the names of all elements of θ in order.
func (p *Program) Names() []string {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.ElementNames()...)
	}
	return names
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
