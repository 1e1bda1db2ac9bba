package summary

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gpfit/feature"
	"gpfit/fit/problem"
	"gpfit/internal/textform"
)

// Text returns the report as text for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %s\n", "kernel", r.Kernel)
	if r.MeanFit != "" {
		fmt.Fprintf(&b, "%-22s %s\n", "mean", r.Mean)
	}
	fmt.Fprintf(&b, "%-22s %d rows, %d columns, on %s", "training data", r.N, r.D, r.Device)
	if r.Method != "" {
		fmt.Fprintf(&b, ", method %s", r.Method)
	}
	b.WriteByte('\n')
	b.WriteString(r.Experts.text())
	b.WriteString(EncodingText(r.Encoding))
	fmt.Fprintf(&b, "\n%-22s %14.6f   = data fit %.6f + complexity %.6f + constant %.6f\n", "NLML", r.NLML, r.DataFit, r.Complexity, r.Constant)
	fmt.Fprintf(&b, "%-22s %14.6f\n", "NLML, original units", r.NLMLOriginalUnits)
	r.writeObjective(&b)
	if r.Residual != nil {
		fmt.Fprintf(&b, "%-22s %14.2g\n", "residual of the factor", *r.Residual)
	}
	r.writeParameters(&b)
	b.WriteString(r.Experts.spread(r.Names))
	r.writeStdErrors(&b)
	r.writePosterior(&b)
	r.WriteRelevance(&b)
	r.writeMean(&b)
	r.writeTargets(&b)
	r.writeScores(&b)
	fmt.Fprintf(&b, "\n%-22s %s%s", "status", r.Status, r.estimate())
	if r.GradientNorm != nil {
		fmt.Fprintf(&b, ", largest gradient component %.2g", *r.GradientNorm)
	}
	if r.RelativeChange != nil {
		fmt.Fprintf(&b, ", last relative change %.2g", *r.RelativeChange)
	}
	fmt.Fprintf(&b, "\n%-22s %d values, %d gradients", "evaluations", r.Evaluations.Value, r.Evaluations.Gradient)
	if len(r.Starts) > 1 {
		fmt.Fprintf(&b, ", %d starts", len(r.Starts))
	}
	fmt.Fprintf(&b, "\n%-22s %.2f\n", "seconds", r.Seconds)
	if len(r.Starts) > 1 {
		fmt.Fprintf(&b, "\nstart  %10s  status\n", r.objectiveLabel())
		for i, s := range r.Starts {
			value, mark := "-", ""
			if s.Objective != nil {
				value = fmt.Sprintf("%.4f", *s.Objective)
			}
			if s.Best {
				mark = "  (best)"
			}
			fmt.Fprintf(&b, "%5d  %10s  %s%s\n", i, value, s.Status, mark)
		}
	}
	r.writeOptima(&b)
	if len(r.Path) > 0 {
		fmt.Fprintf(&b, "\n  rows  step     starts  %12s  values  gradients  seconds\n", problem.ObjectiveLabel(r.ObjectiveName))
		for _, s := range r.Path {
			fmt.Fprintf(&b, "%6d  %-8s %6d  %12.4f  %6d  %9d  %7.2f\n", s.Rows, s.Step, s.Starts, s.Objective, s.Value, s.Gradient, s.Seconds)
		}
	}
	r.Coarse.write(&b)
	if r.Test != nil {
		fmt.Fprintf(&b, "\nheld-out rows (%d)     original units  standardized", r.Test.N)
		if h := r.HeldOut; h != nil {
			fmt.Fprintf(&b, "   (%s)", drawn(h.Seed, h.Group, h.Blocks))
		}
		b.WriteByte('\n')
		fmt.Fprintf(&b, "%-20s %14.6g %13.4f\n", "  RMSE", r.Test.RMSE, r.Test.RMSEStandardized)
		fmt.Fprintf(&b, "%-20s %14.6g %13.4f\n", "  NLPD", r.Test.NLPD, r.Test.NLPDStandardized)
		fmt.Fprintf(&b, "%-20s %13.1f %%\n", "  in the 95 % interval", 100*r.Test.Coverage95)
		writeVerdict(&b, "", r.Test.Verdict)
	}
	return b.String()
}

