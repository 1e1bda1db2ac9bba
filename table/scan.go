package table

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
)

// maxRecord limits the bytes of one record, so that an unclosed quote, or a file
// without line ends, is an error before memory runs out.
const maxRecord = 64 << 20

// scanner splits text into records of cells, by the rules of encoding/csv, and records where each
// begins. In addition to that package, it keeps all that quotes enclose, drops blanks around other cells, skips comments, splits at runs
// of blanks, limits the length of a record, and returns bytes, so that a row costs no allocation.
//
// A record is one line, unless a quoted cell contains line ends. The scanner skips
// lines that are blank and, before the first record, lines that begin with #.
type scanner struct {
	source string
	in     *bufio.Reader
	raw    counter  // the input of in before decompression
	file   *os.File // the input of raw if the scanner must close it; else nil
	packed string   // how the input is compressed, "" if it is not
	sep    byte     // 0: runs of blanks and tabs
	// decoded is the encoding from which in reads the text, "" for UTF-8.
	decoded string

	line  int      // lines read so far
	start int      // line where the current record began; 0 before the first
	blank int      // the first of the blank lines before it; 0 if there are none
	bad   int      // a line of it that has bytes that are no text; 0 if there is none
	hash  bool     // it begins with #
	aside []byte   // the last comment
	cells [][]byte // the current record, trimmed outside of quotes; valid until the next one
	lines []int    // the line of each cell, if the record has quotes; else empty
	marks int      // its cells in quotes
	cr    bool     // the line read last ended in CR LF
	// returns says that all lines of the file end in CR, which in replaces by LF.
	returns bool

	long []byte // a line that did not fit in the buffer of in
	text []byte // the unquoted cells of a record with quotes, one after the other
	ends []int  // where each of them ends in text

	comments, blanks int // lines skipped
	// skip are lines that are no part of the table.
	skip map[int]bool
}

// next reads the next record into s.cells. The error is io.EOF after the last record,
// else an [*Error].
func (s *scanner) next() error {
	for s.blank = 0; ; {
		s.bad = 0
		line, err := s.readLine()
		switch {
		case err != nil:
			return err
		case s.skip[s.line]:
			continue
		case len(s.skipBlanks(line)) == 0: // a line of tabs has cells if tabs separate them
			s.blank = cmp.Or(s.blank, s.line)
			s.blanks++
			s.skipLineEnds()
			continue
		case s.start == 0 && isComment(line):
			s.comments, s.aside = s.comments+1, append(s.aside[:0], line...)
			continue
		}
		s.start, s.hash = s.line, isComment(line)
		if err := s.splitLine(line); err != nil {
			return err
		}
		if s.bad > 0 {
			return s.badText()
		}
		return nil
	}
}

// badText returns the error for the current record, which has bytes that are no text.
func (s *scanner) badText() *Error {
	for c, cell := range s.cells {
		if !isText(cell, s.decoded) {
			return &Error{Source: s.source, Line: s.lineOf(c), Column: c + 1, Msg: notText(cell, s.decoded)}
		}
	}
	return &Error{Source: s.source, Line: s.bad, Msg: notText(nil, s.decoded)}
}

// splitLine splits the record that begins with the line.
func (s *scanner) splitLine(line []byte) error {
	s.cells, s.lines, s.marks = s.cells[:0], s.lines[:0], 0
	switch {
	case bytes.IndexByte(line, '"') >= 0:
		return s.splitQuoted(line)
	case s.sep == 0:
		s.splitBlanks(line)
	default:
		s.split(line)
	}
	if bytes.IndexByte(line, '\r') >= 0 {
		if c := slices.IndexFunc(s.cells, func(cell []byte) bool { return bytes.IndexByte(cell, '\r') >= 0 }); c >= 0 {
			return &Error{Source: s.source, Line: s.start, Column: c + 1, Msg: strayReturn}
		}
	}
	return nil
}

// strayReturn is the error in a cell without quotes that has a carriage return, where other programs
// end a row.
const strayReturn = "a carriage return within the line: end each line with a line feed, or quote the cell"

// skipLineEnds skips the line ends that follow in the buffer, which are blank lines.
func (s *scanner) skipLineEnds() {
	text, _ := s.in.Peek(s.in.Buffered()) // they are there
	n, lines := 0, 0
	for n < len(text) {
		switch {
		case text[n] == '\n':
			n++
		case text[n] == '\r' && n+1 < len(text) && text[n+1] == '\n':
			n += 2
		default:
			text = text[:n]
			continue
		}
		lines++
	}
	_, _ = s.in.Discard(n)
	s.line, s.blanks = s.line+lines, s.blanks+lines
}

