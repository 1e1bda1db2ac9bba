package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/textform"
	"gpfit/table/feature"
)

// cells reads the cells of one feature column as numbers.
type cells interface {
	// read returns the number for the value of the current row in column c, or why there is none.
	read(src source, c int) (float64, *fault)
	// text reports whether read needs the labels of a column of the given type.
	text(typed feature.ColumnKind) bool
}

// fault is the reason why a cell has no number. gap says that the value is missing. msg
// is empty if the source can say it best.
type fault struct {
	gap bool
	msg string
}

// noLabel returns the fault of a missing label, date or time.
func noLabel(src source, c int) *fault {
	if src.kind(c) != "" {
		return &fault{gap: true}
	}
	msg := "empty cell"
	if label := src.label(c); label != "" {
		msg = "missing value: " + quote(label)
	}
	return &fault{true, msg}
}

// numberOf returns the value in column c as a number. Texts of formats with types may be
// numbers, too.
func numberOf(src source, c int) (float64, *fault) {
	number := src.number
	if src.kind(c) == feature.Category {
		number = func(c int) (float64, bool) { return parseNumber([]byte(src.label(c))) }
	}
	if v, ok := number(c); ok {
		return v, nil
	}
	if src.kind(c) == feature.Category && !src.missing(c) {
		return 0, &fault{msg: whyNotNumber([]byte(src.label(c)))}
	}
	return 0, &fault{gap: src.missing(c)}
}

// numberCells reads columns that have to be numbers.
type numberCells struct{}

func (numberCells) text(feature.ColumnKind) bool { return false }

func (numberCells) read(src source, c int) (float64, *fault) {
	if v, ok := src.number(c); ok {
		return v, nil
	}
	return 0, &fault{gap: src.missing(c)}
}

// encodedCells reads cells as a given column of a model.
type encodedCells struct {
	as      feature.Coding
	encoder *feature.Encoder
	// zero allows categories that the column does not have. seen are the first ones met, and others counts the rows
	// of further ones.
	zero   bool
	seen   []unseenCategory
	others int
	// refusal is the end of the error for such a category.
	refusal string
}

// unseenCategory is a category that a model does not have, in a number of rows, the first of which begins at a place.
type unseenCategory struct {
	label, first string
	rows         int
}

// shownCategories is the number of unknown categories of a column that warnings name.
const shownCategories = 10

func (e *encodedCells) text(typed feature.ColumnKind) bool {
	switch e.as.Kind {
	case feature.Number, feature.Boolean:
		return typed == feature.Category
	}
	return true
}

func (e *encodedCells) read(src source, c int) (float64, *fault) {
	switch kind := src.kind(c); {
	case e.as.Kind == feature.Number:
		return numberOf(src, c)
	case e.as.Kind == feature.Boolean && kind != feature.Category:
		if v, ok := src.number(c); ok && (v == 0 || v == 1) {
			return v, nil
		}
	}
	text := cellText(src, c)
	if text == "" || src.missing(c) && !(e.as.Kind == feature.Category && slices.Contains(e.as.Categories, text)) {
		return 0, noLabel(src, c)
	}
	v, err := e.encoder.Value(text)
	var unseen *feature.UnseenError
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &unseen) && e.zero:
		e.count(src, unseen.Label)
		return -1, nil
	case errors.As(err, &unseen):
		return 0, &fault{msg: err.Error() + e.refusal}
	}
	return 0, &fault{msg: err.Error()}
}

// count counts a row with a category that the model does not have.
func (e *encodedCells) count(src source, label string) {
	k := slices.IndexFunc(e.seen, func(u unseenCategory) bool { return u.label == label })
	switch {
	case k >= 0:
		e.seen[k].rows++
	case len(e.seen) == shownCategories:
		e.others++
	default:
		e.seen = append(e.seen, unseenCategory{label, placeText(src, src.place()), 1})
	}
}

// notes returns warnings of the categories that the model does not have.
func (e *encodedCells) notes() (out []string) {
	becomes := "its indicators are all 0"
	if e.as.Codes {
		becomes = "its code is -1"
	}
	for _, u := range e.seen {
		out = append(out, fmt.Sprintf("column %s has the category %s, which the training table lacks, in %s, first in %s: %s", quote(e.as.Name), quote(u.label), textform.Counted(u.rows, "row"), u.first, becomes))
	}
	if e.others > 0 {
		out = append(out, fmt.Sprintf("column %s has further categories that the training table lacks in %s", quote(e.as.Name), textform.Counted(e.others, "row")))
	}
	return out
}

// cellText returns the text of a value. Numbers and booleans of formats with types are
// written as people write them.
func cellText(src source, c int) string {
	switch src.kind(c) {
	case feature.Boolean:
		if v, ok := src.number(c); ok {
			return strconv.FormatBool(v != 0)
		}
	case feature.Number:
		if v, ok := src.number(c); ok {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return src.label(c)
}

// brokenNumber reports whether a cell of text is meant as a number, although it is none
// here: out of range, infinite, with separators of thousands, another decimal sign or a
// unit of money or per cent.
func brokenNumber(b string) bool {
	if infiniteWords[strings.ToLower(b)] || isSpreadsheetError([]byte(b)) || overflows([]byte(b)) {
		return true
	}
	if _, err := strconv.ParseFloat(b, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return true // in hexadecimal, for example
	}
	digits := false
	for _, r := range strings.TrimLeft(b, "+-") {
		switch {
		case '0' <= r && r <= '9':
			digits = true
		case !strings.ContainsRune(".,_' %$€£\u00a0\u202f", r):
			return false
		}
	}
	return digits
}

// unfinishedExponent reports whether a text is a number whose exponent lacks its digits, as
// 12e and 1.5e-. A category may look like that, so only the first text of a column counts.
func unfinishedExponent(b string) bool {
	mantissa, isNumber := strings.CutSuffix(strings.ToLower(strings.TrimRight(b, "+-")), "e")
	if !isNumber {
		return false
	}
	_, finite := parseNumber([]byte(mantissa))
	return finite || overflows([]byte(mantissa))
}
