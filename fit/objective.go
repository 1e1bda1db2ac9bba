package fit

import (
	"fmt"
	"strings"

	"gpfit/graph"
)

// Names of what is minimised, in reports.
const (
	objectiveNLML = "nlml"
	// withPrior follows the name where the negative log prior is added.
	withPrior = "+neg_log_prior"
)

// objectiveName says what the task minimises.
func (t *Task) objectiveName() string {
	name := objectiveNLML
	if len(t.priors) > 0 {
		name += withPrior
	}
	return name
}

// reportObjective adds what is minimised, priors and ties.
func (t *Task) reportObjective(r *Report, terms graph.Terms) {
	r.ObjectiveName = t.objectiveName()
	r.Objective = terms.NLML() + terms.NegLogPrior
	if len(t.priors) > 0 {
		r.NegLogPrior, r.Priors = &terms.NegLogPrior, map[string]string{}
		for name, p := range t.priors {
			r.Priors[name] = p.String()
		}
	}
	for _, e := range t.elements {
		if e.source != "" {
			if r.Tied == nil {
				r.Tied = map[string]string{}
			}
			r.Tied[e.name] = e.source
		}
	}
}

// objectiveLabel is the objective's name for people, short.
func objectiveLabel(name string) string {
	base, prior := strings.CutSuffix(name, withPrior)
	label := map[string]string{objectiveNLML: "NLML"}[base]
	if prior {
		return "objective"
	}
	return label
}

func (r *Report) objectiveLabel() string { return objectiveLabel(r.ObjectiveName) }

// estimate says in the status line what kind of estimate the parameters are,
// where it is not that of maximum likelihood.
func (r *Report) estimate() string {
	if r.NegLogPrior != nil && r.Type == "fit" {
		return " (MAP)"
	}
	return ""
}

// writeObjective prints what was minimised, where that is not the NLML alone,
// and the priors.
func (r *Report) writeObjective(b *strings.Builder) {
	if r.NegLogPrior == nil {
		return
	}
	fmt.Fprintf(b, "%-22s %14.6f   = NLML + negative log prior %.6f\n", "objective", r.Objective, *r.NegLogPrior)
	b.WriteString("\npriors: densities over the parameters of the scaled problem, no Jacobian; the fit is their posterior mode (MAP)\n")
	width := 20
	for name := range r.Priors {
		width = max(width, len(name))
	}
	for _, name := range r.Names {
		if p, ok := r.Priors[name]; ok {
			fmt.Fprintf(b, "%-*s  %s\n", width, name, p)
		}
	}
}
