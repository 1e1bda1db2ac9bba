package textform

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// mostQuoted is how many bytes of a word are quoted.
	mostQuoted = 60
	// mostListed is more than any list of known words has.
	mostListed = 500
	// around is how much of a text is shown on each side of a fault.
	around = 60
)

// Quote is text from outside as messages show it: in double quotes, escaped, and
// cut where it is long.
func Quote(s string) string {
	if len(s) > mostQuoted {
		return strconv.Quote(strings.ToValidUTF8(s[:mostQuoted], "")) + "…"
	}
	return strconv.Quote(s)
}

// Printable is text for a terminal: characters that are not printed are escaped,
// but for line ends, and of a line longer than most characters the middle is left
// out.
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

// escape writes characters that are not printed as Go's quotes do.
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

// notPrinted tells characters that are not printed; what is no UTF-8 decodes to
// one.
func notPrinted(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }

// excerpt is the text around a place on one line, and how many characters of it
// come before that place.
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

// oneLine is a part of a text on one line. A character that the cut has halved is
// left out.
func oneLine(part string) string {
	part = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == '\t' {
			return ' '
		}
		return c
	}, part)
	return escape(strings.ToValidUTF8(part, ""))
}
