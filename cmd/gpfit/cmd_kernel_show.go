package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/kernel"
	"gpfit/show/plotting"
)

func runKernelShow(c *cli.Command) error {
	o := c.Kernel
	if o.Along >= o.Columns {
		return exit.Usagef("--along %d: must be the index of one of %d columns, from 0; --columns sets their number", o.Along, o.Columns)
	}
	if err := c.CheckOutputs(nil); err != nil {
		return err
	}
	var names []string
	for k := range o.Columns {
		names = append(names, "x"+strconv.Itoa(k))
	}
	process, err := newProcess(c.Args[0], names, c.Fit.Set)
	if err != nil {
		return err
	}
	show := newKernelShow(c.Args[0], process, names, o.Along)
	if err := show.measure(o.Range); err != nil {
		return err
	}
	doubtful, err := show.doubt()
	if err != nil {
		return err
	}
	if c.Plot.Path != "" {
		var draws []float64
		if !doubtful && o.Draws > 0 {
			if draws, err = show.draw(c.Ctx, o.Draws, o.Seed); err != nil {
				return fmt.Errorf("draws: %w", err)
			}
		}
		if err := c.WritePlot(show.figure(draws)); err != nil {
			return err
		}
	}
	return c.Report(show)
}

// kernelShow holds the values of a covariance function along one column. The tags name its
// fields in JSON.
type kernelShow struct {
	Type          string             `json:"type"`
	SchemaVersion int                `json:"schema_version"`
	Kernel        string             `json:"kernel"`
	Parameters    map[string]float64 `json:"parameters"`
	// Stationary says that k depends only on the distance, as far as the points show.
	Stationary bool `json:"stationary"`
	// Distance and Covariance are k by distance; nil unless Stationary.
	Distance   []float64 `json:"distance,omitempty"`
	Covariance []float64 `json:"covariance,omitempty"`
	// X are points, and Matrix[i][j] is k(X[i], X[j]); nil if Stationary.
	X      []float64   `json:"x,omitempty"`
	Matrix [][]float64 `json:"matrix,omitempty"`
	// Notes say what could not be shown.
	Notes []string `json:"notes,omitempty"`

	// Names are the names of the parameters in order.
	Names   []string `json:"-"`
	process *gp.Process
	// columns is the number of columns of x, of which along changes.
	columns, along int
	lo, hi         float64
}

// Numbers of points of the curve, of the grid and in the text.
const (
	curvePoints = 201
	gridPoints  = 81
	listed      = 11
	sliceCount  = 3
)

// newKernelShow describes a process of columns, of which along changes.
func newKernelShow(text string, process *gp.Process, columns []string, along int) *kernelShow {
	k := &kernelShow{Type: "kernel_show", SchemaVersion: 1, Kernel: text, Parameters: map[string]float64{}, process: process, columns: len(columns), along: along}
	names, values := process.Parameters()
	for i, name := range names {
		name = textform.Columns(columns).Display(name)
		k.Names = append(k.Names, name)
		k.Parameters[name] = values[i]
	}
	return k
}

// rows returns rows that change along one column.
func (k *kernelShow) rows(values []float64) []float64 {
	x := make([]float64, len(values)*k.columns)
	for i, v := range values {
		x[i*k.columns+k.along] = v
	}
	return x
}

// between returns k(from, to) for each of to.
func (k *kernelShow) between(from float64, to []float64) ([]float64, error) {
	all, err := k.process.Matrix(k.rows(append([]float64{from}, to...)), len(to)+1)
	if err != nil {
		return nil, err
	}
	return all[1 : len(to)+1], nil
}

// measure finds out whether the function is stationary and computes its values.
func (k *kernelShow) measure(reach []float64) error {
	var err error
	if k.Stationary, err = k.stationary(); err != nil {
		return err
	}
	if !k.Stationary {
		k.lo, k.hi = -3, 3
		if reach != nil {
			k.lo, k.hi = reach[0], reach[1]
		}
		return k.grid()
	}
	if reach != nil {
		k.hi = math.Max(math.Abs(reach[0]), math.Abs(reach[1]))
	} else if k.hi, err = k.reach(); err != nil {
		return err
	}
	k.lo = -k.hi
	k.Distance = matrixrows.Spaced(0, k.hi, curvePoints)
	k.Covariance, err = k.between(0, k.Distance)
	return err
}

// doubt notes whether k is not a covariance function on the points of the plot, and reports that.
func (k *kernelShow) doubt() (bool, error) {
	x := matrixrows.Spaced(k.lo, k.hi, curvePoints)
	all, err := k.process.Matrix(k.rows(x), len(x))
	if err != nil {
		return false, err
	}
	h, err := kernel.CheckMatrix(len(x), all)
	if err != nil || h.OK() {
		return false, err
	}
	k.Notes = append(k.Notes, fmt.Sprintf("k is %s: there are no functions to draw", h))
	return true, nil
}

// sameValue is the difference, relative to the variance, up to which values at equal distances
// are equal: rounding of the points changes distances, and k with them.
const sameValue = 1e-9

// stationary reports whether k(a, a ± r) is the same at some points a, for many r.
func (k *kernelShow) stationary() (bool, error) {
	var first []float64
	for _, a := range []float64{0, -1.75, 0.625, 3.5} {
		var to []float64
		for r := 1.0 / 1024; r <= 16; r *= 1.5 {
			to = append(to, a+r, a-r)
		}
		values, err := k.between(a, append(to, a))
		if err != nil {
			return false, err
		}
		if first == nil {
			first = values
		}
		scale := math.Abs(first[len(first)-1])
		for i, v := range values {
			if !(math.Abs(v-first[i]) <= sameValue*scale) { // also NaN
				return false, nil
			}
		}
	}
	return true, nil
}

