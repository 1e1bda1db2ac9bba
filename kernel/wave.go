package kernel

import (
	"fmt"
	"math"
	"strings"

	"gpfit/internal/code"
)

// cosine returns cos 2π(u − u′) = cos 2πu cos 2πu′ + sin 2πu sin 2πu′.
func (f *finder) cosine(arg code.ID) (polynomial, error) {
	coef, core := f.prog.List.Factor(arg)
	v := f.prog.List.At(core)
	if v.Op != code.Feature || f.prog.Features[v.Index].Kind != Differences {
		return nil, errNotFinite
	}
	w, key, err := f.wave(&f.prog.Features[v.Index], coef)
	if err != nil {
		return nil, err
	}
	params := w.params(f.prog.NumParams)
	out := polynomial{}
	for _, name := range []string{"cos", "sin"} {
		part := func(sin, cos float64) (value, slope float64) {
			if name == "sin" {
				return sin, cos
			}
			return cos, -sin
		}
		at := f.add(Atom{
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
		})
		out[monomialKey([]int{at})] = coefficient{value: 1}
	}
	return out, nil
}

// wave returns the wave of a feature, a sum of differences, times a uniform value, and its key.
func (f *finder) wave(feature *Feature, coef code.ID) (w wave, key string, err error) {
	factor, err := f.uniform(coef)
	if err != nil {
		return w, "", err
	}
	w = wave{columns: feature.Dims}
	for q := range feature.Dims {
		period := 1 / factor.value
		var slopes []float64 // of the logarithm
		if feature.Param >= 0 {
			period *= f.theta[feature.Param+q]
			slopes = f.slopesAt(feature.Param+q, 1)
		}
		slopes = combined(slopes, 1, factor.slopes, -1/factor.value)
		w.periods, w.slopes = append(w.periods, period), append(w.slopes, slopes)
	}
	key = fmt.Sprint(w.columns, w.periods)
	if f.derivatives != nil { // equal periods may be different parameters
		key += fmt.Sprint(feature.Param, coef)
	}
	return w, key, nil
}

// wave is a sum of columns divided by periods.
type wave struct {
	columns []int
	periods []float64
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
			sum -= 2 * math.Pi * x.Column(c)[i] / w.periods[q] * w.slopes[q][param]
		}
	}
	return sum
}

// angle returns the angle of a point, in (−π, π].
func (w wave) angle(x *Points, i int) float64 {
	turns := 0.0
	for q, c := range w.columns {
		turns += x.Column(c)[i] / w.periods[q]
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
