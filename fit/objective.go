package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gpfit/device"
	"gpfit/graph"
)

// Objective is what a fit minimises over the parameters, priors apart.
type Objective string

// The choices for --objective.
const (
	// ObjectiveNLML is the negative log marginal likelihood, the default.
	ObjectiveNLML Objective = "nlml"
	// ObjectiveLOO is the negative log predictive density of leave-one-out,
	// which asks less of the model's prior and more of its predictions
	// (Rasmussen & Williams 2006, §5.4.2). An evaluation costs about twice as
	// much.
	ObjectiveLOO Objective = "loo"
)

// withPrior follows the objective's name where the negative log prior is added.
const withPrior = "+neg_log_prior"

// checkObjective fills in the default.
func (t *Task) checkObjective() error {
	switch t.opts.Objective {
	case "":
		t.opts.Objective = ObjectiveNLML
	case ObjectiveNLML, ObjectiveLOO:
	default:
		return optionErrorf("--objective %q: must be nlml or loo", t.opts.Objective)
	}
	if t.opts.StdErrors && t.opts.Objective == ObjectiveLOO {
		return optionErrorf("--std-errors: the Hessian of a leave-one-out density is not the parameters' precision; take --objective nlml")
	}
	return nil
}

// Plan returns what an evaluation of the task takes on b.
func (t *Task) Plan(b device.Backend) device.Plan {
	plan := b.Plan(t.N(), t.D())
	if t.opts.Objective == ObjectiveLOO {
		plan = plan.WithMiddle()
	}
	return plan
}

// CheckMemory returns a [*device.MemoryError] if the plan does not fit into what
// is free on b. A workspace checks the n×n matrix itself, but what the gradient of
// a leave-one-out objective takes on top only when that is asked for.
func (t *Task) CheckMemory(b device.Backend) error {
	return t.Plan(b).Check(b.Info())
}

// objectiveName says what the task minimises.
func (t *Task) objectiveName() string {
	name := string(t.opts.Objective)
	if len(t.priors) > 0 {
		name += withPrior
	}
	return name
}

// ObjectiveLabel is the objective's name for people, short.
func (t *Task) ObjectiveLabel() string { return objectiveLabel(t.objectiveName()) }

func objectiveLabel(name string) string {
	base, prior := strings.CutSuffix(name, withPrior)
	if prior {
		return "objective"
	}
	return strings.ToUpper(base)
}

// Scores are measures of a model beside its likelihood; those that were asked
// for.
type Scores struct {
	LeaveOneOut     *LeaveOneOutScore      `json:"loo,omitempty"`
	CrossValidation *CrossValidationScores `json:"cv,omitempty"`
}

// LeaveOneOutScore is the log predictive density of leave-one-out at the
// parameters of all rows, those of a mean by least squares found anew without
// each row.
type LeaveOneOutScore struct {
	// Sum is −Σ log p(y_i | the other rows) of the scaled problem, comparable
	// with the NLML; SumOriginalUnits that of the original targets. Several
	// targets are summed over.
	Sum              float64 `json:"sum"`
	SumOriginalUnits float64 `json:"sum_original_units"`
	// NLPD is the mean over rows in original units, NLPDStandardized in units
	// of the training targets' standard deviation, as test scores are.
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
}

