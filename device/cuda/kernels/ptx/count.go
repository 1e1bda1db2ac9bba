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

// often says in the text how many times what follows runs, if it is a loop over
// columns.
const often = "// times %d"

func (w *writer) times(n int) { fmt.Fprintf(&w.body, often+"\n", n) }

// CountFloat64 counts the arithmetic on float64 in a text, divisions and roots as the
// 12 that they come to. Of loops only those over columns count as often as they run.
func CountFloat64(text []byte) int {
	count, times := 0, 1
	for line := range bytes.Lines(text) {
		_, _ = fmt.Sscanf(string(line), often, &times) // others leave it
		switch {
		case slow.Match(line):
			count += 12 * times
		case quick.Match(line):
			count += times
		}
	}
	return count
}
