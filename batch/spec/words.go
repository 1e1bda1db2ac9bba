package spec

import (
	"fmt"
	"strconv"

	"gpfit/fit/option"
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
	switch v := v.(type) {
	case string:
		*w = Word(v)
	case uint64, int64, int:
		*w = Word(fmt.Sprint(v))
	case bool:
		// YAML reads the words of option header as truth values.
		*w = map[bool]Word{true: "yes", false: "no"}[v]
	default:
		return fmt.Errorf("must be a word or a whole number")
	}
	return nil
}

// Scalar is a number, or a string that begins with one, such as "0.01:original".
type Scalar string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (s *Scalar) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		*s = Scalar(v)
	case uint64, int64, int:
		*s = Scalar(fmt.Sprint(v))
	case float64:
		*s = Scalar(strconv.FormatFloat(v, 'g', -1, 64))
	default:
		return fmt.Errorf("must be a number or a text")
	}
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
