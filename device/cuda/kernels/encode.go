package kernels

import (
	"errors"
	"fmt"
	"slices"

	"gpfit/kernel"
)

// Limits of [Encode]. Only the stack is a fixed array on the device; the others
// keep sizes sane.
const (
	MaxDepth        = 8
	MaxInstructions = 1024
	MaxFeatures     = 256
	MaxParams       = 1 << 16
	// MaxDims is the number of columns of all features together.
	MaxDims = 1 << 16
)

// The encoding is described in source/program.h; names are as there.
const (
	encodingVersion = 2
	headerWords     = 7
	instrWords      = 12
	featureWords    = 7
	rowWords        = 2
	tileDims        = 8 // columns of X staged at a time, lengthscales per row
)

// Encoded is a program for the kernels.
type Encoded struct {
	// Words go to device memory as they are; they hold 32-bit integers.
	Words []int32
	// Params is the length of θ, D the number of columns of X.
	Params, D int
	// rows and slots are what the gradient keeps per thread, in device memory.
	rows, slots int
	// single says that it is one leaf without a shape, or that and one Scale.
	single bool
}

// LimitError reports a program that is too large for the kernels.
type LimitError struct {
	What       string
	Got, Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("kernels: covariance with %d %s; CUDA kernels take at most %d", e.Got, e.What, e.Limit)
}

var errProgram = errors.New("kernels: not a program of package kernel's compiler")

// ErrCustom says that a program has a leaf of the user's own, in Go.
var ErrCustom = errors.New("kernels: a kernel function written in Go cannot run on a GPU")

// Encode translates prog. Errors: [ErrCustom], [*LimitError]; others for a program
// that [kernel.Compile] would not have made, or with an instruction unknown here.
func Encode(prog *kernel.Program) (*Encoded, error) {
	if len(prog.Customs) > 0 {
		return nil, ErrCustom
	}
	e := encoder{prog: prog, rowOfParam: map[int]int{}, rowOfFeature: map[int]int{}, rowOfPeriods: map[int]int{}}
	if err := e.limits(); err != nil {
		return nil, err
	}
	if err := e.operands(); err != nil {
		return nil, err
	}
	if err := e.assign(); err != nil {
		return nil, err
	}
	return e.words(), nil
}

type encoder struct {
	prog *kernel.Program
	// left and right are the operands of Add, Mul and (left) Scale.
	left, right []int
	// value, slope, shape and adjoint are slots by instruction, −1 for none.
	value, slope, shape, adjoint []int
	slots                        int
	// rows lists (parameter, lengthscales or 0).
	rows                                   [][2]int
	rowOfParam, rowOfFeature, rowOfPeriods map[int]int
}

// leafKind is what a leaf needs.
type leafKind struct {
	// feature is the kind that it reads; a constant reads none.
	feature  kernel.FeatureKind
	constant bool
	// scaled says that columns or leaf have a parameter that they are divided by.
	scaled bool
	// shaped says that it has a parameter in Shape.
	shaped bool
}

var leaves = map[kernel.Op]leafKind{
	kernel.OpRBF:      {scaled: true},
	kernel.OpMatern12: {scaled: true},
	kernel.OpMatern32: {scaled: true},
	kernel.OpMatern52: {scaled: true},
	kernel.OpRQ:       {scaled: true, shaped: true},
	kernel.OpPeriodic: {feature: kernel.SinSquares, scaled: true},
	kernel.OpCosine:   {feature: kernel.Differences, scaled: true},
	kernel.OpLinear:   {feature: kernel.InnerProduct},
	kernel.OpPoly:     {feature: kernel.InnerProduct, shaped: true},
	kernel.OpConstant: {constant: true},
}

func isLeaf(op kernel.Op) bool {
	_, ok := leaves[op]
	return ok
}

