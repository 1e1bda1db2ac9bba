package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gpfit/fit/problem"
	"gpfit/internal/matrixrows"
)

// Split says how the rows to predict are chosen.
type Split struct {
	// Folds is the number of folds, 0 if the rows are held out once.
	Folds int `json:"folds"`
	// Seed draws the rows; nil if a mask or their order determines them.
	Seed *uint64 `json:"seed"`
	// Group is the column whose rows stay together, and Blocks means consecutive rows.
	Group  string `json:"group,omitempty"`
	Blocks bool   `json:"blocks,omitempty"`
	// Train and Test count the rows of the first fold, or of the hold-out.
	Train int `json:"n_train"`
	Test  int `json:"n_test"`
}

func (s Split) String() string {
	kind := ""
	switch {
	case s.Blocks:
		kind = " of consecutive rows"
	case s.Group != "":
		kind = fmt.Sprintf(" of whole groups (column %s)", s.Group)
	}
	if s.Seed != nil {
		kind += fmt.Sprintf(", seed %d", *s.Seed)
	}
	if s.Folds > 0 {
		return fmt.Sprintf("%d folds%s", s.Folds, kind)
	}
	return fmt.Sprintf("%d rows held out%s, %d to train on", s.Test, kind, s.Train)
}

// fold holds the positions of the rows to train on and to predict, in ascending order.
type fold struct {
	train, test []int
	// order is the order in which rows enter the nested subsets.
	order []int
}

// newFolds divides the rows of data, into a number of folds if none are held out.
func newFolds(data problem.Data, o problem.Options, folds int) ([]fold, Split, error) {
	seed := o.Settings.Seed
	split := Split{Group: data.GroupColumn, Blocks: o.Blocks}
	if data.Test == nil && o.HoldOut == 0 {
		parts, err := data.Folds(problem.CrossValidation{Folds: folds, Seed: seed}, o.Blocks)
		if err != nil {
			return nil, split, err
		}
		if !o.Blocks {
			split.Seed = &seed
		}
		return split.of(len(parts), data.N, parts, seed)
	}
	if folds != 0 {
		return nil, split, optionError("folds", fmt.Sprint(folds), "cannot be combined with held-out rows: compare on them, or leave options holdout and split-mask out")
	}
	if data.Test == nil && !o.Blocks && !o.HoldOutLast {
		split.Seed = &seed
	}
	data, err := data.WithHoldOut(o)
	if err != nil {
		return nil, split, err
	}
	held := matrixrows.Marked(data.Test, data.N, true)
	if held == nil {
		return nil, split, &problem.DataError{Msg: "the split mask holds out no row: there is nothing to predict"}
	}
	return split.of(0, data.N, [][]int{held}, seed)
}

// of returns the folds whose rows to predict are given, and completes the description.
func (s Split) of(folds, n int, parts [][]int, seed uint64) ([]fold, Split, error) {
	var out []fold
	for k, held := range parts {
		f := fold{test: held}
		for i := range n {
			if _, in := slices.BinarySearch(held, i); !in {
				f.train = append(f.train, i)
			}
		}
		f.order = slices.Clone(f.train)
		random := rand.New(rand.NewPCG(seed, subsetStream+uint64(k)))
		random.Shuffle(len(f.order), func(i, j int) { f.order[i], f.order[j] = f.order[j], f.order[i] })
		out = append(out, f)
	}
	s.Folds, s.Train, s.Test = folds, len(out[0].train), len(out[0].test)
	return out, s, nil
}

// subsetStream separates the random numbers of nested subsets from others of the seed.
const subsetStream = 0x737562736574

// part returns the data of a fold with the first m rows of its nested order to train on, or
// all if m is 0.
func (f fold) part(data problem.Data, m int) problem.Data {
	train := f.train
	if m > 0 {
		train = slices.Sorted(slices.Values(f.order[:m]))
	}
	rows := slices.Concat(train, f.test)
	slices.Sort(rows)
	data.Test, data.Warnings = nil, nil
	d := data.Rows(rows)
	d.Test = make([]bool, d.N)
	for i, row := range rows {
		_, d.Test[i] = slices.BinarySearch(f.test, row)
	}
	return d
}
