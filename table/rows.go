package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gpfit/feature"
)

// rows is a scanner that knows the header and checks that every row of data has as
// many cells as the first row.
type rows struct {
	head
	scan    *scanner
	cells   [][]byte // the current row
	pending bool     // the first row is data and has not been returned
	comma   bool     // the decimal sign is a comma
	drop    bool     // rows with missing values are left out
}

// openRows opens text from r: JSON lines, or rows of cells. The source closes file, unless
// it is nil.
func openRows(r io.Reader, file *os.File, source string, opts Options) (source, error) {
	s, err := newScanner(r, source, opts)
	if err != nil {
		return nil, err
	}
	s.file = file
	begin, _ := s.in.Peek(bufferSize) // its error returns with the first line
	switch {
	case isJSONLines(begin):
		return openJSONLines(s, opts)
	case isJSONArray(begin):
		return nil, &Error{Source: source, Msg: "this is a JSON array; write an object on each line instead, as jq -c '.[]' does"}
	}
	return openCells(s, opts)
}

// openCells reads the first row and decides whether it is a header.
func openCells(s *scanner, opts Options) (source, error) {
	if err := s.next(); err == io.EOF {
		msg := "the file is empty"
		if s.line > 0 {
			msg = "no data rows, only comments and blank lines"
		}
		return nil, &Error{Source: s.source, Msg: msg}
	} else if err != nil {
		return nil, err
	}
	in := &rows{scan: s, head: head{source: s.source, first: s.start, empty: "no data rows, only a header"}, comma: opts.Decimal == ",", drop: opts.Missing == MissingDrop}
	switch opts.Header {
	case HeaderAuto:
		in.named = in.guessHeader(opts.Columns != nil || opts.Encoding != nil)
	case HeaderYes:
		in.named = true
	}
	in.pending = !in.named
	if in.comma && len(s.cells) == 1 && bytes.IndexByte(s.cells[0], ',') >= 0 {
		if _, ok := in.parse(s.cells[0]); !ok {
			return nil, &Error{Source: s.source, Line: s.start, Msg: "commas do not separate cells here, because the decimal sign is a comma: separate them by semicolons, tabs or blanks, or give option decimal as a point"}
		}
	}
	in.names = make([]string, len(s.cells))
	for i, cell := range s.cells {
		if in.named {
			in.names[i] = strings.ToValidUTF8(strings.TrimSpace(string(cell)), "\uFFFD")
		}
		in.blank = append(in.blank, in.named && in.names[i] == "")
	}
	for i, name := range in.names {
		for free := fmt.Sprintf("x%d", i); name == ""; free += "_" {
			if !in.named || !slices.Contains(in.names, free) {
				name, in.names[i] = free, free
			}
		}
	}
	if bytes.IndexByte(bytes.Join(s.cells, nil), '\r') >= 0 {
		in.empty += ": carriage returns alone end no line, so end the lines with line feeds"
	}
	s.width = len(in.names)
	return in, nil
}

// guessHeader reports whether the current row is a header. It warns if that is
// doubtful, because an error in the first row of data would make the row look like a
// header. With dates, a date is no name of a column.
func (in *rows) guessHeader(dates bool) bool {
	word, number := -1, -1
	switch cells := in.scan.cells; {
	case len(cells) < 3:
	case len(cells[0]) == 0 && countColumns(cells[1:]):
		return true
	case countColumns(cells):
		in.warn = append(in.warn, fmt.Sprintf("line %d is read as data, although its cells count the columns, as the header of a data frame without names does; option header yes reads it as the header", in.scan.start))
	}
	for i, cell := range in.scan.cells {
		if !in.looksLikeData(cell) && !(dates && feature.Recognize(string(cell)) == feature.Date) {
			if word < 0 {
				word = i
			}
		} else if _, ok := in.parse(cell); ok && number < 0 {
			number = i
		}
	}
	if word >= 0 && number >= 0 {
		in.warn = append(in.warn, fmt.Sprintf(
			"line %d is read as the header, because %s in column %d is not a number, although %s in column %d is",
			in.scan.start, quote(string(in.scan.cells[word])), word+1,
			quote(string(in.scan.cells[number])), number+1))
	}
	return word >= 0
}