// reach returns a distance beyond which k hardly changes, or three periods, or 5.
func (k *kernelShow) reach() (float64, error) {
	const ratio, steps = 1.1, 170 // from 1e-3 to 1e4
	far := make([]float64, steps)
	for i := range far {
		far[i] = 1e-3 * math.Pow(ratio, float64(i))
	}
	values, err := k.between(0, far)
	if err != nil {
		return 0, err
	}
	// From the far end inwards, how much k changes beyond a distance.
	lo, hi := math.Inf(1), math.Inf(-1)
	at := steps
	for i := steps - 1; i >= 0; i-- {
		lo, hi = min(lo, values[i]), max(hi, values[i])
		if !(hi-lo <= 0.02*math.Abs(values[0])) {
			break
		}
		at = i
	}
	if at > 0 && at < steps-10 {
		return round(far[at]), nil
	}
	for _, name := range k.Names {
		if strings.HasSuffix(name, "period") {
			return 3 * k.Parameters[name], nil
		}
	}
	return 5, nil
}

// round returns the next larger number with at most two digits.
func round(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if f*power >= v {
			return f * power
		}
	}
	return 10 * power
}

// grid computes k at all pairs of points.
func (k *kernelShow) grid() error {
	k.X = matrixrows.Spaced(k.lo, k.hi, gridPoints)
	all, err := k.process.Matrix(k.rows(k.X), gridPoints)
	if err != nil {
		return err
	}
	for i := range k.X {
		row := all[i*gridPoints : (i+1)*gridPoints]
		for _, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("k is not a finite number for all x from %g to %g: choose another --range", k.lo, k.hi)
			}
		}
		k.Matrix = append(k.Matrix, row)
	}
	return nil
}

// Slices returns the indices of the points x' whose values text and plot show.
func (k *kernelShow) Slices() (at []int) {
	for i := range sliceCount {
		at = append(at, (i+1)*(gridPoints-1)/(sliceCount+1))
	}
	return at
}

// draw returns functions drawn at the points, one after the other.
func (k *kernelShow) draw(ctx context.Context, count int, seed uint64) ([]float64, error) {
	x := matrixrows.Spaced(k.lo, k.hi, curvePoints)
	j, err := k.process.Joint(ctx, k.rows(x), len(x), false)
	if err != nil {
		return nil, err
	}
	s, err := j.Sampler()
	if err != nil {
		return nil, err
	}
	return s.Draw(count, seed)
}

// figure returns the plot, with the draws if there are any.
func (k *kernelShow) figure(draws []float64) *plotting.Figure {
	f := &plotting.Figure{Title: k.Kernel}
	if k.Stationary {
		values := plotting.Chart{Title: "covariance", X: plotting.Axis{Label: "distance"}, Y: plotting.Axis{Label: "k", Zero: true}}
		values.Layers = []plotting.Layer{&plotting.Line{X: k.Distance, Y: k.Covariance}}
		f.Charts = append(f.Charts, values)
	} else {
		f.Charts = append(f.Charts, k.heat(), k.sliceChart())
	}
	if len(draws) > 0 {
		x := matrixrows.Spaced(k.lo, k.hi, curvePoints)
		functions := plotting.Chart{Title: "draws", X: plotting.Axis{Label: "x"}, Y: plotting.Axis{Label: "f(x)"}}
		for i := range len(draws) / len(x) {
			functions.Layers = append(functions.Layers, &plotting.Line{X: x, Y: draws[i*len(x) : (i+1)*len(x)], Color: i, Thin: true})
		}
		f.Charts = append(f.Charts, functions)
	}
	return f
}

func (k *kernelShow) heat() plotting.Chart {
	h := &plotting.Heat{X: k.X, Y: k.X, Z: k.Matrix, Label: "k(x, x')"}
	for _, row := range k.Matrix {
		for _, v := range row {
			h.Diverging = h.Diverging || v < 0
		}
	}
	return plotting.Chart{Title: "covariance", X: plotting.Axis{Label: "x"}, Y: plotting.Axis{Label: "x'"}, Layers: []plotting.Layer{h}}
}

func (k *kernelShow) sliceChart() plotting.Chart {
	c := plotting.Chart{Title: "slices", X: plotting.Axis{Label: "x"}, Y: plotting.Axis{Label: "k(x, x')", Zero: true}}
	for i, at := range k.Slices() {
		c.Layers = append(c.Layers, &plotting.Line{Name: "x' = " + strings.Replace(strconv.FormatFloat(k.X[at], 'g', 3, 64), "-", "−", 1), X: k.X, Y: k.Matrix[at], Color: i})
	}
	return c
}

// Text implements [cli.Reported].
func (k *kernelShow) Text() string { return view("kernel-show", k) }

// Listed returns the indices of the points that the text lists.
func (k *kernelShow) Listed() (at []int) {
	last := max(len(k.Distance), len(k.X)) - 1
	for i := range listed {
		at = append(at, i*last/(listed-1))
	}
	return at
}

// Tiny returns the covariance at a point, 0 in place of a rounding error.
func (k *kernelShow) Tiny(i int) float64 {
	if math.Abs(k.Covariance[i]) < 1e-15*math.Abs(k.Covariance[0]) {
		return 0
	}
	return k.Covariance[i]
}

// Half returns the distance at which half of k(0) is reached, "" if there is none.
func (k *kernelShow) Half() string {
	half := k.Covariance[0] / 2
	for i, v := range k.Covariance {
		if v <= half && i > 0 {
			before := k.Covariance[i-1]
			return fmt.Sprintf("%.3g", k.Distance[i-1]+(before-half)/(before-v)*(k.Distance[i]-k.Distance[i-1]))
		}
	}
	return ""
}
