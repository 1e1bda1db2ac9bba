package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/fit"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/kernel"
	"gpfit/table"
)

func runKernelCheck(c *cli.Command) error {
	switch n := len(c.Args); {
	case n == 0 && c.Kernel.Matrix+c.Kernel.Table != "":
		return runGiven(c)
	case n > 0 && c.Kernel.Matrix+c.Kernel.Table != "":
		return exit.Usagef("%d arguments, expected none: --matrix and --table replace EXPR and DATA", n)
	case n == 0 || n > 2:
		return flags.WrongArgs(n, []string{"EXPR", "[DATA]"})
	}
	if err := kernel.CheckText(c.Args[0]); err != nil { // before the table is read
		return err
	}
	opts := c.Fit
	opts.Kernel = c.Args[0]
	data, err := checkedPoints(c, &opts)
	if err != nil {
		return err
	}
	if !c.Output.JSON {
		c.Msg.Columns(data.Encoding)
	}
	job, err := fit.Prepare(data, opts, problem.Events{})
	if err != nil {
		return err
	}
	report, err := job.CheckKernel(problem.KernelCheckOptions{Points: c.Kernel.Points, Draws: c.Kernel.Draws, Seed: c.Data.Seed})
	if err != nil {
		return err
	}
	if err := c.Report(report); err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return disproved(fmt.Sprintf("kernel %s is not a covariance function", c.Args[0]), err)
	}
	return nil
}

// runGiven checks values from a file.
func runGiven(c *cli.Command) error {
	path, read := c.Kernel.Matrix, readMatrix
	if c.Kernel.Table != "" {
		path, read = c.Kernel.Table, readPairs
	}
	given, err := read(c, path)
	if err != nil {
		return err
	}
	report, err := given.check(path, c.Kernel.Tolerance)
	if err != nil {
		return err
	}
	if err := c.Report(report); err != nil || report.OK {
		return err
	}
	return disproved(fmt.Sprintf("%s does not hold the values of a covariance function", path), &kernel.KernelhoodError{Text: path, Kernelhood: report.Kernelhood})
}

// disproved ends the command after a report that says why the kernel is not a covariance
// function. verdict, which has that reason, is not part of the text.
func disproved(finding string, verdict error) error {
	return fmt.Errorf("%s; the report says why%.0w", finding, verdict)
}

// checkedPoints reads DATA if it is given, and otherwise draws a table.
func checkedPoints(c *cli.Command, opts *problem.Options) (problem.Data, error) {
	if len(c.Args) > 1 {
		return c.Table(c.Args[1])
	}
	opts.Standardize = gp.StandardizeNone
	rng := rand.New(rand.NewPCG(c.Data.Seed, 2))
	data := problem.Data{N: max(2, c.Kernel.Points), D: c.Kernel.Columns, TargetName: "y"}
	for k := range data.D {
		data.FeatureNames = append(data.FeatureNames, fmt.Sprintf("x%d", k))
	}
	for range data.N {
		for range data.D {
			data.X = append(data.X, rng.NormFloat64())
		}
		data.Y = append(data.Y, rng.NormFloat64())
	}
	return data, nil
}

// givenReport is the verdict on values of a kernel that a file holds. The tags name its fields
// in JSON.
type givenReport struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"`
	Points        int    `json:"points"`
	// OK is true if a kernel can have the values on these points, up to rounding.
	OK      bool   `json:"ok"`
	Verdict string `json:"verdict"`
	// Asymmetry is the largest |k(x, x′) − k(x′, x)|; rounding explains AsymmetryTolerance.
	Asymmetry          float64 `json:"asymmetry"`
	AsymmetryTolerance float64 `json:"asymmetry_tolerance"`
	SmallestEigenvalue float64 `json:"smallest_eigenvalue"`
	LargestEigenvalue  float64 `json:"largest_eigenvalue"`
	// Tolerance is how far below 0 rounding explains an eigenvalue.
	Tolerance float64 `json:"tolerance"`
	// Unpaired is the number of pairs of which the table has only k(x, x′): their symmetry is
	// taken for granted.
	Unpaired   int               `json:"unpaired"`
	Kernelhood kernel.Kernelhood `json:"-"`
}

