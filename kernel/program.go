package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gpfit/internal/code"
	"gpfit/internal/pair"
)

// Program is a compiled covariance function on points of D columns. It consists of features of a
// pair and operations on them. It is immutable and safe for concurrent use.
type Program struct {
	// D is the number of columns of X.
	D int
	// Text is the expression that it was compiled from.
	Text string
	// Features are the inputs of the operations.
	Features []Feature
	// List holds the operations for a value without derivatives; Value is the one
	// that computes k(x, x′).
	List  *code.List
	Value code.ID
	// Params describes θ, a vector of NumParams positive numbers.
	Params    []Param
	NumParams int
	// Zeros are the names of the offsets that are the constant 0; θ does not have them.
	Zeros    []string
	gradient func() *Gradient
	graph    *pair.Graph
	root     *Node
}

// Names returns the names of all elements of θ in order.
func (p *Program) Names() []string {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.ElementNames()...)
	}
	return names
}

// CheckTheta returns an error unless theta consists of NumParams positive finite numbers.
func (p *Program) CheckTheta(theta []float64) error {
	if len(theta) != p.NumParams {
		return &CompileError{Msg: fmt.Sprintf("%d parameters for a kernel with %d", len(theta), p.NumParams)}
	}
	for i, v := range theta {
		if v == 0 && p.kindAt(i) == Offset {
			return &CompileError{Msg: fmt.Sprintf("%s = 0: write offset=0 in the kernel, which makes it a constant; parameters must be positive finite numbers", p.Names()[i])}
		}
		if !(v > 0) || math.IsInf(v, 0) {
			return &CompileError{Msg: fmt.Sprintf("%s = %v: must be a positive finite number", p.Names()[i], v)}
		}
	}
	return nil
}

// kindAt returns the kind of an element of θ.
func (p *Program) kindAt(index int) Kind {
	for _, q := range p.Params {
		if index < q.Offset+q.Size {
			return q.Kind
		}
	}
	return 0
}

// finish compiles the value. The derivatives are compiled when they are first needed.
func (p *Program) finish() error {
	f, err := p.graph.Compile(p.root, false, 0, 0)
	if err != nil {
		return &CompileError{Msg: err.Error()}
	}
	p.List, p.Value = f.List, f.Value
	p.gradient = sync.OnceValue(func() *Gradient {
		pair.Building.Lock()
		defer pair.Building.Unlock()
		f, err := p.graph.Compile(p.root, true, len(p.Features), p.NumParams)
		if err != nil {
			// Unreachable: every op of package pair is differentiable once.
			panic(fmt.Sprintf("kernel: %s: %v", p.Text, err))
		}
		return newGradient(p.Features, p.NumParams, f)
	})
	return nil
}

// Gradient returns the derivatives. They are compiled on the first call.
func (p *Program) Gradient() *Gradient { return p.gradient() }

// Expression returns the covariance function of a pair and its derivatives, as the
// nodes of a Gorgonia graph that the program was compiled from.
func (p *Program) Expression() *pair.Expression {
	p.gradient()
	return p.graph.Differentiated()
}

// Stationary reports whether the program depends only on the differences of points,
// so that its diagonal is constant.
func (p *Program) Stationary() bool {
	return !slices.ContainsFunc(p.Features, func(f Feature) bool {
		return !slices.Contains([]FeatureKind{SquaredDistance, SinSquares, Differences, Mismatches}, f.Kind)
	})
}

// CompileError reports an expression that does not fit the data.
type CompileError struct {
	Msg string
	// Text is the whole expression as [Expr] prints it, and Pos the byte offset of the faulty
	// part. Text is empty if the error is not about a part of an expression.
	Text string
	Pos  int
}

// Error returns the message, the expression and a mark below the faulty part.
func (e *CompileError) Error() string {
	if e.Text == "" {
		return "kernel: " + e.Msg
	}
	return (&ParseError{What: "kernel", Text: e.Text, Pos: e.Pos, Msg: e.Msg}).Error()
}

// Columns returns the labels 0 … d−1, the usual second argument of [Compile].
func Columns(d int) []int {
	labels := make([]int, d)
	for i := range labels {
		labels[i] = i
	}
	return labels
}

// FeatureName describes a feature: its kind, its columns and its parameters. label names
// the columns.
func (p *Program) FeatureName(index int, label func(column int) string) string {
	f := p.Features[index]
	columns := make([]string, len(f.Dims))
	for i, c := range f.Dims {
		columns[i] = label(c)
	}
	name := kinds[f.Kind].title + " [" + strings.Join(columns, " ") + "]"
	if q := p.paramAt(f.Param); q != nil {
		name += " over " + q.Name + strings.Repeat("²", f.Power()-1)
	}
	if f.Kind == SinSquares || f.Kind == SinePhases {
		name += " by " + p.paramAt(f.Period).Name
	}
	return name
}

// paramAt returns the parameter that begins at an offset in θ.
func (p *Program) paramAt(offset int) *Param {
	for i := range p.Params {
		if p.Params[i].Offset == offset {
			return &p.Params[i]
		}
	}
	return nil
}
