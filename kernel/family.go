package kernel

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/internal/pair"
	"gpfit/internal/textform"
)

// Node is a Gorgonia node for a number computed from a pair of points.
type Node = pair.Node

// Family is one kind of leaf: a covariance function with unit variance, written as
// an expression. The package derives its derivatives and the CPU and GPU code from
// that expression.
type Family struct {
	// Name is the name in the text form, for example "matern32".
	Name string
	// Parameters are the parameters of a leaf, in order; all are positive. The
	// signal variance is not one of them, because it belongs to the term.
	Parameters []Parameter
	// Degree means that leaves have an integer, 2 if not given, which [Pair.Degree]
	// returns. MaxDegree is the largest allowed.
	MaxDegree int
	// Function builds k(x, x′). It is called once for each leaf.
	Function func(p *Pair) *Node
	// linear marks the family whose variance has units of the inputs.
	linear bool
	// own is the number of a built-in family if it is not a degree.
	own *number
	// formula is set if the family is a formula.
	formula *formula
}

// Parameter is a parameter that leaves of a family have.
type Parameter struct {
	// Name is a word such as "lengthscale".
	Name string
	// Kind chooses start value, bounds and units; 0 means [Shape].
	Kind Kind
	// Count is how many of this parameter a leaf has.
	Count Count
	// units override the units that follow from Kind.
	units Units
}

// Count is how many of a parameter a leaf has.
type Count uint8

// The counts.
const (
	// One means one, always.
	One Count = iota
	// PerColumn means one for each column with ard, and one without.
	PerColumn
	// OnlyARD means one for each column with ard, and none without.
	OnlyARD
)

func (q Parameter) kind() Kind {
	if q.Kind == 0 {
		return Shape
	}
	return q.Kind
}

func (q Parameter) unitsOf() Units {
	switch q.kind() {
	case Lengthscale, Period, InnerScale:
		return Units{Input: 1}
	}
	return q.units
}

const signalVariance = "signal_variance"

// number describes the first argument of a family with a number: one of the count
// numbers first, first + 1, …
type number struct {
	name, what string
	first      float64
	count      int
	// standard is the position, from 1, of the default.
	standard int
}

// of returns the number at a position, counted from 1.
func (n *number) of(place int) float64 { return n.first + float64(place-1) }

// number returns the number of a family, nil if it has none.
func (f *Family) number() *number {
	if f.own != nil || f.MaxDegree == 0 {
		return f.own
	}
	return &number{name: "degree", what: "a whole number", first: 1, count: f.MaxDegree, standard: 2}
}

// check returns an error if a custom family is invalid; known finds the families
// defined before it.
func (f *Family) check(known func(name string) *Family) error {
	if !textform.IsName(f.Name) || known(f.Name) != nil || f.Name == formulaName {
		return fmt.Errorf("kernel: a custom kernel cannot be named %q: the name must be a word that is not in use", f.Name)
	}
	if f.Function == nil {
		return fmt.Errorf("kernel: family %s has no Function", f.Name)
	}
	names := map[string]bool{}
	for _, q := range f.Parameters {
		if names[q.Name] || isReserved(q.Name) && q.Name != ardScale || !textform.IsName(q.Name) {
			return fmt.Errorf("kernel: %s: parameter %q is given twice or is not an unused word", f.Name, q.Name)
		}
		if names[q.Name] = true; q.Kind == Variance || q.Kind == Weight {
			return fmt.Errorf("kernel: %s: parameter %s: every term of a kernel already has a signal variance", f.Name, q.Name)
		}
	}
	return nil
}

// isReserved reports whether a word already has another meaning where a parameter's
// name can appear: arguments of leaves, what ard divides formulas by, and
// parameters of the model around a kernel.
func isReserved(name string) bool {
	return slices.Contains([]string{signalVariance, "ard", "dims", "degree", ardScale, "noise_variance"}, name) || strings.HasPrefix(name, "mean_")
}

// takesARD reports whether [WithARD] changes the family.
func (f *Family) takesARD() bool { return f.Name != "constant" && f.formula == nil }

// scalesInner reports whether the lengthscales of the family, with ard, set its
// size.
func (f *Family) scalesInner() bool {
	return slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Kind == InnerScale })
}

// parameterNames lists the parameters that accept start values, in order.
func (f *Family) parameterNames() []string {
	var names []string
	for _, q := range f.Parameters {
		names = append(names, q.Name)
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
