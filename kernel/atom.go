package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/internal/matrixrows"
)

// Atom is a function ψ whose product ψ(x)ψ(x′) occurs in a covariance function.
type Atom struct {
	// Params are the elements of θ on which it depends, if derivatives were asked for.
	Params []int
	// key identifies it among the atoms of a program.
	key string
	// column is the column that it is, −1 if it is none.
	column int
	value  func(x *Points, i int) float64
	// slopes writes the derivatives by the logs of Params.
	slopes func(dst []float64, x *Points, i int)
	// name takes the names and units of columns.
	name func(columns []string, units []float64) string
}

// Value returns ψ at the i-th point.
func (a *Atom) Value(x *Points, i int) float64 { return a.value(x, i) }

// Slopes writes the derivatives of ψ at the i-th point by log θ for the elements of Params.
func (a *Atom) Slopes(dst []float64, x *Points, i int) { a.slopes(dst, x, i) }

// wave is a sum of columns divided by periods.
type wave struct {
	columns []int
	periods []float64
	// origin is the point of angle 0. A cosine kernel does not depend on it, and digits are lost far from it.
	origin []float64
	// slopes are the derivatives of the logarithm of each period by log θ.
	slopes [][]float64
}

// params lists the parameters of which it has derivatives.
func (w wave) params(n int) (params []int) {
	for p := range n {
		for _, s := range w.slopes {
			if s != nil && s[p] != 0 {
				params = append(params, p)
				break
			}
		}
	}
	return params
}

// slope returns the derivative of the angle by the log of a parameter.
func (w wave) slope(x *Points, i, param int) (sum float64) {
	for q, c := range w.columns {
		if w.slopes[q] != nil {
			sum -= 2 * math.Pi * (x.Column(c)[i] - w.origin[q]) / w.periods[q] * w.slopes[q][param]
		}
	}
	return sum
}

// angle returns the angle of a point, in (−π, π].
func (w wave) angle(x *Points, i int) float64 {
	turns := 0.0
	for q, c := range w.columns {
		turns += (x.Column(c)[i] - w.origin[q]) / w.periods[q]
	}
	return 2 * math.Pi * (turns - math.Round(turns))
}

// turns returns the text of the sum.
func (w wave) turns(columns []string, units []float64) string {
	var turns []string
	for q, c := range w.columns {
		turns = append(turns, fmt.Sprintf("%s/%.4g", columns[c], units[c]*w.periods[q]))
	}
	if len(turns) == 1 {
		return turns[0]
	}
	return "(" + strings.Join(turns, "+") + ")"
}

// atom returns the sine or cosine of the angle.
func (w wave) atom(name, key string, params []int) Atom {
	part := func(sin, cos float64) (value, slope float64) {
		if name == "sin" {
			return sin, cos
		}
		return cos, -sin
	}
	return Atom{
		key: name + key, column: -1, Params: params,
		value: func(x *Points, i int) float64 {
			value, _ := part(math.Sincos(w.angle(x, i)))
			return value
		},
		slopes: func(dst []float64, x *Points, i int) {
			_, slope := part(math.Sincos(w.angle(x, i)))
			for k, p := range params {
				dst[k] = slope * w.slope(x, i, p)
			}
		},
		name: func(columns []string, units []float64) string { return name + "(2pi*" + w.turns(columns, units) + ")" },
	}
}

// level returns the function that is 1 where a column has a value, and 0 elsewhere.
func level(column int, value float64) Atom {
	return Atom{
		key: fmt.Sprint("value ", value, " of ", column), column: -1,
		value: func(x *Points, i int) float64 {
			if x.Column(column)[i] == value {
				return 1
			}
			return 0
		},
		name: func(columns []string, _ []float64) string { return fmt.Sprintf("[%s=%v]", columns[column], value) },
	}
}

// levelsOf returns the different values of a column in ascending order, nil if there are more than most.
func levelsOf(x *Points, column, most int) []float64 {
	rows := x.Firsts(column, most+1)
	if len(rows) > most {
		return nil
	}
	out := matrixrows.Values(x.Column(column), rows)
	slices.Sort(out)
	return out
}
