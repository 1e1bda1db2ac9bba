package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gpfit/table/feature"
)

// jsonRows is the source for JSON lines: an object on each line, with a key for each
// column. The columns are the keys of the first lines, in the order in which they appear;
// a line that lacks one has a missing value there.
type jsonRows struct {
	head
	scan    *scanner
	strict  bool // an unknown key is an error
	columns map[string]int
	used    []bool
	values  []json.RawMessage // of the current row; nil if the key is missing
	pending bool              // the current row has not been returned
}

// startsWith reports whether the first characters of a text, without blanks, are first
// and one of second.
func startsWith(text []byte, first byte, second string) bool {
	const blanks = " \t\r\n"
	text = bytes.TrimLeft(text, blanks)
	if len(text) == 0 || text[0] != first {
		return false
	}
	text = bytes.TrimLeft(text[1:], blanks)
	return len(text) > 0 && strings.IndexByte(second, text[0]) >= 0
}

// openJSONLines reads the first row and finds the columns.
func openJSONLines(s *scanner, opts Options) (source, error) {
	in := &jsonRows{head: head{source: s.source, named: true, empty: "no rows"}, scan: s, columns: map[string]int{}}
	err := in.read(true)
	if err != nil {
		return nil, err
	}
	in.first, in.pending = in.at, true
	begin, _ := s.in.Peek(bufferSize) // its error returns with the line that it concerns
	for {
		line, rest, complete := bytes.Cut(begin, []byte{'\n'})
		if !complete {
			break
		}
		_ = in.object(line, func(key string, _ json.RawMessage) error { return in.add(key) })
		begin = rest
	}
	if len(in.names) == 0 {
		return nil, &Error{Source: s.source, Line: in.at, Msg: "the objects have no keys"}
	}
	in.values = append(in.values, make([]json.RawMessage, len(in.names)-len(in.values))...)
	in.strict = len(opts.Features) == 0
	return in, nil
}

// add adds a column unless it is there.
func (in *jsonRows) add(key string) error {
	if _, known := in.columns[key]; known {
		return nil
	}
	if len(in.names) == maxColumns {
		return fmt.Errorf("the objects have more than %d keys", maxColumns)
	}
	in.columns[key] = len(in.names)
	in.names = append(in.names, key)
	return nil
}

// object calls visit for each key and value of the object in a line.
func (in *jsonRows) object(line []byte, visit func(key string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.New("the line is not a JSON object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return notJSON(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return notJSON(err)
		}
		if err := visit(key.(string), value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return notJSON(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON object on the line")
	}
	return nil
}

func notJSON(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the JSON object does not end on its line")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// read reads the next line that is not blank. first adds its keys to the columns.
func (in *jsonRows) read(first bool) error {
	var line []byte
	for len(line) == 0 {
		in.scan.bad = 0
		var err error
		if line, err = in.scan.readLine(); err != nil {
			return err
		}
		if line = trim(line); len(line) == 0 {
			in.scan.blanks++
			in.scan.skipLineEnds()
		}
	}
	in.at = in.scan.line
	clear(in.values)
	if in.scan.bad > 0 {
		return in.badText(line)
	}
	err := in.object(line, func(key string, value json.RawMessage) error {
		c, known := in.columns[key]
		switch {
		case !known && first:
			if err := in.add(key); err != nil {
				return err
			}
			in.values = append(in.values, value)
			return nil
		case !known && in.strict:
			return fmt.Errorf("the key %s is not in the first lines, which decide the columns: give it there as null, or select columns", quote(key))
		case !known:
			return nil
		case in.values[c] != nil:
			return fmt.Errorf("the key %s comes twice", quote(key))
		}
		in.values[c] = value
		return nil
	})
	if err != nil {
		return &Error{Source: in.source, Line: in.scan.line, Msg: err.Error(), Err: err}
	}
	return nil
}

// badText returns the error for a line that has bytes that are no text.
func (in *jsonRows) badText(line []byte) error {
	e := &Error{Source: in.source, Line: in.scan.line, Msg: notText(nil, in.scan.decoded)}
	_ = in.object(line, func(key string, value json.RawMessage) error { // the line has another error already
		if c, known := in.columns[key]; known && e.Column == 0 && !isText(value, in.scan.decoded) {
			e = in.errorAt(c, notText(bytes.Trim(value, `"`), in.scan.decoded))
		}
		return nil
	})
	return e
}

// halfCharacter reports whether a value of JSON has half of a character, a surrogate of UTF-16 alone,
// which no text has.
func halfCharacter(value json.RawMessage) bool {
	if !bytes.Contains(value, []byte(`\u`)) {
		return false
	}
	var text string
	_ = json.Unmarshal(value, &text) // object has checked it
	given := bytes.Count(value, []byte(replacement)) + bytes.Count(bytes.ToLower(value), []byte(`\ufffd`))
	return strings.Count(text, replacement) > given
}

func (in *jsonRows) use(numbers, labels []int) error {
	in.used = make([]bool, len(in.names))
	for _, c := range slices.Concat(numbers, labels) {
		in.used[c] = true
	}
	return nil
}

func (in *jsonRows) next() error {
	if in.pending {
		in.pending = false
	} else if err := in.read(false); err != nil {
		return err
	}
	for c, value := range in.values {
		if in.used[c] && len(value) > 0 && (value[0] == '{' || value[0] == '[') {
			return in.errorAt(c, "holds a list or an object, not a value: write an object for each row on a line of its own")
		}
		if in.used[c] && halfCharacter(value) {
			return in.errorAt(c, "has half of a character: a surrogate without its pair")
		}
	}
	return nil
}

func (in *jsonRows) kind(c int) feature.ColumnKind {
	switch value := in.values[c]; {
	case len(value) == 0:
	case value[0] == '"':
		return feature.Category
	case value[0] == 't', value[0] == 'f':
		return feature.Boolean
	}
	return feature.Number
}

func (in *jsonRows) number(c int) (float64, bool) {
	switch in.kind(c) {
	case feature.Category:
		return 0, false
	case feature.Boolean:
		if in.values[c][0] == 't' {
			return 1, true
		}
		return 0, true
	}
	return parseNumber(in.values[c])
}

func (in *jsonRows) label(c int) string {
	switch value := in.values[c]; {
	case in.missing(c):
		return ""
	case in.kind(c) == feature.Category:
		var text string
		_ = json.Unmarshal(value, &text) // object has checked it
		return text
	default:
		return string(value)
	}
}

func (in *jsonRows) text(c int) string { return in.label(c) }

func (in *jsonRows) missing(c int) bool {
	return in.values[c] == nil || in.values[c][0] == 'n'
}

func (in *jsonRows) badCell(c int) *Error {
	switch {
	case in.values[c] == nil:
		return in.errorAt(c, "the key is missing")
	case in.missing(c):
		return in.errorAt(c, "missing value: null")
	}
	return in.errorAt(c, whyNotNumber([]byte(in.label(c))))
}

func (in *jsonRows) progress() float64 { return in.scan.progress() }

func (in *jsonRows) skipped() (comments, blanks int) { return 0, in.scan.blanks }

func (in *jsonRows) close() error { return in.scan.close() }
