package kernel

import (
	"fmt"
	"math"

	"gpfit/internal/textform"
)

// Custom is a covariance function of the user's own, one type with value and
// derivative. Give it to a [Parser], and its name is a word of the text form.
// Package kernel/kerneltest tests one. The CPU backend evaluates it, a pair of
// points at a time; GPU backends refuse a program that contains one.
//
// All methods must be safe for concurrent use and must not keep the slices.
type Custom interface {
	// Name is its word: letters, digits and underscores, beginning with a
	// letter, not that of a built-in family.
	Name() string
	// Params lists its parameters for points of d columns, with one of each
	// kind or, as ard asks, one per column. The signal variance is not among
	// them: the term has it.
	Params(d int, ard bool) ([]CustomParam, error)
	// Value returns k(x, y) for points of d columns and, unless grad is nil,
	// sets grad[p] = ∂k/∂log θ_p for every element of θ, the parameters in the
	// order of Params. It must be symmetric in x and y to the last bit.
	Value(theta, x, y, grad []float64) float64
}

// CustomInput is a [Custom] with derivatives by the inputs, which gradients of
// the posterior mean need.
type CustomInput interface {
	Custom
	// InputGradient sets grad[c] = ∂k(x, y)/∂x_c.
	InputGradient(theta, x, y, grad []float64)
}

// CustomParam is one parameter of a [Custom].
type CustomParam struct {
	// Name is a word such as "lengthscale".
	Name string
	// Kind chooses start value, bounds and units; 0 means [Shape].
	Kind Kind
	// PerColumn makes it a vector with an element per column.
	PerColumn bool
}

// CustomLeaf is a leaf of a program that is the user's own.
type CustomLeaf struct {
	Kernel Custom
	// Dims are the columns (positions) that it is given.
	Dims []int
	// Param and Size place its parameters in θ.
	Param, Size int
}

// CheckInputGradient returns an error if the program contains a leaf without
// derivatives by the inputs.
func (p *Program) CheckInputGradient() error {
	for _, c := range p.Customs {
		if _, ok := c.Kernel.(CustomInput); !ok {
			return &CompileError{Msg: fmt.Sprintf("kernel %s has no derivatives by the inputs (method InputGradient)", c.Kernel.Name())}
		}
	}
	return nil
}

func (c *compiler) customLeaf(l *Leaf, prefix string, dims, labels []int) error {
	params, err := l.Family.custom.Params(len(dims), l.ARD)
	if err != nil {
		return c.fail(l, "%s: %v", l, err)
	}
	leaf := CustomLeaf{Kernel: l.Family.custom, Dims: dims, Param: c.prog.NumParams}
	known := map[string]bool{signalVariance: true}
	for _, q := range params {
		p := Param{Name: prefix + q.Name, Kind: q.Kind, Size: 1}
		switch q.Kind {
		case Lengthscale, Period:
			p.Units.Input = 1
		case 0:
			p.Kind = Shape
		case Variance, InnerScale:
			return c.fail(l, "%s: parameter %s: a kernel of one's own takes the kinds Lengthscale, Period, Shape, Offset and Weight", l, q.Name)
		}
		if known[q.Name] || !textform.IsName(q.Name) {
			return c.fail(l, "%s: parameter %q is there twice or is no word", l, q.Name)
		}
		known[q.Name] = true
		if p.Kind == Lengthscale || p.Kind == Period || q.PerColumn {
			p.Dims = dims
		}
		if q.PerColumn {
			p.Size, p.Vector, p.labels = len(dims), true, labels
		}
		if err := c.setStart(&p, l, l.Start[q.Name]); err != nil {
			return err
		}
		c.param(p)
		leaf.Size += p.Size
	}
	for name := range l.Start {
		if !known[name] {
			return c.fail(l, "%s: there is no parameter %s", l, name)
		}
	}
	c.prog.Customs = append(c.prog.Customs, leaf)
	c.emit(Instr{Op: OpCustom, Feature: len(c.prog.Customs) - 1, Param: -1, Shape: -1})
	return nil
}

// customPair runs the user's leaves on the pairs of a row.
type customPair struct {
	x, y *Points
	i    int
	j0   int
	// point and other hold the two points' coordinates, grad derivatives.
	point, other, grad []float64
}

func (p *customPair) init(prog *Program) {
	d, size := 0, 0
	for _, c := range prog.Customs {
		d, size = max(d, len(c.Dims)), max(size, len(c.Dims), c.Size)
	}
	p.point, p.other, p.grad = make([]float64, d), make([]float64, d), make([]float64, size)
}

func (p *customPair) set(x *Points, i int, y *Points, j0 int) { p.x, p.i, p.y, p.j0 = x, i, y, j0 }

// gather copies the coordinates of the row's one point and of its j-th other.
func (p *customPair) gather(leaf *CustomLeaf, j int) (x, y []float64) {
	x, y = p.point[:len(leaf.Dims)], p.other[:len(leaf.Dims)]
	for q, c := range leaf.Dims {
		x[q], y[q] = p.x.X[c*p.x.N+p.i], p.y.X[c*p.y.N+p.j0+j]
	}
	return x, y
}

func (p *customPair) value(dst []float64, leaf *CustomLeaf, theta []float64, a float64) {
	own := theta[leaf.Param : leaf.Param+leaf.Size : leaf.Param+leaf.Size]
	for j := range dst {
		x, y := p.gather(leaf, j)
		dst[j] = a * leaf.Kernel.Value(own, x, y, nil)
	}
}

func (p *customPair) reverse(g scaledRow, leaf *CustomLeaf, theta []float64, to sink) {
	own := theta[leaf.Param : leaf.Param+leaf.Size : leaf.Param+leaf.Size]
	inputs, ok := leaf.Kernel.(CustomInput)
	for j, v := range g.row {
		x, y := p.gather(leaf, j)
		if to.theta != nil {
			grad := p.grad[:leaf.Size:leaf.Size]
			leaf.Kernel.Value(own, x, y, grad)
			for q, d := range grad {
				to.theta[leaf.Param+q] += g.factor * v * d
			}
			continue
		}
		grad := p.grad[:len(leaf.Dims):len(leaf.Dims)]
		if ok {
			inputs.InputGradient(own, x, y, grad)
		}
		for q, c := range leaf.Dims {
			if !ok {
				grad[q] = math.NaN()
			}
			to.input[c] += g.factor * v * grad[q]
		}
	}
}
