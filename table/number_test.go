package table

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestParseNumber compares every bit with strconv, for decimal numbers of all lengths
// and for texts that resemble them.
func TestParseNumber(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		want, err := strconv.ParseFloat(s, 64)
		got, ok := parseNumber([]byte(s))
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: %v, %v; strconv has %v, %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{
		"", "+", "-", ".", "+.", "-.", "-0", "-.0", "0.", ".5", "5.", "-5.", "..", "1.2.3", "1-", "1e", "1e5", "+-1", "--1",
		"9007199254740992", "9007199254740993", "9007199254740991.", ".9007199254740993", "900719925474099.3",
		"999999999999999999", "9999999999999999999", "0.000000000000000001", "0.0000000000000000001", "123456789012345678",
		"00000000000000000001", "0000000000000000.25", "1.7976931348623157e308", "1e309", "4.9e-324", "2.2250738585072014e-308",
	} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching(`[+-]?[0-9]{0,20}(\.[0-9]{0,20})?(e-?[0-9]{1,3})?`).Draw(t, "number"))
		check(t, rapid.StringMatching(`[-+.0-9]{0,6}`).Draw(t, "like a number"))
	})
}
