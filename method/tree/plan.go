package tree

import (
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

// Plans count the operations of a factorization of a large matrix that take as long. An operation on blocks takes as long as slowness of
// these, a point of a level, for its order, its neighbours and small products, pointFlops times the columns, and flopRate is the number of them in a second.
const (
	slowness   = 1.75
	pointFlops = 4e5
	flopRate   = 60e9
)

// A value with gradient takes about gradientFlops·r² operations for each row of a tree whose largest block has rank r, a value valueFlops·r².
// A second factor, for the data fit, doubles both for smooth kernels; others take exact products.
const (
	gradientFlops = 100
	valueFlops    = 55
)

// The peak of the memory is about leafPeak times the leaves and blockPeak times the blocks, and pointBytes for each row.
const (
	leafPeak   = 1.4
	blockPeak  = 3
	pointBytes = 400
)

// Plan implements [device.Backend]. It knows no parameters of the kernel, and takes ranks of typical ones.
func (b backend) Plan(w device.Workload) device.Plan {
	n := float64(max(w.N, 1))
	levels := max(0, math.Ceil(math.Log2(n/float64(usualSizes.leaf))))
	s := shapeOf(w)
	rank := s.rank(n)
	more := slowness * elementFlops * n * n
	if s.smooth {
		more = slowness * gradientFlops / 2 * n * rank * rank
	}
	own := n*(levels+1)*pointFlops*float64(s.columns) + more
	leaf, blocks, block := n*math.Exp2(-levels), 0.0, rank // numbers of a row
	for range int(levels) {
		blocks += block
		block *= s.decay()
	}
	return device.Plan{
		N: w.N, D: w.D, FlopsValue: slowness*valueFlops*n*rank*rank + own, FlopsGradient: slowness*gradientFlops*n*rank*rank + own, FlopRate: flopRate,
		Needs: []device.Need{{Bytes: int64(n * (8*(leafPeak*leaf+blockPeak*blocks) + pointBytes)), What: fmt.Sprintf("blocks of low rank, about %.0f at most", rank)}},
	}
}

// shape has the properties of a kernel that decide about ranks: the number of columns, whether it is smooth, otherwise its order of
// smoothness, and the number of terms.
type shape struct {
	columns int
	smooth  bool
	order   float64
	terms   float64
}

// shapeOf returns the shape of a kernel, of a smooth one if it is not known.
func shapeOf(w device.Workload) shape {
	s := shape{columns: min(max(w.D, 1), mostColumns), smooth: true, terms: 1}
	if w.Program == nil {
		return s
	}
	s.columns, s.terms = min(max(len(columnsRead(w.Program)), 1), mostColumns), float64(max(1, len(w.Program.Monomials())))
	orders := map[string]float64{"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
	var visit func(all []*kernel.Monomial)
	visit = func(all []*kernel.Monomial) {
		for _, m := range all {
			for _, leaf := range m.Leaves {
				if o, ok := orders[leaf.Family.Name]; ok && (s.smooth || o < s.order) {
					s.smooth, s.order = false, o
				}
				if leaf.Family.Name == "periodic" {
					s.terms += 8
				}
			}
			for _, sum := range m.Sums {
				visit(sum)
			}
		}
	}
	visit(w.Program.Monomials())
	return s
}

// rank is about the rank of the largest block of n points, as measured for lengthscales of a third of the range.
func (s shape) rank(n float64) float64 {
	smooth := [...]float64{11, 100, 250}[s.columns-1] * s.terms
	if s.smooth {
		return min(smooth, n/2)
	}
	switch s.columns {
	case 1:
		return min((s.order+0.5)*s.terms, n/2)
	case 2:
		return min((10.2-1.2*s.order)*math.Pow(n, 0.365), n/2)
	}
	return min((3-0.4*s.order)*math.Pow(n, 2.0/3), n/2)
}

// decay is the ratio of the ranks of a block and the one above.
func (s shape) decay() float64 {
	switch {
	case s.columns == 1 && s.smooth:
		return 0.87
	case s.columns == 1:
		return 1
	case s.smooth:
		return 0.77
	case s.columns == 2:
		return 0.72
	}
	return 0.63
}
