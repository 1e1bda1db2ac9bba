package report

import "testing"

// TestPlain checks numbers for sentences.
func TestPlain(t *testing.T) {
	for v, want := range map[float64]string{21725: "21700", 999.6: "1000", 1000: "1000", 0.19217: "0.192", 99999: "100000", 5.2e12: "5.2e+12", 12.34: "12.3"} {
		if got := plain(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
