package textform

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

const (
	// mostQuoted is the number of bytes of a word that are quoted.
	mostQuoted = 60
	// mostListed exceeds the length of any list of known words.
	mostListed = 500
	// around is the number of bytes of a text shown on each side of a fault.
	around = 60
)

// ShellQuote returns a text as one word of a shell.
func ShellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

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
