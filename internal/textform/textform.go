// Package textform scans and prints text forms of kernels, means and priors: it has a scanner,
// errors with a mark below the fault, and lists.
package textform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gpfit/internal/each"
	"gpfit/internal/suggest"
)

// Error reports a text that cannot be read.
type Error struct {
	// What names the form: "kernel", "mean" or "prior".
	What string
	// Text is the whole text, and Pos the byte offset of the fault in it.
	Text string
	Pos  int
	// Msg describes the fault and what was expected.
	Msg string
}

// Error returns the message, the text around the faulty character and a mark below it.
func (e *Error) Error() string {
	line, before := excerpt(e.Text, e.Pos)
	return fmt.Sprintf("%s: %s\n  %s\n  %s^", e.What, e.Msg, line, strings.Repeat(" ", before))
}

// Scanner reads Text from Pos on and skips blanks before each item. Its errors are [*Error].
type Scanner struct {
	What, Text string
	Pos        int
	// Columns are the columns that the text may name, nil if their names are not
	// known. AnyColumn accepts any name, to check a text before its table is read.
	Columns   Columns
	AnyColumn bool
	// Others are names of other programs, and signs and digits in place of a name.
	Others suggest.Others
}

// Fail returns an error at pos. It truncates long words among args.
func (s *Scanner) Fail(pos int, format string, args ...any) error {
	for i, arg := range args {
		if word, ok := arg.(string); ok && len(word) > mostListed {
			args[i] = Short(word)
		}
	}
	return &Error{What: s.What, Text: s.Text, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// run reads the longest run of characters in a class and returns its start.
func (s *Scanner) run(class func(rune) bool) (text string, start int) {
	start = len(s.Text) - len(strings.TrimLeft(s.Text[s.Pos:], blanks))
	s.Pos = len(s.Text) - len(strings.TrimLeftFunc(s.Text[start:], class))
	return s.Text[start:s.Pos], start
}

// Word reads letters, digits and _.
func (s *Scanner) Word() (word string, start int) { return s.run(inWord) }

// Value reads text that may be meant as a number, up to a blank, bracket, comma or equals sign.
func (s *Scanner) Value() (text string, start int) {
	return s.run(func(c rune) bool { return !strings.ContainsRune(blanks+"()[],=", c) })
}

func inWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// IsName reports whether s is a word that does not begin with a digit.
func IsName(s string) bool {
	return s != "" && !unicode.IsDigit([]rune(s)[0]) && strings.TrimLeftFunc(s, inWord) == ""
}

// OneOf reads one of the known names of a kind, such as "kernel".
func (s *Scanner) OneOf(kind string, known []string) (name string, start int, err error) {
	name, start = s.Word()
	switch {
	case !IsName(name):
		hint := s.Others.Hint(s.Text[start:min(start+1, len(s.Text))], nil)
		err = s.Fail(start, "expected a %s%s: one of %s", kind, hint, strings.Join(known, ", "))
	case !slices.Contains(known, name):
		err = s.Fail(start, "unknown %s %s%s: the known ones are %s", kind, Quote(name), s.Others.Hint(name, known), strings.Join(known, ", "))
	}
	return name, start, err
}

// Accept reads c if it is next.
func (s *Scanner) Accept(c byte) bool {
	if s.AtEnd() || s.Text[s.Pos] != c {
		return false
	}
	s.Pos++
	return true
}

// Expect reads c, which must be next.
func (s *Scanner) Expect(c byte) error {
	if s.Accept(c) {
		return nil
	}
	return s.Expected(strconv.QuoteRune(rune(c)))
}

// AtEnd reports whether only blanks are left.
func (s *Scanner) AtEnd() bool {
	_, s.Pos = s.run(func(rune) bool { return false })
	return s.Pos == len(s.Text)
}

// Expected returns an error about the next text, which should be what.
func (s *Scanner) Expected(what string) error {
	if s.AtEnd() {
		return s.Fail(s.Pos, "expected %s, found the end", what)
	}
	found, start := s.Word()
	if found == "" {
		_, n := utf8.DecodeRuneInString(s.Text[start:])
		found = s.Text[start : start+n]
	}
	return s.Fail(start, "expected %s, found %s", what, Quote(found))
}

// Each calls item to read each of one or more parts separated by sep.
func (s *Scanner) Each(sep byte, item func() error) error {
	for {
		if err := item(); err != nil || !s.Accept(sep) {
			return err
		}
	}
}

// List calls item to read each part of a comma-separated list and reads the closing bracket.
func (s *Scanner) List(closing byte, item func() error) error {
	if err := s.Each(',', item); err != nil || s.Accept(closing) {
		return err
	}
	return s.Expected(fmt.Sprintf("',' or %q", closing))
}

// Numbers reads one number or a list [n, n, …] and passes each to item.
func (s *Scanner) Numbers(item func(text string, start int) error) error {
	number := func() error {
		text, start := s.Value()
		if text == "" {
			return s.Fail(start, "expected a number")
		}
		return item(text, start)
	}
	if s.Accept('[') {
		return s.List(']', number)
	}
	return number()
}

// Dims reads the columns after `dims`, =COLUMN or =[COLUMN, COLUMN, …], each given by
// its name or its index, and returns their indices.
func (s *Scanner) Dims() ([]int, error) {
	if err := s.Expect('='); err != nil {
		return nil, err
	}
	var dims []int
	column := func() error {
		_, start := s.run(func(rune) bool { return false })
		c, err := s.column()
		if err == nil && slices.Contains(dims, c) {
			err = s.Fail(start, "column %s is given twice", strings.TrimSpace(s.Text[start:s.Pos]))
		}
		dims = append(dims, c)
		return err
	}
	if !s.Accept('[') {
		err := column()
		return dims, err
	}
	err := s.List(']', column)
	return dims, err
}

// column reads the index or the name of a column.
func (s *Scanner) column() (int, error) {
	if !s.AtEnd() && s.Text[s.Pos] == '"' {
		start := s.Pos
		name, err := s.quoted()
		if err != nil {
			return 0, err
		}
		return s.named(name, start)
	}
	text, start := s.Value()
	c, err := strconv.Atoi(text)
	_, notNumber := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return 0, s.Fail(start, "expected the name or the index of a column")
	case err == nil && c >= 0:
		return c, nil
	case notNumber == nil:
		return 0, s.Fail(start, "%s is neither an index from 0 nor a name; a name that looks like a number needs double quotes", Quote(text))
	}
	return s.named(text, start)
}

// named returns the index of a column. If any name will do, names that are not known
// get different indices.
func (s *Scanner) named(name string, start int) (int, error) {
	if s.AnyColumn {
		if !slices.Contains(s.Columns, name) {
			s.Columns = append(s.Columns, name)
		}
		return manyColumns + slices.Index(s.Columns, name), nil
	}
	i, err := s.Columns.Index(name)
	if err != nil {
		return 0, s.Fail(start, "%v", err)
	}
	return i, nil
}

// manyColumns exceeds the number of columns of any table.
const manyColumns = 1 << 30

// quoted reads a name in double quotes.
func (s *Scanner) quoted() (string, error) {
	start := s.Pos
	end := start + 1
	for end < len(s.Text) && s.Text[end] != '"' {
		if s.Text[end] == '\\' {
			end++
		}
		end++
	}
	var name string
	if end >= len(s.Text) {
		return "", s.Fail(start, "the quotes of this name do not end")
	}
	if err := json.Unmarshal([]byte(s.Text[start:end+1]), &name); err != nil {
		return "", s.Fail(start, "a name in quotes has the escapes of JSON, such as \\\" for a quote")
	}
	s.Pos = end + 1
	return name, nil
}

// Call returns name(arg, arg, …), or name alone without arguments.
func Call(name string, args []string) string {
	if len(args) == 0 {
		return name
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// Words formats numbers with the fewest digits that identify them.
func Words[T int | float64](values []T) []string {
	return each.Of(values, func(v T) string { return fmt.Sprint(v) })
}

// List formats numbers as [Scanner.Numbers] reads them.
func List[T int | float64](values []T) string {
	if len(values) == 1 {
		return fmt.Sprint(values[0])
	}
	return "[" + strings.Join(Words(values), ", ") + "]"
}

// And joins names: "a, b and c".
func And(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
