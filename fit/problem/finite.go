package problem

import (
	"fmt"
)

// CheckUnits returns a [*DataError] if a parameter in original units is not finite.
func (j *Prepared) CheckUnits() error {
	values := j.Params.Values(j.Params.Start())
	for t, scaling := range j.Sample.Scalings {
		for _, name := range j.OriginalUnits(t, values).bad() {
			return &DataError{fmt.Sprintf("%s in original units exceeds double precision: %s", name, Rescale)}
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

// bad lists the parameters that are not finite, in order.
func (u Converted) bad() []string {
	var names []string
	for _, name := range u.Names {
		if NotFinite(u.Values[name]) {
			names = append(names, name)
		}
	}
	return names
}
