package table

// source is an open table, whatever its format, that is read row by row.
// Columns are counted from 0.
type source interface {
	// begun is what is known before the first row.
	begun() *head
	// use says, before the first row, which columns will be asked for as numbers
	// and which as labels.
	use(numbers, labels []int) error
	// next goes on to the next row; the error is io.EOF after the last one.
	next() error
	// number is the value in column c, if it is a finite number.
	number(c int) (float64, bool)
	// label is the value in column c as text, "" if it is missing.
	label(c int) string
	// missing reports whether the value in column c is missing, as opposed to
	// wrong.
	missing(c int) bool
	// place is the line of the current row, or the number of the row, from 1,
	// in formats without lines.
	place() int
	// errorAt is an error in column c of the current row.
	errorAt(c int, msg string) *Error
	// badCell is the error for the value in column c, which is no finite number,
	// or a label that is missing.
	badCell(c int) *Error
	// noRows is the error for a table without rows.
	noRows() *Error
	// progress is the share of the input that has been read, 0 if that is not
	// known.
	progress() float64
	warnings() []string
	close() error
}
