package baseline

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Polynomial makes all products of powers of columns up to a degree, without the constant,
// which is the intercept. Columns are first centred and divided by their standard
// deviation, so that powers do not differ in size more than they have to.
type Polynomial struct {
	// Degree is the largest sum of the powers in a product; 0 means 2.
	Degree int
	// Separate leaves out products of different columns.
	Separate bool
	// Unscaled takes the columns as they are.
	Unscaled bool
}

// maxFunctions limits the number of basis functions.
const maxFunctions = 100_000

// Expand implements [Expansion].
func (p Polynomial) Expand(x mat.Matrix) (*Functions, error) {
	degree := p.Degree
	if degree == 0 {
		degree = 2
	}
	if degree < 0 {
		return nil, fmt.Errorf("baseline: Degree is %d; give 1 or more", degree)
	}
	if err := checkRows(x); err != nil {
		return nil, err
	}
	scale := newScaling(x, Design{})
	if p.Unscaled {
		scale = identity(x)
	}
	_, d := x.Dims()
	terms, ok := monomials(d, degree, p.Separate)
	if !ok {
		return nil, fmt.Errorf("baseline: polynomials of degree %d of %d columns have more than %d terms; lower Degree or set Separate", degree, d, maxFunctions)
	}
	out := &Functions{D: d}
	for _, term := range terms {
		out.Names = append(out.Names, monomialName(term))
	}
	out.Values = func(values, row []float64) {
		for j, term := range terms {
			values[j] = 1
			for _, c := range term {
				if scale.constant[c] {
					values[j] = 0
				} else {
					values[j] *= (row[c] - scale.mean[c]) / scale.scale[c]
				}
			}
		}
	}
	return out, nil
}

// monomials lists products of 1 to degree of d columns as their columns in order, by
// degree; ok is false if there are too many.
func monomials(d, degree int, separate bool) (terms [][]int, ok bool) {
	last := [][]int{nil}
	for range degree {
		var next [][]int
		for _, term := range last {
			from, to := 0, d
			if k := len(term); k > 0 {
				from = term[k-1]
				if separate {
					to = from + 1
				}
			}
			for c := from; c < to; c++ {
				next = append(next, append(slices.Clone(term), c))
			}
			if len(terms)+len(next) > maxFunctions {
				return nil, false
			}
		}
		terms, last = append(terms, next...), next
	}
	return terms, true
}

// monomialName returns a name such as x1^2*x3.
func monomialName(term []int) string {
	var parts []string
	for i := 0; i < len(term); {
		j := i
		for j < len(term) && term[j] == term[i] {
			j++
		}
		name := "x" + strconv.Itoa(term[i]+1)
		if j-i > 1 {
			name += "^" + strconv.Itoa(j-i)
		}
		parts, i = append(parts, name), j
	}
	return strings.Join(parts, "*")
}

// Gaussians makes the functions exp(−‖x − c_j‖²/(2w²)) around centres c_j (PRML, eq. 3.4,
// for several columns) of columns that are centred and divided by their standard
// deviation.
type Gaussians struct {
	// Centres are centres in original units, a row each; nil chooses Count of the rows
	// of the fit: the one nearest to the mean, then always the one that is farthest
	// from those chosen (Gonzalez 1985).
	Centres mat.Matrix
	// Count is the number of centres to choose, fewer if there are fewer distinct rows;
	// 0 means 50.
	Count int
	// Width is w, in standard deviations of the columns; 0 means twice the mean
	// distance of a centre from the nearest other one.
	Width float64
	// Unscaled takes the columns as they are, and Width in their units.
	Unscaled bool
}

const defaultCentres = 50

// Expand implements [Expansion].
func (g Gaussians) Expand(x mat.Matrix) (*Functions, error) {
	if err := checkRows(x); err != nil {
		return nil, err
	}
	if g.Count < 0 || !finite(g.Width) || g.Width < 0 {
		return nil, fmt.Errorf("baseline: Count is %d and Width %v; give numbers above 0, or 0 for the defaults", g.Count, g.Width)
	}
	_, d := x.Dims()
	scale := newScaling(x, Design{})
	if g.Unscaled {
		scale = identity(x)
	}
	var centres *mat.Dense
	if g.Centres != nil {
		if err := checkWidth(g.Centres, d); err != nil {
			return nil, fmt.Errorf("baseline: in Centres: %w", err)
		}
		centres = scale.apply(g.Centres)
	} else {
		count := g.Count
		if count == 0 {
			count = defaultCentres
		}
		centres = farthest(scale.apply(x), count)
	}
	width := g.Width
	if width == 0 {
		width = 2 * nearestDistance(centres)
	}
	return gaussians(scale, centres, width), nil
}

func gaussians(scale scaling, centres *mat.Dense, width float64) *Functions {
	n, d := centres.Dims()
	out := &Functions{D: d}
	for j := range n {
		out.Names = append(out.Names, "gaussian"+strconv.Itoa(j+1))
	}
	out.Values = func(values, row []float64) {
		for j := range values {
			sum := 0.0
			for c, centre := range centres.RawRowView(j) {
				if !scale.constant[c] {
					v := ((row[c]-scale.mean[c])/scale.scale[c] - centre) / width
					sum += v * v
				}
			}
			values[j] = math.Exp(-sum / 2)
		}
	}
	return out
}

// farthest chooses rows: the first is nearest to the mean, and each further one has the
// largest distance from those before, while there is any distance.
func farthest(x *mat.Dense, count int) *mat.Dense {
	n, d := x.Dims()
	middle := make([]float64, d)
	for c := range d {
		middle[c] = mean(mat.Col(nil, c, x))
	}
	next, gap := 0, make([]float64, n)
	for i := range n {
		gap[i] = distance(x.RawRowView(i), middle)
		if gap[i] < gap[next] {
			next = i
		}
	}
	for i := range gap {
		gap[i] = math.Inf(1)
	}
	var chosen []float64
	for k := 0; k < count && gap[next] > 0; k++ {
		row := x.RawRowView(next)
		chosen = append(chosen, row...)
		for i := range n {
			gap[i] = min(gap[i], distance(x.RawRowView(i), row))
		}
		for i := range n {
			if gap[i] > gap[next] {
				next = i
			}
		}
	}
	return mat.NewDense(len(chosen)/d, d, chosen)
}

// nearestDistance returns the mean distance of a row from the nearest other one, or ½
// without another one.
func nearestDistance(x *mat.Dense) float64 {
	n, _ := x.Dims()
	sum := 0.0
	for i := range n {
		nearest := math.Inf(1)
		for j := range n {
			if i != j {
				nearest = min(nearest, distance(x.RawRowView(i), x.RawRowView(j)))
			}
		}
		sum += nearest / float64(n)
	}
	if !finite(sum) || sum == 0 {
		return 0.5
	}
	return sum
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum = math.Hypot(sum, v-b[i])
	}
	return sum
}
