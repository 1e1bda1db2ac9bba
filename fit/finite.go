package fit

import (
	"fmt"
	"reflect"
	"strings"
)

// checkUnits returns a [*DataError] if a parameter in original units is not finite.
func (j *Prepared) checkUnits() error {
	values := j.params.values(j.params.start())
	for t, scaling := range j.sample.scalings {
		for _, name := range j.originalUnits(t, values).bad() {
			return &DataError{fmt.Sprintf("%s in original units exceeds double precision: %s", name, rescale)}
		}
		for _, v := range j.model.basis.Original(scaling.XMean, scaling.XScale) {
			if notFinite(v * scaling.YScale) {
				return &DataError{"the coefficients of the mean in original units exceed double precision: " + rescale}
			}
		}
	}
	return nil
}

const rescale = "the columns' scales differ by too much; multiply or divide some by a power of ten"

// bad lists the parameters that are not finite, in order.
func (u units) bad() []string {
	var names []string
	for _, name := range u.names {
		if notFinite(u.values[name]) {
			names = append(names, name)
		}
	}
	return names
}

// checkFinite returns a [*DataError] if a number of a report is not finite. Scores
// are exempt, because they may be undefined.
func (r *Report) checkFinite() error {
	if path := nonFinite(reflect.ValueOf(r), ""); path != "" {
		return &DataError{fmt.Sprintf("the result's %s is not a finite number: the data or the parameters are at the limits of double precision; raise noise_variance, or %s", path, rescale)}
	}
	return nil
}

// nonFinite returns the path of the first float64 in v that is not finite, in JSON
// names; "" if all are finite.
func nonFinite(v reflect.Value, path string) string {
	if v.Type() == reflect.TypeFor[Number]() {
		return ""
	}
	switch v.Kind() {
	case reflect.Float64:
		if notFinite(v.Float()) {
			return path
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return nonFinite(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if at := nonFinite(v.Index(i), path); at != "" {
				return at
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if at := nonFinite(it.Value(), fmt.Sprintf("%s %s", path, it.Key())); at != "" {
				return at
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if at := nonFinite(v.Field(i), strings.TrimSpace(path+" "+name)); at != "" {
				return at
			}
		}
	}
	return ""
}
