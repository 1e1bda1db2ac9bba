// Package suggest finds the known word that a user probably meant.
package suggest

import (
	"slices"
	"strings"
)

// longest is the length in bytes up to which a word gets a suggestion.
const longest = 200

// Closest returns the known word closest to asked, if they differ in at most two
// characters or a third of them, ignoring case.
func Closest(asked string, known []string) (string, bool) {
	limit := max(2, len([]rune(asked))/3)
	if len(asked) < 3 {
		limit = len(asked) - 1
	}
	best, bestDistance := "", limit+1
	for _, word := range known {
		if len(asked) > longest || len(word) > len(asked)+4*limit || len(asked) > len(word)+4*limit {
			continue // implausible, and a comparison costs the product of the lengths
		}
		if d := distance([]rune(strings.ToLower(asked)), []rune(strings.ToLower(word))); d < bestDistance {
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

// distance is the distance of Levenshtein: the number of characters to insert, delete or replace.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range a {
		before := row[0]
		row[0] = i + 1
		for j, d := range b {
			replace := before
			if c != d {
				replace++
			}
			before = row[j+1]
			row[j+1] = min(replace, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
