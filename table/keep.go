package table

import (
	"math"
	"strconv"
)

// texter is a source that shows values as text in another form than as labels. Labels
// of numbers have a form that old models refer to.
type texter interface {
	// text returns the value in column c as it stands in the file, or in its usual
	// decimal form; "" if it is missing.
	text(c int) string
}

// textOf returns the value in column c of the current row for Options.Keep.
func textOf(src source, c int) string {
	if t, ok := src.(texter); ok {
		return t.text(c)
	}
	return src.label(c)
}

func (in *files) text(c int) string { return textOf(in.source, c) }

func (in *arrays) text(c int) string {
	if in.missing(c) {
		return ""
	}
	return NumberText(in.value(c))
}

// Texter is the ability of [FormatRows] to return the value in column c as text for
// Options.Keep, if that differs from Label: numbers in full, for example.
type Texter interface{ Text(c int) string }

func (in *formatted) text(c int) string {
	if t, ok := in.rows.(Texter); ok {
		return t.Text(c)
	}
	return in.rows.Label(c)
}

// NumberText returns the shortest decimal that reads back to the same bits, without an
// exponent if the number is whole and has at most 15 digits.
func NumberText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
