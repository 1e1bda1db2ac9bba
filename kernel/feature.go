package kernel

import (
	"fmt"
	"strconv"

	"gpfit/internal/code"
	"gpfit/internal/pick"
)

// FeatureKind is the formula of a [Feature].
type FeatureKind uint8

// The kinds of features, with sums over the columns c = Dims[q] and
// Δ_c = x_c − x'_c. Each column has the weight w_c = 1 if Param < 0, and
// otherwise 1/θ[Param+q]², or 1/θ[Param+q] for Differences.
const (
	// SquaredDistance is Σ_c w_c Δ_c².
	SquaredDistance FeatureKind = iota
	// InnerProduct is Σ_c w_c x_c x'_c.
	InnerProduct
	// SinSquares is Σ_c w_c sin²(πΔ_c/p_c), with p_c = θ[Period] for all columns if
	// Periods = 1, and θ[Period+q] otherwise. Reduce Δ_c/p_c to [−½, ½], which is
	// exact, before multiplying by π.
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
	// a SinSquares with one period and no weights: it is proportional to the
	// derivative of that feature by the log of the period. It occurs only in
	// gradients.
	SinePhases
)

// Feature is a quantity of a pair of points. Leaves share equal features.
type Feature struct {
	Kind FeatureKind
	// Dims are columns of X (positions, not labels).
	Dims []int
	// Param is the offset in θ of the first of len(Dims) parameters that the
	// columns are divided by, or −1.
	Param int
	// Period is the offset in θ of the first of Periods (1 or len(Dims)) periods of
	// SinSquares and SinePhases; other kinds ignore it.
	Period, Periods int
}

// Power returns the power of the parameters at Param that divides the columns.
func (f *Feature) Power() int {
	if f.Kind == Differences {
		return 1
	}
	return 2
}

// OnePeriod reports whether f is a SinSquares whose derivative by its only period
// is a feature.
func (f *Feature) OnePeriod() bool { return f.Kind == SinSquares && f.Periods == 1 && f.Param < 0 }

var titles = map[FeatureKind]string{
	SquaredDistance: "squared distance", InnerProduct: "inner product", SinSquares: "sum of sin²", Differences: "sum of differences",
	Mismatches: "mismatches", First: "x", Second: "x′", FirstNorm: "‖x‖²", SecondNorm: "‖x′‖²", SinePhases: "sum of u sin 2πu",
}

func (f Feature) title() string { return fmt.Sprintf("%s %v", titles[f.Kind], f.Dims) }

func (k FeatureKind) sign() code.Sign {
	switch k {
	case SquaredDistance, SinSquares, Mismatches, FirstNorm, SecondNorm, SinePhases:
		return code.AtLeast0
	}
	return code.Unknown
}

// moves reports whether a feature changes to first order when one point of an equal
// pair moves. The other features have a minimum or a jump there.
func (k FeatureKind) moves() bool {
	switch k {
	case InnerProduct, Differences, First, Second, FirstNorm, SecondNorm:
		return true
	}
	return false
}

// Points is a set of n points in d dimensions, stored by column so that the
// inner loops run over consecutive numbers.
type Points struct {
	N, D int
	// X holds column c at X[c*N : (c+1)*N].
	X []float64
}

// NewPoints copies row-major points: point i is rows[i*d : (i+1)*d].
func NewPoints(rows []float64, n, d int) *Points {
	p := &Points{N: n, D: d, X: make([]float64, n*d)}
	for i := range n {
		for c := range d {
			p.X[c*n+i] = rows[i*d+c]
		}
	}
	return p
}

// Pick returns some of the points.
func (p *Points) Pick(rows []int) *Points {
	return &Points{N: len(rows), D: p.D, X: pick.Rows(p.X, rows, p.N, 1)}
}

// Column returns column c, of length N, without copying it.
func (p *Points) Column(c int) []float64 { return p.X[c*p.N : (c+1)*p.N] }

// Kind is the meaning of a parameter; start values and bounds depend on it.
type Kind uint8

// The kinds of kernel parameters.
const (
	// Lengthscale divides distances and is in units of the (scaled) inputs.
	Lengthscale Kind = iota + 1
	// Variance is in squared units of the (scaled) target.
	Variance
	// Period is in units of the (scaled) inputs.
	Period
	// Shape is a number of order one without units, such as α or the lengthscale of
	// periodic, which divides a sine.
	Shape
	// Offset is a constant that is added to an inner product, as in poly. The text of a
	// kernel may set it to 0; it is then no parameter.
	Offset
	// InnerScale is a lengthscale whose square divides inner products.
	InnerScale
	// Weight is a signal variance that multiplies another one, so it has no units.
	Weight
)

// Units are the exponents that convert a parameter between units of the data:
// multiply a parameter for scaled data by (scale of the target)^Target · (scale of
// its column)^Input to get the parameter for original units.
type Units struct{ Target, Input float64 }

// Param is one parameter of a program, a scalar or, with ARD, a vector. All
// elements are positive.
type Param struct {
	// Name is a name such as "lengthscale", or a path in a composite,
	// "k1.lengthscale".
	Name string
	Kind Kind
	// Offset and Size are its position and length in θ.
	Offset, Size int
	// Vector distinguishes an ARD parameter of one column from a scalar.
	Vector bool
	// Dims are the columns of X (positions) that it belongs to, nil if none. The
	// Dims of a signal variance are those of the only linear leaf of its product,
	// if Units depend on them.
	Dims []int
	// Units converts it to other units.
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
