package markov

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/kernel"
)

// maxStates is the largest number of states.
const maxStates = 64

// layout describes the states of a kernel: a block for each product of leaves after all brackets are
// multiplied out. The kernel is the sum of the blocks.
type layout struct {
	column int
	states int
	blocks []independent
	// shapes are the parameters on which transitions depend; scales are factors of a block.
	shapes []shapeParameter
	scales []scaleParameter
	// first and end are for each state the range of the states of its block, and at is the position of
	// its row in matrices of the diagonal blocks.
	first, end, at []int
	// elements is the number of elements of all diagonal blocks.
	elements int
}

// independent is a product of leaves. Its process is the first of its states times x to a power.
type independent struct {
	first, size int
	// at is the position of its elements in matrices of the diagonal blocks.
	at     int
	leaves []factorStates
	scales []scaleParameter
	power  int
}

// forgets reports whether the process has noise of its own.
func (b independent) forgets() bool {
	return slices.ContainsFunc(b.leaves, func(l factorStates) bool { return !l.cosine })
}

// factorStates is a factor with more than one state or a state that decays.
type factorStates struct {
	// cosine means a rotation of two states; any other leaf is Matérn of order order + ½.
	cosine bool
	order  int
	// param is the position of the lengthscale or the period in θ.
	param int
}

// size returns the number of states.
func (l factorStates) size() int {
	if l.cosine {
		return 2
	}
	return l.order + 1
}

// shapeParameter is a parameter of a leaf of a block.
type shapeParameter struct{ block, param int }

// scaleParameter multiplies a block by θ[param]^power.
type scaleParameter struct {
	block, param int
	power        float64
}

// errMany is the error of a kernel with too many states.
var errMany = fmt.Errorf("it has more than %d states", maxStates)

// errFixed is the error of a kernel whose states are weights of functions. A filter loses the digits of what small noise
// leaves of their variances.
var errFixed = errors.New("its process never forgets, since no factor is a Matérn kernel: it has few features, with which the method finite computes")

// newLayout returns the states of the kernel, or an error that says what has none.
func newLayout(prog *kernel.Program) (*layout, error) {
	l := &layout{column: -1}
	var products []independent
	for _, m := range prog.Monomials() {
		more, err := l.expand(m)
		if err != nil {
			return nil, err
		}
		products = append(products, more...)
	}
	for _, b := range products {
		b.first, b.size, b.at = l.states, 1, l.elements
		for _, leaf := range b.leaves {
			b.size *= leaf.size()
			l.shapes = append(l.shapes, shapeParameter{len(l.blocks), leaf.param})
		}
		l.states, l.elements = l.states+b.size, l.elements+b.size*b.size
		if l.states > maxStates {
			return nil, errMany
		}
		for _, s := range b.scales {
			l.scales = append(l.scales, scaleParameter{len(l.blocks), s.param, s.power})
		}
		for i := range b.size {
			l.first, l.end, l.at = append(l.first, b.first), append(l.end, b.first+b.size), append(l.at, b.at+i*b.size)
		}
		l.blocks = append(l.blocks, b)
	}
	if !slices.ContainsFunc(l.blocks, independent.forgets) {
		return nil, errFixed
	}
	l.column = max(l.column, 0) // a constant is the same in every column
	return l, nil
}

// expand multiplies out the brackets of a monomial.
func (l *layout) expand(m *kernel.Monomial) ([]independent, error) {
	var own independent
	if m.Variance >= 0 {
		own.scales = append(own.scales, scaleParameter{param: m.Variance, power: 1})
	}
	for _, leaf := range m.Leaves {
		if err := l.multiply(&own, leaf); err != nil {
			return nil, err
		}
	}
	products := []independent{own}
	for _, sum := range m.Sums {
		var terms, all []independent
		for _, t := range sum {
			more, err := l.expand(t)
			if err != nil {
				return nil, err
			}
			terms = append(terms, more...)
		}
		for _, a := range products {
			for _, b := range terms {
				all = append(all, independent{leaves: slices.Concat(a.leaves, b.leaves), scales: slices.Concat(a.scales, b.scales), power: a.power + b.power})
			}
		}
		if products = all; len(products) > maxStates {
			return nil, errMany
		}
	}
	return products, nil
}

