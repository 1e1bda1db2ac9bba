package kernel

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/internal/textform"
	"gpfit/kernel/pair"
)

// Node is a number of a pair of points, as a node of a Gorgonia expression.
type Node = pair.Node

// Family is one kind of leaf: a covariance function with unit variance, written
// as an expression. Its derivatives and what the CPU and a GPU run follow from that.
type Family struct {
	// Name is the word of the text form, for example "matern32".
	Name string
	// Parameters are those that its leaves have, in order; all are positive. The
	// signal variance is not among them: the term has it.
	Parameters []Parameter
	// Degree says that leaves have a whole number, 2 if not given, which
	// [Pair.Degree] returns; MaxDegree is the largest.
	MaxDegree int
	// Function writes k(x, x′) down. It is called once for each leaf.
	Function func(p *Pair) *Node
	// linear tells the family whose variance has the units of the inputs.
	linear bool
	// own is the number of a built-in family that is no degree.
	own *number
	// formula is that of a family that is one.
	formula *formula
}

// Parameter is a parameter that leaves of a family have.
type Parameter struct {
	// Name is a word such as "lengthscale".
	Name string
	// Kind chooses start value, bounds and units; 0 means [Shape].
	Kind Kind
	// Count says how many of it a leaf has.
	Count Count
	// units are those of Kind where it does not say them.
	units Units
}

// Count says how many of a parameter a leaf has.
type Count uint8

// The counts.
const (
	// One is one, always.
	One Count = iota
	// PerColumn is one for each column with ard, and one without.
	PerColumn
	// OnlyARD is one for each column with ard, and none without.
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

// number is what a family has in its brackets before anything else: one of count
// numbers, first, first + 1, …
type number struct {
	name, what string
	first      float64
	count      int
	// standard is the place, from 1, of the one that is meant without any.
	standard int
}

// of is the number at a place from 1.
func (n *number) of(place int) float64 { return n.first + float64(place-1) }

// number is that of a family, nil if it has none.
func (f *Family) number() *number {
	if f.own != nil || f.MaxDegree == 0 {
		return f.own
	}
	return &number{name: "degree", what: "a whole number", first: 1, count: f.MaxDegree, standard: 2}
}

// check returns an error about a family of the user's; known finds those before it.
func (f *Family) check(known func(name string) *Family) error {
	if !textform.IsName(f.Name) || known(f.Name) != nil || f.Name == formulaName {
		return fmt.Errorf("kernel: a kernel of one's own cannot be called %q: it must be a word that is not in use", f.Name)
	}
	if f.Function == nil {
		return fmt.Errorf("kernel: %s has no function", f.Name)
	}
	names := map[string]bool{}
	for _, q := range f.Parameters {
		if names[q.Name] || isReserved(q.Name) && q.Name != ardScale || !textform.IsName(q.Name) {
			return fmt.Errorf("kernel: %s: parameter %q is there twice or is no word that is free", f.Name, q.Name)
		}
		if names[q.Name] = true; q.Kind == Variance || q.Kind == Weight {
			return fmt.Errorf("kernel: %s: parameter %s: the term of a kernel has its signal variance without being asked", f.Name, q.Name)
		}
	}
	return nil
}

// isReserved tells words that mean something else where a parameter's name stands:
// arguments of leaves, what ard divides formulas by, and parameters of the model
// around a kernel.
func isReserved(name string) bool {
	return slices.Contains([]string{signalVariance, "ard", "dims", "degree", ardScale, "noise_variance"}, name) || strings.HasPrefix(name, "mean_")
}

// takesARD tells the families that [WithARD] changes.
func (f *Family) takesARD() bool { return f.Name != "constant" && f.formula == nil }

// scalesInner tells the families whose lengthscales, with ard, set their size.
func (f *Family) scalesInner() bool {
	return slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Kind == InnerScale })
}

// parameterNames lists what may be given as start values, in order.
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