// writeParameters prints a line for every parameter, with its gradient if it was
// evaluated.
func (r *Report) writeParameters(b *strings.Builder) {
	width := 20
	for _, name := range r.Names {
		width = max(width, utf8.RuneCountInString(name))
	}
	for _, part := range r.NamesOriginal {
		if _, own := r.Parameters[part]; !own { // with an indent of two
			width = max(width, 2+utf8.RuneCountInString(part))
		}
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %14s", width, "parameter", "scaled", "original units")
	if r.GradientLog != nil {
		fmt.Fprintf(b, "  %14s", "∂"+r.objectiveLabel()+"/∂log")
	}
	b.WriteByte('\n')
	shown := map[string]bool{}
	for _, name := range r.Names {
		shown[name] = true
		fmt.Fprintf(b, "%-*s  %14.6g", width, name, r.Parameters[name])
		fmt.Fprintf(b, "  %14s", r.originalText(name))
		if source, ok := r.Tied[name]; ok {
			fmt.Fprintf(b, "  tied to %s", source)
		} else if slices.Contains(r.Constants, name) {
			b.WriteString("  constant")
		} else if g, ok := r.GradientLog[name]; ok {
			fmt.Fprintf(b, "  %14.3g", g)
		}
		b.WriteByte('\n')
		for _, part := range r.NamesOriginal {
			if strings.HasPrefix(part, name+"[") && !shown[part] {
				if _, own := r.Parameters[part]; !own {
					shown[part] = true
					fmt.Fprintf(b, "%-*s  %14s  %14.6g\n", width, "  "+part, "", r.ParametersOriginalUnits[part])
				}
			}
		}
	}
}

// originalText returns a parameter in original units, or a note that it follows by
// column or by target.
func (r *Report) originalText(name string) string {
	isPart := func(other string) bool { return other == name || strings.HasPrefix(other, name+"[") }
	switch v, ok := r.ParametersOriginalUnits[name]; {
	case ok:
		return fmt.Sprintf("%.6g", v)
	case r.Targets != nil && slices.ContainsFunc(r.Targets[0].Names, isPart):
		return "by target:"
	case slices.ContainsFunc(r.NamesOriginal, isPart):
		return "by column:"
	}
	return ""
}

// writeMean prints the coefficients of the mean that least squares found. Others are
// among the parameters.
func (r *Report) writeMean(b *strings.Builder) {
	if r.MeanFit != problem.MeanGLS || len(r.MeanCoefficients) == 0 {
		return
	}
	width := 20
	for _, c := range r.MeanCoefficients {
		width = max(width, utf8.RuneCountInString(c.Name))
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %14s  %14s  %14s\n", width, "mean coefficient", "scaled", "std. error", "original units", "std. error")
	for _, c := range r.MeanCoefficients {
		fmt.Fprintf(b, "%-*s  %14.6g  %14.3g  %14.6g  %14.3g", width, c.Name, c.Value, *c.StandardError, c.OriginalUnits, *c.StandardErrorOriginalUnits)
		if c.Centre != nil {
			fmt.Fprintf(b, "  at %.5g, width %.4g", *c.Centre, *c.Width)
		}
		b.WriteByte('\n')
	}
}

func (r *Report) objectiveLabel() string { return problem.ObjectiveLabel(r.ObjectiveName) }

// isLOO reports whether the objective was leave-one-out.
func (r *Report) isLOO() bool { return strings.HasPrefix(r.ObjectiveName, string(problem.LOO)) }

// isLOORMSE reports whether the objective was the error of leave-one-out.
func (r *Report) isLOORMSE() bool { return strings.HasPrefix(r.ObjectiveName, string(problem.LOORMSE)) }

// isCV reports whether the objective was cross-validation.
func (r *Report) isCV() bool { return strings.HasPrefix(r.ObjectiveName, string(problem.CV)) }

// isCVRMSE reports whether the objective was the error of cross-validation.
func (r *Report) isCVRMSE() bool { return strings.HasPrefix(r.ObjectiveName, string(problem.CVRMSE)) }

// estimate returns a note for the status line if the parameters are not maximum
// likelihood estimates.
func (r *Report) estimate() string {
	switch {
	case r.Type != "fit":
		return ""
	case r.isLOO() && r.NegLogPrior != nil:
		return " (leave-one-out with priors)"
	case r.isLOO():
		return " (leave-one-out)"
	case r.isCV() && r.NegLogPrior != nil:
		return " (cross-validation with priors)"
	case r.isCV():
		return " (cross-validation)"
	case r.NegLogPrior != nil:
		return " (MAP)"
	}
	return ""
}

// writeObjective prints the objective if it is not the NLML alone, the leave-one-out
// score and the priors.
func (r *Report) writeObjective(b *strings.Builder) {
	if l := r.Scores.LeaveOneOut; l != nil {
		r.writePredictive(b, "LOO", l, "")
	}
	if f := r.Scores.Objective; f != nil {
		r.writePredictive(b, "CV", &f.LeaveOneOutScore, fmt.Sprintf(", %d folds, %s", f.Folds, drawn(f.Seed, f.Group, f.Blocks)))
	}
	base := problem.ObjectiveLabel(strings.TrimSuffix(r.ObjectiveName, problem.WithPrior))
	if r.isLOORMSE() || r.isCVRMSE() {
		value := r.Objective
		if r.NegLogPrior != nil {
			value -= *r.NegLogPrior
		}
		fmt.Fprintf(b, "%-22s %14.6f   of the scaled problem\n", base, value)
	}
	if r.NegLogPrior == nil {
		return
	}
	fmt.Fprintf(b, "%-22s %14.6f   = %s + negative log prior %.6f\n", "objective", r.Objective, base, *r.NegLogPrior)
	b.WriteString("\npriors are densities over the parameters of the scaled problem, without a Jacobian; a fit finds the mode (MAP)\n")
	width := 20
	for name := range r.Priors {
		width = max(width, utf8.RuneCountInString(name))
	}
	for _, name := range r.Names {
		if p, ok := r.Priors[name]; ok {
			fmt.Fprintf(b, "%-*s  %s\n", width, name, p)
		}
	}
}

// writePredictive prints scores of predictions; of says of which rows.
func (r *Report) writePredictive(b *strings.Builder, name string, l *LeaveOneOutScore, of string) {
	fmt.Fprintf(b, "%-22s %14.6f   per row: %.6f in original units%s\n", name, l.Sum, l.NLPD, of)
	if len(r.Targets) == 0 {
		fmt.Fprintf(b, "%-22s %14.6g   in original units\n", name+", RMSE", l.RMSE)
	}
}

// writeScores prints the predictive scores side by side.
func (r *Report) writeScores(b *strings.Builder) {
	cv := r.Scores.CrossValidation
	if cv == nil {
		return
	}
	what := "at these parameters"
	if cv.Refit {
		what = "refitted in each fold"
	}
	fmt.Fprintf(b, "\n%-22s original units  standardized   (%s, %s)\n", fmt.Sprintf("%d-fold validation", len(cv.Folds)), drawn(cv.Seed, cv.Group, cv.Blocks), what)
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
	writeVerdict(b, "", cv.Verdict)
}

// writeVerdict prints a verdict on the scores above it, if there is one.
func writeVerdict(b *strings.Builder, indent, verdict string) {
	if verdict != "" {
		fmt.Fprintf(b, "%s%s\n", indent, verdict)
	}
}

// drawn says how rows were chosen for a hold-out or for folds.
func drawn(seed uint64, group string, blocks bool) string {
	switch {
	case blocks:
		return "consecutive rows"
	case group != "":
		return fmt.Sprintf("groups of %q, seed %d", group, seed)
	}
	return fmt.Sprintf("seed %d", seed)
}

// writeTargets prints the parts of several targets.
func (r *Report) writeTargets(b *strings.Builder) {
	width := 20
	for _, p := range r.Targets {
		for _, name := range p.Names {
			width = max(width, utf8.RuneCountInString(name))
		}
		for _, c := range p.MeanCoefficients {
			width = max(width, utf8.RuneCountInString(c.Name))
		}
	}
	for _, p := range r.Targets {
		fmt.Fprintf(b, "\ntarget %q: NLML %.6f, in original units %.6f, data fit %.6f\n", p.Name, p.NLML, p.NLMLOriginalUnits, p.DataFit)
		for _, name := range p.Names {
			fmt.Fprintf(b, "  %-*s %14.6g in original units\n", width, name, p.ParametersOriginalUnits[name])
		}
		for _, c := range p.MeanCoefficients {
			fmt.Fprintf(b, "  %-*s %14.6g, std. error %.3g, in original units\n", width, c.Name, c.OriginalUnits, *c.StandardErrorOriginalUnits)
		}
		if s := p.Test; s != nil {
			fmt.Fprintf(b, "  held-out rows (%d): RMSE %.6g (standardized %.4f), NLPD %.6g (%.4f), %.1f %% in the 95 %% interval\n",
				s.N, s.RMSE, s.RMSEStandardized, s.NLPD, s.NLPDStandardized, 100*s.Coverage95)
			writeVerdict(b, "  ", s.Verdict)
		}
	}
}

// writeStdErrors prints standard errors and intervals, or why there are none.
func (r *Report) writeStdErrors(b *strings.Builder) {
	e := r.StdErrors
	if e == nil {
		return
	}
	if e.Failure != "" {
		fmt.Fprintf(b, "\nno standard errors: %s\n", e.Failure)
		return
	}
	width := 20
	for _, name := range r.Names {
		width = max(width, utf8.RuneCountInString(name))
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %14s  %31s\n", width, "standard errors", "of the log", "scaled", "95 % interval, scaled")
	for _, name := range r.Names {
		se, ok := e.Scaled[name]
		if !ok {
			fmt.Fprintf(b, "%-*s  %14s\n", width, name, "left out")
			continue
		}
		log := ""
		if v, ok := e.Log[name]; ok {
			log = fmt.Sprintf("%.4g", v)
		}
		fmt.Fprintf(b, "%-*s  %14s  %14.4g  %14.6g … %14.6g\n", width, name, log, se, e.Interval95[name][0], e.Interval95[name][1])
	}
}

// MostColumns is the number of columns that the text lists.
const MostColumns = 10

// WriteRelevance prints the most relevant columns of several.
func (r *Report) WriteRelevance(b *strings.Builder) {
	if len(r.Relevance) < 2 {
		return
	}
	shown := r.Relevance[:min(len(r.Relevance), MostColumns)]
	width := 20
	for _, c := range shown {
		width = max(width, utf8.RuneCountInString(c.Name()))
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %s\n", width, "column", "relevance", "lengthscale in units of the column")
	for _, c := range shown {
		words := make([]string, len(c.Lengthscales))
		for i, v := range c.Lengthscales {
			words[i] = fmt.Sprintf("%.6g", v)
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(fmt.Sprintf("%-*s  %14.2f  %s", width, c.Name(), c.Relevance, strings.Join(words, ", ")), " "))
	}
	if rest := r.Relevance[len(shown):]; len(rest) > 0 {
		fmt.Fprintf(b, "and %d more, each with a relevance of at most %.2f\n", len(rest), rest[0].Relevance)
	}
}

// text returns the line about the experts.
func (e *ExpertsReport) text() string {
	if e == nil {
		return ""
	}
	out := fmt.Sprintf("%-22s %d of %d to %d rows (median %d), combined by %s\n", "local experts", e.Experts, e.Smallest, e.Largest, e.Median, e.Combine)
	for _, s := range e.Rules {
		out += fmt.Sprintf("  %-20s RMSE %.4f, NLPD %.4f, %.1f %% in the 95 %% interval (%d rows left out, standardized)\n", s.Combine, s.RMSE, s.NLPD, 100*s.Coverage95, s.Rows)
	}
	return out
}

// EncodingText returns lines for people that say how the columns of a table were read;
// none if all are numbers.
func EncodingText(e *feature.Encoding) string {
	if e == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-22s read as\n", "column")
	for i := range e.Columns {
		fmt.Fprintf(&b, "%-22s %s\n", textform.Printable(e.Columns[i].Name, 40), e.Columns[i].Text())
	}
	if e.Decimal != "" {
		b.WriteString("The decimal sign is a comma.\n")
	}
	return b.String()
}

// spread returns the lines about the parameters of experts with their own.
func (e *ExpertsReport) spread(names []string) string {
	if e == nil || len(e.Each) == 0 {
		return ""
	}
	width := 22
	for _, name := range names {
		width = max(width, len([]rune(name)))
	}
	out := fmt.Sprintf("\n%-*s  %12s  %12s  %12s\n", width, "of the experts, scaled", "smallest", "median", "largest")
	for _, name := range names {
		var values []float64
		for _, one := range e.Each {
			values = append(values, one.Parameters[name])
		}
		slices.Sort(values)
		out += fmt.Sprintf("%-*s  %12.6g  %12.6g  %12.6g\n", width, name, values[0], values[len(values)/2], values[len(values)-1])
	}
	return out
}

// write prints how the end compares with the one of the descent from the start values.
func (c *CoarseReport) write(b *strings.Builder) {
	switch {
	case c == nil:
	case c.Objective == nil || c.PlainObjective == nil:
		b.WriteString("subsets of the rows led here: a descent from the start values over all rows may end lower (coarse check compares)\n")
	default:
		fmt.Fprintf(b, "coarse to fine ended at %.4f, the descent from the start values over all rows at %.4f\n", *c.Objective, *c.PlainObjective)
	}
}
