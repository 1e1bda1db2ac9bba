// Package suggest finds the known word that a user probably meant.
package suggest

import (
	"slices"
	"strings"
)

// longest is the length in bytes up to which a word gets a suggestion.
const longest = 200

// Closest returns the known word closest to asked, if they differ in at most two characters
// or a third of them, ignoring case. Short words differ in half of them at most, and two of three characters not in the first.
func Closest(asked string, known []string) (string, bool) {
	n, lower := len([]rune(asked)), strings.ToLower(asked)
	limit := max(min(2, n/2), n/3)
	best, bestDistance := "", limit+1
	for _, word := range known {
		if len(asked) > longest || len(word) > len(asked)+4*limit || len(asked) > len(word)+4*limit ||
			n == 3 && len(word) == 3 && !strings.HasPrefix(strings.ToLower(word), lower[:1]) {
			continue // implausible, and a comparison costs the product of the lengths
		}
		if d := distance([]rune(lower), []rune(strings.ToLower(word))); d < bestDistance {
			best, bestDistance = word, d
		}
	}
	return best, best != ""
}

// DidYouMean returns ` (did you mean "word"?)`, or "" if no known word is close.
func DidYouMean(asked string, known []string) string {
	if word, ok := Closest(asked, known); ok {
		return ` (did you mean "` + word + `"?)`
	}
	return ""
}

// Others are names that other programs have, by what they are here: names between blanks, in the form of plain. What begins
// with a hyphen is a sentence.
type Others map[string]string

// plain returns a name without capitals, signs between words, and the word kernel at its end.
func plain(name string) string {
	return strings.TrimSuffix(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name)), "kernel")
}

// Hint returns ` (did you mean "word"?)` or a sentence in parentheses, or "" if no known word is close.
func (o Others) Hint(asked string, known []string) string {
	for meant, names := range o {
		if name := plain(asked); name == "" || !slices.Contains(strings.Fields(names), name) {
			continue
		}
		if sentence, ok := strings.CutPrefix(meant, "-"); ok {
			return " (" + sentence + ")"
		}
		return ` (did you mean "` + meant + `"?)`
	}
	return DidYouMean(asked, known)
}

// distance is the number of characters to insert, delete, replace or swap with the next.
func distance(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1])
			if a[i-1] != b[j-1] {
				d[i][j] = min(d[i-1][j], d[i][j-1], d[i-1][j-1]) + 1
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
