package merged

import (
	"math"

	"gpfit/device"
)

// weights have the numbers that depend on the noise of the rows. The row of a group with the least noise is its
// anchor: what the others contribute is computed from differences from it, so that a variance of 0,
// or one far below the others, costs no digits.
type weights struct {
	*groups
	// noise are the variances d of the rows.
	noise []float64
	// anchors are the anchors of the groups.
	anchors []int
	// ratio is the variance of the anchor divided by the row's, 1 for the anchor, and share is e.
	ratio, share []float64
	// before is, for a row that is not the anchor, the sum of the ratios of the anchor and of the rows
	// before it.
	before []float64
	// within is the diagonal of B.
	within []float64
	// merged are the variances 1/W of the groups.
	merged []float64
	// logDet is log|Σ| − log|Σ_u|.
	logDet float64
}

// weigh returns the weights of the rows with the given noise: one variance for all rows, or one for
// each. Errors are [*device.NotPDError] and [*device.NonFiniteError].
func (g *groups) weigh(noise []float64) (*weights, error) {
	n := g.n()
	w := &weights{groups: g, noise: make([]float64, n), anchors: make([]int, g.u()), merged: make([]float64, g.u()),
		ratio: make([]float64, n), share: make([]float64, n), before: make([]float64, n), within: make([]float64, n)}
	for i := range w.noise {
		w.noise[i] = noise[min(i, len(noise)-1)]
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	for k, rows := range g.rows {
		w.weighGroup(k, rows)
	}
	return w, nil
}

// check returns an error for the first row that leaves the covariance of the rows of a group without
// an inverse.
func (w *weights) check() error {
	zeros := make([]int, w.u())
	for i, k := range w.of {
		d := w.noise[i]
		if len(w.rows[k]) == 1 {
			continue
		}
		if d-d != 0 {
			return &device.NonFiniteError{What: "covariance matrix", Row: i, Col: i}
		}
		if d == 0 {
			zeros[k]++
		}
		if d < 0 || zeros[k] > 1 {
			return &device.NotPDError{Minor: i + 1, N: w.n()}
		}
	}
	return nil
}

// weighGroup sets the numbers of a group.
func (w *weights) weighGroup(k int, rows []int) {
	a := rows[0]
	for _, i := range rows {
		if w.noise[i] < w.noise[a] {
			a = i
		}
	}
	sum, others := 1.0, 0.0 // W·d_a, and W without the anchor's weight
	w.anchors[k], w.ratio[a] = a, 1
	for _, i := range rows {
		if i == a {
			continue
		}
		w.before[i], w.ratio[i] = sum, w.noise[a]/w.noise[i]
		sum += w.ratio[i]
		others += 1 / w.noise[i]
		w.logDet += math.Log(w.noise[i])
	}
	w.logDet += math.Log(sum)
	w.merged[k] = w.noise[a] / sum
	for _, i := range rows {
		w.share[i] = w.ratio[i] / sum
		w.within[i] = (1 - w.share[i]) / w.noise[i]
	}
	w.within[a] = others / sum
}

// divide overwrites every column b of n rows by B·b and returns the weighted means Eᵀb of the groups.
func (w *weights) divide(b []float64, columns int) (means []float64) {
	n, u := w.n(), w.u()
	means = make([]float64, u*columns)
	for c := range columns {
		own := b[c*n : (c+1)*n]
		for k, rows := range w.rows {
			means[c*u+k] = w.divideGroup(own, rows, w.anchors[k])
		}
	}
	return means
}

// divideGroup divides the rows of one group of a column.
func (w *weights) divideGroup(b []float64, rows []int, a int) (mean float64) {
	for _, i := range rows {
		mean += w.share[i] * (b[i] - b[a])
	}
	mean += b[a]
	others := 0.0
	for _, i := range rows {
		if i != a {
			b[i] = (b[i] - mean) / w.noise[i]
			others += b[i]
		}
	}
	if w.share[a] <= 0.5 {
		b[a] = (b[a] - mean) / w.noise[a]
	} else { // the mean is close to b_a, but the elements of Bb add up to 0
		b[a] = -others
	}
	return mean
}

// add adds E·s to every column of b.
func (w *weights) add(b, s []float64, columns int) {
	n, u := w.n(), w.u()
	for c := range columns {
		for i, k := range w.of {
			b[c*n+i] += w.share[i] * s[c*u+k]
		}
	}
}

// contrasts overwrites every column b of n rows by independent contrasts of variance 1 within the
// groups, in the rows that are not anchors, and returns the weighted means of the groups. A row's
// contrast is its difference from the weighted mean of the rows before it, divided by its standard
// deviation, which K has no part in (Helmert contrasts, with weights).
func (w *weights) contrasts(b []float64, columns int) (means []float64) {
	n, u := w.n(), w.u()
	means = make([]float64, u*columns)
	for c := range columns {
		own := b[c*n : (c+1)*n]
		for k, rows := range w.rows {
			a := w.anchors[k]
			mean := own[a]
			for _, i := range rows {
				if i == a {
					continue
				}
				difference := own[i] - mean
				mean += w.ratio[i] / (w.before[i] + w.ratio[i]) * difference
				own[i] = difference * w.scale(i, a)
			}
			means[c*u+k] = mean
		}
	}
	return means
}

// scale returns 1 over the standard deviation of the contrast of row i, of the group with anchor a.
func (w *weights) scale(i, a int) float64 {
	return 1 / math.Sqrt(w.noise[i]+w.noise[a]/w.before[i])
}

// transposed overwrites b by the transpose of what contrasts does: means are the numbers of the
// means, and the rows that are not anchors have the contrasts'.
func (w *weights) transposed(b, means []float64, columns int) {
	n := w.n()
	for c := range columns {
		own := b[c*n : (c+1)*n]
		for k, rows := range w.rows {
			a, later := w.anchors[k], 0.0
			for j := len(rows) - 1; j >= 0; j-- {
				i := rows[j]
				if i == a {
					continue
				}
				v := own[i] * w.scale(i, a)
				own[i] = v - w.ratio[i]*later
				later += v / w.before[i]
			}
			own[a] = -later
		}
	}
	w.add(b, means, columns)
}
