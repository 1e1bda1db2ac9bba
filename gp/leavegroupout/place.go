// Package leavegroupout predicts rows of each place from all other places. Rows with equal inputs
// are at one place. Leave-one-out says little of them: the row that is left out has its twin among
// the others, and a model that calls noise a part of the function seems to predict it.
package leavegroupout

import (
	"context"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

// Repeated returns the rows of each place that has several, nil if no row repeats. Rows of
// different blocks of a workspace are at different places.
func Repeated(ws device.Workspace, x *kernel.Points) (out [][]int) {
	block := make([]int, x.N)
	if parts, ok := ws.(device.BlockDiagonal); ok {
		for k, rows := range parts.Blocks() {
			for _, i := range rows {
				block[i] = k
			}
		}
	}
	for _, rows := range x.Places() {
		parts := map[int][]int{}
		for _, i := range rows {
			parts[block[i]] = append(parts[block[i]], i)
		}
		for _, i := range rows {
			if part := parts[block[i]]; part[0] == i && len(part) > 1 {
				out = append(out, part)
			}
		}
	}
	return out
}

// Count returns the number of places of n rows with some repeated ones.
func Count(n int, repeated [][]int) int {
	for _, rows := range repeated {
		n -= len(rows) - 1
	}
	return n
}

// Fitted is a process on the n rows of a workspace.
type Fitted struct {
	// Noise is the part of Σ that is not the kernel's: n variances, or one for all rows.
	Noise []float64
	// Alpha is Σ⁻¹r, n×T column-major.
	Alpha []float64
	// Mean (n×q, column-major) whitens the coefficients of the mean that least squares found:
	// Q = Σ⁻¹ − Mean·Meanᵀ. It is nil without.
	Mean []float64
}

// columns is the number of places whose systems are solved together.
const columns = 64

// Leave replaces the errors e (n×T) and variances v (n) of leave-one-out predictions of the repeated
// rows by the errors and variances of predictions without their place. All rows of a place have the same row of K and
// of the mean, so with the noise D of the rows P of a place
//
//	(Q_PP)⁻¹ = D + s·11ᵀ,  s = 1/q − 1/w,  q = 1ᵀQ_PP1,  w = Σ_P 1/d_i
//
// by the formula of Sherman and Morrison, where s is the variance of the function there. From the
// predictions of folds (Sundararajan & Keerthi, Neural Computation 13 (2001), 1103) follow
//
//	e_i = d_i·α_i + s·Σ_P α_j,  v_i = d_i + s.
//
// It solves a system for each place that repeats: n³ operations if all rows are pairs.
func Leave(ctx context.Context, ws device.Workspace, repeated [][]int, f Fitted, e, v []float64) error {
	n := ws.N()
	b := make([]float64, 0, n*min(columns, len(repeated)))
	for first := 0; first < len(repeated); first += columns {
		if err := ctx.Err(); err != nil {
			return err
		}
		places := repeated[first:min(first+columns, len(repeated))]
		b = b[:n*len(places)]
		clear(b)
		for k, rows := range places {
			for _, i := range rows {
				b[k*n+i] = 1
			}
		}
		if err := ws.Solve(ctx, b, len(places)); err != nil {
			return err
		}
		for k, rows := range places {
			f.leave(rows, f.precision(b[k*n:(k+1)*n], rows), e, v)
		}
	}
	return nil
}

// precision returns q for solved = Σ⁻¹z, where z marks the rows; NaN if it is 0 but for rounding.
func (f Fitted) precision(solved []float64, rows []int) (q float64) {
	n := len(solved)
	for _, i := range rows {
		q += solved[i]
	}
	whole := q
	for j := 0; j < len(f.Mean); j += n {
		sum := 0.0
		for _, i := range rows {
			sum += f.Mean[j+i]
		}
		q -= sum * sum
	}
	if !(q > 1e-12*whole) { // the other rows do not determine the mean; see graph.LeverageError
		return math.NaN()
	}
	return q
}

// leave writes the errors and variances of the rows of a place.
func (f Fitted) leave(rows []int, q float64, e, v []float64) {
	w, n := 0.0, len(v)
	noise := func(i int) float64 { return f.Noise[min(i, len(f.Noise)-1)] }
	for _, i := range rows {
		w += 1 / noise(i)
	}
	s := 1/q - 1/w
	for t := 0; t < len(e); t += n {
		sum := 0.0
		for _, i := range rows {
			sum += f.Alpha[t+i]
		}
		for _, i := range rows {
			e[t+i] = noise(i)*f.Alpha[t+i] + s*sum
		}
	}
	for _, i := range rows {
		v[i] = noise(i) + s
	}
}
