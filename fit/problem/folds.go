package problem

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"gpfit/internal/matrixrows"
)

// DefaultFolds is the number of folds of a cross-validation.
const DefaultFolds = 10

// CrossValidation configures a cross-validation. The zero value means ten folds at
// the given parameters.
type CrossValidation struct {
	// Folds is the number of parts K, from 2 to the number of rows; 0 means
	// DefaultFolds, or the number of rows if that is less.
	Folds int
	// Seed determines which rows belong to which fold; 0 is a valid seed.
	Seed uint64
	// Refit tunes the parameters on the other rows for every fold, from the given ones.
	Refit bool
	// OnFold, if not nil, is called before each fold with its number, from 0.
	OnFold func(fold, folds int)
}

func (cv CrossValidation) folds(n int) int {
	return cmp.Or(cv.Folds, min(DefaultFolds, n))
}

// CriterionFolds describes the folds of the objective.
func (o Options) CriterionFolds() CrossValidation {
	return CrossValidation{Folds: o.Folds, Seed: o.FoldSeed}
}

// Divide divides the training rows into folds, as fit.CrossValidate says. The folds do
// not depend on the order of the rows in the sample.
func (s *Sample) Divide(cv CrossValidation, blocks bool) ([][]int, error) {
	n, data := s.N(), s.Data
	order := matrixrows.All(n) // positions in the sample, in the order of the table
	slices.SortFunc(order, func(a, b int) int { return s.Rows[a] - s.Rows[b] })
	folds, err := divideRows(n, matrixrows.Rows(data.Group, matrixrows.Rows(s.Rows, order, n, 1), data.N, 1), data.GroupColumn, cv, blocks)
	for _, f := range folds {
		for i, at := range f {
			f[i] = order[at]
		}
		slices.Sort(f)
	}
	return folds, err
}

// divideRows divides n rows, whose groups may be nil, into folds.
func divideRows(n int, groups []string, column string, cv CrossValidation, blocks bool) ([][]int, error) {
	units := unitsOf(n, groups)
	k := cv.folds(len(units))
	switch {
	case groups == nil && (k < 2 || k > n || n-(n+k-1)/k < 2):
		return nil, OptionErrorf("", "", "%d folds of %d rows: cross-validation needs at least 2 folds, no more folds than rows, and at least 2 rows outside each fold", k, n)
	case k < 2 || k > len(units):
		return nil, OptionErrorf("", "", "%d folds of %d groups of rows (column %q): cross-validation needs at least 2 folds and no more folds than groups", k, len(units), column)
	case groups == nil && blocks:
		return foldBlocks(n, k), nil
	}
	folds := foldUnits(units, k, cv.Seed)
	for _, f := range folds {
		if n-len(f) < 2 {
			return nil, OptionErrorf("", "", "a fold of %d of the %d rows: cross-validation needs at least 2 rows outside each fold; the groups of column %q differ too much in size", len(f), n, column)
		}
	}
	return folds, nil
}

// unitsOf returns the rows that stay together: the rows of each group, in the order of
// the groups' first rows, or single rows if groups is nil.
func unitsOf(n int, groups []string) (units [][]int) {
	known := map[string]int{}
	for i := range n {
		u := i
		if groups != nil {
			var ok bool
			if u, ok = known[groups[i]]; !ok {
				u = len(units)
				known[groups[i]] = u
			}
		}
		if u == len(units) {
			units = append(units, nil)
		}
		units[u] = append(units[u], i)
	}
	return units
}

// foldBlocks divides the rows into blocks of consecutive rows, whose sizes differ by at most one.
func foldBlocks(n, folds int) [][]int {
	parts := make([][]int, folds)
	for i := range n {
		k := i * folds / n
		parts[k] = append(parts[k], i)
	}
	return parts
}

// foldUnits shuffles units of rows, deals them to the folds, the largest units first and each
// to the smallest fold, and sorts each fold.
func foldUnits(units [][]int, folds int, seed uint64) [][]int {
	order := rand.New(rand.NewPCG(seed, uint64(folds))).Perm(len(units))
	units = matrixrows.Values(units, order)
	slices.SortStableFunc(units, func(a, b []int) int { return len(b) - len(a) })
	parts := make([][]int, folds)
	for _, unit := range units {
		least := 0
		for k := range parts {
			if len(parts[k]) < len(parts[least]) {
				least = k
			}
		}
		parts[least] = append(parts[least], unit...)
	}
	for _, p := range parts {
		slices.Sort(p)
	}
	return parts
}

// InFolds returns the sample with its training rows in the order of the folds of an
// objective, so that the rows of a fold are next to each other.
func (s *Sample) InFolds(cv CrossValidation, blocks bool) (*Sample, error) {
	plain := *s
	plain.Fold = nil
	folds, err := plain.Divide(cv, blocks)
	if err != nil {
		return nil, err
	}
	return plain.ordered(folds), nil
}

// ordered returns the sample with its training rows in the order of folds.
func (s *Sample) ordered(folds [][]int) *Sample {
	out := s.WithRows(slices.Concat(folds...))
	for k, rows := range folds {
		out.Fold = append(out.Fold, slices.Repeat([]int{k}, len(rows))...)
	}
	return out
}

// inPlaces is InFolds with a fold for each place, or the sample itself if no inputs repeat.
func (s *Sample) inPlaces() *Sample {
	if places := s.Points.Places(); len(places) < s.N() {
		return s.ordered(places)
	}
	return s
}

// FoldEnds returns the ends of the sample's folds, or nil if the objective has none.
func (s *Sample) FoldEnds() (ends []int) {
	for i := range s.Fold {
		if i+1 == len(s.Fold) || s.Fold[i+1] != s.Fold[i] {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// EvenFolds returns the ends of folds of n rows, for a plan of a job that is not prepared
// yet; 0 folds mean DefaultFolds.
func EvenFolds(n, folds int) (ends []int) {
	folds = max(1, min(cmp.Or(folds, DefaultFolds), n))
	for k := range folds {
		ends = append(ends, (k+1)*n/folds)
	}
	return ends
}
