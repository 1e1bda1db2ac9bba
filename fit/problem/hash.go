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

// A formerField is a field that a struct had: a function, which no command set, or an interface, which all commands
// set to the value of a type.
type formerField struct {
	name     string
	typeName string
	value    any
}

// hash writes what the field contributed.
func (f formerField) hash(w io.Writer) {
	_, _ = fmt.Fprint(w, f.name)
	if f.value == nil {
		writeNumber(w, uint64(reflect.Func))
		return
	}
	writeNumber(w, uint64(reflect.Interface))
	_, _ = fmt.Fprint(w, f.typeName)
	hashReflected(w, reflect.ValueOf(f.value))
}

// formerly lists former fields of structs, by the field before them. Hashes contain their names, so that checkpoints
// of earlier versions remain valid.
var formerly = map[string][]formerField{
	"Options.Settings": {{name: "OnProgress"}},
	"Options.From":     {{name: "Fallback"}, {name: "OnWarning"}},
	"Settings.": {{name: "Method", typeName: "descent.LBFGS", value: struct {
		Memory   int
		searcher func()
	}{}}},
	"Settings.Seed": {{name: "Callback"}},
}

// hashValue writes the contents of v to w, such that equal contents give equal bytes: numbers by
// their bits, everything with its length, pointers as what they point to. It leaves out zero fields
// with the tag hash:"omitzero", so that a later field leaves earlier hashes as they are, and takes the text
// form of fields with the tag text, which they were.
func hashValue(w io.Writer, v any) { hashReflected(w, reflect.ValueOf(v)) }

func writeNumber(w io.Writer, n uint64) { _, _ = w.Write(binary.LittleEndian.AppendUint64(nil, n)) }

func hashReflected(w io.Writer, v reflect.Value) {
	number := func(n uint64) { writeNumber(w, n) }
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
				f.hash(w)
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
