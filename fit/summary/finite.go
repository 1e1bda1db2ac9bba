package summary

import (
	"fmt"
	"reflect"
	"strings"

	"gpfit/fit/problem"
)

// CheckFinite returns a [*problem.DataError] if a number of a report is not finite. Scores
// are exempt, because they may be undefined.
func (r *Report) CheckFinite() error {
	if path := nonFinite(reflect.ValueOf(r), ""); path != "" {
		return &problem.DataError{Msg: fmt.Sprintf("the result's %s is not a finite number: the data or the parameters are at the limits of double precision; raise noise_variance, or %s", path, problem.Rescale)}
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
		if problem.NotFinite(v.Float()) {
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
