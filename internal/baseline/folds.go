package baseline

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// defaultFolds is the number of folds of a cross-validation, as in package fit.
const defaultFolds = 10

// foldsOf deals n shuffled rows to folds, as package fit does: fold[i] is the fold of
// row i.
func foldsOf(n, folds int, seed uint64) (fold []int, count int, err error) {
	if folds == 0 {
		folds = min(defaultFolds, n)
	}
	if folds < 2 || folds > n {
		return nil, 0, fmt.Errorf("baseline: %d folds of %d rows; cross-validation needs at least 2 folds and no more folds than rows; or give one penalty", folds, n)
	}
	fold = make([]int, n)
	for i, row := range rand.New(rand.NewPCG(seed, uint64(folds))).Perm(n) {
		fold[row] = i % folds
	}
	return fold, folds, nil
}

// part returns the rows of a fold, or those outside it.
func part(x mat.Matrix, y []float64, fold []int, k int, inside bool) (*mat.Dense, []float64) {
	_, d := x.Dims()
	var rows, targets []float64
	row := make([]float64, d)
	for i := range y {
		if (fold[i] == k) == inside {
			rows, targets = append(rows, mat.Row(row, i, x)...), append(targets, y[i])
		}
	}
	return mat.NewDense(len(targets), d, rows), targets
}