// scoreLeaveOneOut returns the leave-one-out score at z, which the session has
// just evaluated, if it was asked for or is the objective. Where there is none,
// because a row alone determines a coefficient of the mean, the task is warned
// and the score nil.
func (t *Task) scoreLeaveOneOut(ctx context.Context, s *session, z []float64) (*LeaveOneOutScore, error) {
	if !t.opts.LeaveOneOut && t.opts.Objective != ObjectiveLOO {
		return nil, nil
	}
	sum, err := s.retry(ctx, graph.Evaluations{Value: 1}, func() (float64, error) {
		if _, err := s.obj.Value(ctx, z); err != nil {
			return 0, err
		}
		return s.obj.LeaveOneOut(ctx)
	})
	var leverage *graph.LeverageError
	if errors.As(err, &leverage) {
		s.warnings = append(s.warnings, fmt.Sprintf("no leave-one-out score: %v", err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("leave-one-out: %w", err)
	}
	n := float64(len(t.targets))
	l := &LeaveOneOutScore{Sum: sum, SumOriginalUnits: sum}
	for _, scaling := range t.scalings {
		l.SumOriginalUnits += float64(t.N()) * math.Log(scaling.YScale)
	}
	l.NLPD = l.SumOriginalUnits / n
	l.NLPDStandardized = l.NLPD
	for i := range t.data.t() {
		l.NLPDStandardized -= math.Log(t.targetScale(i)) / float64(t.data.t())
	}
	return l, nil
}

// reportObjective adds what is minimised, priors and ties.
func (t *Task) reportObjective(r *Report, terms graph.Terms) {
	r.ObjectiveName = t.objectiveName()
	r.Objective = terms.NLML()
	if t.opts.Objective == ObjectiveLOO {
		r.Objective = terms.LeaveOneOut
	}
	r.Objective += terms.NegLogPrior
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

func (r *Report) objectiveLabel() string { return objectiveLabel(r.ObjectiveName) }

// isLOO says whether leave-one-out was minimised.
func (r *Report) isLOO() bool { return strings.HasPrefix(r.ObjectiveName, string(ObjectiveLOO)) }

// estimate says in the status line what kind of estimate the parameters are,
// where it is not that of maximum likelihood.
func (r *Report) estimate() string {
	switch {
	case r.Type != "fit":
		return ""
	case r.isLOO() && r.NegLogPrior != nil:
		return " (leave-one-out with priors)"
	case r.isLOO():
		return " (leave-one-out)"
	case r.NegLogPrior != nil:
		return " (MAP)"
	}
	return ""
}

// writeObjective prints what was minimised, where that is not the NLML alone,
// the scores beside it, and the priors.
func (r *Report) writeObjective(b *strings.Builder) {
	if l := r.Scores.LeaveOneOut; l != nil {
		fmt.Fprintf(b, "%-22s %14.6f   a row: %.6f in original units\n", "LOO", l.Sum, l.NLPD)
	}
	if r.NegLogPrior == nil {
		return
	}
	base := "NLML"
	if r.isLOO() {
		base = "LOO"
	}
	fmt.Fprintf(b, "%-22s %14.6f   = %s + negative log prior %.6f\n", "objective", r.Objective, base, *r.NegLogPrior)
	b.WriteString("\npriors: densities over the parameters of the scaled problem, no Jacobian; a fit gives the mode (MAP)\n")
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

// writeScores prints predictive scores beside one another.
func (r *Report) writeScores(b *strings.Builder) {
	cv := r.Scores.CrossValidation
	if cv == nil {
		return
	}
	what := "at these parameters"
	if cv.Refit {
		what = "refitted for each"
	}
	fmt.Fprintf(b, "\n%-22s original units  standardized   (seed %d, %s)\n", fmt.Sprintf("%d-fold validation", len(cv.Folds)), cv.Seed, what)
	for _, p := range cv.Targets {
		fmt.Fprintf(b, "  target %q\n", p.Name)
		fmt.Fprintf(b, "%-20s %14.6g %13.4f\n", "    RMSE", p.RMSE, p.RMSEStandardized)
		fmt.Fprintf(b, "%-20s %14.6g %13.4f   ± %.2g\n", "    NLPD", p.NLPD, p.NLPDStandardized, p.NLPDStdError)
		fmt.Fprintf(b, "%-20s %13.1f %%\n", "    95 % interval", 100*p.Coverage95)
	}
	if cv.Targets != nil {
		b.WriteString("  all targets\n")
	} else {
		fmt.Fprintf(b, "%-20s %14.6g %13.4f\n", "  RMSE", cv.RMSE, cv.RMSEStandardized)
	}
	fmt.Fprintf(b, "%-20s %14.6g %13.4f   ± %.2g\n", "  NLPD", cv.NLPD, cv.NLPDStandardized, cv.NLPDStdError)
	if l := r.Scores.LeaveOneOut; l != nil {
		fmt.Fprintf(b, "%-20s %14.6g %13.4f\n", "  NLPD, leave-one-out", l.NLPD, l.NLPDStandardized)
	}
	fmt.Fprintf(b, "%-20s %13.1f %%\n", "  in the 95 % interval", 100*cv.Coverage95)
}
