package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/kernel"
)

// sample is the data of a job: the training rows, checked and scaled, and the
// held-out rows.
type sample struct {
	data Data // as given
	// columns are the features in use; rows are the positions of the training rows in
	// data; x (row-major) and y are their values in original units. y, testY and
	// targets, which are scaled, are column-major with a column for each target.
	columns, rows []int
	x, y          []float64
	testX, testY  []float64 // all features, original units
	// scalings has one entry for each target. They differ only in the target's
	// scaling.
	scalings []gp.Scaling
	points   *kernel.Points
	targets  []float64
	// noise describes the training rows, in scaled units.
	noise     graph.NoiseModel
	testNoise gp.RowNoise
	warnings  []string
	median    *medianCache
	// fold holds the number of the fold of each training row if the objective has
	// folds; the rows are then in the order of the folds.
	fold []int
}

// newSample checks data, leaves constant columns out, and scales.
func newSample(data Data, how gp.Standardize, noNoise bool) (*sample, error) {
	data, err := data.checked()
	if err != nil {
		return nil, err
	}
	s := &sample{data: data, warnings: slices.Clone(data.Warnings), median: &medianCache{}}
	if err := s.split(); err != nil {
		return nil, err
	}
	if err := s.chooseColumns(); err != nil {
		return nil, err
	}
	if err := s.checkRange(); err != nil {
		return nil, err
	}
	n := s.n()
	for i := range s.t() {
		scaling := gp.NewScaling(how, s.x, s.y[i*n:(i+1)*n], s.d())
		s.scalings = append(s.scalings, scaling)
		s.targets = append(s.targets, scaling.Targets(s.y[i*n:(i+1)*n])...)
	}
	s.points = kernel.NewPoints(s.scalings[0].Inputs(s.x), n, s.d())
	return s, s.addNoise(noNoise)
}

// n, d and t count training rows, columns in use and targets.
func (s *sample) n() int { return len(s.rows) }
func (s *sample) d() int { return len(s.columns) }
func (s *sample) t() int { return max(1, len(s.data.TargetNames)) }

// targetName is the name of a target.
func (s *sample) targetName(i int) string {
	if s.data.TargetNames == nil {
		return s.data.TargetName
	}
	return s.data.TargetNames[i]
}

// targetScale returns the standard deviation of a target's training rows, even if the
// fit does not scale them.
func (s *sample) targetScale(i int) float64 {
	n := s.n()
	return gp.NewScaling(gp.StandardizeY, nil, s.y[i*n:(i+1)*n], 0).YScale
}

// split separates training rows from held-out rows.
func (s *sample) split() error {
	d := s.data
	for i := range d.N {
		if d.Test != nil && d.Test[i] {
			s.testX = append(s.testX, d.X[i*d.D:(i+1)*d.D]...)
		} else {
			s.rows = append(s.rows, i)
			s.x = append(s.x, d.X[i*d.D:(i+1)*d.D]...)
		}
	}
	for i, y := range d.Y {
		if d.Test != nil && d.Test[i%d.N] {
			s.testY = append(s.testY, y)
		} else {
			s.y = append(s.y, y)
		}
	}
	switch n := s.n(); {
	case n == 0 && d.N > 0:
		return &DataError{"the split mask holds out every row: nothing is left to train on"}
	case n < 2:
		return &DataError{fmt.Sprintf("a fit needs at least 2 training rows; this table has %d", n)}
	}
	return nil
}

// chooseColumns leaves out columns that are constant over the training rows.
func (s *sample) chooseColumns() error {
	d := s.data.D
	var names []string
	constant := constantColumns(s.x, s.n(), d)
	for c := range d {
		if _, ok := slices.BinarySearch(constant, c); ok {
			names = append(names, fmt.Sprintf("%q", s.data.FeatureNames[c]))
			continue
		}
		s.columns = append(s.columns, c)
	}
	switch {
	case len(s.columns) == 0:
		return &DataError{"every feature column is constant over the training rows: there is nothing to learn from"}
	case len(names) == 0:
		return nil
	case len(names) == 1:
		s.warnings = append(s.warnings, fmt.Sprintf("column %s is constant over the training rows and is left out", names[0]))
	default:
		s.warnings = append(s.warnings, fmt.Sprintf("columns %s are constant over the training rows and are left out", strings.Join(names, ", ")))
	}
	all := s.x
	s.x = nil
	for i := range s.n() {
		for _, c := range s.columns {
			s.x = append(s.x, all[i*d+c])
		}
	}
	return nil
}

