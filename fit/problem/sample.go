package problem

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// Sample is the data of a job: the training rows, checked and scaled, and the held-out rows.
type Sample struct {
	Data Data // as given
	Names
	// Constants are the values of columns that are constant over the training rows; see [gp.Model].
	Constants map[string]float64
	// Rows are the positions of the training rows in Data; X (row-major, the columns in use) and Y are their
	// values in original units. Y, TestY and Targets, which are scaled, are column-major with a column for
	// each target.
	Rows         []int
	X, Y         []float64
	TestX, TestY []float64 // all features, original units
	// Scalings has one entry for each target. They differ only in the target's scaling.
	Scalings []gp.Scaling
	Points   *kernel.Points
	Targets  []float64
	// Noise describes the training rows, in scaled units.
	Noise     graph.NoiseModel
	TestNoise gp.RowNoise
	// Outlying holds the noise variances of their own of the training rows that do not fit, which
	// Noise.Known includes; nil before a search for such rows.
	Outlying []float64
	robust   bool // option robust
	warnings []string
	// Fold holds the number of the fold of each training row if the objective has
	// folds; the rows are then in the order of the folds.
	Fold []int
}

// newSample checks data, leaves constant columns out, and scales.
func newSample(data Data, o *resolved) (*Sample, error) {
	data, err := data.checked()
	if err != nil {
		return nil, err
	}
	s := &Sample{Data: data, robust: o.Robust, warnings: slices.Clone(data.Warnings)}
	s.Features, s.labels = data.FeatureNames, textform.Columns(data.FeatureNames).Labels()
	for _, step := range []func() error{s.split, s.chooseColumns, s.checkRange, func() error { return o.checkLatitudes(s) }} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	columns := o.columnTransforms(s)
	for i := range s.T() {
		y := block(s.Y, i, s.N())
		scaling := gp.NewScaling(o.how, s.X, typical(s, y), s.D(), columns...)
		o.keepDegrees(s, scaling)
		s.Scalings = append(s.Scalings, scaling)
		s.Targets = append(s.Targets, scaling.Targets(y)...)
	}
	if err := addTransform(s, o.how, o.TargetTransform); err != nil {
		return nil, err
	}
	s.Points = kernel.NewPoints(s.Scalings[0].Inputs(s.X), s.N(), s.D())
	return s, s.addNoise(o.NoNoise)
}

// N returns the number of training rows, D of columns in use, T of targets.
func (s *Sample) N() int { return len(s.Rows) }
func (s *Sample) D() int { return len(s.Columns) }
func (s *Sample) T() int { return max(1, len(s.Data.TargetNames)) }

// TargetName is the name of a target.
func (s *Sample) TargetName(i int) string {
	if s.Data.TargetNames == nil {
		return s.Data.TargetName
	}
	return s.Data.TargetNames[i]
}

// block returns block i of v, of n numbers.
func block(v []float64, i, n int) []float64 { return v[i*n : (i+1)*n] }

// TargetScale returns the standard deviation of a target's training rows, even if the
// fit does not scale them.
func (s *Sample) TargetScale(i int) float64 {
	return gp.NewScaling(gp.StandardizeY, nil, typical(s, block(s.Y, i, s.N())), 0).YScale
}

// freak is the distance from the median, in standard deviations of normal values with the same median
// distance, from which a robust fit does not let values scale the target: one would shrink all others.
const freak = 100

// typical returns the values of a target that scale it, and bounds: with option robust, values far from
// the median count as the median.
func typical(s *Sample, y []float64) []float64 {
	if !s.robust {
		return y
	}
	upperMedian := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
	middle, out := upperMedian(y), slices.Clone(y)
	distance := slices.Clone(y)
	for i, v := range y {
		distance[i] = math.Abs(v - middle)
	}
	limit := freak * 1.4826 * upperMedian(distance)
	for i, d := range distance {
		if limit > 0 && d > limit {
			out[i] = middle
		}
	}
	return out
}