// Text implements [cli.Reported].
func (r *givenReport) Text() string { return view("kernel-values", r) }

// givenValues are the values at all pairs of n points, row-major.
type givenValues struct {
	n int
	k []float64
	// names are the points' names, nil if they have none.
	names    []string
	unpaired int
}

// check checks the values of a file, whose relative rounding error is tolerance, 0 if unknown.
func (v *givenValues) check(path string, tolerance float64) (*givenReport, error) {
	h, err := kernel.CheckMatrix(v.n, v.k)
	if err != nil {
		return nil, err
	}
	if tolerance > 0 {
		// AsymmetryTolerance is relative to the largest covariance, and Tolerance to the largest
		// eigenvalue.
		h.AsymmetryTolerance *= tolerance / kernel.AsymmetryTolerance
		h.Tolerance = tolerance * math.Abs(h.Largest)
	}
	return &givenReport{
		Type: "kernel_values", SchemaVersion: 1, File: path, Points: v.n, OK: h.OK(), Asymmetry: h.Asymmetry, AsymmetryTolerance: h.AsymmetryTolerance,
		SmallestEigenvalue: h.Smallest, LargestEigenvalue: h.Largest, Tolerance: h.Tolerance, Unpaired: v.unpaired, Kernelhood: h,
		Verdict: givenVerdict(h, v.names, tolerance > 0),
	}, nil
}

// roundedDigits is the size of a negative eigenvalue, relative to the largest, that values
// rounded to a few digits may have.
const roundedDigits = 1e-4

// givenVerdict says in words whether a kernel can have the values. names are the points'
// names, nil for the rows of a matrix. told says that the user gave the rounding error.
func givenVerdict(h kernel.Kernelhood, names []string, told bool) string {
	name := func(i int) string {
		if names != nil {
			return "(" + names[i] + ")"
		}
		return fmt.Sprintf("row %d", i+1)
	}
	var verdict string
	switch {
	case h.NonFinite:
		return fmt.Sprintf("No kernel: the value for %s and %s is not a finite number.", name(h.I), name(h.J))
	case h.OK():
		return fmt.Sprintf("A kernel on these %d points: the matrix is symmetric, and no eigenvalue is below 0 by more than rounding explains.", h.N)
	case h.Asymmetry > h.AsymmetryTolerance:
		verdict = fmt.Sprintf("No kernel: the values for %s and %s differ by %.3g between the two orders.", name(h.I), name(h.J), h.Asymmetry)
	default:
		verdict = fmt.Sprintf("No kernel: on these %d points the matrix has the eigenvalue %.3g, and rounding explains no eigenvalue below %.2g.", h.N, h.Smallest, -h.Tolerance)
	}
	if !told && h.Smallest > -roundedDigits*math.Abs(h.Largest) && h.Asymmetry <= roundedDigits*math.Abs(h.Largest) {
		verdict += " If the values are rounded to a few digits, --tolerance allows for it: 1e-6 stands for six digits."
	}
	return verdict
}

// readGiven reads a table of numbers.
func readGiven(c *cli.Command, path string, o dataset.Options) (problem.Data, error) {
	o.Header, o.Text, o.SkipLines, o.Features, o.Exclude, o.Columns = c.Data.Header, c.Data.Text, c.Data.SkipLines, c.Data.Features, c.Data.Exclude, c.Data.Columns
	o.Columns.Codes = true
	return flags.ReadTable(c.Ctx, path, c.In, o)
}