// lineOf returns the line where cell c of the current record begins.
func (s *scanner) lineOf(c int) int {
	if c < len(s.lines) {
		return s.lines[c]
	}
	return s.start
}

// readLine reads one line and returns it without its end, LF or CRLF. The bytes
// are valid until the next call.
func (s *scanner) readLine() ([]byte, error) {
	line, err := s.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		s.long = s.long[:0]
		for err == bufio.ErrBufferFull && bytes.IndexByte(line, 0) < 0 { // /dev/zero has no end
			if s.long = append(s.long, line...); len(s.long) > maxRecord {
				return nil, s.tooLong(s.line + 1)
			}
			line, err = s.in.ReadSlice('\n')
		}
		s.long = append(s.long, line...)
		line = s.long
	}
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, s.readError(err)
	}
	if len(line) == 0 {
		return nil, io.EOF
	}
	s.line++
	if bytes.IndexByte(line, 0) >= 0 {
		msg := "contains a zero byte: this is binary data, not text"
		if s.decoded == "" {
			msg += "; of UTF-16 text without a byte order mark, option encoding says utf-16le or utf-16be"
		}
		return nil, &Error{Source: s.source, Line: s.line, Msg: msg}
	}
	if s.bad == 0 && !isText(line, s.decoded) {
		s.bad = s.line
	}
	line, ended := bytes.CutSuffix(line, []byte{'\n'})
	line, s.cr = bytes.CutSuffix(line, []byte{'\r'})
	s.cr = s.cr && ended
	return line, nil
}

// split splits a line without quotes at the separator.
func (s *scanner) split(line []byte) {
	for {
		end := bytes.IndexByte(line, s.sep)
		if end < 0 {
			s.cells = append(s.cells, trim(line))
			return
		}
		s.cells = append(s.cells, trim(line[:end]))
		line = line[end+1:]
	}
}

// splitBlanks splits a line without quotes at runs of blanks and tabs.
func (s *scanner) splitBlanks(line []byte) {
	for i := 0; i < len(line); {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		begin := i
		for i < len(line) && !isSpace(line[i]) {
			i++
		}
		if i > begin {
			s.cells = append(s.cells, line[begin:i])
		}
	}
}

// splitQuoted splits a record whose first line contains a quote. It reads further
// lines if a quoted cell continues on them.
func (s *scanner) splitQuoted(line []byte) error {
	s.text, s.ends = s.text[:0], s.ends[:0]
	rest := s.skipBlanks(line)
	for more := true; more; {
		s.lines = append(s.lines, s.line)
		var err error
		if len(rest) > 0 && rest[0] == '"' {
			s.marks++
			rest, err = s.quotedCell(rest[1:])
		} else {
			rest, err = s.bareCell(rest)
		}
		if err != nil {
			return err
		}
		s.ends = append(s.ends, len(s.text))
		rest, more = s.skipSeparator(rest)
	}
	begin := 0
	for _, end := range s.ends {
		s.cells = append(s.cells, s.text[begin:end])
		begin = end
	}
	return nil
}

// quotedCell appends to s.text the cell whose opening quote precedes rest. It returns
// the text after the closing quote, which is empty or begins with a separator.
func (s *scanner) quotedCell(rest []byte) ([]byte, error) {
	opened, begin := s.line, len(s.text)
	for {
		i := bytes.IndexByte(rest, '"')
		if i < 0 {
			if s.text = append(append(s.text, rest...), s.lineEnd()...); len(s.text) > maxRecord {
				return nil, s.tooLong(opened)
			}
			var err error
			if rest, err = s.readLine(); err == io.EOF {
				return nil, s.cellError(opened, "a quote opens here that is never closed")
			} else if err != nil {
				return nil, err
			}
			continue
		}
		s.text = append(s.text, rest[:i]...)
		rest = rest[i+1:]
		if len(rest) == 0 || rest[0] != '"' {
			break
		}
		s.text = append(s.text, '"')
		rest = rest[1:]
	}
	after := s.skipBlanks(rest)
	if len(after) == 0 || after[0] == s.sep || s.sep == 0 && len(after) < len(rest) {
		return rest, nil
	}
	return nil, s.cellError(s.line, "text after the closing quote of "+quote(string(s.text[begin:])))
}

