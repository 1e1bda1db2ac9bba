package mean

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// dependent is the bound below which a column of H counts as a linear combination
// of the columns before it: the norm of its part orthogonal to them, relative to
// the column's own norm. HᵀΣ⁻¹H squares this ratio, so that below √ε rounding would
// hide the difference.
const dependent = 1e-8

// RankError reports basis functions that are linearly dependent at the data points,
// so that their coefficients are not determined.
type RankError struct {
	// Name is a function that is a linear combination of those in Of. Of is empty
	// if the function is zero at every point.
	Name string
	Of   []string
	// N and Q are the numbers of points and functions if N < Q, otherwise 0.
	N, Q int
}

func (e *RankError) Error() string {
	switch {
	case e.N < e.Q:
		return fmt.Sprintf("mean: %d coefficients cannot be determined from %d rows: choose a simpler mean function", e.Q, e.N)
	case len(e.Of) == 0:
		return fmt.Sprintf("mean: the function of %s is zero in every row, so its coefficient is not determined: choose a simpler mean function", e.Name)
	}
	return fmt.Sprintf("mean: on these rows the function of %s is a linear combination of %s, so their coefficients are not determined: choose a simpler mean function", e.Name, strings.Join(e.Of, ", "))
}

// CheckRank returns a [*RankError] unless the columns of H (n×q, column-major) are
// linearly independent. It uses Gram–Schmidt with reorthogonalisation, from the
// last function (the constant) to the first.
func (b Basis) CheckRank(h []float64) error {
	q := len(b)
	if q == 0 {
		return nil
	}
	n := len(h) / q
	if n < q {
		return &RankError{N: n, Q: q}
	}
	var basis [][]float64
	for j := q - 1; j >= 0; j-- {
		column := h[j*n : (j+1)*n]
		rest := append([]float64(nil), column...)
		for range 2 {
			for _, u := range basis {
				floats.AddScaled(rest, -floats.Dot(u, rest), u)
			}
		}
		size := floats.Norm(rest, 2)
		if !(size > dependent*floats.Norm(column, 2)) {
			return b.rankError(h, n, j)
		}
		floats.Scale(1/size, rest)
		basis = append(basis, rest)
	}
	return nil
}

// rankError names the functions after j of which function j is a combination.
func (b Basis) rankError(h []float64, n, j int) error {
	e := &RankError{Name: b[j].Name(), N: n, Q: len(b)}
	column := h[j*n : (j+1)*n]
	rest := len(b) - j - 1
	if rest == 0 || floats.Norm(column, 2) == 0 {
		return e
	}
	a := mat.NewDense(n, rest, nil)
	for k := range rest {
		a.SetCol(k, h[(j+1+k)*n:(j+2+k)*n])
	}
	var c mat.VecDense
	if err := c.SolveVec(a, mat.NewVecDense(n, column)); err != nil {
		e.Of = b[j+1:].Names()
		return e
	}
	for k := range rest {
		part := math.Abs(c.AtVec(k)) * floats.Norm(h[(j+1+k)*n:(j+2+k)*n], 2)
		if part > 1e-6*floats.Norm(column, 2) {
			e.Of = append(e.Of, b[j+1+k].Name())
		}
	}
	return e
}
