package fit

import (
	"encoding/json"
	"math"
)

// Number is a score. A density at a target is not finite where a prediction has
// no variance, as without noise: it is infinite if the mean is the target, and
// zero if it is not. JSON has no number for that: it is null there, and read back
// as NaN.
type Number float64

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(Finite(float64(n))) }

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Number) UnmarshalJSON(text []byte) error {
	v := math.NaN()
	err := json.Unmarshal(text, &v)
	*n = Number(v)
	return err
}

// Finite returns a pointer to v, or nil if JSON has no number for it.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
