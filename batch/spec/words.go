package spec

import (
	"fmt"
	"strconv"

	"gpfit/option"
)

// Word is a string that YAML may read as a number or a truth value, such as the index of a column.
type Word string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (w *Word) UnmarshalYAML(unmarshal func(any) error) error {
	return readText(w, unmarshal, "a word or a whole number", func(v any) (text string, ok bool) {
		// YAML reads the words of option header as truth values.
		truth, ok := v.(bool)
		return map[bool]string{true: "yes", false: "no"}[truth], ok
	})
}

// readText reads a string, a whole number, or a value of which other gives the text.
func readText[T ~string](into *T, unmarshal func(any) error, what string, other func(v any) (text string, ok bool)) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	text, ok := "", true
	switch v := v.(type) {
	case string:
		text = v
	case uint64, int64, int:
		text = fmt.Sprint(v)
	default:
		text, ok = other(v)
	}
	if !ok {
		return fmt.Errorf("must be %s", what)
	}
	*into = T(text)
	return nil
}

// Scalar is a number, or a string with one, such as "0.01:original".
type Scalar string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (s *Scalar) UnmarshalYAML(unmarshal func(any) error) error {
	return readText(s, unmarshal, "a number or a text", func(v any) (text string, ok bool) {
		number, ok := v.(float64)
		return strconv.FormatFloat(number, 'g', -1, 64), ok
	})
}

// Bytes is an amount of memory in bytes. A spec gives a text such as "4GiB" or "500 MB".
type Bytes int64

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (b *Bytes) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return fmt.Errorf("must be an amount of memory such as 4GiB")
	}
	v, err := option.ParseBytes(text)
	*b = Bytes(v)
	return err
}
