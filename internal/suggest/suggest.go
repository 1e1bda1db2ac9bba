// Package suggest finds the known word that was probably meant.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// longest is the length of a word, in bytes, for which another is looked for.
const longest = 200

// Closest returns the known word that differs least from the one asked for, if
// it differs in no more than two of its characters or a third of them, case
// apart.
func Closest(asked string, known []string) (string, bool) {
	limit := max(2, len([]rune(asked))/3)
	if len(asked) < 3 {
		limit = len(asked) - 1
	}
	best, bestDistance := "", limit+1
	for _, word := range known {
		if len(asked) > longest || len(word) > len(asked)+4*limit || len(asked) > len(word)+4*limit {
			continue // nobody meant this, and comparing takes the product of the lengths
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(asked), strings.ToLower(word)); d < bestDistance {
			best, bestDistance = word, d
		}
	}
	return best, best != ""
}

// DidYouMean returns ` (did you mean "word"?)`, or nothing if no known word is
// near.
func DidYouMean(asked string, known []string) string {
	if word, ok := Closest(asked, known); ok {
		return ` (did you mean "` + word + `"?)`
	}
	return ""
}
