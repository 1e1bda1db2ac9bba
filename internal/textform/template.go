package textform

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"text/template"
	"unicode/utf8"

	"gpfit/internal/each"
)

// Template returns a function that writes a value as text for people by a template of
// [text/template]. Besides its own functions, which may be nil, the template has this
// package's functions; its printf follows pointers.
func Template(text string, own template.FuncMap) func(v any) string {
	parsed := sync.OnceValue(func() *template.Template {
		all := template.FuncMap{
			"cell": cell, "counted": Counted, "firstLine": FirstLine, "has": has, "join": Join, "min": func(a, b int) int { return min(a, b) },
			"percent": func(share float64) float64 { return 100 * share }, "printable": Printable, "printf": printf, "widest": Widest,
		}
		maps.Copy(all, own)
		return template.Must(template.New("").Funcs(all).Parse(text))
	})
	return func(v any) string {
		var b strings.Builder
		if err := parsed().Execute(&b, v); err != nil {
			panic(err) // the template does not suit the type
		}
		return b.String()
	}
}

// printf is fmt.Sprintf, which follows pointers.
func printf(format string, values ...any) string {
	for i, v := range values {
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
			values[i] = p.Elem().Interface()
		}
		if text, ok := values[i].(string); ok && len(text) > mostListed {
			values[i] = Short(text)
		}
	}
	return fmt.Sprintf(format, values...)
}

// cell returns the number at v in a format, padded to a width, or "-" if v is a nil pointer.
func cell(width int, format string, v any) string {
	text := "-"
	if p := reflect.ValueOf(v); p.Kind() != reflect.Pointer || !p.IsNil() {
		text = printf(format, v)
	}
	return fmt.Sprintf("%*s", width, text)
}

// has reports whether a map has a key, or a list an element.
func has(in any, key string) bool {
	v := reflect.ValueOf(in)
	if v.Kind() == reflect.Map {
		return v.MapIndex(reflect.ValueOf(key)).IsValid()
	}
	for i := range v.Len() {
		if v.Index(i).String() == key {
			return true
		}
	}
	return false
}

// Join writes numbers in a format, with commas between.
func Join(format string, values []float64) string {
	words := each.Of(values, func(v float64) string { return fmt.Sprintf(format, v) })
	return strings.Join(words, ", ")
}

// Widest returns the number of characters of the longest of names, which are texts or lists of
// texts, or least if that is more.
func Widest(least int, names ...any) int {
	for _, name := range names {
		list, ok := name.([]string)
		if !ok {
			list = []string{fmt.Sprint(name)}
		}
		for _, text := range list {
			least = max(least, utf8.RuneCountInString(text))
		}
	}
	return min(least, widestName)
}

// widestName is the width of the widest column of names; longer names reach beyond it.
const widestName = 60

// Counted returns a number with its noun: the first word for 1, and otherwise the second, or the
// first with an s.
func Counted(n int, words ...string) string {
	switch {
	case n == 1:
		return "1 " + words[0]
	case len(words) > 1:
		return fmt.Sprintf("%d %s", n, words[1])
	}
	return fmt.Sprintf("%d %ss", n, words[0])
}