// checkRange returns a [*DataError] for features or targets, including held-out ones,
// whose squares exceed double precision.
func (s *sample) checkRange() error {
	n, d := s.n(), s.d()
	scales := gp.NewScaling(gp.StandardizeX, s.x, nil, d)
	for c, column := range s.columns {
		if err := checkColumn(fmt.Sprintf("the column %q", s.data.FeatureNames[column]), s.x, c, d, scales.XScale[c]); err != nil {
			return err
		}
	}
	held := len(s.testY) / s.t()
	for i := range s.t() {
		what, scale := fmt.Sprintf("the target %q", s.targetName(i)), s.targetScale(i)
		for _, y := range [][]float64{s.y[i*n : (i+1)*n], s.testY[i*held : (i+1)*held]} {
			if err := checkColumn(what, y, 0, 1, scale); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTargets returns a [*DataError] if a target is constant.
func (s *sample) checkTargets() error {
	n := s.n()
	for i := range s.t() {
		if len(constantColumns(s.y[i*n:(i+1)*n], n, 1)) > 0 {
			return &DataError{fmt.Sprintf("the target %q is constant over the training rows: there is nothing to fit", s.targetName(i))}
		}
	}
	return nil
}

// addNoise splits the known noise of the rows, checks it and converts it to scaled
// units.
func (s *sample) addNoise(none bool) error {
	d := s.data
	if none && d.NoiseGroup != nil {
		return optionErrorf("noise", "none", "cannot be combined with noise groups, whose variances are estimated")
	}
	if d.TargetNames != nil && d.NoiseVariance != nil {
		return optionErrorf("noise-column", "", "known noise variances are in squared units of one target: they cannot be combined with several targets, which share one covariance; fit each target separately")
	}
	s.noise.None = none
	scale := s.scalings[0].YScale
	var labels []string
	for i := range d.N {
		held := d.Test != nil && d.Test[i]
		if d.NoiseVariance != nil {
			v := d.NoiseVariance[i]
			if !(v >= 0) || math.IsInf(v, 0) {
				return &DataError{fmt.Sprintf("the noise variance of row %d (from 1), column %q, is %v; it must be a number from 0", i+1, d.NoiseColumn, v)}
			}
			if held {
				s.testNoise.Known = append(s.testNoise.Known, v)
			} else {
				s.noise.Known = append(s.noise.Known, v/(scale*scale))
				if notFinite(v / (scale * scale)) {
					return &DataError{fmt.Sprintf("the noise variance of row %d (from 1), column %q, is %g: that is too large for a target with a standard deviation of %g", i+1, d.NoiseColumn, v, scale)}
				}
			}
		}
		if d.NoiseGroup != nil {
			if held {
				s.testNoise.Group = append(s.testNoise.Group, d.NoiseGroup[i])
			} else {
				labels = append(labels, d.NoiseGroup[i])
			}
		}
	}
	return s.group(labels)
}

// group numbers the labels of the training rows in sorted order.
func (s *sample) group(labels []string) error {
	if labels == nil {
		return nil
	}
	sorted := slices.Clone(labels)
	slices.Sort(sorted)
	s.noise.Labels = slices.Compact(sorted)
	if groups := len(s.noise.Labels); 2*groups > len(labels) {
		return &DataError{fmt.Sprintf("the column %q has %d noise groups in %d training rows: a variance cannot be estimated from fewer than two rows each", s.data.NoiseGroupColumn, groups, len(labels))}
	}
	for _, label := range labels {
		g, _ := slices.BinarySearch(s.noise.Labels, label)
		s.noise.Group = append(s.noise.Group, g)
	}
	for _, label := range s.testNoise.Group {
		if _, ok := slices.BinarySearch(s.noise.Labels, label); !ok {
			return &DataError{fmt.Sprintf("the noise group %q (column %q) occurs only in held-out rows: its variance cannot be estimated", label, s.data.NoiseGroupColumn)}
		}
	}
	return nil
}

// withRows returns the sample of some of its training rows, given by their positions,
// in that order, or in the order of the folds if there are folds. The scaling remains the
// one of all rows.
func (s *sample) withRows(rows []int) *sample {
	sub, n := *s, s.n()
	if s.fold != nil {
		rows = slices.Sorted(slices.Values(rows))
		sub.fold = pick(s.fold, rows, n, 1)
	}
	sub.rows = pick(s.rows, rows, n, 1)
	sub.x = pick(s.x, rows, n, s.d())
	sub.y, sub.targets = pick(s.y, rows, n, 1), pick(s.targets, rows, n, 1)
	sub.noise.Known, sub.noise.Group = pick(s.noise.Known, rows, n, 1), pick(s.noise.Group, rows, n, 1)
	sub.points = kernel.NewPoints(s.scalings[0].Inputs(sub.x), len(rows), s.d())
	return &sub
}

// without returns the sample of the training rows that are not in held, with held as
// its test rows.
func (s *sample) without(held []int) *sample {
	var rest []int
	for i := range s.n() {
		if _, out := slices.BinarySearch(held, i); !out {
			rest = append(rest, i)
		}
	}
	sub, d := s.withRows(rest), s.data
	rows := pick(s.rows, held, s.n(), 1)
	sub.testX, sub.testY = pick(d.X, rows, d.N, d.D), pick(d.Y, rows, d.N, 1)
	sub.testNoise = gp.RowNoise{Known: pick(d.NoiseVariance, rows, d.N, 1), Group: pick(d.NoiseGroup, rows, d.N, 1)}
	return sub
}

// pick returns the given rows of the n×d row-major matrices in v, one matrix after
// the other, or nil if v is nil.
func pick[T any](v []T, rows []int, n, d int) []T {
	var out []T
	for first := 0; first < len(v); first += n * d {
		for _, i := range rows {
			out = append(out, v[first+i*d:first+(i+1)*d]...)
		}
	}
	return out
}

// rowNumbers returns the numbers of the training rows in their table, or nil if they
// are the whole table in its order.
func (s *sample) rowNumbers() []float64 {
	if s.data.Row == nil && s.n() == s.data.N && slices.IsSorted(s.rows) {
		return nil
	}
	out := make([]float64, s.n())
	for k, i := range s.rows {
		if s.data.Row != nil {
			i = s.data.Row[i]
		}
		out[k] = float64(i)
	}
	return out
}

// firstRows returns the first m training rows with all features, in original units.
func (s *sample) firstRows(m int) []float64 {
	return pick(s.data.X, s.rows[:m], s.data.N, s.data.D)
}
