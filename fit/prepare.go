package fit

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/kernel"
	"gpfit/mean"
)

// Task is a checked problem, scaled and with start values.
type Task struct {
	opts    Options
	data    Data
	expr    kernel.Expr
	program *kernel.Program
	// columns are the features in use; trainX (n×len(columns), row-major) and
	// trainY are the training rows in original units.
	columns        []int
	trainX, trainY []float64
	testX          []float64 // all features, original units
	// rows are the positions of the training rows in data.
	rows   []int
	points *kernel.Points
	// trainY, testY and targets, the scaled ones, are column-major with a
	// column for each target. scalings differ in the target's units; scaling
	// is that of the target with the number target.
	testY, targets []float64
	scalings       []gp.Scaling
	scaling        gp.Scaling
	target         int
	mean           mean.Expr
	basis          mean.Basis
	meanFree       bool
	// noise is that of the training rows, one element for each of them;
	// testNoise that of the held-out rows.
	noise     graph.Noise
	testNoise gp.RowNoise
	// params are the free parameters in the order of the graph's variables,
	// elements all of them, tied ones included.
	params   []parameter
	elements []element
	// priors by the name of their parameter.
	priors   map[string]graph.Prior
	warnings []string
	// residualFrom is the constant of that name, for tests to lower.
	residualFrom int
}

// N returns the number of training rows, D the number of columns in use.
func (t *Task) N() int { return len(t.trainY) / t.data.t() }

// D returns the number of columns in use.
func (t *Task) D() int { return len(t.columns) }

// Kernel returns the text form of the kernel.
func (t *Task) Kernel() string { return t.program.Text }

// Program returns the compiled kernel, for the choice of a device.
func (t *Task) Program() *kernel.Program { return t.program }

// Warnings returns what was noticed in the data; they are in reports too.
func (t *Task) Warnings() []string { return slices.Clone(t.warnings) }

// Prepare checks data and options. Errors: [*DataError], [*OptionError],
// [*kernel.ParseError], [*kernel.CompileError], [*mean.ParseError].
func Prepare(data Data, opts Options) (*Task, error) {
	t := &Task{opts: opts, data: data, residualFrom: residualFrom, warnings: slices.Clone(data.Warnings)}
	if err := t.split(); err != nil {
		return nil, err
	}
	if err := t.chooseColumns(); err != nil {
		return nil, err
	}
	how, err := gp.ParseStandardize(string(opts.Standardize))
	if err != nil {
		return nil, &OptionError{err.Error()}
	}
	t.scale(how)
	for _, step := range []func() error{t.checkObjective, t.compile, t.prepareMean, t.prepareNoise, t.chooseParameters} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// split copies training rows and held-out rows apart.
func (t *Task) split() error {
	d := t.data
	if len(d.Y) != d.N*d.t() || len(d.TargetNames) == 1 {
		return &DataError{fmt.Sprintf("%d target values for %d rows and the targets %q", len(d.Y), d.N, d.TargetNames)}
	}
	if d.Test != nil && len(d.Test) != d.N {
		return &DataError{fmt.Sprintf("the split mask has %d rows, the table %d", len(d.Test), d.N)}
	}
	for i := range d.N {
		if d.Test != nil && d.Test[i] {
			t.testX = append(t.testX, d.X[i*d.D:(i+1)*d.D]...)
		} else {
			t.rows = append(t.rows, i)
			t.trainX = append(t.trainX, d.X[i*d.D:(i+1)*d.D]...)
		}
	}
	for i, y := range d.Y {
		if d.Test != nil && d.Test[i%d.N] {
			t.testY = append(t.testY, y)
		} else {
			t.trainY = append(t.trainY, y)
		}
	}
	if d.Row != nil && len(d.Row) != d.N {
		return &DataError{fmt.Sprintf("%d row numbers for %d rows", len(d.Row), d.N)}
	}
	switch n := t.N(); {
	case n == 0 && d.N > 0:
		return &DataError{"the split mask holds out every row: nothing is left to train on"}
	case n < 2:
		return &DataError{fmt.Sprintf("a fit needs at least 2 training rows, this table has %d", n)}
	}
	return nil
}

// chooseColumns leaves out columns that are constant over the training rows.
func (t *Task) chooseColumns() error {
	d := t.data.D
	var names []string
	constant := constantColumns(t.trainX, t.N(), d)
	for c := range d {
		if slices.Contains(constant, c) {
			names = append(names, fmt.Sprintf("%q", t.data.FeatureNames[c]))
			continue
		}
		t.columns = append(t.columns, c)
	}
	switch {
	case len(t.columns) == 0:
		return &DataError{"every feature column is constant over the training rows: there is nothing to learn from"}
	case len(names) == 1:
		t.warnings = append(t.warnings, fmt.Sprintf("column %s is constant over the training rows and is left out", names[0]))
	case len(names) > 1:
		t.warnings = append(t.warnings, fmt.Sprintf("columns %s are constant over the training rows and are left out", strings.Join(names, ", ")))
	}
	if len(names) > 0 {
		all := t.trainX
		t.trainX = nil
		for i := range t.N() {
			for _, c := range t.columns {
				t.trainX = append(t.trainX, all[i*d+c])
			}
		}
	}
	return nil
}

func (t *Task) compile() error {
	text := t.opts.Kernel
	if text == "" {
		text = "rbf"
	}
	var err error
	if t.expr, err = (kernel.Parser{Custom: t.opts.Kernels}).Parse(text); err != nil {
		return err
	}
	if t.opts.ARD {
		t.expr = kernel.WithARD(t.expr)
	}
	t.program, err = kernel.Compile(t.expr, t.columns)
	if err != nil && len(t.columns) < t.data.D {
		// The kernel may name a column that was left out.
		err = fmt.Errorf("%w\n%s", err, t.warnings[len(t.warnings)-1])
	}
	return err
}

func (t *Task) spec() graph.Spec {
	spec := graph.Spec{
		Program: t.program, X: t.points, Y: t.targets, Mean: t.basis, MeanFree: t.meanFree, Noise: t.noise, MaxJitter: t.opts.MaxJitter,
		Derive: t.derive(), LeaveOneOut: t.opts.Objective == ObjectiveLOO,
	}
	t.addPriors(&spec)
	return spec
}

// FreeNames returns the names of the free parameters: those of the objective's
// vector, fixed ones included.
func (t *Task) FreeNames() []string {
	names := make([]string, len(t.params))
	for i, p := range t.params {
		names[i] = p.name
	}
	return names
}

// NumFitted counts the parameters that a fit finds, the coefficients of a mean
// by least squares included.
func (t *Task) NumFitted() int {
	n := 0
	for _, p := range t.params {
		if !p.fixed {
			n++
		}
	}
	if !t.meanFree {
		n += len(t.basis)
	}
	return n
}
