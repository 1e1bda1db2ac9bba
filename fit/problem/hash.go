package problem

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// A formerField is a field that a struct had, which was nil unless a program set it.
type formerField struct {
	name string
	kind reflect.Kind
}

// formerly lists former fields of structs, by the field before them. Hashes contain their names, so that checkpoints
// of earlier versions remain valid.
var formerly = map[string][]formerField{
	"Options.Settings": {{"OnProgress", reflect.Func}},
	"Options.From":     {{"Fallback", reflect.Func}, {"OnWarning", reflect.Func}},
	"Settings.":        {{"Method", reflect.Interface}},
	"Settings.Seed":    {{"Callback", reflect.Func}},
}

// hashValue writes the contents of v to w, such that equal contents give equal bytes: numbers by
// their bits, everything with its length, pointers as what they point to. It leaves out zero fields
// with the tag hash:"omitzero", so that a later field leaves earlier hashes as they are, and takes the text
// form of fields with the tag text, which they were.
func hashValue(w io.Writer, v any) { hashReflected(w, reflect.ValueOf(v)) }

func hashReflected(w io.Writer, v reflect.Value) {
	number := func(n uint64) { _, _ = w.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	number(uint64(v.Kind()))
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			number(1)
		} else {
			number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		number(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		number(v.Uint())
	case reflect.Float32, reflect.Float64:
		number(math.Float64bits(v.Float()))
	case reflect.String:
		number(uint64(v.Len()))
		_, _ = io.WriteString(w, v.String())
	case reflect.Slice, reflect.Array:
		number(uint64(v.Len()))
		for i := range v.Len() {
			hashReflected(w, v.Index(i))
		}
	case reflect.Struct:
		former := func(before string) {
			for _, f := range formerly[v.Type().Name()+"."+before] {
				_, _ = fmt.Fprint(w, f.name)
				number(uint64(f.kind))
			}
		}
		former("")
		for i := range v.NumField() {
			field := v.Type().Field(i)
			omit, text, _ := strings.Cut(field.Tag.Get("hash"), ",")
			if value := v.Field(i); !value.IsZero() || omit == "" {
				_, _ = fmt.Fprint(w, field.Name)
				if text != "" {
					value = reflect.ValueOf(fmt.Sprint(value))
				}
				hashReflected(w, value)
			}
			former(field.Name)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			_, _ = fmt.Fprint(w, v.Elem().Type())
			hashReflected(w, v.Elem())
		}
	case reflect.Map:
		entries := map[string]reflect.Value{}
		for it := v.MapRange(); it.Next(); {
			entries[fmt.Sprint(it.Key())] = it.Value()
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			_, _ = fmt.Fprint(w, key)
			hashReflected(w, entries[key])
		}
	}
}