// checkLeaf checks the operands of a leaf.
func (e *encoder) checkLeaf(in kernel.Instr) error {
	p, kind := e.prog, leaves[in.Op]
	if kind.shaped && (in.Shape < 0 || in.Shape >= p.NumParams) || in.Op == kernel.OpPoly && in.Degree < 1 {
		return errProgram
	}
	if kind.constant {
		return nil
	}
	if in.Feature < 0 || in.Feature >= len(p.Features) || in.Param < -1 || in.Param >= p.NumParams {
		return errProgram
	}
	if f := p.Features[in.Feature]; f.Kind != kind.feature || kind.scaled && in.Param < 0 && f.Param < 0 {
		return errProgram
	}
	return nil
}

func (e *encoder) limits() error {
	p, dims := e.prog, 0
	for _, f := range p.Features {
		dims += len(f.Dims)
		for _, c := range f.Dims {
			if c < 0 || c >= p.D {
				return errProgram
			}
		}
		if f.Param >= 0 && f.Param+len(f.Dims) > p.NumParams {
			return errProgram
		}
		if f.Kind == kernel.SinSquares && (f.Period < 0 || f.Periods != 1 && f.Periods != len(f.Dims) || f.Period+f.Periods > p.NumParams) {
			return errProgram
		}
	}
	for _, l := range []LimitError{
		{"instructions", len(p.Code), MaxInstructions},
		{"features", len(p.Features), MaxFeatures},
		{"columns over all terms", dims, MaxDims},
		{"parameters", p.NumParams, MaxParams},
	} {
		if l.Got > l.Limit {
			return &l
		}
	}
	return nil
}

// operands checks the code as postfix and finds the operands.
func (e *encoder) operands() error {
	code := e.prog.Code
	e.left, e.right = make([]int, len(code)), make([]int, len(code))
	var stack []int
	depth := 0
	for c, in := range code {
		e.left[c], e.right[c] = -1, -1
		top := len(stack)
		param := in.Param >= 0 && in.Param < e.prog.NumParams
		switch {
		case in.Op == kernel.OpAdd || in.Op == kernel.OpMul:
			if top < 2 {
				return errProgram
			}
			e.left[c], e.right[c] = stack[top-2], stack[top-1]
			stack = append(stack[:top-2], c)
		case in.Op == kernel.OpScale:
			if top < 1 || !param {
				return errProgram
			}
			e.left[c] = stack[top-1]
			stack[top-1] = c
		case isLeaf(in.Op):
			if err := e.checkLeaf(in); err != nil {
				return err
			}
			stack = append(stack, c)
		default:
			return fmt.Errorf("kernels: instruction %d has no CUDA code", in.Op)
		}
		depth = max(depth, len(stack))
	}
	if len(stack) != 1 {
		return errProgram
	}
	if depth > MaxDepth {
		return &LimitError{"values on its stack", depth, MaxDepth}
	}
	return nil
}

// single tells a program of one leaf without a shape, or of that and one Scale.
func (e *encoder) single() bool {
	code := e.prog.Code
	if leaves[code[0].Op].shaped {
		return false
	}
	return len(code) == 1 || len(code) == 2 && code[1].Op == kernel.OpScale
}

// assign gives out slots and rows. A value has a slot if it is a left operand
// (the forward run displaces it), an operand of Mul, or the result of Scale. A
// parameter has one row, and so belongs to one feature or to instructions.
func (e *encoder) assign() error {
	code := e.prog.Code
	minus := slices.Repeat([]int{-1}, len(code))
	e.value, e.slope, e.shape, e.adjoint = slices.Clone(minus), slices.Clone(minus), slices.Clone(minus), slices.Clone(minus)
	take := func(where []int, c int) {
		if where[c] < 0 {
			where[c] = e.slots
			e.slots++
		}
	}
	for c, in := range code {
		switch in.Op {
		case kernel.OpAdd, kernel.OpMul:
			take(e.value, e.left[c])
			take(e.adjoint, e.left[c])
			if in.Op == kernel.OpMul {
				take(e.value, e.right[c])
			}
		case kernel.OpScale:
			take(e.value, c)
		case kernel.OpConstant:
		case kernel.OpRQ:
			take(e.slope, c)
			take(e.shape, c)
		default:
			take(e.slope, c)
		}
	}
	if e.single() {
		e.value, e.slope, e.slots = slices.Clone(minus), slices.Clone(minus), 0
	}
	return e.assignRows()
}

