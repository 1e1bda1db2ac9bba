package kernel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Op is an instruction of a [Program].
type Op uint8

// The instructions. A leaf pushes its value; Add and Mul replace the two
// topmost values by their sum or product; Scale multiplies the topmost value
// by a parameter.
const (
	OpRBF Op = iota + 1
	OpMatern12
	OpMatern32
	OpMatern52
	OpAdd
	OpMul
	OpScale
)

// Instr is one instruction.
type Instr struct {
	Op Op
	// Feature is the index of the feature that a leaf reads.
	Feature int
	// Param is the offset in θ of the lengthscale of an isotropic leaf, or of
	// the factor of Scale; −1 where the instruction has no parameter.
	Param int
}

// Feature is a quantity of a pair of points that leaves share: the squared
// Euclidean distance over some columns, Σ_c (x_c − x'_c)², each column divided
// by its lengthscale first if Param ≥ 0.
type Feature struct {
	// Dims are columns of X (positions, not labels).
	Dims []int
	// Param is the offset in θ of the first of len(Dims) lengthscales, or −1.
	Param int
}

// Kind says what a parameter is, for start values and bounds.
type Kind uint8

// The kinds of kernel parameters.
const (
	// Lengthscale is in units of the (scaled) inputs.
	Lengthscale Kind = iota + 1
	// Variance is in squared units of the (scaled) target.
	Variance
)

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
	// Dims are the columns of X (positions) that it belongs to, nil for a
	// variance.
	Dims []int
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
	// Depth is the largest number of values on the stack.
	Depth int
	// Params describes θ, a vector of NumParams positive numbers.
	Params    []Param
	NumParams int
}

// Names returns the names of all elements of θ in order.
func (p *Program) Names() []string {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.ElementNames()...)
	}
	return names
}

// CompileError reports an expression that does not fit the data.
type CompileError struct{ Msg string }

func (e *CompileError) Error() string { return "kernel: " + e.Msg }

// Columns returns the labels 0 … d−1: the usual second argument of [Compile].
func Columns(d int) []int {
	labels := make([]int, d)
	for i := range labels {
		labels[i] = i
	}
	return labels
}

// Compile translates e for points whose columns carry the given labels. The
// labels are what `dims=` and the names of ARD lengthscales speak of; they
// differ from positions when columns of a table were left out.
//
// Every term of a sum carries one signal variance, a multiplicative factor:
// rbf is signal_variance·exp(−½r²), and rbf*matern32 has one as well. A sum
// within a product carries one for each of its terms, and then the product has
// none of its own; of several sums in one product, all but the first leave out
// the variance of their first term, which could not be told from the others.
func Compile(e Expr, labels []int) (*Program, error) {
	c := compiler{prog: &Program{D: len(labels), Text: e.String()}, labels: labels}
	if err := c.term(e, "", true); err != nil {
		return nil, err
	}
	c.prog.Depth = c.maxDepth
	return c.prog, nil
}

type compiler struct {
	prog            *Program
	labels          []int
	depth, maxDepth int
}

func (c *compiler) emit(in Instr) {
	c.prog.Code = append(c.prog.Code, in)
	switch in.Op {
	case OpAdd, OpMul:
		c.depth--
	case OpScale:
	default:
		c.depth++
	}
	c.maxDepth = max(c.maxDepth, c.depth)
}

// term compiles a term of a sum, with a signal variance if scaled. prefix is
// the path of its parameters, such as "k2.".
func (c *compiler) term(e Expr, prefix string, scaled bool) error {
	if sum, ok := e.(Sum); ok {
		for i, t := range sum {
			if err := c.term(t, childPrefix(prefix, i), scaled || i > 0); err != nil {
				return err
			}
			if i > 0 {
				c.emit(Instr{Op: OpAdd, Param: -1})
			}
		}
		return nil
	}
	var start []float64
	hasSum := false
	if err := c.factors(e, prefix, &start, &hasSum, scaled); err != nil {
		return err
	}
	if hasSum || !scaled {
		if start != nil {
			return &CompileError{fmt.Sprintf("signal_variance given in %q: this term has none of its own", e)}
		}
		return nil
	}
	c.emit(Instr{Op: OpScale, Param: c.param(Param{Name: prefix + "signal_variance", Kind: Variance, Size: 1, Start: start})})
	return nil
}

