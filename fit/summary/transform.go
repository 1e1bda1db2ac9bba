package summary

import (
	"fmt"
	"strings"
)

// Text names the transform and, if gpfit chose it, what it beat by how much.
func (t *TransformReport) Text() string {
	if t.Candidates == nil {
		return string(t.Kind)
	}
	var others []string
	best := t.Candidates[0].BIC
	for _, c := range t.Candidates[1:] {
		switch {
		case c.BIC == nil:
			others = append(others, fmt.Sprintf("%s: %s", c.Kind, c.Error))
		default:
			others = append(others, fmt.Sprintf("%s +%.1f", c.Kind, *c.BIC-*best))
		}
	}
	return fmt.Sprintf("%s, of the lowest BIC (%s), by parameters from %d rows", t.Kind, strings.Join(others, ", "), t.Candidates[0].Rows)
}
