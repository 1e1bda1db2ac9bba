package kernel

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"gpfit/internal/matrixrows"
	"gpfit/kernel/oplist"
	"gpfit/kernel/symbolic"
)

// Pair provides what the function of a [Family] needs: nodes for features of a pair of points and
// for the leaf's parameters, and the methods of [symbolic.Graph] for arithmetic on them. A feature
// sums over the columns c that the leaf acts on. The argument of some features names a parameter
// that divides the columns: one number, or with ard one for each column; "" means none.
type Pair struct {
	*symbolic.Graph
	// features are the features of the program so far.
	features *[]Feature
	// family is the name of the leaf's family.
	family string
	degree int
	dims   []int
	// placed maps the names of the family's parameters to the leaf's parameters. A
	// parameter that the leaf lacks is nil, and one that is the constant 0 has size 0.
	placed map[string]*Param
	// squared is the squared distance of a rotated leaf.
	squared *Node
}

// Degree returns the leaf's degree, if its family has one.
func (p *Pair) Degree() int { return p.degree }

// Parameter returns a scalar parameter of the leaf. An offset may be the number 0.
func (p *Pair) Parameter(name string) *Node {
	q := p.placed[name]
	switch {
	case q == nil || q.Vector:
		p.Fail("%s has no parameter %q that is one number", p.family, name)
		return p.Number(1)
	case q.Size == 0:
		return p.Number(0)
	}
	if q.Kind == Location {
		return p.RealParameter(q.Offset, q.Name)
	}
	return p.Graph.Parameter(q.Offset, q.Name)
}

// SquaredDistance returns Σ Δ_c²/ρ_c².
func (p *Pair) SquaredDistance(lengthscale string) *Node {
	if p.squared != nil {
		return p.squared
	}
	return p.scaled(Feature{Kind: SquaredDistance}, lengthscale, 2)
}

// Distance returns √(Σ Δ_c²/ρ_c²). Its derivative at distance 0 counts as 0, the
// mean of both one-sided derivatives.
func (p *Pair) Distance(lengthscale string) *Node { return p.Sqrt(p.SquaredDistance(lengthscale)) }

// InnerProduct returns Σ x_c x'_c/ρ_c².
func (p *Pair) InnerProduct(lengthscale string) *Node {
	return p.scaled(Feature{Kind: InnerProduct}, lengthscale, 2)
}

// SineSquares returns Σ sin²(πΔ_c/p_c)/ρ_c². With ard it needs both names.
func (p *Pair) SineSquares(lengthscale, period string) *Node {
	q := p.placed[period]
	if q == nil {
		p.Fail("%s has no parameter %q", p.family, period)
		return p.Number(0)
	}
	return p.scaled(Feature{Kind: SinSquares, Period: q.Offset, Periods: q.Size}, lengthscale, 2)
}

// Difference returns Σ Δ_c/p_c, which changes sign when the points are swapped. The
// covariance built from it must not. Without a period the leaf must act on one column: the sum of
// differences of several columns can be 0 between points that differ. See [Pair.Differences].
func (p *Pair) Difference(period string) *Node {
	if period == "" && len(p.dims) != 1 {
		p.Fail("%s takes the difference of %d columns as one number: take Differences, one of each column, or Distance, or choose one column with dims=", p.family, len(p.dims))
		return p.Number(0)
	}
	return p.sumOfDifferences(period)
}

// Differences returns Δ_c of each column, in order.
func (p *Pair) Differences() []*Node {
	out := make([]*Node, len(p.dims))
	for q, c := range p.dims {
		f := Feature{Kind: Differences, Dims: []int{c}, Param: -1}
		out[q] = p.Feature(p.feature(f), f.title(), oplist.Unknown)
	}
	return out
}

func (p *Pair) sumOfDifferences(period string) *Node {
	return p.scaled(Feature{Kind: Differences}, period, 1)
}