// factors compiles the factors of a product, or a single leaf. The first sum
// among them is scaled if scaled is set, and sets hasSum.
func (c *compiler) factors(e Expr, prefix string, start *[]float64, hasSum *bool, scaled bool) error {
	switch e := e.(type) {
	case *Leaf:
		if v := e.Start["signal_variance"]; v != nil {
			if *start != nil || len(v) != 1 {
				return &CompileError{"signal_variance is one number, once in a product"}
			}
			*start = v
		}
		return c.leaf(e, prefix)
	case Product:
		for i, f := range e {
			if err := c.factors(f, childPrefix(prefix, i), start, hasSum, scaled); err != nil {
				return err
			}
			if i > 0 {
				c.emit(Instr{Op: OpMul, Param: -1})
			}
		}
	case Sum:
		withVariance := scaled && !*hasSum
		*hasSum = true
		return c.term(e, prefix, withVariance)
	}
	return nil
}

func childPrefix(prefix string, i int) string {
	return prefix + "k" + strconv.Itoa(i+1) + "."
}

// param appends p to θ and returns its offset.
func (c *compiler) param(p Param) int {
	p.Offset = c.prog.NumParams
	c.prog.NumParams += p.Size
	c.prog.Params = append(c.prog.Params, p)
	return p.Offset
}

func (c *compiler) leaf(l *Leaf, prefix string) error {
	dims, labels := Columns(c.prog.D), c.labels
	if l.Dims != nil {
		dims, labels = nil, l.Dims
		for _, label := range l.Dims {
			pos := slices.Index(c.labels, label)
			if pos < 0 {
				return &CompileError{fmt.Sprintf("%s: there is no column %d to use (columns are %s)", l, label, labelText(c.labels))}
			}
			dims = append(dims, pos)
		}
	}
	p := Param{Name: prefix + "lengthscale", Kind: Lengthscale, Size: 1, Dims: dims}
	if l.ARD {
		p.Size, p.Vector, p.labels = len(dims), true, labels
	}
	if v := l.Start["lengthscale"]; v != nil {
		switch len(v) {
		case 1:
			p.Start = slices.Repeat(v, p.Size)
		case p.Size:
			p.Start = v
		default:
			return &CompileError{fmt.Sprintf("%s: %d start values for %d lengthscales", l, len(v), p.Size)}
		}
	}
	offset := c.param(p)
	if l.ARD {
		feature := c.feature(Feature{Dims: dims, Param: offset})
		c.emit(Instr{Op: l.Family.Op, Feature: feature, Param: -1})
		return nil
	}
	feature := c.feature(Feature{Dims: dims, Param: -1})
	c.emit(Instr{Op: l.Family.Op, Feature: feature, Param: offset})
	return nil
}

// feature returns the index of f, shared with an equal one if there is one.
func (c *compiler) feature(f Feature) int {
	for i, g := range c.prog.Features {
		if g.Param == f.Param && slices.Equal(g.Dims, f.Dims) {
			return i
		}
	}
	c.prog.Features = append(c.prog.Features, f)
	return len(c.prog.Features) - 1
}

func labelText(labels []int) string {
	if len(labels) == 0 {
		return "none"
	}
	contiguous := true
	for i, l := range labels {
		contiguous = contiguous && l == labels[0]+i
	}
	if contiguous && len(labels) > 2 {
		return fmt.Sprintf("%d to %d", labels[0], labels[len(labels)-1])
	}
	return fmt.Sprint(labels)
}

// CheckTheta returns an error if theta is not NumParams positive finite
// numbers.
func (p *Program) CheckTheta(theta []float64) error {
	if len(theta) != p.NumParams {
		return &CompileError{fmt.Sprintf("%d parameters for a kernel with %d", len(theta), p.NumParams)}
	}
	names := p.Names()
	for i, v := range theta {
		if !(v > 0) || math.IsInf(v, 0) {
			return &CompileError{fmt.Sprintf("%s = %v: must be a positive finite number", names[i], v)}
		}
	}
	return nil
}
