package mean

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"gpfit/internal/each"
	"gpfit/internal/textform"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// Names of the coefficients: Constant, and for a column labelled c Linear[c],
// Power[c,k] for k ≥ 2, Bump[c,i] for bump number i, counted from 0, and Cosine[c,p] and Sine[c,p]
// for a wave of period p in original units, with eight digits.
const (
	Constant = "mean_constant"
	Linear   = "mean_linear"
	Power    = "mean_power"
	Bump     = "mean_bump"
	Cosine   = "mean_cos"
	Sine     = "mean_sin"
)

// Function is one basis function, of scaled inputs.
type Function struct {
	// Group is Constant, Linear, Power, Bump, Cosine or Sine.
	Group string `json:"group"`
	// Column is the position among the columns in use, Label the column's label in names.
	Column int `json:"column"`
	Label  int `json:"label"`
	// Index is the power or the number of the bump.
	Index int `json:"index"`
	// Centre and Width define the bump exp(−½((x − Centre)/Width)²) and the waves cos and sin of
	// 2π(x − Centre)/Width, in scaled units.
	Centre float64 `json:"centre,omitempty"`
	Width  float64 `json:"width,omitempty"`
	// Period is a wave's, in original units.
	Period float64 `json:"period,omitempty"`
}

// Name returns the name of the function's coefficient.
func (f Function) Name() string {
	switch f.Group {
	case Constant:
		return Constant
	case Linear:
		return fmt.Sprintf("%s[%d]", Linear, f.Label)
	case Cosine, Sine:
		return fmt.Sprintf("%s[%d,%s]", f.Group, f.Label, strconv.FormatFloat(f.Period, 'g', 8, 64))
	}
	return fmt.Sprintf("%s[%d,%d]", f.Group, f.Label, f.Index)
}

// At returns the function's value at x, the column's entry (ignored by Constant).
func (f Function) At(x float64) float64 {
	switch f.Group {
	case Linear:
		return x
	case Power:
		p := x
		for range f.Index - 1 {
			p *= x
		}
		return p
	case Bump:
		u := (x - f.Centre) / f.Width
		return math.Exp(-u * u / 2)
	case Cosine:
		return math.Cos(f.angle(x))
	case Sine:
		return math.Sin(f.angle(x))
	}
	return 1
}

// angle returns 2π(x − Centre)/Width less whole turns.
func (f Function) angle(x float64) float64 {
	turns := (x - f.Centre) * (1 / f.Width)
	return 2 * math.Pi * (turns - math.RoundToEven(turns))
}

// Slope returns the function's derivative at x.
func (f Function) Slope(x float64) float64 {
	switch f.Group {
	case Linear:
		return 1
	case Power:
		return float64(f.Index) * math.Pow(x, float64(f.Index-1))
	case Bump:
		return -(x - f.Centre) / (f.Width * f.Width) * f.At(x)
	case Cosine:
		return -2 * math.Pi / f.Width * math.Sin(f.angle(x))
	case Sine:
		return 2 * math.Pi / f.Width * math.Cos(f.angle(x))
	}
	return 0
}

// Basis is a mean function's list of basis functions, in groups in the order
// Linear, Power, Bump, Cosine, Sine, Constant.
type Basis []Function

// Basis returns the functions of e for the points x, in scaled units; labels name the columns of x;
// nil means 0 … d−1. The m bumps of a column have their centres at its quantiles (i + ½)/m, i = 0 …
// m−1 (linearly interpolated). Their common width is the mean distance between neighbouring
// centres, or for a single bump the column's standard deviation. Waves expect points in original
// units: see [Basis.Standardized].
func (e Expr) Basis(x *kernel.Points, labels []int) (Basis, error) {
	if len(e) == 0 {
		return nil, nil
	}
	if labels == nil {
		labels = kernel.Columns(x.D)
	}
	groups := grouped{Constant: {{Group: Constant}}}
	for _, t := range e {
		columns, err := t.columns(labels)
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			switch t.Kind {
			case bumpsTerm:
				bumps, err := t.bumps(x.Column(c), c, labels[c])
				if err != nil {
					return nil, err
				}
				if slices.ContainsFunc(groups[Bump], func(f Function) bool { return f.Column == c }) {
					return nil, fmt.Errorf("mean: column %d has bumps from two terms: give its bumps only once", labels[c])
				}
				groups[Bump] = append(groups[Bump], bumps...)
			case seasonalTerm:
				groups.addWaves(t, c, labels[c])
			}
			least, highest := t.powers()
			for k := least; k <= highest; k++ {
				f := Function{Group: Power, Column: c, Label: labels[c], Index: k}
				if k == 1 {
					f.Group = Linear
				}
				if !slices.Contains(groups[f.Group], f) {
					groups[f.Group] = append(groups[f.Group], f)
				}
			}
		}
	}
	return slices.Concat(groups[Linear], groups[Power], groups[Bump], groups[Cosine], groups[Sine], groups[Constant]), nil
}

// grouped holds functions by their group.
type grouped map[string]Basis

// samePeriod is how near periods are one, with the same name.
const samePeriod = 1e-7