// lineEnd returns how the line read last ended in the file.
func (s *scanner) lineEnd() string {
	switch {
	case s.returns:
		return "\r"
	case s.cr:
		return "\r\n"
	}
	return "\n"
}

// bareCell appends to s.text the unquoted cell at the beginning of rest and returns
// the text after it.
func (s *scanner) bareCell(rest []byte) ([]byte, error) {
	var end int
	if s.sep == 0 {
		end = bytes.IndexAny(rest, " \t")
	} else {
		end = bytes.IndexByte(rest, s.sep)
	}
	if end < 0 {
		end = len(rest)
	}
	cell := rest[:end]
	if bytes.IndexByte(trim(cell), '\r') >= 0 {
		return nil, s.cellError(s.line, strayReturn)
	}
	if bytes.IndexByte(cell, '"') >= 0 {
		return nil, s.cellError(s.line, "a quote inside a cell that does not begin with one: "+quote(string(trim(cell))))
	}
	s.text = append(s.text, trim(cell)...)
	return rest[end:], nil
}

// skipSeparator skips the separator before the next cell and reports whether there is a next cell.
func (s *scanner) skipSeparator(rest []byte) ([]byte, bool) {
	rest = s.skipBlanks(rest)
	if s.sep == 0 {
		return rest, len(rest) > 0
	}
	if len(rest) == 0 {
		return nil, false
	}
	return s.skipBlanks(rest[1:]), true
}

// skipBlanks drops leading blanks and tabs that are not separators.
func (s *scanner) skipBlanks(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) && b[0] != s.sep {
		b = b[1:]
	}
	return b
}

// cellError returns an error in the cell that is being split.
func (s *scanner) cellError(line int, msg string) error {
	return &Error{Source: s.source, Line: line, Column: len(s.lines), Msg: msg + s.hashHint()}
}

// hashHint returns what to add to an error in a record that begins with #.
func (s *scanner) hashHint() string {
	if !s.hash {
		return ""
	}
	return "; a line that begins with # is a comment only before the first row: remove it if it is one"
}

// tooLong returns the error for a record longer than maxRecord.
func (s *scanner) tooLong(line int) error {
	return &Error{Source: s.source, Line: line, Msg: "the record that begins here is longer than 64 MiB: a quote is not closed, or the file is not a table"}
}

// isComment reports whether a line is a comment: its first character after blanks is
// #, and it does not begin with an error value of a spreadsheet.
func isComment(line []byte) bool {
	line = trim(line)
	return len(line) > 0 && line[0] == '#' && !isSpreadsheetError(line)
}

// isSpreadsheetError reports whether b begins with a spreadsheet's mark for a failed formula.
func isSpreadsheetError(b []byte) bool {
	return slices.ContainsFunc(spreadsheetErrors, func(cell string) bool { return bytes.HasPrefix(b, []byte(cell)) })
}

// spreadsheetErrors are cells that begin with # but are not comments. A row that
// begins with one must not get lost.
var spreadsheetErrors = []string{"#N/A", "#NUM!", "#VALUE!", "#REF!", "#DIV/0!", "#NAME?", "#NULL!"}

// isSpace reports whether c is a blank or a tab.
func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// trim drops blanks, tabs and line ends on both sides.
func trim(b []byte) []byte {
	for len(b) > 0 && isMargin(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isMargin(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// isMargin reports whether c is a blank, a tab or part of a line end.
func isMargin(c byte) bool { return isSpace(c) || c == '\n' || c == '\r' }

// readError adds a place to an error of the reader.
func (s *scanner) readError(err error) error {
	e := &Error{Source: s.source, Line: s.line + 1, Msg: "cannot be read: " + err.Error(), Err: err}
	switch {
	case s.packed == "":
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Msg = "the " + s.packed + " data is cut short"
	default:
		e.Msg = "the " + s.packed + " data is damaged: " + err.Error()
	}
	return e
}

// sticky is a reader whose first error stays: after its end, it never reads again.
type sticky struct {
	r   io.Reader
	err error
}

func (s *sticky) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.err = err
	return n, err
}

// counter counts the bytes that it reads.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// progress returns the share of the file that has been read, 0 if its size is unknown.
func (s *scanner) progress() float64 {
	if s.file == nil {
		return 0
	}
	info, err := s.file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return 0
	}
	read := s.raw.n
	if s.packed == "" && s.decoded == "" {
		read -= int64(s.in.Buffered())
	}
	return float64(read) / float64(info.Size())
}

// close closes the file, if the scanner has one.
func (s *scanner) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
