package kernel

// Family is one kind of leaf: a covariance function k(s) with unit variance, of
// a feature s of the two points.
type Family struct {
	// Name is the word of the text form, for example "matern32".
	Name string
	// Op is the instruction that evaluates it.
	Op Op
	// feature is what it reads, with 1/θ[Param]^power as the feature's scale
	// where it is isotropic; its parameters are slots, in order.
	feature FeatureKind
	power   int
	slots   []slot
	// value writes a·k(w·s) for a row of features s.
	value func(dst []float64, in leafInput)
	// slope writes a·k to the row k as value does, and returns its derivatives.
	slope func(k []float64, in leafInput) leafSlope
	// custom is set for a family of the user's.
	custom Custom
}

// slot is a parameter that leaves of a family have.
type slot struct {
	name  string
	kind  Kind
	units Units
	use   use
}

// use says how many of a parameter a leaf has: one for each column with ard and
// one without, the same but none without ard, or always one.
type use uint8

const (
	perColumn use = iota
	onlyARD
	single
)

const signalVariance = "signal_variance"

var (
	lengthscale = slot{"lengthscale", Lengthscale, Units{Input: 1}, perColumn}
	// sineScale is compared with a sine, innerScale divides inner products.
	sineScale  = slot{"lengthscale", Shape, Units{}, perColumn}
	innerScale = slot{"lengthscale", InnerScale, Units{Input: 1}, onlyARD}
	period     = slot{"period", Period, Units{Input: 1}, perColumn}
	alpha      = slot{"alpha", Shape, Units{}, single}
	offset     = slot{"offset", Offset, Units{}, single}
)

// families lists every leaf, in the order of their help text, with sums over
// the columns c and Δ_c = x_c − x'_c.
//
// With r² = s = Σ Δ_c²/ρ_c², after Rasmussen & Williams, Gaussian Processes for
// Machine Learning (2006), eq. 4.9, 4.14–4.17 and 4.19:
//
//	rbf       exp(−r²/2)                       dk/ds = −½ k
//	matern12  exp(−r)                          dk/ds = −½ exp(−t)/t,         t = r
//	matern32  (1 + √3 r) exp(−√3 r)            dk/ds = −3/2 exp(−t),         t = √3 r
//	matern52  (1 + √5 r + 5r²/3) exp(−√5 r)    dk/ds = −5/6 (1 + t) exp(−t), t = √5 r
//	rq        (1 + r²/(2α))^−α                 dk/ds = −½ k/(1 + t),         t = r²/(2α)
//	                                           dk/dlog α = α k (t/(1 + t) − log(1 + t))
//
// With s = Σ sin²(πΔ_c/p_c)/ρ_c², on one column eq. 4.31 (on several, the form
// with sin of the distance is not positive definite):
//
//	periodic  exp(−2s)                         dk/ds = −2k
//
// With s = Σ Δ_c/p_c, the real part of a character and so positive definite in
// any dimension (Bochner's theorem, eq. 4.5):
//
//	cosine    cos(2πs)                         dk/ds = −2π sin(2πs)
//
// With s = Σ x_c x'_c, or Σ x_c x'_c/ρ_c² with ard, table 4.1:
//
//	linear    s                                dk/ds = 1
//	poly      (o + s)^p                        dk/ds = p (o + s)^(p−1) = dk/do
//
// And of no column:
//
//	constant  1
var families = []*Family{
	{Name: "rbf", Op: OpRBF, power: 2, slots: []slot{lengthscale}, value: rbfValue, slope: rbfSlope},
	matern("matern12", OpMatern12, 1, [3]float64{1, 0, 0}, [3]float64{-0.5, 0, 0}),
	matern("matern32", OpMatern32, 3, [3]float64{1, 1, 0}, [3]float64{0, -1.5, 0}),
	matern("matern52", OpMatern52, 5, [3]float64{1, 1, 1.0 / 3}, [3]float64{0, -5.0 / 6, -5.0 / 6}),
	{Name: "rq", Op: OpRQ, power: 2, slots: []slot{lengthscale, alpha}, value: rqValue, slope: rqSlope},
	{Name: "periodic", Op: OpPeriodic, feature: SinSquares, power: 2, slots: []slot{sineScale, period}, value: periodicValue, slope: periodicSlope},
	{Name: "linear", Op: OpLinear, feature: InnerProduct, slots: []slot{innerScale}, value: linearValue, slope: linearSlope},
	{Name: "poly", Op: OpPoly, feature: InnerProduct, slots: []slot{innerScale, offset}, value: polyValue, slope: polySlope},
	{Name: "cosine", Op: OpCosine, feature: Differences, power: 1, slots: []slot{period}, value: cosineValue, slope: cosineSlope},
	{Name: "constant", Op: OpConstant, value: constantValue, slope: constantSlope},
}

// hasColumns tells the families that read a feature.
func (f *Family) hasColumns() bool { return f.Op != OpConstant && f.custom == nil }

// hasShape tells the families with a parameter of their own beside those that
// scale the columns.
func (f *Family) hasShape() bool { return f.Op == OpRQ || f.Op == OpPoly }

// hasDegree tells the families with an integer degree.
func (f *Family) hasDegree() bool { return f.Op == OpPoly }

// parameterNames lists what may be given as start values, in order.
func (f *Family) parameterNames() []string {
	var names []string
	for _, s := range f.slots {
		names = append(names, s.name)
	}
	return append(names, signalVariance)
}

// Families returns the names of all built-in leaf families.
func Families() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.Name
	}
	return names
}

func familyByOp(op Op) *Family {
	for _, f := range families {
		if f.Op == op {
			return f
		}
	}
	return nil
}