// split separates training rows from held-out rows.
func (s *Sample) split() error {
	d := s.Data
	s.Rows = matrixrows.Marked(d.Test, d.N, false)
	s.X, s.Y = matrixrows.Rows(d.X, s.Rows, d.N, d.D), matrixrows.Rows(d.Y, s.Rows, d.N, 1)
	s.TestX, s.TestY, s.TestNoise = d.held(matrixrows.Marked(d.Test, d.N, true))
	switch n := s.N(); {
	case n == 0 && d.N > 0:
		return &DataError{"the split mask holds out every row: nothing is left to train on"}
	case n < 2:
		return &DataError{fmt.Sprintf("a fit needs at least 2 training rows; this table has %d", n)}
	}
	return nil
}

// chooseColumns leaves out columns that are constant over the training rows.
func (s *Sample) chooseColumns() error {
	var names []string
	s.Constants = map[string]float64{}
	for c := range s.Data.D {
		if constant(s.X, c, s.Data.D) {
			names = append(names, strconv.Quote(s.Data.FeatureNames[c]))
			if s.Data.Encoding.IsColumn(c) {
				s.Constants[s.Data.FeatureNames[c]] = s.X[c]
			}
		} else {
			s.Columns = append(s.Columns, c)
		}
	}
	switch {
	case len(s.Columns) == 0:
		return &DataError{"every feature column is constant over the training rows: there is nothing to learn from"}
	case len(names) == 1:
		s.warnings = append(s.warnings, fmt.Sprintf("column %s is constant over the training rows and is left out", names[0]))
	case len(names) > 1:
		s.warnings = append(s.warnings, fmt.Sprintf("columns %s are constant over the training rows and are left out", strings.Join(names, ", ")))
	}
	s.X = inUse(s.X, s.Data.D, s.Columns)
	return nil
}

// constant reports whether every stride-th value of v, from first on, is the same.
func constant(v []float64, first, stride int) bool {
	for i := first; i < len(v); i += stride {
		if v[i] != v[first] {
			return false
		}
	}
	return true
}

// inUse returns some columns of rows with d features.
func inUse(rows []float64, d int, columns []int) []float64 {
	x := make([]float64, 0, len(rows)/d*len(columns))
	for row := range slices.Chunk(rows, d) {
		x = append(x, matrixrows.Values(row, columns)...)
	}
	return x
}

