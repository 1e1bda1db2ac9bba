package fit

import (
	"encoding/json"
	"math"
)

// A density at a target is not finite where a prediction has no variance, as
// without noise: it is infinite if the mean is the target, and zero if it is not.
// JSON has no number for that: scores are null then.

// MarshalJSON writes a density that is not finite as null.
func (s TestScores) MarshalJSON() ([]byte, error) {
	type plain TestScores
	return json.Marshal(struct {
		plain
		NLPD             *float64 `json:"nlpd"`
		NLPDStandardized *float64 `json:"nlpd_standardized"`
	}{plain(s), Finite(s.NLPD), Finite(s.NLPDStandardized)})
}

// UnmarshalJSON reads null as NaN.
func (s *TestScores) UnmarshalJSON(text []byte) error {
	type plain TestScores
	p := plain{NLPD: math.NaN(), NLPDStandardized: math.NaN()}
	err := json.Unmarshal(text, &p)
	*s = TestScores(p)
	return err
}

// MarshalJSON writes densities that are not finite as null.
func (s CrossValidationScores) MarshalJSON() ([]byte, error) {
	type plain CrossValidationScores
	return json.Marshal(struct {
		plain
		NLPD             *float64 `json:"nlpd"`
		NLPDStandardized *float64 `json:"nlpd_standardized"`
		NLPDStdError     *float64 `json:"nlpd_std_error"`
	}{plain(s), Finite(s.NLPD), Finite(s.NLPDStandardized), Finite(s.NLPDStdError)})
}

// MarshalJSON writes densities that are not finite as null.
func (s TargetScores) MarshalJSON() ([]byte, error) {
	type plain TargetScores
	return json.Marshal(struct {
		plain
		NLPD             *float64 `json:"nlpd"`
		NLPDStandardized *float64 `json:"nlpd_standardized"`
		NLPDStdError     *float64 `json:"nlpd_std_error"`
	}{plain(s), Finite(s.NLPD), Finite(s.NLPDStandardized), Finite(s.NLPDStdError)})
}

// MarshalJSON writes a density that is not finite as null.
func (f FoldScores) MarshalJSON() ([]byte, error) {
	type plain FoldScores
	return json.Marshal(struct {
		plain
		NLPD *float64 `json:"nlpd"`
	}{plain(f), Finite(f.NLPD)})
}