// Mismatches returns Σ [x_c ≠ x'_c]/ρ_c², for columns of categories.
func (p *Pair) Mismatches(lengthscale string) *Node {
	return p.scaled(Feature{Kind: Mismatches}, lengthscale, 2)
}

// Coordinates returns Σ x_c and Σ x'_c.
func (p *Pair) Coordinates() (first, second *Node) {
	return p.scaled(Feature{Kind: First}, "", 1), p.scaled(Feature{Kind: Second}, "", 1)
}

// Norms returns Σ x_c²/ρ_c² and Σ x'_c²/ρ_c².
func (p *Pair) Norms(lengthscale string) (first, second *Node) {
	return p.scaled(Feature{Kind: FirstNorm}, lengthscale, 2), p.scaled(Feature{Kind: SecondNorm}, lengthscale, 2)
}

// scaled returns a feature whose columns are divided by a power of a parameter. A parameter for
// each column becomes weights of the columns, a scalar becomes a factor.
func (p *Pair) scaled(f Feature, name string, power int) *Node {
	f.Dims, f.Param = p.dims, -1
	q, declared := p.placed[name]
	switch {
	case name != "" && !declared:
		p.Fail("%s has no parameter %q", p.family, name)
	case q != nil && q.Vector:
		f.Param = q.Offset
	}
	index := p.feature(f)
	node := p.Feature(index, f.title(), f.Kind.sign())
	if q == nil || q.Vector || q.Size == 0 {
		return node
	}
	return p.Div(node, p.PowInt(p.Graph.Parameter(q.Offset, q.Name), power))
}

// Node is a Gorgonia node for a number computed from a pair of points.
type Node = symbolic.Node

// feature returns the index of f; equal features share one.
func (p *Pair) feature(f Feature) int {
	i := slices.IndexFunc(*p.features, func(g Feature) bool {
		return g.Kind == f.Kind && g.Param == f.Param && g.Period == f.Period && slices.Equal(g.Dims, f.Dims)
	})
	if i < 0 {
		i, *p.features = len(*p.features), append(*p.features, f)
	}
	return i
}

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
	// SinePhases is Σ_c u sin(2πu) with u = Δ_c/p_c, without weights. It belongs to a SinSquares
	// with one period and no weights: it is proportional to the derivative of that feature by the
	// log of the period. It occurs only in gradients.
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

// OnePeriod reports whether f is a SinSquares whose derivative by its only period is a feature.
func (f *Feature) OnePeriod() bool { return f.Kind == SinSquares && f.Periods == 1 && f.Param < 0 }

// traits describes a kind of features.
type traits struct {
	title string
	// nonnegative features are at least 0.
	nonnegative bool
	// moves means that a feature changes to first order when one point of an equal pair
	// moves. The other features have a minimum or a jump there.
	moves bool
}

var kinds = map[FeatureKind]traits{
	SquaredDistance: {title: "squared distance", nonnegative: true},
	InnerProduct:    {title: "inner product", moves: true},
	SinSquares:      {title: "sum of sin²", nonnegative: true},
	Differences:     {title: "sum of differences", moves: true},
	Mismatches:      {title: "mismatches", nonnegative: true},
	First:           {title: "x", moves: true},
	Second:          {title: "x′", moves: true},
	FirstNorm:       {title: "‖x‖²", nonnegative: true, moves: true},
	SecondNorm:      {title: "‖x′‖²", nonnegative: true, moves: true},
	SinePhases:      {title: "sum of u sin 2πu", nonnegative: true},
}

func (f Feature) title() string { return fmt.Sprintf("%s %v", kinds[f.Kind].title, f.Dims) }

// dependence is the part of a pair that a value depends on.
type dependence uint8

const (
	ofBoth dependence = iota
	ofFirst
	ofSecond
)

// dependence returns the points that features of this kind depend on.
func (k FeatureKind) dependence() dependence {
	switch k {
	case First, FirstNorm:
		return ofFirst
	case Second, SecondNorm:
		return ofSecond
	}
	return ofBoth
}

