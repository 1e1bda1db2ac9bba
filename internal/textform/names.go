package textform

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Indexed is the reverse of [Columns.Display]: it returns the name of a parameter with
// the index of a column in place of its name. It returns the text itself if that is not
// the name of a parameter of a column.
func (c Columns) Indexed(name string) string {
	base, rest, ok := strings.Cut(name, "[")
	if !ok {
		return name
	}
	s := Scanner{Text: rest, Columns: c}
	i, err := s.column()
	tail := strings.TrimSpace(s.Text[s.Pos:])
	if err != nil || !strings.HasPrefix(tail, "]") && !strings.HasPrefix(tail, ",") {
		return name
	}
	return strings.TrimSpace(base) + "[" + strconv.Itoa(i) + strings.ReplaceAll(tail, " ", "")
}

// Unquoted returns the text between the brackets of a parameter's name, such as the
// label of noise_variance["a b"], without quotes.
func Unquoted(name string) (base, label string, ok bool) {
	base, rest, ok := strings.Cut(name, "[")
	label, closed := strings.CutSuffix(strings.TrimSpace(rest), "]")
	if !ok || !closed {
		return "", "", false
	}
	if strings.HasPrefix(label, `"`) {
		if err := json.Unmarshal([]byte(label), &label); err != nil {
			return "", "", false
		}
	}
	return strings.TrimSpace(base), label, true
}

// CutName splits NAME=VALUE at its first equals sign outside of brackets, which may hold
// a name with an equals sign.
func CutName(text string) (name, value string, found bool) {
	from := 0
	before, _, _ := strings.Cut(text, "=")
	if open := strings.IndexByte(before, '['); open >= 0 {
		s := Scanner{Text: text, Pos: open + 1}
		if s.AtEnd() || text[s.Pos] != '"' {
			from = open + 1 + max(0, strings.IndexByte(text[open+1:], ']'))
		} else if _, err := s.quoted(); err == nil {
			from = s.Pos
		}
	}
	name, value, found = strings.Cut(text[from:], "=")
	return text[:from] + name, value, found
}

// FirstLine returns the first line of a text.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Optional returns a number in a format, "-" without one.
func Optional[T any](v *T, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}
