package table

import "gpfit/feature"

// source is an open table in any format, read row by row. Columns count from 0.
type source interface {
	// begun returns what is known before the first row.
	begun() *head
	// use selects, before the first row, the columns to read as numbers and the
	// columns to read as labels.
	use(numbers, labels []int) error
	// next moves to the next row. It returns io.EOF after the last one.
	next() error
	// kind returns the kind of the value in column c by its type, Category for a text;
	// empty for text files, whose cells have no types.
	kind(c int) feature.ColumnKind
	// number returns the value in column c and whether it is a finite number.
	number(c int) (float64, bool)
	// label returns the value in column c as text, "" if it is missing.
	label(c int) string
	// text returns the value in column c as it stands in the file, or in its usual
	// decimal form, for Options.Keep; "" if it is missing. Labels of numbers have a form
	// that old models refer to.
	text(c int) string
	// missing reports whether the value in column c is missing, as opposed to
	// wrong.
	missing(c int) bool
	// place returns the line of the current row, or the number of the row, from 1, in
	// formats without lines.
	place() int
	// errorAt returns an error in column c of the current row.
	errorAt(c int, msg string) *Error
	// badCell returns the error for the value in column c, which is not a finite
	// number or is a missing label.
	badCell(c int) *Error
	// noRows returns the error for a table without rows.
	noRows() *Error
	// progress returns the share of the input that has been read, 0 if unknown.
	progress() float64
	warnings() []string
	close() error
}
