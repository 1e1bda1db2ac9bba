// Package textform scans and prints the text forms of kernels, mean functions and
// priors: it has a scanner, errors with a mark below the fault, and lists.
package textform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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
		err = s.Fail(start, "expected a %s: one of %s", kind, strings.Join(known, ", "))
	case !slices.Contains(known, name):
		err = s.Fail(start, "unknown %s %s%s: the known ones are %s", kind, Quote(name), suggest.DidYouMean(name, known), strings.Join(known, ", "))
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
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return words
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

// Columns are the names of a table's columns, as text forms and names of parameters
// refer to them: by name or by index. A name stands as it is, or in double quotes with
// the escapes of JSON. Digits without quotes are an index.
type Columns []string

const blanks = " \t\n\r"

// inQuotes are the characters that a name without quotes cannot have.
const inQuotes = blanks + `()[],="'\`

// QuoteName returns a name as text forms read it: as it is, or in double quotes if it
// has other characters than a name without quotes can have.
func QuoteName(name string) string {
	odd := func(c rune) bool { return strings.ContainsRune(inQuotes, c) || notPrinted(c) || unicode.IsSpace(c) }
	if name != "" && !strings.ContainsFunc(name, odd) {
		return name
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(name); err != nil {
		return strconv.Quote(name) // no string has such an error
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Label returns how results call a column: by its name, in quotes if it is odd or looks
// like a number. Results use the index of a column whose name is empty, not UTF-8 or not
// unique, and of all columns if they have the names of a table without names, x0, x1, ….
func (c Columns) Label(index int) string {
	if index < 0 || index >= len(c) || c.unnamed() || c.count(c[index]) > 1 {
		return strconv.Itoa(index)
	}
	return labelled(c[index], index)
}

// Labels returns the labels of all columns. It takes a time that is linear in their number.
func (c Columns) Labels() []string {
	labels, counts, unnamed := make([]string, len(c)), map[string]int{}, c.unnamed()
	for _, name := range c {
		counts[name]++
	}
	for i, name := range c {
		if unnamed || counts[name] > 1 {
			name = ""
		}
		labels[i] = labelled(name, i)
	}
	return labels
}

// labelled returns the label of a column with a name of its own.
func labelled(name string, index int) string {
	if name == "" || !utf8.ValidString(name) {
		return strconv.Itoa(index)
	}
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return `"` + name + `"`
	}
	return QuoteName(name)
}

func (c Columns) unnamed() bool {
	for i, name := range c {
		if name != "x"+strconv.Itoa(i) {
			return false
		}
	}
	return true
}

func (c Columns) count(name string) int {
	n := 0
	for _, other := range c {
		if other == name {
			n++
		}
	}
	return n
}

// Index returns the index of the column called name. The error says what is wrong with the name.
func (c Columns) Index(name string) (int, error) {
	i := slices.Index(c, name)
	switch {
	case c == nil:
		return 0, fmt.Errorf("%s names a column, but the columns have no names here: use an index from 0", Quote(name))
	case i < 0:
		return 0, fmt.Errorf("no column is called %s%s", Quote(name), c.hint(name))
	case c.count(name) > 1:
		return 0, fmt.Errorf("several columns are called %s: use the index of one of them", Quote(name))
	}
	return i, nil
}

// hint returns the column that a name probably means, or the first columns.
func (c Columns) hint(name string) string {
	const most = 20
	if close := suggest.DidYouMean(name, c); close != "" {
		return close
	}
	labels := make([]string, min(most, len(c)))
	for i := range labels {
		labels[i] = c.Label(i)
	}
	list := strings.Join(labels, ", ")
	if more := len(c) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "; the columns are " + list
}

// Display returns the name of a parameter with the labels of columns in place of indices:
// lengthscale[3] becomes lengthscale[temp], and mean_power[3,2] mean_power[temp,2].
func (c Columns) Display(indexed string) string { return display(indexed, c.Label) }

// Display returns the name of a parameter with labels of columns (see [Columns.Labels]) in place of
// indices.
func Display(indexed string, labels []string) string {
	return display(indexed, func(i int) string {
		if i >= len(labels) {
			return strconv.Itoa(i)
		}
		return labels[i]
	})
}

func display(indexed string, label func(index int) string) string {
	base, rest, ok := strings.Cut(indexed, "[")
	end := strings.IndexAny(rest, ",]")
	if !ok || end < 0 {
		return indexed
	}
	i, err := strconv.Atoi(rest[:end])
	if err != nil || i < 0 {
		return indexed
	}
	return base + "[" + label(i) + rest[end:]
}

// ColumnList formats columns as [Scanner.Dims] reads them.
func (c Columns) ColumnList(indices []int) string {
	words := make([]string, len(indices))
	for k, i := range indices {
		words[k] = c.Label(i)
	}
	if len(words) == 1 {
		return words[0]
	}
	return "[" + strings.Join(words, ", ") + "]"
}

const (
	// mostQuoted is the number of bytes of a word that are quoted.
	mostQuoted = 60
	// mostListed exceeds the length of any list of known words.
	mostListed = 500
	// around is the number of bytes of a text shown on each side of a fault.
	around = 60
)

// Quote returns text from outside for messages: in double quotes, escaped, and
// truncated if it is long.
func Quote(s string) string {
	if len(s) > mostQuoted {
		return strconv.Quote(cut(s)) + "…"
	}
	return strconv.Quote(s)
}

// Short returns text from outside for messages without quotes, truncated if it is long.
func Short(s string) string {
	if len(s) > mostQuoted {
		return cut(s) + "…"
	}
	return s
}

// cut returns the beginning of a long text.
func cut(s string) string {
	end := mostQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Printable returns text for a terminal. It escapes unprintable characters except
// line ends, and omits the middle of lines longer than most characters.
func Printable(text string, most int) string {
	var out strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		if utf8.RuneCountInString(line) > most {
			r := []rune(line)
			line = string(r[:most*3/4]) + " … " + string(r[len(r)-most/4:])
		}
		out.WriteString(escape(line))
	}
	return out.String()
}

// escape escapes unprintable characters as in Go's quoted strings.
func escape(line string) string {
	if !strings.ContainsFunc(line, notPrinted) {
		return line
	}
	var out strings.Builder
	for i, c := range line {
		if !notPrinted(c) {
			out.WriteRune(c)
			continue
		}
		_, n := utf8.DecodeRuneInString(line[i:])
		quoted := strconv.Quote(line[i : i+n])
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// notPrinted reports whether a character is unprintable; invalid UTF-8 decodes to one.
func notPrinted(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }

// excerpt returns the text around a position on one line, and the number of its
// characters before that position.
func excerpt(text string, pos int) (line string, before int) {
	from, to, left, right := 0, len(text), "", ""
	if pos > around {
		from, left = pos-around, "… "
	}
	if len(text)-pos > around {
		to, right = pos+around, " …"
	}
	head := left + oneLine(text[from:pos])
	return head + oneLine(text[pos:to]) + right, utf8.RuneCountInString(head)
}

// oneLine returns a part of a text on one line, without a character that the cut has split.
func oneLine(part string) string {
	part = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == '\t' {
			return ' '
		}
		return c
	}, part)
	return escape(strings.ToValidUTF8(part, ""))
}