// addWaves adds the waves of a season that the column does not have yet: harmonics of several seasons can agree.
func (g grouped) addWaves(t Summand, column, label int) {
	sides := []float64{0}
	if t.By > 0 {
		sides = append(sides, 1, -1)
	}
	for k := range t.Count {
		for _, side := range sides {
			frequency := float64(k+1) / t.Period
			if side != 0 {
				frequency += side / t.By
			}
			if !(frequency > 0) {
				continue
			}
			for _, group := range []string{Cosine, Sine} {
				f := Function{Group: group, Column: column, Label: label, Width: 1 / frequency, Period: 1 / frequency}
				if !slices.ContainsFunc(g[group], func(o Function) bool { return o.Column == column && math.Abs(o.Period-f.Period) < samePeriod*f.Period }) {
					g[group] = append(g[group], f)
				}
			}
		}
	}
}

// Standardized returns a basis of points in original units as one of scaled points, (x − mean)/scale: the waves keep
// their periods and their origin, and so their coefficients.
func (b Basis) Standardized(xMean, xScale []float64) Basis {
	out := slices.Clone(b)
	for i, f := range b {
		if f.Period > 0 {
			out[i].Centre, out[i].Width = -math.Mod(xMean[f.Column], f.Period)/xScale[f.Column], f.Period/xScale[f.Column]
		}
	}
	return out
}

// columns returns the positions of the term's columns.
func (t Summand) columns(labels []int) ([]int, error) {
	if t.Dims == nil {
		return kernel.Columns(len(labels)), nil
	}
	var out []int
	for _, label := range t.Dims {
		c := slices.Index(labels, label)
		if c < 0 {
			return nil, fmt.Errorf("mean: %s: column %d does not exist or is constant; columns in use are %s", t, label, strings.Join(textform.Words(labels), ", "))
		}
		out = append(out, c)
	}
	return out, nil
}

// bumps places the term's bumps on a column with the values v.
func (t Summand) bumps(v []float64, column, label int) (Basis, error) {
	sorted := slices.Sorted(slices.Values(v))
	out := make(Basis, t.Count)
	for i := range out {
		p := (float64(i) + 0.5) / float64(t.Count)
		out[i] = Function{Group: Bump, Column: column, Label: label, Index: i, Centre: stat.Quantile(p, stat.LinInterp, sorted, nil)}
		if i > 0 && out[i].Centre == out[i-1].Centre {
			if different := len(slices.Compact(sorted)); different < t.Count {
				return nil, fmt.Errorf("mean: %s: column %d has only %d different values: use fewer bumps", t, label, different)
			}
			return nil, fmt.Errorf("mean: %s: column %d repeats its values so often that two bumps fall on %v (scaled units): use fewer bumps", t, label, out[i].Centre)
		}
	}
	width := stat.PopStdDev(v, nil)
	if t.Count > 1 {
		width = (out[t.Count-1].Centre - out[0].Centre) / float64(t.Count-1)
	}
	for i := range out {
		out[i].Width = width
	}
	return out, nil
}

// Evaluate returns the n×q matrix H, column-major, of the functions' values at the points.
func (b Basis) Evaluate(x *kernel.Points) []float64 {
	h := make([]float64, x.N*len(b))
	for j, f := range b {
		column, values := x.Column(f.Column), h[j*x.N:(j+1)*x.N]
		if f.Group == Cosine || f.Group == Sine {
			copy(values, column)
			floats.AddConst(-f.Centre, values)
			wave := vec.Sine
			if f.Group == Cosine {
				wave = vec.Cosine
			}
			wave(values, values, 1/f.Width, 1)
			continue
		}
		for i, v := range column {
			values[i] = f.At(v)
		}
	}
	return h
}

// Names returns the names of the coefficients.
func (b Basis) Names() []string {
	return each.Of(b, func(f Function) string { return f.Name() })
}

// Original returns the q×q matrix T, row-major, that converts the coefficients for scaled inputs,
// x_scaled = (x − mean)/scale, to the coefficients of the same function of original inputs:
// β_original = Tβ. Powers expand by the binomial theorem; bumps, waves, the constant and powers without
// all lower ones keep their coefficients. Original does not convert the units of the target.
func (b Basis) Original(xMean, xScale []float64) []float64 {
	q := len(b)
	t := make([]float64, q*q)
	for j, f := range b {
		whole := f.Group == Linear || f.Group == Power
		for k := range f.Index {
			whole = whole && b.power(f.Column, k) >= 0
		}
		if !whole {
			t[j*q+j] = 1
			continue
		}
		mean, scale := xMean[f.Column], xScale[f.Column]
		binomial := 1.0
		for k := f.Index; k >= 0; k-- {
			// ((x − μ)/s)^p = s^−p Σ_k C(p,k) x^k (−μ)^(p−k)
			i := b.power(f.Column, k)
			t[i*q+j] = binomial * math.Pow(-mean, float64(f.Index-k)) / math.Pow(scale, float64(f.Index))
			binomial *= float64(k) / float64(f.Index-k+1)
		}
	}
	return t
}

// power finds the function x_c^k.
func (b Basis) power(column, k int) int {
	return slices.IndexFunc(b, func(f Function) bool {
		switch k {
		case 0:
			return f.Group == Constant
		case 1:
			return f.Group == Linear && f.Column == column
		}
		return f.Group == Power && f.Column == column && f.Index == k
	})
}

// Validate returns an error if a basis that was read from a file does not fit the
// number of columns.
func (b Basis) Validate(columns int) error {
	for _, f := range b {
		known := f.Group == Constant || f.Group == Linear || f.Group == Power && f.Index >= 2 && f.Index <= maxDegree || (f.Group == Bump || (f.Group == Cosine || f.Group == Sine) && f.Period > 0) && f.Width > 0
		if !known || f.Column < 0 || f.Column >= columns {
			return fmt.Errorf("mean: basis function %+v for %d columns", f, columns)
		}
	}
	return nil
}
