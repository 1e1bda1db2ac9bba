package summary

import (
	"encoding/json"
	"fmt"
	"math"

	"gpfit/fit/problem"
)

// Number is a score that may not be finite. If a prediction has no variance, as without noise, the
// density at the target is infinite if the mean equals the target and zero otherwise. JSON has no
// such number: MarshalJSON writes null, and UnmarshalJSON reads null as NaN.
type Number float64

// Format implements [fmt.Formatter]. It writes "undefined" for a number that is not finite.
func (n Number) Format(f fmt.State, verb rune) {
	if !problem.NotFinite(float64(n)) {
		fmt.Fprintf(f, fmt.FormatString(f, verb), float64(n))
		return
	}
	width, _ := f.Width()
	fmt.Fprintf(f, "%*s", width, "undefined")
}

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(Finite(float64(n))) }

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Number) UnmarshalJSON(text []byte) error {
	v := math.NaN()
	err := json.Unmarshal(text, &v)
	*n = Number(v)
	return err
}

// UndefinedWarning returns a warning if an NLPD is not finite.
func UndefinedWarning(nlpd Number, of string) []string {
	if !problem.NotFinite(float64(nlpd)) {
		return nil
	}
	return []string{fmt.Sprintf("the NLPD of the %s is undefined, because some predictions have no variance; it is null in JSON", of)}
}

// Finite returns a pointer to v, or nil if JSON has no number for it.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
