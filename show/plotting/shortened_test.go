package plotting

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestShortened compares with the longest beginning that fits, one by one, and shortens a text of a million characters, which
// one by one takes an hour.
func TestShortened(t *testing.T) {
	style := textStyle(textSize)
	for _, line := range []string{"a", "WWWW", "a name of some length", "ÄÖÜß…", "iiiiiiiiiiiiiiiiiiii", strings.Repeat("y", 1<<20)} {
		runes := []rune(line)
		for _, width := range []vg.Length{1, 12, 40, 1000} {
			want := line
			if style.Width(line) > width {
				want = "…"
				for n := 1; n < len(runes) && style.Width(string(runes[:n])+"…") <= width; n++ {
					want = string(runes[:n]) + "…"
				}
			}
			if got := shortened(style, line, width); got != want {
				t.Errorf("%.30s in %v: %q, want %q", line, width, got, want)
			}
		}
	}
}
