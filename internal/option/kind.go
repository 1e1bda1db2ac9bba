package option

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
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
	items := make([]Item, len(fields))
	for i, field := range fields {
		items[i] = Item{Value: field, Given: true}
	}
	return items, nil
}

func readText(_ *Option, e Item) (any, error) { return e.Value, nil }

func readItem(o *Option, e Item) (any, error) { return []string{e.Value}, o.checkWord(e.Value) }

// The kinds. Each comment gives the Go type of the values.
var (
	Text    = ValueKind{Name: "text", Go: "*string", split: whole, read: readText}                                          // string
	Column  = ValueKind{Name: "column", Go: "*Word", Columns: true, split: whole, read: readText}                           // string
	Columns = ValueKind{Name: "list of columns", Go: "[]Word", Columns: true, Repeats: true, split: commas, read: readItem} // []string
	Texts   = ValueKind{Name: "text, repeated", Repeats: true, split: whole, read: readItem}                                // []string
	Words   = ValueKind{Name: "list of words", Go: "[]string", Repeats: true, split: commas, read: readItem}                // []string
	File    = ValueKind{Name: "file", split: whole, read: readText}                                                         // string
	Choice  = ValueKind{Name: "word", Go: "*string", split: whole, read: readChoice}                                        // string
	YesNo   = ValueKind{Name: "word", Go: "*Word", split: whole, read: readChoice}                                          // string
	Truth   = ValueKind{Name: "true or false", Go: "*bool", Flag: true, split: whole, read: readTruth}                      // bool
	Whole   = ValueKind{Name: "whole number", Go: "*int", split: whole, read: readWhole}                                    // int
	Wholes  = ValueKind{Name: "list of whole numbers", Repeats: true, split: commas, read: readWholes}                      // []int
	Numbers = ValueKind{Name: "list of numbers", Repeats: true, split: commas, read: readNumbers}                           // []float64
	Seed    = ValueKind{Name: "whole number", split: whole, read: readSeed}                                                 // uint64
	Number  = ValueKind{Name: "number", Go: "*float64", split: whole, read: readNumber}                                     // float64
	Level   = ValueKind{Name: "number, or number with its unit", Go: "*Scalar", split: whole, read: readText}               // string
	Memory  = ValueKind{Name: "amount of memory", Go: "*Bytes", split: whole, read: readBytes}                              // int64
)

// readChoice reads a word; an empty text stands for the default.
func readChoice(o *Option, e Item) (any, error) {
	if e.Value == "" {
		return o.Default, nil
	}
	return e.Value, o.checkWord(e.Value)
}

func readTruth(o *Option, e Item) (any, error) {
	v, err := strconv.ParseBool(e.Value)
	if err != nil {
		return nil, o.wrong(e.Value, "must be true or false")
	}
	return v, nil
}

func readWhole(o *Option, e Item) (any, error) {
	n, err := strconv.ParseInt(e.Value, 0, strconv.IntSize)
	if err != nil {
		return nil, o.wrong(e.Value, "must be a whole number (%v)", errors.Unwrap(err))
	}
	return int(n), o.checkRange(int(n))
}

func readWholes(o *Option, e Item) (any, error) {
	n, err := readWhole(o, Item{Value: strings.TrimSpace(e.Value)})
	if err != nil {
		return nil, err
	}
	return []int{n.(int)}, nil
}

func readSeed(o *Option, e Item) (any, error) {
	n, err := strconv.ParseUint(e.Value, 0, 64)
	if err != nil {
		return nil, o.wrong(e.Value, "must be a nonnegative whole number (%v)", errors.Unwrap(err))
	}
	return n, nil
}

// readNumber reads a nonnegative number. No option takes others.
func readNumber(o *Option, e Item) (any, error) {
	v, err := strconv.ParseFloat(e.Value, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return nil, o.wrong(e.Value, "must be a nonnegative number")
	}
	return v, nil
}

func readNumbers(o *Option, e Item) (any, error) {
	v, err := readNumber(o, Item{Value: strings.TrimSpace(e.Value)})
	if err != nil {
		return nil, err
	}
	return []float64{v.(float64)}, nil
}

func readBytes(o *Option, e Item) (any, error) {
	n, err := ParseBytes(e.Value)
	if err != nil {
		return nil, o.wrong(e.Value, "must be an amount of memory such as 4GiB or 500MB")
	}
	return n, nil
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
	return 0, fmt.Errorf("%q is not an amount of memory such as 4GiB or 500MB", text)
}
