// Package suggest finds the known word that was probably meant.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Closest returns the known word that differs least from the one asked for, if
// it differs in no more than a third of its characters, case apart.
func Closest(asked string, known []string) (string, bool) {
	best, bestDistance := "", 1+max(1, len([]rune(asked))/3)
	for _, word := range known {
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
