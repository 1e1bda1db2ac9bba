package mean

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// dependent is the size of what is left of a column of H, relative to the
// column, after the columns before it are taken out, below which it counts as
// a combination of them. HᵀΣ⁻¹H squares the ratio, so that below √ε nothing of
// it would be left.
const dependent = 1e-8

// RankError reports basis functions that are linearly dependent on the data:
// their coefficients are not determined.
type RankError struct {
	// Name is a function that is a combination of those in Of; Of is empty for
	// a function that is zero at every point.
	Name string
	Of   []string
	// N and Q count points and functions where there are fewer points.
	N, Q int
}

func (e *RankError) Error() string {
	switch {
	case e.N < e.Q:
		return fmt.Sprintf("mean: %d coefficients cannot be found from %d rows: choose a simpler mean function", e.Q, e.N)
	case len(e.Of) == 0:
		return fmt.Sprintf("mean: the function of %s is zero at every row, so that its coefficient is not determined: choose a simpler mean function", e.Name)
	}
	return fmt.Sprintf("mean: on these rows the function of %s is a linear combination of %s, so that their coefficients are not determined: choose a simpler mean function", e.Name, strings.Join(e.Of, ", "))
}

// CheckRank finds out whether the columns of H (n×q, column-major) are linearly
// independent, by Gram–Schmidt with reorthogonalisation, from the last function
// (the constant) to the first. Errors: [*RankError].
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

// rankError names the functions after j that the function j is made of.
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
