package option

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/each"
	"gpfit/internal/textform"
)

// whole takes a text as one item.
func whole(text string) ([]Item, error) { return []Item{{Value: text, Given: true}}, nil }

// commas splits a comma-separated list. Quotes protect commas.
func commas(text string) ([]Item, error) {
	if text == "" {
		return nil, nil
	}
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return nil, errors.New("is not a comma-separated list")
	}
	items := each.Of(fields, func(field string) Item { return Item{Value: field, Given: true} })
	return items, nil
}

// numbers splits a comma-separated list of numbers, of which an empty text is a wrong one.
func numbers(text string) ([]Item, error) {
	if text == "" {
		return whole(text)
	}
	return commas(text)
}

func readText(_ *Option, e Item) (any, error) { return e.Value, nil }

func readItem(o *Option, e Item) (any, error) { return []string{e.Value}, o.checkWord(e.Value) }

var (
	readNumber = as(from(0), "must be a nonnegative number")
	readSigned = as(from(math.Inf(-1)), "must be a finite number")
)

// The kinds. Each comment gives the Go type of the values.
var (
	Text     = ValueKind{Name: "text", Go: "*string", split: whole, read: readText}                                                                       // string
	Column   = ValueKind{Name: "column", Go: "*Word", Columns: true, split: whole, read: readText}                                                        // string
	Columns  = ValueKind{Name: "list of columns", Go: "[]Word", Columns: true, Repeats: true, split: commas, read: readItem}                              // []string
	Texts    = ValueKind{Name: "text, repeated", Repeats: true, split: whole, read: readItem}                                                             // []string
	Words    = ValueKind{Name: "list of words", Go: "[]string", Repeats: true, split: commas, read: readItem}                                             // []string
	File     = ValueKind{Name: "file", split: whole, read: readText}                                                                                      // string
	Choice   = ValueKind{Name: "word", Go: "*string", split: whole, read: readChoice}                                                                     // string
	YesNo    = ValueKind{Name: "word", Go: "*Word", split: whole, read: readChoice}                                                                       // string
	Truth    = ValueKind{Name: "true or false", Go: "*bool", Flag: true, split: whole, read: as(strconv.ParseBool, "must be true or false")}              // bool
	Whole    = ValueKind{Name: "whole number", Go: "*int", split: whole, read: readWhole}                                                                 // int
	Wholes   = ValueKind{Name: "list of whole numbers", Repeats: true, split: numbers, read: list[int](readWhole)}                                        // []int
	Numbers  = ValueKind{Name: "list of numbers", Repeats: true, split: numbers, read: list[float64](readNumber)}                                         // []float64
	Signed   = ValueKind{Name: "list of numbers", Repeats: true, split: numbers, read: list[float64](readSigned)}                                         // []float64
	Seed     = ValueKind{Name: "whole number", split: whole, read: readSeed}                                                                              // uint64
	Number   = ValueKind{Name: "number", Go: "*float64", split: whole, read: readNumber}                                                                  // float64
	Positive = ValueKind{Name: "number", Go: "*float64", split: whole, read: as(from(math.SmallestNonzeroFloat64), "must be a positive number")}          // float64
	Level    = ValueKind{Name: "number, or number with its unit", Go: "*Scalar", split: whole, read: readText}                                            // string
	Rows     = ValueKind{Name: "number, or last: and a number", Go: "*Scalar", split: whole, read: readText}                                              // string
	Memory   = ValueKind{Name: "amount of memory", Go: "*Bytes", split: whole, read: as(ParseBytes, "must be an amount of memory such as 4GiB or 500MB")} // int64
)

// parsed returns a kind of texts whose values have the type that parse returns.
func parsed[T any](kind ValueKind, parse func(text string) (T, error)) ValueKind {
	kind.read = func(o *Option, e Item) (any, error) {
		value, err := parse(e.Value)
		if err != nil {
			return nil, o.wrong(e.Value, "%v", err)
		}
		return value, nil
	}
	return kind
}

// orNone returns a function that returns the zero value for an empty text, and otherwise parses it.
func orNone[T any](parse func(text string) (T, error)) func(text string) (T, error) {
	return func(text string) (value T, err error) {
		if text != "" {
			value, err = parse(text)
		}
		return value, err
	}
}