func (e *encoder) assignRows() error {
	inFeature := make([]bool, e.prog.NumParams)
	// vector gives rows to count parameters from first on.
	vector := func(first, count int) (row int, err error) {
		row = len(e.rows)
		for base := 0; base < count; base += tileDims {
			e.rows = append(e.rows, [2]int{first + base, min(tileDims, count-base)})
		}
		for q := range count {
			if inFeature[first+q] {
				return 0, errProgram
			}
			inFeature[first+q] = true
		}
		return row, nil
	}
	var err error
	for f, feature := range e.prog.Features {
		if feature.Param >= 0 {
			if e.rowOfFeature[f], err = vector(feature.Param, len(feature.Dims)); err != nil {
				return err
			}
		}
		if feature.Kind == kernel.SinSquares && feature.Periods > 1 {
			if e.rowOfPeriods[f], err = vector(feature.Period, feature.Periods); err != nil {
				return err
			}
		}
	}
	// Every other parameter has a row, used or not: its partial sums are written.
	for q, done := range inFeature {
		if !done {
			e.rowOfParam[q] = len(e.rows)
			e.rows = append(e.rows, [2]int{q, 0})
		}
	}
	for f, feature := range e.prog.Features {
		if feature.Kind == kernel.SinSquares && feature.Periods == 1 {
			if inFeature[feature.Period] {
				return errProgram
			}
			e.rowOfPeriods[f] = e.rowOfParam[feature.Period]
		}
	}
	for _, in := range e.prog.Code {
		if in.Param >= 0 && inFeature[in.Param] || leaves[in.Op].shaped && inFeature[in.Shape] {
			return errProgram
		}
	}
	return nil
}

func (e *encoder) words() *Encoded {
	p := e.prog
	codeAt := headerWords
	featuresAt := codeAt + instrWords*len(p.Code)
	dimsAt := featuresAt + featureWords*len(p.Features)
	dims := 0
	for _, f := range p.Features {
		dims += len(f.Dims)
	}
	rowsAt := dimsAt + dims
	words := make([]int32, 0, rowsAt+rowWords*len(e.rows))
	put := func(values ...int) {
		for _, v := range values {
			words = append(words, int32(v))
		}
	}
	put(encodingVersion, len(p.Code), len(e.rows), e.slots, codeAt, featuresAt, rowsAt)
	for c, in := range p.Code {
		row := -1
		if isLeaf(in.Op) && in.Param < 0 {
			if r, ok := e.rowOfFeature[in.Feature]; ok {
				row = r
			}
		} else if in.Param >= 0 {
			row = e.rowOfParam[in.Param]
		}
		leaf := leaves[in.Op]
		feature, shape, shapeRow := in.Feature, -1, -1
		if leaf.constant {
			feature = -1
		}
		if leaf.shaped {
			shape, shapeRow = in.Shape, e.rowOfParam[in.Shape]
		}
		put(int(in.Op), feature, in.Param, row, e.value[c], e.slope[c], e.adjoint[c], e.left[c], shape, shapeRow, e.shape[c], in.Degree)
	}
	for k, f := range p.Features {
		period, periods, row := -1, 0, -1
		if f.Kind == kernel.SinSquares {
			period, periods, row = f.Period, f.Periods, e.rowOfPeriods[k]
		}
		put(dimsAt, len(f.Dims), f.Param, int(f.Kind), period, periods, row)
		dimsAt += len(f.Dims)
	}
	for _, f := range p.Features {
		put(f.Dims...)
	}
	for _, r := range e.rows {
		put(r[0], r[1])
	}
	return &Encoded{Words: words, Params: p.NumParams, D: p.D, rows: len(e.rows), slots: e.slots, single: e.single()}
}
