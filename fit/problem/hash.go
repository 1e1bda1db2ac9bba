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

// formerly names functions that were fields of options, by the field before them. Hashes
// contain their names, so that checkpoints of earlier versions remain valid.
var formerly = map[string][]string{
	"Options.Settings": {"OnProgress"},
	"Options.From":     {"Fallback", "OnWarning"},
	"Settings.Seed":    {"Callback"},
}

// hashMethod writes a method of descent as the interface that it was: nil, or a value of type descent.LBFGS.
func hashMethod(w io.Writer, v reflect.Value) {
	writeNumber(w, uint64(reflect.Interface))
	if !v.IsZero() {
		_, _ = fmt.Fprint(w, "descent.LBFGS")
		hashReflected(w, reflect.ValueOf(struct {
			Memory   int
			searcher func()
		}{}))
	}
}

// hashValue writes the contents of v to w, such that equal contents give equal bytes: numbers by
// their bits, everything with its length, pointers as what they point to. It leaves out zero fields
// with the tag hash:"omitzero", so that a later field leaves earlier hashes as they are, and writes fields with the
// tags text and interface as what they were.
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
		for i := range v.NumField() {
			field := v.Type().Field(i)
			omit, form, _ := strings.Cut(field.Tag.Get("hash"), ",")
			if value := v.Field(i); !value.IsZero() || omit == "" {
				_, _ = fmt.Fprint(w, field.Name)
				switch form {
				case "text":
					hashReflected(w, reflect.ValueOf(fmt.Sprint(value)))
				case "interface":
					hashMethod(w, value)
				default:
					hashReflected(w, value)
				}
			}
			for _, name := range formerly[v.Type().Name()+"."+field.Name] {
				_, _ = fmt.Fprint(w, name)
				number(uint64(reflect.Func))
			}
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