// as returns a function that reads a value. msg says what it must be.
func as[T any](parse func(text string) (T, error), msg string) func(*Option, Item) (any, error) {
	return func(o *Option, e Item) (any, error) {
		if value, err := parse(e.Value); err == nil {
			return value, nil
		}
		return nil, o.wrong(e.Value, "%s", msg)
	}
}

// from returns a function that parses a finite number of at least least.
func from(least float64) func(text string) (float64, error) {
	return func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		if !(v >= least) || math.IsInf(v, 0) {
			err = strconv.ErrRange
		}
		return v, err
	}
}

// readChoice reads a word; an empty text stands for the default.
func readChoice(o *Option, e Item) (any, error) {
	if e.Value == "" {
		return o.Default, nil
	}
	return e.Value, o.checkWord(e.Value)
}

func readWhole(o *Option, e Item) (any, error) {
	n, err := strconv.ParseInt(e.Value, 0, strconv.IntSize)
	if err != nil {
		return nil, o.wrong(e.Value, "must be a whole number (%v)", errors.Unwrap(err))
	}
	return int(n), o.checkRange(int(n))
}

func readSeed(o *Option, e Item) (any, error) {
	n, err := strconv.ParseUint(e.Value, 0, 64)
	if err != nil {
		return nil, o.wrong(e.Value, "must be a nonnegative whole number (%v)", errors.Unwrap(err))
	}
	return n, nil
}

// list returns a function that reads an item of a list, which may have blanks around it.
func list[T any](read func(*Option, Item) (any, error)) func(*Option, Item) (any, error) {
	return func(o *Option, e Item) (any, error) {
		v, err := read(o, Item{Value: strings.TrimSpace(e.Value)})
		if err != nil {
			return nil, err
		}
		return []T{v.(T)}, nil
	}
}

var units = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// ParseBytes reads an amount of memory with its unit, such as 4GiB, 500 MB or 16G,
// and returns bytes, from 1 to 2⁶⁰.
func ParseBytes(text string) (int64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.TrimSpace(text), u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v*u.factor >= 1) || v*u.factor > 1<<60 {
			break
		}
		return int64(v * u.factor), nil
	}
	return 0, fmt.Errorf("%s is not an amount of memory such as 4GiB or 500MB", textform.Quote(text))
}

// Schema returns the JSON Schema of the option in a batch spec.
func (o *Option) Schema() map[string]any {
	s := map[string]any{"description": o.Help}
	switch o.Kind.Go {
	case "*string":
		s["type"] = "string"
	case "*Word":
		s["type"] = []string{"string", "integer"}
	case "*Scalar":
		s["type"] = []string{"string", "number"}
	case "[]Word":
		s["type"], s["minItems"], s["items"] = "array", 1, map[string]any{"type": []string{"string", "integer"}}
	case "[]string":
		s["type"], s["items"] = "array", map[string]any{"enum": o.SpecWords}
	case "*bool":
		s["type"] = "boolean"
	case "*int":
		s["type"], s["minimum"], s["maximum"] = "integer", o.Least, o.last()
	case "*float64":
		s["type"], s["minimum"] = "number", 0
	case "*Bytes":
		s["type"], s["pattern"] = "string", `^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*([KMGT]i?B?|kB|B)\s*$`
	default:
		s["type"], s["additionalProperties"] = "object", items[o.Kind.Go]
	}
	if o.Words != nil && !o.Kind.Repeats {
		delete(s, "type")
		s["enum"] = o.Words
		if slices.Contains(o.Words, "yes") { // YAML's truth values
			words := []any{true, false}
			for _, w := range o.Words {
				words = append(words, w)
			}
			s["enum"] = words
		}
	}
	return s
}

// items are the schemas of map items, by the Go type of the map.
var items = map[string]any{
	"map[string]float64":   map[string]any{"type": "number"},
	"map[string]*float64":  map[string]any{"type": []string{"number", "null"}},
	"map[string][]float64": map[string]any{"type": "array", "items": map[string]any{"type": "number"}, "minItems": 2, "maxItems": 2},
	"map[string]string":    map[string]any{"type": "string"},
}
