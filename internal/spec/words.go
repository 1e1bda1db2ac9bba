package spec

import (
	"fmt"
	"strconv"

	"gpfit/internal/option"
)

// Word is a string that YAML may read as a number or a truth value, such as the index of
// a column.
type Word string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (w *Word) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	text, ok := word(v)
	if truth, isTruth := v.(bool); isTruth {
		// YAML reads the words of option header as truth values.
		text, ok = map[bool]string{true: "yes", false: "no"}[truth], true
	}
	if !ok {
		return fmt.Errorf("must be a word or a whole number")
	}
	*w = Word(text)
	return nil
}

// word returns the text of a string or a whole number.
func word(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case uint64, int64, int:
		return fmt.Sprint(v), true
	}
	return "", false
}

// Scalar is a number, or a string that begins with one, such as "0.01:original".
type Scalar string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (s *Scalar) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	text, ok := word(v)
	if number, isNumber := v.(float64); isNumber {
		text, ok = strconv.FormatFloat(number, 'g', -1, 64), true
	}
	if !ok {
		return fmt.Errorf("must be a number or a text")
	}
	*s = Scalar(text)
	return nil
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
