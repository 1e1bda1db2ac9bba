package ptx

import (
	"bytes"
	"fmt"
	"regexp"
)

var (
	slow  = regexp.MustCompile(`^\t(@\S+ )?(div|rcp|sqrt)\.rn\.f64`)
	quick = regexp.MustCompile(`^\t(@\S+ )?(add|sub|mul|fma|neg|abs|min|max|setp|selp|cvt)\S*\.f64`)
)

// often is a comment in the text: the number of times that the following code runs, if
// it is a loop over columns.
const often = "// times %d"

func (w *writer) times(n int) { fmt.Fprintf(&w.body, often+"\n", n) }

// CountFloat64 counts the float64 arithmetic in a text. A division or a root counts as
// 12 operations. Only loops over columns count as often as they run.
func CountFloat64(text []byte) int {
	count, times := 0, 1
	for line := range bytes.Lines(text) {
		_, _ = fmt.Sscanf(string(line), often, &times) // other lines leave times as it is
		switch {
		case slow.Match(line):
			count += 12 * times
		case quick.Match(line):
			count += times
		}
	}
	return count
}