// countColumns reports whether the cells are 0, 1, 2, …: the header of a data frame without names.
func countColumns(cells [][]byte) bool {
	for i, cell := range cells {
		if string(cell) != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// next moves to the next row of data, whose cells are valid until the next call. It
// returns io.EOF after the last row.
func (in *rows) next() error {
	if in.pending {
		in.pending, in.cells, in.at = false, in.scan.cells, in.scan.start
		return nil
	}
	told := in.scan.aside
	err := in.scan.next()
	if in.scan.aside != told {
		in.warn = append(in.warn, fmt.Sprintf("line %d and other lines that begin with # are comments, although this one has as many cells as the rows; quote the first cell if it is a row", in.scan.aside))
	}
	if err != nil {
		var e *Error
		if errors.As(err, &e) && in.named && 0 < e.Column && e.Column <= len(in.names) {
			e.ColumnName = in.names[e.Column-1]
		}
		return err
	}
	first := in.named && in.cells == nil
	in.cells, in.at = in.scan.cells, in.scan.start
	found, expected := len(in.scan.cells), len(in.names)
	switch {
	case expected == 1 && in.scan.blank > 0 && !in.drop:
		return &Error{Source: in.source, Line: in.scan.blank, Msg: "a blank line between rows of one cell: delete it, or write NA if it stands for a missing value"}
	case found == expected:
		return nil
	}
	c := min(found, expected) // the first cell that is missing or too many
	e := in.errorAt(c, fmt.Sprintf("found %s where line %d has %d", count(found, "cell"), in.first, expected))
	switch {
	case !first || found != expected+1:
	case len(in.cells[expected]) == 0:
		e.Msg += ": the rows end with a separator, but the header does not"
	default:
		e.Msg += ": the header lacks the name of a column, such as the one of row names, which R does not name"
	}
	e.Line = in.scan.start
	if c < found {
		e.Line = in.scan.lineOf(c)
	}
	return e
}

// use does nothing: text has all cells of a row at hand.
func (in *rows) use(_, _ []int) error { return nil }

func (in *rows) kind(int) feature.ColumnKind { return "" }

func (in *rows) number(c int) (float64, bool) { return in.parse(in.cells[c]) }

// parse parses a number with the decimal sign of the file.
func (in *rows) parse(cell []byte) (float64, bool) {
	if !in.comma {
		return parseNumber(cell)
	}
	if bytes.IndexByte(cell, '.') >= 0 {
		return 0, false
	}
	return parseNumber(bytes.Replace(cell, []byte(","), []byte("."), 1))
}

// looksLikeData reports whether a cell of the first row shows that the row is not a header.
func (in *rows) looksLikeData(cell []byte) bool {
	_, ok := in.parse(cell)
	return ok || looksLikeData(cell)
}

// whyNotNumber describes the error in a cell that parse rejected.
func (in *rows) whyNotNumber(cell []byte) string {
	_, point := parseNumber(cell)
	if in.comma && point && bytes.IndexByte(cell, '.') >= 0 {
		return "not a number: " + quote(string(cell)) + " (the decimal sign is a comma here; see option decimal)"
	}
	return whyNotNumber(cell)
}

func (in *rows) label(c int) string { return strings.ToValidUTF8(string(in.cells[c]), "\uFFFD") }

func (in *rows) missing(c int) bool { return isMissing(in.cells[c]) }

func (in *rows) text(c int) string { return in.label(c) }

func (in *rows) progress() float64 { return in.scan.progress() }

func (in *rows) close() error { return in.scan.close() }

// errorAt returns an error in column c, from 0, of the current row, whose cells may begin on
// several lines.
func (in *rows) errorAt(c int, msg string) *Error {
	e := in.headError(c, msg)
	e.Line = in.scan.lineOf(c)
	return e
}

// badCell returns the error for the cell in column c, which is not a number or is an empty label.
func (in *rows) badCell(c int) *Error {
	return in.errorAt(c, in.whyNotNumber(in.cells[c]))
}
