package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gpfit/internal/textform"
	"gpfit/table/feature"
)

// rows is a scanner that knows the header and checks that every row of data has as
// many cells as the first row.
type rows struct {
	head
	scan    *scanner
	cells   [][]byte // the current row
	pending bool     // the first row is data and has not been returned
	as      feature.Text
	strict  bool // a missing value is an error
	// gaps counts the rows that precede the next record: blank lines, which are rows, from the current
	// one on, and the record itself; 0 otherwise.
	gaps int
	// points are the uses of the point in columns of numbers.
	points []points
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
	case startsWith(begin, '{', `"}`): // an object
		return openJSONLines(s, opts)
	case startsWith(begin, '[', `{`): // an array of objects
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
	in := &rows{scan: s, head: head{source: s.source, first: s.start, empty: "no data rows, only a header"}, as: opts.Text, strict: opts.Missing != MissingDrop && opts.Missing != MissingMark}
	switch opts.Header {
	case HeaderAuto:
		var err error
		row := &firstRow{scan: s, parse: in.parse, isData: in.looksLikeData}
		if in.named, err = row.isHeader(opts); err != nil {
			return nil, err
		}
		in.warn = row.warn
	case HeaderYes:
		in.named = true
	}
	in.pending = !in.named
	if in.as.PlainNumbers() {
		in.points = make([]points, len(s.cells))
	}
	in.warnOfComment()
	if in.as.Decimal == "," && len(s.cells) == 1 && bytes.IndexByte(s.cells[0], ',') >= 0 {
		if _, ok := in.parse(s.cells[0]); !ok {
			return nil, &Error{Source: s.source, Line: s.start, Msg: "commas do not separate cells here, because the decimal sign is a comma: separate them by semicolons, tabs or blanks, or give option decimal as a point"}
		}
	}
	in.names = make([]string, len(s.cells))
	for i, cell := range s.cells {
		if in.named {
			in.names[i] = strings.TrimSpace(string(cell))
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
	return in, nil
}

// warnOfComment warns of a comment before the first row that has as many cells as the row, if that is
// data: it may be the header, or a row.
func (in *rows) warnOfComment() {
	if sep, comment := in.scan.sep, in.scan.aside; in.pending && sep != 0 && len(in.scan.cells) > 1 && bytes.Count(comment, []byte{sep}) == len(in.scan.cells)-1 {
		in.warn = append(in.warn, fmt.Sprintf("a comment has as many cells as the rows: %s; without the # it would be the header or a row", quote(string(trim(comment)))))
	}
}

// next moves to the next row of data, whose cells are valid until the next call. It
// returns io.EOF after the last row.
func (in *rows) next() error {
	if in.pending {
		in.pending, in.cells, in.at = false, in.scan.cells, in.scan.start
		return nil
	}
	if in.gaps > 0 {
		return in.nextGap()
	}
	if err := in.scan.next(); err != nil {
		if err == io.EOF {
			in.warnOfPoints()
		}
		if e, ok := errors.AsType[*Error](err); ok && in.named && 0 < e.Column && e.Column <= len(in.names) {
			e.ColumnName = in.names[e.Column-1]
		}
		return err
	}
	first := in.named && in.cells == nil
	in.cells, in.at = in.scan.cells, in.scan.start
	found, expected := len(in.scan.cells), len(in.names)
	switch {
	case expected == 1 && found == 1 && in.scan.blank > 0 && in.strict:
		return &Error{Source: in.source, Line: in.scan.blank, Msg: "a blank line between rows of one cell: delete it, or write NA if it stands for a missing value"}
	case expected == 1 && found == 1 && in.scan.blank > 0:
		lines := in.scan.start - in.scan.blank
		in.scan.blanks -= lines
		in.gaps, in.at = lines+1, in.scan.blank-1
		return in.nextGap()
	case found == expected:
		return nil
	}
	c := min(found, expected) // the first cell that is missing or too many
	e := in.errorAt(c, fmt.Sprintf("found %s where line %d has %d", textform.Counted(found, "cell"), in.first, expected))
	switch {
	case !first || found != expected+1:
	case len(in.cells[expected]) == 0:
		e.Msg += ": the rows end with a separator, but the header does not"
	default:
		e.Msg += ": the header lacks the name of a column, such as the one of row names, which R does not name"
	}
	e.Msg += in.scan.hashHint()
	e.Line, e.ragged = in.scan.start, true
	if c < found {
		e.Line = in.scan.lineOf(c)
	}
	return e
}

// nextGap moves to the next blank line of a table of one column, which is a row with a missing value,
// and after the last one to the record behind it.
func (in *rows) nextGap() error {
	in.gaps--
	in.cells, in.at = gapCells, in.at+1
	if in.gaps == 0 {
		in.cells, in.at = in.scan.cells, in.scan.start
	}
	return nil
}

// gapCells is a row of one empty cell.
var gapCells = [][]byte{nil}

// use does nothing: text has all cells of a row at hand.
func (in *rows) use(_, _ []int) error { return nil }

func (in *rows) kind(int) feature.ColumnKind { return "" }

func (in *rows) number(c int) (float64, bool) {
	v, ok := in.parse(in.cells[c])
	if ok && in.points != nil && !in.points[c].other {
		in.points[c].look(trim(in.cells[c]))
	}
	return v, ok
}

// parse parses a number as the file writes numbers.
func (in *rows) parse(cell []byte) (float64, bool) {
	cell = trim(cell)
	if !in.as.PlainNumbers() {
		var ok bool
		if cell, ok = in.as.Number(cell); !ok {
			return 0, false
		}
	}
	return parseNumber(cell)
}

// looksLikeData reports whether a cell of the first row shows that the row is not a header.
func (in *rows) looksLikeData(cell []byte) bool {
	_, ok := in.parse(cell)
	return ok || looksLikeData(trim(cell))
}

// whyNotNumber describes the error in a cell that parse rejected.
func (in *rows) whyNotNumber(cell []byte) string {
	cell = trim(cell)
	_, point := parseNumber(cell)
	if in.as.Decimal == "," && point && bytes.IndexByte(cell, '.') >= 0 {
		return "not a number: " + quote(string(cell)) + " (the decimal sign is a comma here; see option decimal)"
	}
	why := whyNotNumber(cell)
	if point, comma := strings.CutSuffix(why, ", not a comma)"); comma {
		return point + ", not a comma; or see option decimal)"
	}
	if as := writtenAs(cell); as != "" && strings.HasPrefix(why, "not a number") {
		why += " (" + as + " reads it)"
	}
	return why
}

// label returns a cell as it is, but "" for only blanks.
func (in *rows) label(c int) string {
	if len(trim(in.cells[c])) == 0 {
		return ""
	}
	return string(in.cells[c])
}

func (in *rows) missing(c int) bool { return isMissing(trim(in.cells[c])) }

func (in *rows) text(c int) string { return in.label(c) }

func (in *rows) progress() float64 { return in.scan.progress() }

func (in *rows) skipped() (comments, blanks int) { return in.scan.comments, in.scan.blanks }

func (in *rows) close() error { return in.scan.close() }

// errorAt returns an error in column c, from 0, of the current row, whose cells may begin on
// several lines.
func (in *rows) errorAt(c int, msg string) *Error {
	e := in.headError(c, msg)
	if e.Line = in.at; in.gaps == 0 {
		e.Line = in.scan.lineOf(c)
	}
	return e
}

// badCell returns the error for the cell in column c, which is not a number or is an empty label.
func (in *rows) badCell(c int) *Error {
	e := in.errorAt(c, in.whyNotNumber(in.cells[c]))
	if c == 0 {
		e.Msg += in.scan.hashHint()
	}
	return e
}
