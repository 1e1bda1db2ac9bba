// Package fields describes each value of a result once: its path, its names for people, its unit and the form of its
// numbers. [Of] makes a [Table] of results, which texts and pages show.
package fields

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Field describes a value of results.
type Field struct {
	// Path is where a result has the value, in the names of JSON: "rmse", or "loo.nlpd". A field also describes
	// longer paths that end with its own, unless these have a field.
	Path string
	// Label is its name for people, and Head a shorter one for the heads of tables.
	Label, Head string
	// Form is the form of the number in tables, as for fmt, and Full in the report of one model; Form if empty.
	Form, Full string
	Unit       Unit
	// Left puts words at the left of their column in texts, as pages do.
	Left bool
}

// Unit is the unit of a number.
type Unit string

// The units of scores: of the target, and its standard deviations over the training rows. A share is shown in
// percent, and its form ends with the sign.
const (
	Target     Unit = "units of the target"
	Deviations Unit = "standard deviations of the target"
	Nats       Unit = "nats"
	Seconds    Unit = "seconds"
	Share      Unit = "share"
)

// Scores are the paths of the scores that results of predictions have, in the order in which texts and tables show
// them. With [Standardized], a path is the same score in [Deviations].
var Scores = []string{"rmse", "nlpd", "coverage95"}

// Standardized is the end of the path of a score in standard deviations of the target.
const Standardized = "_standardized"

// Named returns the field of a path, or of its longest end that has one. The label of other paths, of words and
// whole numbers, is their last name.
func Named(path string) Field {
	for end := path; ; {
		if i := slices.IndexFunc(all, func(f Field) bool { return f.Path == end }); i >= 0 {
			f := all[i]
			f.Path, f.Head = path, cmp.Or(f.Head, f.Label)
			return f
		}
		_, rest, found := strings.Cut(end, ".")
		if !found {
			return Field{Path: path, Label: end, Head: end}
		}
		end = rest
	}
}

// Text returns a value as tables show it, "-" for a nil pointer and for NaN.
func (f Field) Text(v any) string { return f.text(f.Form, v) }

// FullText returns a value as the report of one model shows it.
func (f Field) FullText(v any) string {
	if f.Full != "" {
		return f.text(f.Full, v)
	}
	return f.text(f.Form, v)
}

func (f Field) text(form string, v any) string {
	if v == nil {
		return "-"
	}
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return "-"
	} else if _, ok := v.(fmt.Stringer); !ok && p.Kind() == reflect.Pointer {
		v = p.Elem().Interface()
	}
	if form == "" {
		return fmt.Sprint(v)
	}
	if number, ok := v.(float64); ok {
		switch {
		case math.IsNaN(number):
			return "-"
		case math.IsInf(number, 0) && f.Unit == Share:
			return "-"
		case math.IsInf(number, 0):
			return map[bool]string{true: "∞", false: "−∞"}[number > 0]
		case f.Unit == Share:
			v = 100 * number
		}
	}
	return fmt.Sprintf(form, v)
}

// Value returns the value at a path of a result, or nil if a pointer on the way is nil or a map has no such key. The
// rest of the path is the key of a map. It panics if a struct has no such field.
func Value(result any, path string) any {
	v, ok := Lookup(result, path)
	if !ok {
		panic(fmt.Sprintf("fields: %T has no %s", result, path))
	}
	return v
}

// Lookup is [Value] for structs that may lack the field.
func Lookup(result any, path string) (value any, ok bool) {
	v := reflect.ValueOf(result)
	for path != "" {
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		name, rest, _ := strings.Cut(path, ".")
		switch v.Kind() {
		case reflect.Invalid:
			return nil, true
		case reflect.Map:
			v, rest = v.MapIndex(reflect.ValueOf(path)), ""
		default:
			index := indexOf(v.Type(), name)
			if index == nil {
				return nil, false
			}
			v = v.FieldByIndex(index)
		}
		path = rest
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, true
	}
	return v.Interface(), true
}

// indexOf returns the index of the field of a struct that has a name in JSON, nil if there is none.
func indexOf(t reflect.Type, name string) []int {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f.Index
		}
	}
	return nil
}