func (k FeatureKind) sign() oplist.Sign {
	if kinds[k].nonnegative {
		return oplist.AtLeast0
	}
	return oplist.Unknown
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
	return &Points{N: len(rows), D: p.D, X: matrixrows.Rows(p.X, rows, p.N, 1)}
}

// Places returns the points of each place, places and points in ascending order: points whose
// coordinates are all equal are at one place.
func (p *Points) Places() [][]int {
	hashes := make([]uint64, p.N)
	for c := range p.D {
		for i, v := range p.Column(c) {
			hashes[i] = mix(hashes[i] ^ math.Float64bits(v+0)) // −0 is 0
		}
	}
	// slots is a hash table with open addresses: each used slot has a place's number plus 1.
	slots := make([]int, 1<<bits.Len(uint(2*p.N)))
	mask := uint64(len(slots) - 1)
	var first, counts []int
	of := make([]int, p.N)
	for i, h := range hashes {
		at := h & mask
		for slots[at] > 0 && !p.same(first[slots[at]-1], i) {
			at = (at + 1) & mask
		}
		if slots[at] == 0 {
			first, counts = append(first, i), append(counts, 0)
			slots[at] = len(first)
		}
		of[i] = slots[at] - 1
		counts[of[i]]++
	}
	rows, places := make([]int, p.N), make([][]int, len(counts))
	for k, count := range counts {
		places[k], rows = rows[:0:count], rows[count:]
	}
	for i, k := range of {
		places[k] = append(places[k], i)
	}
	return places
}

// same reports whether two points have equal coordinates.
func (p *Points) same(i, j int) bool {
	for c := range p.D {
		if p.X[c*p.N+i] != p.X[c*p.N+j] {
			return false
		}
	}
	return true
}

// mix is the finalizer of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// Column returns column c, of length N, without copying it.
func (p *Points) Column(c int) []float64 { return p.X[c*p.N : (c+1)*p.N] }

// Firsts returns the first point with each value of a column, and no more than most of them.
func (p *Points) Firsts(c, most int) (rows []int) {
	seen, last := map[float64]bool{}, math.NaN()
	for i, v := range p.Column(c) {
		if v == last || seen[v] {
			continue
		}
		if len(rows) == most {
			break
		}
		seen[v], last, rows = true, v, append(rows, i)
	}
	return rows
}

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
	// Location is a number of either sign, of a formula. A fit varies it itself and not its logarithm, and
	// derivatives are by the number itself.
	Location
)

// Units are the exponents that convert a parameter between units of the data:
// multiply a parameter for scaled data by (scale of the target)^Target · (scale of
// its column)^Input to get the parameter for original units.
type Units struct{ Target, Input float64 }

// Param is one parameter of a program, a scalar or, with ARD, a vector. All elements are positive,
// except the number of a Location.
type Param struct {
	// Name is a name such as "lengthscale", or a path in a composite, "k1.lengthscale".
	Name string
	Kind Kind
	// Offset and Size are its position and length in θ.
	Offset, Size int
	// Vector distinguishes an ARD parameter of one column from a scalar.
	Vector bool
	// Dims are the columns of X (positions) that it belongs to, nil if none. The Dims of a signal
	// variance are the columns of the only linear leaf of its product, if Units depend on them.
	Dims []int
	// Units converts it to other units.
	Units Units
	// Start holds Size values given in the text, or is nil.
	Start []float64
	// Moves means that a Location moves with its column: it is compared with a coordinate.
	Moves bool
	// Apart means that the leaf is a sum over columns, each with distances of its own.
	Apart bool
	// Sphere means that the leaf has distances through a sphere.
	Sphere bool
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
		names[i] = p.elementName(i)
	}
	return names
}

// elementName returns the name of an element of a vector.
func (p Param) elementName(i int) string { return p.Name + "[" + strconv.Itoa(p.labels[i]) + "]" }
