package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpfit/internal/textform"
	"gpfit/internal/transform"
)

// TransformReport describes the transform of the target. λ is a parameter.
type TransformReport struct {
	Kind transform.Name `json:"kind"`
	// Candidates are the transforms that were compared, lowest BIC first. If option target-transform is not given, another one than
	// none has to be clearly better.
	Candidates []TransformCandidate `json:"candidates,omitempty"`
}

// TransformCandidate is a transform with its score: BIC is 2·NLML + p·log n for p parameters in original units, at
// parameters tuned on Rows rows; nil with an Error.
type TransformCandidate struct {
	Kind   transform.Name `json:"kind"`
	BIC    *float64       `json:"bic"`
	Lambda *float64       `json:"lambda,omitempty"`
	Rows   int            `json:"rows"`
	Error  string         `json:"error,omitempty"`
}

// transformedUnits says which numbers are not in units of the target.
const transformedUnits = "; unscaled variances and coefficients of the mean are of the transformed target, scores of the target"

// columnsText says which columns have transforms, and which ones.
func columnsText(of map[string]*transform.Map) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		names = append(names, fmt.Sprintf("%s (%s)", textform.Printable(name, 40), of[name].Tail()))
	}
	if more := len(names) - shownColumns; more > 0 {
		names = append(names[:shownColumns], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ") + "; lengthscales and coefficients are of the transformed columns"
}

// unscaled is the head of a column of parameters that are not scaled.
func unscaled(r *Report) string {
	if t := r.TargetTransform; t != nil && t.Kind != transform.None || r.InputTransforms != nil {
		return "unscaled"
	}
	return "original units"
}

// byAllRows says what was chosen by all rows and is no matter of a refit.
func byAllRows(r *Report) string {
	var chosen []string
	if r.Choice != nil {
		chosen = []string{"kernel", "mean"}
	}
	if t := r.TargetTransform; t != nil && t.Candidates != nil {
		chosen = append(chosen, "transform")
	}
	if chosen == nil {
		return ""
	}
	return " with the " + textform.And(chosen) + " that all rows chose"
}

// Text names the transform and, if gpfit chose it, what it beat by how much.
func (t *TransformReport) Text() string {
	if t.Candidates == nil {
		return string(t.Kind) + transformedUnits
	}
	var others, refused []string
	if t.Kind != t.Candidates[0].Kind {
		return string(t.Kind) + ": no other is clearly better in BIC and leave-one-out density"
	}
	best := t.Candidates[0].BIC
	for _, c := range t.Candidates[1:] {
		if c.BIC == nil {
			refused = append(refused, string(c.Kind)+" "+c.Error)
		} else {
			others = append(others, fmt.Sprintf("%s (+%.1f)", c.Kind, *c.BIC-*best))
		}
	}
	text, units := fmt.Sprintf("%s, the lowest BIC of %d transforms, tuned on %d rows", t.Kind, len(others)+1, t.Candidates[0].Rows), ""
	if others != nil {
		text += "; next are " + strings.Join(others, ", ")
	}
	if t.Kind != transform.None {
		units = transformedUnits
	}
	return strings.Join(append([]string{text}, refused...), "; ") + units
}
