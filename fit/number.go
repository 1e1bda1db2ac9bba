package fit

import (
	"encoding/json"
	"fmt"
	"math"
)

// Number is a score. A density at a target is not finite where a prediction has
// no variance, as without noise: it is infinite if the mean is the target, and
// zero if it is not. JSON has no number for that: it is null there, and read back
// as NaN.
type Number float64

// Format implements [fmt.Formatter]: what is not finite is a word.
func (n Number) Format(f fmt.State, verb rune) {
	if !notFinite(float64(n)) {
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

// undefinedWarning says why a log density is no number.
func undefinedWarning(nlpd Number, of string) []string {
	if !notFinite(float64(nlpd)) {
		return nil
	}
	return []string{fmt.Sprintf("the NLPD of the %s is not defined: some are predicted without any variance; it is null in JSON", of)}
}

// Finite returns a pointer to v, or nil if JSON has no number for it.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
