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
	if index < 0 || index >= len(c) || c[index] == "" || !utf8.ValidString(c[index]) || c.unnamed() || c.count(c[index]) > 1 {
		return strconv.Itoa(index)
	}
	name := c[index]
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

// Index returns the index of the column called name. The error says what is wrong with
// the name.
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

// Display returns the name of a parameter with the labels of columns in place of
// indices: lengthscale[3] becomes lengthscale[temp], and mean_power[3,2]
// mean_power[temp,2].
func (c Columns) Display(indexed string) string {
	base, rest, ok := strings.Cut(indexed, "[")
	end := strings.IndexAny(rest, ",]")
	if !ok || end < 0 {
		return indexed
	}
	i, err := strconv.Atoi(rest[:end])
	if err != nil {
		return indexed
	}
	return base + "[" + c.Label(i) + rest[end:]
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
		return strconv.Quote(strings.ToValidUTF8(s[:mostQuoted], "")) + "…"
	}
	return strconv.Quote(s)
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

// notPrinted reports whether a character is unprintable; invalid UTF-8 decodes to
// one.
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

// oneLine returns a part of a text on one line, without a character that the cut
// has split.
func oneLine(part string) string {
	part = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == '\t' {
			return ' '
		}
		return c
	}, part)
	return escape(strings.ToValidUTF8(part, ""))
}
