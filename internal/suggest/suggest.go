// Package suggest finds the known word that a user probably meant.
package suggest

import "strings"

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