// checkRange returns a [*DataError] for features or targets, including held-out ones,
// whose squares exceed double precision.
func (s *Sample) checkRange() error {
	scales := gp.NewScaling(gp.StandardizeX, s.X, nil, s.D())
	for c, column := range s.Columns {
		if err := checkColumn(fmt.Sprintf("the column %q", s.Data.FeatureNames[column]), s.X, c, s.D(), scales.XScale[c]); err != nil {
			return err
		}
	}
	held := len(s.TestY) / s.T()
	for i := range s.T() {
		what, scale := fmt.Sprintf("the target %q", s.TargetName(i)), s.TargetScale(i)
		for _, y := range [][]float64{block(s.Y, i, s.N()), block(s.TestY, i, held)} {
			if err := checkColumn(what, y, 0, 1, scale); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTransform adds the transform of the only target to the scaling of the sample. It returns an
// [*OptionError] or a [*DataError] if the target cannot have it.
func addTransform(s *Sample, how gp.Standardize, kind transform.Name) error {
	d, value := s.Data, string(kind)
	switch {
	case kind == "" || kind == transform.None:
		return nil
	case d.TargetNames != nil:
		return OptionErrorf("target-transform", value, "several targets share kernel and noise, which belong to transformed values: fit each target separately")
	case d.NoiseVariance != nil:
		return OptionErrorf("target-transform", value, "the known noise variances of the column %q are in squared units of the target, not of its transformed values", d.NoiseColumn)
	}
	if kind == transform.Auto {
		return nil // a fit chooses it
	}
	for i, y := range d.Y {
		if kind.Positive() && !(y > 0) {
			return &DataError{fmt.Sprintf("the target %q of row %d (from 1) is %g: option target-transform %s needs positive targets; yeojohnson takes all", d.TargetName, d.RowNumber(i)+1, y, kind)}
		}
	}
	s.Scalings[0] = s.Scalings[0].WithTransform(how, kind, s.Y)
	s.Targets = s.Scalings[0].Targets(s.Y)
	return nil
}

// CheckTargets returns a [*DataError] if a target is constant.
func (s *Sample) CheckTargets() error {
	for i := range s.T() {
		if constant(block(s.Y, i, s.N()), 0, 1) {
			return &DataError{fmt.Sprintf("the target %q is constant over the training rows: there is nothing to fit", s.TargetName(i))}
		}
	}
	return nil
}

// addNoise checks the known noise of all rows, and scales the noise of the training rows.
func (s *Sample) addNoise(none bool) error {
	d, square := s.Data, s.Scalings[0].YScale*s.Scalings[0].YScale
	if none && d.NoiseGroup != nil {
		return OptionErrorf("noise", "none", "cannot be combined with noise groups, whose variances are estimated")
	}
	if d.Weight != nil && (none || d.NoiseVariance != nil) {
		return OptionErrorf("weight-column", "", "divides the estimated noise variance: it cannot be combined with option noise none or with known noise variances")
	}
	if d.TargetNames != nil && d.NoiseVariance != nil {
		return OptionErrorf("noise-column", "", "known noise variances are in squared units of one target: they cannot be combined with several targets, which share one covariance; fit each target separately")
	}
	wrong := func(i int, v float64, what string) error {
		return &DataError{fmt.Sprintf("the noise variance of row %d (from 1), column %q, is %s", d.RowNumber(i)+1, d.NoiseColumn, fmt.Sprintf(what, v))}
	}
	for i, v := range d.NoiseVariance {
		if !(v >= 0) || math.IsInf(v, 0) {
			return wrong(i, v, "%v; it must be a number from 0")
		}
	}
	s.Noise.Weights = matrixrows.Rows(d.Weight, s.Rows, d.N, 1)
	s.Noise.None, s.Noise.Known = none, matrixrows.Rows(d.NoiseVariance, s.Rows, d.N, 1)
	for k, v := range s.Noise.Known {
		if s.Noise.Known[k] = v / square; NotFinite(v / square) {
			return wrong(s.Rows[k], v, fmt.Sprintf("%%g: that is too large for a target with a standard deviation of %g", s.Scalings[0].YScale))
		}
	}
	return s.group(matrixrows.Rows(d.NoiseGroup, s.Rows, d.N, 1))
}

// group numbers the labels of the training rows in sorted order.
func (s *Sample) group(labels []string) error {
	if labels == nil {
		return nil
	}
	s.Noise.Labels = slices.Compact(slices.Sorted(slices.Values(labels)))
	if groups := len(s.Noise.Labels); 2*groups > len(labels) {
		return &DataError{fmt.Sprintf("the column %q has %d noise groups in %d training rows: a variance cannot be estimated from fewer than two rows each", s.Data.NoiseGroupColumn, groups, len(labels))}
	}
	for _, label := range labels {
		g, _ := slices.BinarySearch(s.Noise.Labels, label)
		s.Noise.Group = append(s.Noise.Group, g)
	}
	for _, label := range s.TestNoise.Group {
		if _, ok := slices.BinarySearch(s.Noise.Labels, label); !ok {
			return &DataError{fmt.Sprintf("the noise group %q (column %q) occurs only in held-out rows: its variance cannot be estimated", label, s.Data.NoiseGroupColumn)}
		}
	}
	return nil
}

// WithRows returns the sample of some of its training rows, given by their positions, in that
// order, or in the order of the folds if there are folds. The scaling still comes from all rows.
func (s *Sample) WithRows(rows []int) *Sample {
	sub, n := *s, s.N()
	if s.Fold != nil {
		rows = slices.Sorted(slices.Values(rows))
		sub.Fold = matrixrows.Rows(s.Fold, rows, n, 1)
	}
	sub.Rows = matrixrows.Rows(s.Rows, rows, n, 1)
	sub.X = matrixrows.Rows(s.X, rows, n, s.D())
	sub.Y, sub.Targets = matrixrows.Rows(s.Y, rows, n, 1), matrixrows.Rows(s.Targets, rows, n, 1)
	sub.Noise.Known, sub.Noise.Group = matrixrows.Rows(s.Noise.Known, rows, n, 1), matrixrows.Rows(s.Noise.Group, rows, n, 1)
	sub.Noise.Weights = matrixrows.Rows(s.Noise.Weights, rows, n, 1)
	sub.Outlying = matrixrows.Rows(s.Outlying, rows, n, 1)
	sub.Points = kernel.NewPoints(s.Scalings[0].Inputs(sub.X), len(rows), s.D())
	return &sub
}

// OutlyingRows returns the training rows with noise variances of their own, and these.
func (s *Sample) OutlyingRows() (rows []int, variances []float64) {
	for i, v := range s.Outlying {
		if v > 0 {
			rows, variances = append(rows, i), append(variances, v)
		}
	}
	return rows, variances
}

// WithOutlying returns a sample with other noise variances of their own, one for each training
// row, in scaled units.
func (s *Sample) WithOutlying(variance []float64) *Sample {
	sub := *s
	sub.Outlying, sub.Noise.Known = variance, slices.Clone(variance)
	base := matrixrows.Rows(s.Data.NoiseVariance, s.Rows, s.Data.N, 1)
	for i, v := range base {
		sub.Noise.Known[i] += v / (s.Scalings[0].YScale * s.Scalings[0].YScale)
	}
	return &sub
}

// Without returns the sample of the training rows that are not in held, with held as its test rows.
func (s *Sample) Without(held []int) *Sample {
	var rest []int
	for i := range s.N() {
		if _, out := slices.BinarySearch(held, i); !out {
			rest = append(rest, i)
		}
	}
	sub := s.WithRows(rest)
	sub.TestX, sub.TestY, sub.TestNoise = s.Data.held(matrixrows.Values(s.Rows, held))
	return sub
}

// RowNumbers returns the numbers of the training rows in their table, or nil if they
// are the whole table in its order.
func (s *Sample) RowNumbers() []float64 {
	if s.Data.Row == nil && s.N() == s.Data.N && slices.IsSorted(s.Rows) {
		return nil
	}
	out := make([]float64, s.N())
	for k, i := range s.Rows {
		out[k] = float64(s.Data.RowNumber(i))
	}
	return out
}

// FirstRows returns the first m training rows with all features, in original units.
func (s *Sample) FirstRows(m int) []float64 {
	return matrixrows.Rows(s.Data.X, s.Rows[:m], s.Data.N, s.Data.D)
}

// Squares of values beyond these limits come close to the limits of double precision.
// A fit squares distances, deviations and scales.
const (
	largestValue      = 1e150
	smallestDeviation = 1e-150
)

// checkColumn checks every stride-th value of v from first on. deviation is their
// standard deviation.
func checkColumn(what string, v []float64, first, stride int, deviation float64) error {
	for i := first; i < len(v); i += stride {
		if math.Abs(v[i]) > largestValue {
			return &DataError{fmt.Sprintf("%s has the value %g: squares of numbers above %g exceed double precision; divide the column by a power of ten", what, v[i], float64(largestValue))}
		}
	}
	if deviation < smallestDeviation {
		return &DataError{fmt.Sprintf("%s has a standard deviation of %g: squares of numbers below %g exceed double precision; multiply the column by a power of ten", what, deviation, smallestDeviation)}
	}
	return nil
}
