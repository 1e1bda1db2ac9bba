package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/gp"
	"gpfit/internal/option"
	"gpfit/internal/plotting"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

func runKernelShow(c *frame.Command) error {
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
	show := &kernelShow{Type: "kernel_show", SchemaVersion: 1, process: process, columns: o.Columns, along: o.Along}
	show.describe(c.Args[0], names)
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
	// Stationary says that k depends on the distance alone, as far as the points show.
	Stationary bool `json:"stationary"`
	// Distance and Covariance are k by distance; nil unless Stationary.
	Distance   []float64 `json:"distance,omitempty"`
	Covariance []float64 `json:"covariance,omitempty"`
	// X are points, and Matrix[i][j] is k(X[i], X[j]); nil if Stationary.
	X      []float64   `json:"x,omitempty"`
	Matrix [][]float64 `json:"matrix,omitempty"`
	// Notes say what could not be shown.
	Notes []string `json:"notes,omitempty"`

	process *gp.Process
	names   []string
	// columns is the number of columns of x, of which along changes.
	columns, along int
	lo, hi         float64
}

// Points of the curve and of the grid, and those that the text lists.
const (
	curvePoints = 201
	gridPoints  = 81
	listed      = 11
	sliceCount  = 3
)

func (k *kernelShow) describe(text string, columns []string) {
	names, values := k.process.Parameters()
	k.Kernel, k.Parameters = text, map[string]float64{}
	for i, name := range names {
		name = textform.Columns(columns).Display(name)
		k.names = append(k.names, name)
		k.Parameters[name] = values[i]
	}
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
	k.Distance = option.Spaced(0, k.hi, curvePoints)
	k.Covariance, err = k.between(0, k.Distance)
	return err
}

// doubt notes whether k is not a covariance function on the points of the plot, and reports
// that.
func (k *kernelShow) doubt() (bool, error) {
	x := option.Spaced(k.lo, k.hi, curvePoints)
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
	for _, name := range k.names {
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
	k.X = option.Spaced(k.lo, k.hi, gridPoints)
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

// slices returns the indices of the points x' whose values text and plot show.
func (k *kernelShow) slices() (at []int) {
	for i := range sliceCount {
		at = append(at, (i+1)*(gridPoints-1)/(sliceCount+1))
	}
	return at
}

// draw returns functions drawn at the points, one after the other.
func (k *kernelShow) draw(ctx context.Context, count int, seed uint64) ([]float64, error) {
	x := option.Spaced(k.lo, k.hi, curvePoints)
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
		x := option.Spaced(k.lo, k.hi, curvePoints)
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
	for i, at := range k.slices() {
		c.Layers = append(c.Layers, &plotting.Line{Name: "x' = " + strings.Replace(strconv.FormatFloat(k.X[at], 'g', 3, 64), "-", "−", 1), X: k.X, Y: k.Matrix[at], Color: i})
	}
	return c
}

// Text returns the values as text for people.
func (k *kernelShow) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %s\n", "kernel", k.Kernel)
	for i, name := range k.names {
		what := ""
		if i == 0 {
			what = "parameters"
		}
		fmt.Fprintf(&b, "%-12s %s = %.6g\n", what, name, k.Parameters[name])
	}
	if k.Stationary {
		k.curveText(&b)
	} else {
		k.gridText(&b)
	}
	for _, note := range k.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	return b.String()
}

func (k *kernelShow) curveText(b *strings.Builder) {
	fmt.Fprintf(b, "\nk depends on the distance alone.\n\n%12s %12s\n", "distance", "k")
	for i := 0; i < curvePoints; i += (curvePoints - 1) / (listed - 1) {
		fmt.Fprintf(b, "%12.4g %12.6g\n", k.Distance[i], tiny(k.Covariance[i], k.Covariance[0]))
	}
	for i, v := range k.Covariance {
		if v <= k.Covariance[0]/2 && i > 0 {
			before := k.Covariance[i-1]
			share := (before - k.Covariance[0]/2) / (before - v)
			fmt.Fprintf(b, "\nHalf of k(0) is reached at the distance %.3g.\n", k.Distance[i-1]+share*(k.Distance[i]-k.Distance[i-1]))
			return
		}
	}
}

// tiny returns 0 in place of a rounding error of a value of the given scale.
func tiny(v, scale float64) float64 {
	if math.Abs(v) < 1e-15*math.Abs(scale) {
		return 0
	}
	return v
}

func (k *kernelShow) gridText(b *strings.Builder) {
	fmt.Fprintf(b, "\nk depends on more than the distance.\n\n%12s", "x")
	for _, at := range k.slices() {
		fmt.Fprintf(b, " %12s", fmt.Sprintf("k(x, %.3g)", k.X[at]))
	}
	fmt.Fprintf(b, " %12s\n", "k(x, x)")
	for i := 0; i < gridPoints; i += (gridPoints - 1) / (listed - 1) {
		fmt.Fprintf(b, "%12.4g", k.X[i])
		for _, at := range k.slices() {
			fmt.Fprintf(b, " %12.5g", k.Matrix[at][i])
		}
		fmt.Fprintf(b, " %12.5g\n", k.Matrix[i][i])
	}
}
