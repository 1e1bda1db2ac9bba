package table

import (
	"fmt"
	"os"
)

// Format is a kind of file, beside text and NumPy's, that [Read] is to recognise by
// its first bytes. Package table/parquet has one. Nothing registers itself: a program
// passes those that it wants in [Options].
type Format struct {
	// Name is the format's, for messages.
	Name string
	// Magic is how every file of the format begins, at most eight bytes.
	Magic string
	// Open reads what comes before the rows. The rows own f from then on; after an
	// error f is still the caller's. Errors of the content are of type [*Error].
	Open func(f *os.File, path string) (FormatRows, error)
}

// FormatColumn is a column of a [FormatRows].
type FormatColumn struct {
	Name string
	// Aside says that the column is used only if it is asked for.
	Aside bool
}

// FormatRows is an open file of a [Format], which is read row by row. Columns are counted
// from 0. Errors of the content are of type [*Error].
type FormatRows interface {
	Columns() []FormatColumn
	// Use says, before the first row, which columns will be asked for as numbers and
	// which as labels. It is an error if one cannot be.
	Use(numbers, labels []int) error
	// Next goes on to the next row; the error is io.EOF after the last one.
	Next() error
	// Number is the value in column c, if it is a finite number.
	Number(c int) (value float64, ok bool)
	// Label is the value in column c as text, empty if it is missing.
	Label(c int) string
	// Missing reports whether the value in column c is missing, as opposed to wrong.
	Missing(c int) bool
	// Problem says what is wrong with the value in column c, which is no finite
	// number, or a label that is missing.
	Problem(c int) string
	// Progress is the share of the file that has been read, 0 if unknown.
	Progress() float64
	// Warnings tells what a user should know about the file.
	Warnings() []string
	Close() error
}

// formatted is the source that FormatRows of another package are. Its rows have numbers.
type formatted struct {
	head
	rows   FormatRows
	format string
	row    int
}

// openFormatted opens a file of a caller's format; on an error it closes f.
func openFormatted(f *os.File, path string, format Format) (source, error) {
	rows, err := format.Open(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	in := &formatted{head: head{source: path, named: true}, rows: rows, format: format.Name}
	for _, c := range rows.Columns() {
		in.names, in.aside = append(in.names, c.Name), append(in.aside, c.Aside)
	}
	return in, nil
}

func (in *formatted) begun() *head { return &in.head }

func (in *formatted) use(numbers, labels []int) error { return in.rows.Use(numbers, labels) }

func (in *formatted) next() error {
	err := in.rows.Next()
	if err == nil {
		in.row++
	}
	return err
}

func (in *formatted) number(c int) (float64, bool) { return in.rows.Number(c) }

func (in *formatted) label(c int) string { return in.rows.Label(c) }

func (in *formatted) missing(c int) bool { return in.rows.Missing(c) }

func (in *formatted) place() int { return in.row }

func (in *formatted) errorAt(c int, msg string) *Error {
	e := in.headError(c, msg)
	e.Row = in.row
	return e
}

func (in *formatted) badCell(c int) *Error { return in.errorAt(c, in.rows.Problem(c)) }

func (in *formatted) noRows() *Error {
	return &Error{Source: in.source, Msg: fmt.Sprintf("a %s file without rows", in.format)}
}

func (in *formatted) progress() float64 { return in.rows.Progress() }

func (in *formatted) warnings() []string { return in.rows.Warnings() }

func (in *formatted) close() error { return in.rows.Close() }