// orders are the orders p of the Matérn families p + ½.
var orders = map[string]int{"matern12": 0, "matern32": 1, "matern52": 2}

// multiply multiplies a block by a leaf.
func (l *layout) multiply(b *independent, of kernel.PlacedLeaf) error {
	name := of.Family.Name
	if name == "constant" {
		return nil
	}
	order, matern := orders[name]
	if name == "matern" {
		_, nu := of.Number()
		order, matern = int(nu), true
	}
	switch {
	case matern:
		b.leaves = append(b.leaves, factorStates{order: order, param: of.Places["lengthscale"]})
	case name == "cosine":
		b.leaves = append(b.leaves, factorStates{cosine: true, param: of.Places["period"]})
	case name == "linear":
		b.power++
		if at, ok := of.Places["lengthscale"]; ok {
			b.scales = append(b.scales, scaleParameter{param: at, power: -2})
		}
	default:
		return fmt.Errorf("%s has no states; matern12, matern32, matern52, matern, cosine, linear, constant, and sums and products of these have", name)
	}
	if len(of.Columns) != 1 || l.column >= 0 && l.column != of.Columns[0] {
		return fmt.Errorf("all of it must depend on one and the same column, and %s does not", of.Leaf)
	}
	l.column = of.Columns[0]
	return nil
}

// weights writes the factor of the first state of each block at a point to w.
func (l *layout) weights(w []float64, x float64) {
	for b := range l.blocks {
		w[b] = 1
		if power := l.blocks[b].power; power > 0 {
			w[b] = math.Pow(x, float64(power))
		}
	}
}

// packed is the number of elements of a symmetric matrix of s states.
func packed(s int) int { return s * (s + 1) / 2 }

// sums are the derivatives of log|Σ| by the logarithms of the shapes' parameters and of the blocks'
// variances.
type sums struct{ shapes, sizes []float64 }

func (l *layout) newSums() *sums {
	return &sums{make([]float64, len(l.shapes)), make([]float64, len(l.blocks))}
}

// few reports whether the kernel is one Matérn leaf of at most three states.
func (l *layout) few() bool {
	if len(l.blocks) != 1 || l.states > 3 {
		return false
	}
	b := l.blocks[0]
	return b.power == 0 && len(b.leaves) == 1 && !b.leaves[0].cosine
}

// addTo adds factor times the derivatives by log θ to grad.
func (l *layout) addTo(grad []float64, s *sums, factor float64) {
	for e, v := range s.shapes {
		grad[l.shapes[e].param] += factor * v
	}
	for _, sc := range l.scales {
		grad[sc.param] += factor * sc.power * s.sizes[sc.block]
	}
}

// dependence is about how many operations of the dense method take the time of one here: these are
// short sums on one core, each of which waits for the one before. So plans count each as 16, and
// the method is chosen where it saves time.
const dependence = 16

// rowFlops are the operations of a row: in a value, in a contraction of Σ⁻¹, in one sweep of a
// vector, and in a middle term.
type rowFlops struct{ value, inverse, vector, middle float64 }

// flops estimates the operations, for blocks of that many elements in all. The factors were measured for 2 to 62
// states, between regular times and others; the transitions cost what is linear in the states.
func (l *layout) flops() rowFlops {
	s, e := float64(l.states), float64(l.elements)
	f := rowFlops{value: 8*s + 10, inverse: 8*s + 10, vector: s + 3}
	if !l.few() {
		shaped := 0.0
		for _, shape := range l.shapes {
			size := float64(l.blocks[shape.block].size)
			shaped += size * size * s / 2
		}
		f = rowFlops{value: 0.7*e*s + 2.5*s*s + 40*s, inverse: 0.9*e*s + 2.4*s*s + shaped + 50*s, vector: 2*e + 6*s + 10}
	}
	f.middle = 2*f.value + 2*f.inverse
	return rowFlops{dependence * f.value, dependence * f.inverse, dependence * f.vector, dependence * f.middle}
}

// square is working space for a matrix of the states, stored by rows.
type square [maxStates * maxStates]float64
