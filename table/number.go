package table

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"gpfit/table/feature"
)

// parseNumber parses a decimal number as [strconv.ParseFloat] does, but rejects hexadecimal
// floats, underscores and words such as Inf. It reports whether b is a finite number. It
// does not allocate.
func parseNumber(b []byte) (float64, bool) {
	v, ok := numeral(b)
	return v, ok && !merges(v, b)
}

// numeral is parseNumber for numbers that float64 may round.
func numeral(b []byte) (float64, bool) {
	if !decimalDigits(b) {
		return 0, false
	}
	// The conversion stays on the stack, because ParseFloat copies the text of its errors.
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil
}

// merges reports whether a number v is written as a whole number of more than 15 digits, which float64 does not hold: the name of a
// thing, such as an account, whose neighbours would get the same number.
func merges(v float64, b []byte) bool {
	if math.Abs(v) < 1<<53 {
		return false
	}
	digits := bytes.TrimLeft(b, "+-0")
	const sure = 15
	return len(bytes.Trim(digits, "0123456789")) == 0 && len(bytes.TrimRight(digits, "0")) > sure && string(digits) != strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
}

// tooManyDigits is the error of such a number.
func tooManyDigits(text string) string {
	return "the whole number " + text + " has more digits than a 64-bit float holds: option exclude leaves out a column that only names things"
}

// decimalDigits reports whether b consists only of characters of decimal numbers.
func decimalDigits(b []byte) bool {
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return false
		}
	}
	return len(b) > 0
}

// overflows reports whether b is a decimal number that float64 cannot hold.
func overflows(b []byte) bool {
	if !decimalDigits(b) {
		return false
	}
	_, err := strconv.ParseFloat(string(b), 64)
	return errors.Is(err, strconv.ErrRange)
}

// missingWords are the words, in lower case, that mark a missing value.
var missingWords = map[string]bool{
	"": true, "nan": true, "na": true, "n/a": true, "<na>": true, "#n/a": true,
	"null": true, "none": true, "nil": true, "-": true, "--": true, ".": true, "?": true,
	"-nan": true, "+nan": true, "-1.#ind": true, "1.#ind": true, "-1.#qnan": true, "1.#qnan": true,
	"#na": true, "#n/a n/a": true, "\\n": true, "nat": true, "n.a.": true, "k.a.": true, "..": true, "...": true, "…": true, "–": true, "—": true,
	"#div/0!": true, "#value!": true, "#ref!": true, "#num!": true, "#name?": true, "#null!": true,
}

// infiniteWords are the words, in lower case, for values that are not finite.
var infiniteWords = map[string]bool{
	"inf": true, "+inf": true, "-inf": true,
	"infinity": true, "+infinity": true, "-infinity": true, "1.#inf": true,
}

// isMissing reports whether a cell says that its value is missing.
func isMissing(b []byte) bool {
	const longest = 8
	return len(b) <= longest && missingWords[string(bytes.ToLower(b))]
}

// looksLikeData reports whether a cell of the first row shows that the row is not a
// header: a number, even one out of range, or a missing value.
func looksLikeData(b []byte) bool {
	if _, ok := numeral(b); ok {
		return true
	}
	return overflows(b) || isMissing(b) || infiniteWords[string(bytes.ToLower(b))] || isSpreadsheetError(b)
}

// whyNotNumber describes the error in a cell that [parseNumber] rejected, in a table whose numbers have a form of their own: no
// option reads a number that is written as a text there.
func whyNotNumber(b []byte) string {
	s := string(b)
	if s == "" {
		return "empty cell"
	}
	if _, ok := numeral(b); ok {
		return tooManyDigits(s)
	}
	if overflows(b) {
		return "number too large for a 64-bit float: " + quote(s)
	}
	// ParseFloat knows every spelling of Inf.
	if v, err := strconv.ParseFloat(s, 64); err == nil && math.IsInf(v, 0) {
		return "not a finite number: " + quote(s)
	}
	if _, ok := parseNumber([]byte(strings.Replace(s, ",", ".", 1))); ok {
		return "not a number: " + quote(s) + " (write a decimal point, not a comma)"
	}
	return "not a number: " + quote(s)
}

// writtenAs names the options that read a number, "" if none do.
func writtenAs(b []byte) string {
	for _, t := range feature.Texts() {
		if number, ok := t.Number(b); ok {
			if _, ok := parseNumber(number); ok {
				return t.Options()
			}
		}
	}
	return ""
}

// NumberText returns the shortest decimal that reads back to the same bits, without an
// exponent if the number is whole and has at most 15 digits.
func NumberText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
