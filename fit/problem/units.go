package problem

import (
	"fmt"
	"math"

	"gpfit/graph"
	"gpfit/internal/transform"
)

// Converted holds parameters in original units, in order.
type Converted struct {
	Names  []string
	Values map[string]float64
}

func (u *Converted) add(name string, v float64) {
	u.Names = append(u.Names, name)
	u.Values[name] = v
}

// OriginalUnits converts every parameter to the units of a target, by [kernel.Param.Units]:
//
//   - Lengthscales and periods take the scale of their column. One that serves
//     several columns has a value for each of them in original units.
//   - Signal variances take the square of the target's scale. The signal variance of a
//     product with one linear leaf is also divided by the square of the column's scale:
//     it is then the prior variance of a slope, one for every column.
//   - Lengthscales of linear(ard) are the inverse of such a slope's standard
//     deviation. Lengthscales of poly(ard, degree p) and its offset take the p-th part of
//     the target's units.
//   - With a transform of the target, they are in units of the transformed values.
//   - A real parameter of a formula that is compared with x or y is a place in its column.
//   - α, λ, the lengthscale of periodic and the offset of poly have no units and stay
//     as they are: linear, poly and the offset refer to the standardized inputs,
//     centred on their means.
func (j *Prepared) OriginalUnits(target int, values []float64) Converted {
	u := Converted{Values: map[string]float64{}}
	s := j.Sample.Scalings[target]
	for _, p := range j.Program().Params {
		scale := math.Pow(s.YScale, p.Units.Target)
		at := func(i, c int) float64 {
			v := values[p.Offset+i] * scale * math.Pow(s.XScale[c], p.Units.Input)
			if p.Moves {
				v += s.XMean[c]
			}
			return v
		}
		switch names := p.ElementNames(); {
		case p.Units.Input == 0:
			for i, name := range names {
				u.add(j.Sample.Display(name), values[p.Offset+i]*scale)
			}
		case p.Vector || len(p.Dims) == 1:
			for i, name := range names {
				u.add(j.Sample.Display(name), at(i, p.Dims[i]))
			}
		default:
			for _, c := range p.Dims {
				u.add(p.Name+"["+j.Sample.label(c)+"]", at(0, c))
			}
		}
	}
	for _, name := range j.Params.Zeros {
		u.add(name, 0)
	}
	for i, e := range j.Params.All {
		if e.Group == graph.NoiseVariance {
			u.add(e.Name, values[i]*(s.YScale*s.YScale))
		}
		if e.Group == transform.Parameter {
			u.add(e.Name, values[i])
		}
	}
	return u
}

// CheckUnits returns a [*DataError] if a parameter in original units is not finite.
func (j *Prepared) CheckUnits() error {
	values := j.Params.Values(j.Params.Start())
	for t, scaling := range j.Sample.Scalings {
		converted := j.OriginalUnits(t, values)
		for _, name := range converted.Names {
			if NotFinite(converted.Values[name]) {
				return &DataError{fmt.Sprintf("%s in original units exceeds double precision: %s", name, Rescale)}
			}
		}
		for _, v := range j.Model.Basis.Original(scaling.XMean, scaling.XScale) {
			if NotFinite(v * scaling.YScale) {
				return &DataError{"the coefficients of the mean in original units exceed double precision: " + Rescale}
			}
		}
	}
	return nil
}

const Rescale = "the columns' scales differ by too much; multiply or divide some by a power of ten"
