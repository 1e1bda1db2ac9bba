package table

import (
	"fmt"
	"strings"

	"gpfit/internal/textform"
)

// Error describes an error in a table and its place. The command line maps it to exit code 10.
type Error struct {
	// Source is the file's name, "-" for standard input.
	Source string
	// Line is the line, from 1; 0 if the error concerns no line.
	Line int
	// Row is the row of data, from 1, in formats that have no lines; else 0.
	Row int
	// Column is the number of the column, from 1; 0 if the error concerns no column.
	Column int
	// ColumnName is the column's name in the header; "" without a header.
	ColumnName string
	// TooLarge marks a table that is too large for the memory or for its purpose. The
	// command line maps it to exit code 12.
	TooLarge bool
	// Selected is the name or index of a selected column that the table does not have; ""
	// for other errors.
	Selected string
	// Msg describes the error.
	Msg string
	// Err is the underlying cause, if there is one, such as a failed read or a missing file.
	Err    error
	ragged bool // the row has another number of cells than the first
}

// Error returns the place and the message, as in
//
//	co2.csv:17: column 3 ("ppm"): not a number: "n/a"
//	co2.parquet: row 16, column 3 ("ppm"): null
func (e *Error) Error() string {
	var b strings.Builder
	if e.Source == "-" {
		b.WriteString("standard input")
	} else {
		b.WriteString(e.Source)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	b.WriteString(e.place())
	b.WriteString(e.Msg)
	return b.String()
}

// place returns the row and column followed by a colon, or "".
func (e *Error) place() string {
	var parts []string
	if e.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d", e.Row))
	}
	switch {
	case e.Column == 0:
	case e.ColumnName == "":
		parts = append(parts, fmt.Sprintf("column %d", e.Column))
	default:
		parts = append(parts, fmt.Sprintf("column %d (%s)", e.Column, quote(e.ColumnName)))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// tooLarge returns the error for a table that needs more bytes than are free.
func tooLarge(source string, need, free int64) error {
	return &Error{TooLarge: true, Source: source, Msg: fmt.Sprintf("the table needs %d MiB of memory, but %d MiB are free: select fewer columns, or a subsample of the rows", need>>20, free>>20)}
}

// quote returns text from a file as it appears in a message.
func quote(s string) string { return textform.Quote(s) }