// readMatrix reads a square matrix.
func readMatrix(c *cli.Command, path string) (*givenValues, error) {
	data, err := readGiven(c, path, dataset.Options{NoTarget: true})
	if err != nil {
		return nil, err
	}
	if c := slices.IndexFunc(labelsOf(data), func(l []string) bool { return l != nil }); c >= 0 {
		return nil, &table.Error{Source: path, Msg: fmt.Sprintf("column %s has texts, and a matrix has numbers; --features chooses the columns", textform.Printable(data.FeatureNames[c], 40))}
	}
	if data.N != data.D {
		return nil, &table.Error{Source: path, Msg: fmt.Sprintf("%d rows and %d columns, but the matrix of the values of a kernel is square; --features chooses the columns, and --header says whether the first row has names", data.N, data.D)}
	}
	return &givenValues{n: data.N, k: data.X}, nil
}

// labelsOf returns the labels of each column of categories, nil for others.
func labelsOf(data problem.Data) [][]string {
	labels := make([][]string, data.D)
	if data.Encoding != nil {
		for c := range data.Encoding.Columns {
			labels[c] = data.Encoding.Columns[c].Categories
		}
	}
	return labels
}

// readPairs reads a table of k(x, x'): the columns of x, the columns of x', and the values.
func readPairs(c *cli.Command, path string) (*givenValues, error) {
	data, err := readGiven(c, path, dataset.Options{Target: c.Data.Target})
	if err != nil {
		return nil, err
	}
	if data.D%2 != 0 {
		return nil, &table.Error{Source: path, Msg: fmt.Sprintf("%d columns besides the values %s, but x and x' have as many columns each", data.D, textform.Printable(data.TargetName, 40))}
	}
	p := pairs{index: map[string]int{}, row: map[[2]int]int{}, values: data.Y}
	labels := labelsOf(data)
	for i := range data.N {
		row := data.X[i*data.D : (i+1)*data.D]
		at := [2]int{p.point(row[:data.D/2], labels[:data.D/2]), p.point(row[data.D/2:], labels[data.D/2:])}
		if before, ok := p.row[at]; ok && p.values[before] != p.values[i] {
			return nil, &table.Error{Source: path, Msg: fmt.Sprintf("data rows %d and %d (from 1) have the same points and the values %v and %v", before+1, i+1, p.values[before], p.values[i])}
		}
		p.row[at] = i
	}
	return p.matrix(path)
}

// pairs holds the values at pairs of points.
type pairs struct {
	// index numbers the points by their names; row has the row of each pair.
	index  map[string]int
	names  []string
	row    map[[2]int]int
	values []float64
}

// point returns the number of a point, which has a label or a number in each column.
func (p *pairs) point(x []float64, labels [][]string) int {
	words := make([]string, len(x))
	for c, v := range x {
		words[c] = strconv.FormatFloat(v+0, 'g', -1, 64) // −0 is 0
		if labels[c] != nil {
			words[c] = strconv.Quote(labels[c][int(v)])
		}
	}
	name := strings.Join(words, ", ")
	i, ok := p.index[name]
	if !ok {
		i = len(p.names)
		p.index[name], p.names = i, append(p.names, name)
	}
	return i
}

// matrix returns the matrix of all pairs. Where the table has only one of k(x, x') and k(x', x),
// it stands for both.
func (p *pairs) matrix(path string) (*givenValues, error) {
	n := len(p.names)
	given := &givenValues{n: n, names: p.names}
	for i := range n {
		for j := range i + 1 {
			_, one := p.row[[2]int{i, j}]
			_, other := p.row[[2]int{j, i}]
			if !one && !other {
				return nil, &table.Error{Source: path, Msg: fmt.Sprintf("no value for x = (%s) and x' = (%s): the table needs all pairs of its %d points", p.names[j], p.names[i], n)}
			}
			if one != other {
				given.unpaired++
			}
		}
	}
	given.k = make([]float64, n*n)
	for at, row := range p.row {
		given.k[at[0]*n+at[1]] = p.values[row]
		if _, both := p.row[[2]int{at[1], at[0]}]; !both {
			given.k[at[1]*n+at[0]] = p.values[row]
		}
	}
	return given, nil
}
