package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Expansion makes basis functions for the rows of a fit.
type Expansion interface {
	Expand(x mat.Matrix) (*Functions, error)
}

// Functions are basis functions of scaled columns: products of the columns in each list of Terms, or bumps
// exp(−‖x − c‖²/(2 Width²)) around the rows c of Centres.
type Functions struct {
	Scale   Scaling `json:"scale"`
	Terms   [][]int `json:"terms,omitempty"`
	Centres *Matrix `json:"centres,omitempty"`
	Width   float64 `json:"width,omitempty"`
}

// Names describe the functions, with columns as x1, x2, ….
func (f *Functions) Names() (names []string) {
	for _, term := range f.Terms {
		names = append(names, monomialName(term))
	}
	if f.Terms == nil {
		for j := range f.Centres.Rows {
			names = append(names, "gaussian"+strconv.Itoa(j+1))
		}
	}
	return names
}

// Values writes the values at a row to out, which has an element for each name.
func (f *Functions) Values(out, row []float64) {
	scaled := func(c int) float64 { return (row[c] - f.Scale.Mean[c]) / f.Scale.Scale[c] }
	for j := range out {
		if f.Terms == nil {
			sum := 0.0
			for c, centre := range f.Centres.Values[j*len(row):][:len(row)] {
				if !f.Scale.Constant[c] {
					v := (scaled(c) - centre) / f.Width
					sum += v * v
				}
			}
			out[j] = math.Exp(-sum / 2)
			continue
		}
		out[j] = 1
		for _, c := range f.Terms[j] {
			if f.Scale.Constant[c] {
				out[j] = 0
			} else {
				out[j] *= scaled(c)
			}
		}
	}
}

// at returns the values at rows, n×len(Names).
func (f *Functions) at(x mat.Matrix) (*mat.Dense, error) {
	n, d := x.Dims()
	names := f.Names()
	out, row := mat.NewDense(n, len(names), nil), make([]float64, d)
	for i := range n {
		values := out.RawRowView(i)
		f.Values(values, mat.Row(row, i, x))
		for j, v := range values {
			if !finite(v) {
				return nil, fmt.Errorf("the basis function %s is %v at row %d; change the units of the columns", names[j], v, i)
			}
		}
	}
	return out, nil
}

// Polynomial makes all products of powers of columns up to a degree, without the constant,
// which is the intercept. Columns are first centred and divided by their standard
// deviation, so that powers do not differ in size more than they have to.
type Polynomial struct {
	// Degree is the largest sum of the powers in a product; 0 means 2.
	Degree int
}

// maxFunctions limits the number of basis functions.
const maxFunctions = 100_000

// Expand implements [Expansion].
func (p Polynomial) Expand(x mat.Matrix) (*Functions, error) {
	degree := p.Degree
	if degree = cmp.Or(degree, 2); degree < 0 {
		return nil, fmt.Errorf("the field Degree is %d; give 1 or more", degree)
	}
	if err := checkRows(x); err != nil {
		return nil, err
	}
	scale := newScaling(x, Design{})
	_, d := x.Dims()
	terms, ok := monomials(d, degree)
	if !ok {
		return nil, fmt.Errorf("polynomials of degree %d of %d columns have more than %d terms; lower Degree", degree, d, maxFunctions)
	}
	return &Functions{Scale: scale, Terms: terms}, nil
}

// monomials lists products of 1 to degree of d columns as their columns in order, by
// degree; ok is false if there are too many.
func monomials(d, degree int) (terms [][]int, ok bool) {
	last := [][]int{nil}
	for range degree {
		var next [][]int
		for _, term := range last {
			from := 0
			if k := len(term); k > 0 {
				from = term[k-1]
			}
			for c := from; c < d; c++ {
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

// Gaussians makes the functions exp(−‖x − c_j‖²/(2w²)) around centres c_j (PRML, eq. 3.4, for
// several columns) of columns that are centred and divided by their standard deviation. The centres
// are rows of the fit: the row nearest to the mean, then always the row farthest from the chosen
// rows (Gonzalez 1985). w is twice the mean distance of a centre from the nearest other one.
type Gaussians struct {
	// Count is the number of centres, fewer if there are fewer distinct rows; 0 means 50.
	Count int
}

const defaultCentres = 50

// Expand implements [Expansion].
func (g Gaussians) Expand(x mat.Matrix) (*Functions, error) {
	if err := checkRows(x); err != nil {
		return nil, err
	}
	if g.Count < 0 {
		return nil, fmt.Errorf("the field Count is %d; give a number above 0, or 0 for the default", g.Count)
	}
	scale := newScaling(x, Design{})
	centres := farthest(scale.apply(x), cmp.Or(g.Count, defaultCentres))
	return &Functions{Scale: scale, Centres: matrixOf(centres), Width: 2 * nearestDistance(centres)}, nil
}

// farthest chooses rows: the first is nearest to the mean, and each further one has the
// largest distance from the rows before, while there is any distance.
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

// Basis is regression on basis functions: [BayesianLinear] on the columns φ_j(x) (PRML,
// section 3.1; ESL, section 5.1), whose [Design] applies to the basis functions.
type Basis struct {
	// Expansion makes the basis functions; nil is [Polynomial] of degree 2.
	Expansion Expansion
}

// BasisModel is a model of basis functions, fitted on their values.
type BasisModel struct {
	Functions *Functions
	*BayesianModel
}

// Fit fits a [*BasisModel].
func (m Basis) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	expansion := m.Expansion
	if expansion == nil {
		expansion = Polynomial{}
	}
	functions, err := expansion.Expand(x)
	if err != nil {
		return nil, err
	}
	values, err := functions.at(x)
	if err != nil {
		return nil, err
	}
	model, err := BayesianLinear{}.Fit(values, y)
	if err != nil {
		return nil, err
	}
	return &BasisModel{functions, model.(*BayesianModel)}, nil
}

func (m *BasisModel) complete(d int) error {
	f := m.Functions
	outside := func(c int) bool { return c < 0 || c >= d }
	if slices.ContainsFunc(f.Terms, func(term []int) bool { return slices.ContainsFunc(term, outside) }) {
		return errParts
	}
	if err := errors.Join(f.Scale.check(d), check(f.Terms != nil || f.Centres.is(-1, d) && f.Width > 0)); err != nil {
		return errParts
	}
	return m.BayesianModel.complete(len(f.Names()))
}

// Predict returns the predictions on the basis functions.
func (m *BasisModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, len(m.Functions.Scale.Mean)); err != nil {
		return Prediction{}, err
	}
	values, err := m.Functions.at(x)
	if err != nil {
		return Prediction{}, err
	}
	return m.BayesianModel.Predict(values)
}
