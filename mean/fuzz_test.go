package mean

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/fuzzguard"
)

// FuzzParse checks that no text costs much, that errors are [*ParseError] and point
// into the text, that an expression prints as text that reads back to an equal one,
// and that its functions are finite and as many as stated.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"linear + bumps(5, dims=0)", "poly(2, dims=[1,3])", "zero", "constant + ", "\"a\" /* */ 'b'", "poly(0x2)", "bumps(1000)+bumps(999)", "poly(10)+linear", `linear(dims=temp) + poly(2, dims=["1", 1])`} {
		f.Add(text)
	}
	x, _ := points(5, 3)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzguard.Run(t, func() {
			columns := []string{"temp", `wind "x"`, "1"}
			e, err := Parse(text, columns)
			if errCheck := CheckText(text); err == nil && errCheck != nil {
				t.Fatalf("%q: %v before the table is read", text, errCheck)
			}
			if err != nil {
				var pe *ParseError
				if !errors.As(err, &pe) || pe.Pos < 0 || pe.Pos > len(text) || pe.Error() == "" {
					t.Fatalf("%q: %v", text, err)
				}
				return
			}
			again, err := Parse(e.String(), nil)
			if err != nil || !cmp.Equal(e, again) {
				t.Fatalf("%q → %q → %v, %v", text, e.String(), again, err)
			}
			again, err = Parse(e.Text(columns), columns)
			if err != nil || !cmp.Equal(e, again) {
				t.Fatalf("%q → %q → %v, %v", text, e.Text(columns), again, err)
			}
			b, err := e.Basis(x, []int{0, 1, 2})
			if err != nil {
				return
			}
			h := b.Evaluate(x)
			if b.Validate(3) != nil || len(h) != len(b)*x.N || slices.ContainsFunc(h, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
				t.Fatalf("%q: %d functions, %d values: %v", text, len(b), len(h), b.Validate(3))
			}
		})
	})
}
