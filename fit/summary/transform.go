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
	var others, refused []string
	best := t.Candidates[0].BIC
	for _, c := range t.Candidates[1:] {
		switch {
		case c.BIC == nil:
			refused = append(refused, string(c.Kind)+" "+c.Error)
		default:
			others = append(others, fmt.Sprintf("%s (+%.1f)", c.Kind, *c.BIC-*best))
		}
	}
	text := fmt.Sprintf("%s, the lowest BIC of %d transforms, tuned on %d rows", t.Kind, len(others)+1, t.Candidates[0].Rows)
	if others != nil {
		text += "; next are " + strings.Join(others, ", ")
	}
	return strings.Join(append([]string{text}, refused...), "; ")
}
