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

// The lines above the parameters, up to the descriptions of the columns and below it, and the
// lines below the parameters.
var (
	dataLines = []line{
		{"kernel", []entry{{path: "kernel", format: "%s"}}},
		{"mean", []entry{{path: "mean_fit", format: "%.0s"}, {path: "mean", format: "%s"}}},
		{"training data", []entry{{path: "n", format: "%d rows, "}, {path: "d", format: "%d columns, "}, {path: "device", format: "on %s"}, {path: "method", format: ", method %s"}}},
		{"local experts", []entry{
			{path: "experts.experts", format: "%d of "}, {path: "experts.smallest", format: "%d to "}, {path: "experts.largest", format: "%d rows "},
			{path: "experts.median", format: "(median %d), "}, {path: "experts.combine", format: "combined by %s"},
		}},
	}
	likelihoodLines = []line{
		{"NLML", []entry{{path: "nlml", format: "%14.6f"}, {path: "data_fit", format: "   = data fit %.6f"}, {path: "complexity", format: " + complexity %.6f"}, {path: "constant", format: " + constant %.6f"}}},
		{"NLML, original units", []entry{{path: "nlml_original_units", format: "%14.6f"}}},
	}
	residualLine = line{"residual of the factor", []entry{{path: "residual", format: "%14.2g"}}}
	secondsLine  = line{"seconds", []entry{{path: "seconds", format: "%.2f"}}}
	statusEnd    = []entry{{path: "gradient_norm", format: ", largest gradient component %.2g"}, {path: "relative_change", format: ", last relative change %.2g"}}
)

// The columns of tables.
var (
	ruleColumns = []entry{
		{path: "experts.rules.*.combine", format: "  %-20s "}, {path: "experts.rules.*.rmse", format: "RMSE %.4f, "}, {path: "experts.rules.*.nlpd", format: "NLPD %.4f, "},
		{path: "experts.rules.*.coverage95", format: "%.1f %% in the 95 %% interval "}, {path: "experts.rules.*.rows", format: "(%d rows left out, standardized)"},
	}
	meanColumns = []entry{
		{path: "mean_coefficients.*.name", label: "mean coefficient", format: "%-*s"}, {path: "mean_coefficients.*.value", label: "scaled", format: "  %14.6g"},
		{path: "mean_coefficients.*.standard_error", label: "std. error", format: "  %14.3g"},
		{path: "mean_coefficients.*.original_units", label: "original units", format: "  %14.6g"},
		{path: "mean_coefficients.*.standard_error_original_units", label: "std. error", format: "  %14.3g"},
	}
	bumpColumns     = []entry{{path: "mean_coefficients.*.centre_original_units", format: "  at %.5g"}, {path: "mean_coefficients.*.width_original_units", format: ", width %.4g"}}
	stdErrorColumns = []entry{
		{path: rowName, label: "standard errors", format: "%-*s"}, {path: "std_errors.log.*", label: "of the log", format: "  %14.4g", none: nothing},
		{path: "std_errors.parameters.*", label: "scaled", format: "  %14.4g"},
	}
	intervalColumns = []entry{{path: "std_errors.interval95.*.0", format: "  %14.6g … "}, {path: "std_errors.interval95.*.1", format: "%14.6g"}}
	stageColumns    = []entry{
		{path: "path.*.rows", label: "rows", format: "%6d"}, {path: "path.*.step", label: "step", format: "  %-8s"}, {path: "path.*.starts", label: "starts", format: " %6d", none: "0"},
		{path: "path.*.objective", format: "  %12.4f"}, {path: "path.*.value", label: "values", format: "  %6d"},
		{path: "path.*.gradient", label: "gradients", format: "  %9d"}, {path: "path.*.seconds", label: "seconds", format: "  %7.2f"},
	}
	startColumns = []entry{{path: rowName, label: "start", format: "%5s"}, {path: "starts.*.objective", format: "  %10.4f", none: "-"}, {path: "starts.*.status", label: "status", format: "  %s"}}
)

// scoreRows are the scores of predictions, side by side in original units and standardised.
var scoreRows = []struct {
	label   string
	entries []entry
}{
	{"RMSE", []entry{{path: "rmse", format: " %14.6g"}, {path: "rmse_standardized", format: " %13.4f"}}},
	{"NLPD", []entry{{path: "nlpd", format: " %14.6g"}, {path: "nlpd_standardized", format: " %13.4f"}, {path: "nlpd_std_error", format: "   ± %.2g"}}},
	{"in the 95 % interval", []entry{{path: "coverage95", format: " %13.1f %%"}}},
}

// Text returns the report as text for people.
func (r *Report) Text() string {
	w := newWriter(r)
	w.lines(dataLines)
	if r.Experts != nil {
		w.table(nil, ruleColumns, counting(len(r.Experts.Rules)))
	}
	w.WriteString(EncodingText(r.Encoding))
	w.WriteByte('\n')
	w.lines(likelihoodLines)
	r.writeObjective(w)
	w.line(residualLine)
	r.writeParameters(w)
	w.WriteString(r.Experts.spread(r.Names))
	r.writeStdErrors(w)
	r.writePosterior(w)
	r.WriteRelevance(&w.Builder)
	r.writeMean(w)
	r.writeTargets(w)
	r.writeScores(w)
	fmt.Fprintf(w, "\n%-22s %s%s", "status", r.Status, r.estimate())
	w.row(statusEnd[:1], "")
	w.row(statusEnd[1:], "")
	fmt.Fprintf(w, "\n%-22s %d values, %d gradients", "evaluations", r.Evaluations.Value, r.Evaluations.Gradient)
	if len(r.Starts) > 1 {
		fmt.Fprintf(w, ", %d starts", len(r.Starts))
	}
	w.WriteByte('\n')
	w.line(secondsLine)
	if len(r.Starts) > 1 {
		w.WriteByte('\n')
		w.head(labelled(startColumns, 1, r.objectiveLabel()))
		for i, s := range r.Starts {
			w.row(startColumns, fmt.Sprint(i))
			if s.Best {
				w.WriteString("  (best)")
			}
			w.WriteByte('\n')
		}
	}
	r.writeOptima(w)
	if len(r.Path) > 0 {
		w.WriteByte('\n')
		w.table(labelled(stageColumns, 3, r.objectiveLabel()), stageColumns, counting(len(r.Path)))
	}
	r.Coarse.write(&w.Builder)
	if r.Test != nil {
		fmt.Fprintf(w, "\nheld-out rows (%d)     original units  standardized", r.Test.N)
		if h := r.HeldOut; h != nil {
			fmt.Fprintf(w, "   (%s)", drawn(h.Seed, h.Group, h.Blocks))
		}
		w.WriteByte('\n')
		w.scores("  ", r.Test)
		writeVerdict(w, "", r.Test.Verdict)
	}
	return w.String()
}

// scores writes the rows of scores, indented.
func (w *writer) scores(indent string, scores any) {
	of := newWriter(scores)
	for _, s := range scoreRows {
		if _, ok := of.at(s.entries[0].path, ""); ok {
			fmt.Fprintf(of, "%-20s", indent+s.label)
			of.row(s.entries, "")
			of.WriteByte('\n')
		}
	}
	w.WriteString(of.String())
}

// writeParameters prints a line for every parameter, with its gradient if it was
// evaluated.
func (r *Report) writeParameters(w *writer) {
	width := w.fit(20, r.Names...).width
	for _, part := range r.NamesOriginal {
		if _, own := r.Parameters[part]; !own { // with an indent of two
			width = max(width, 2+utf8.RuneCountInString(part))
		}
	}
	fmt.Fprintf(w, "\n%-*s  %14s  %14s", width, "parameter", "scaled", "original units")
	if r.GradientLog != nil {
		fmt.Fprintf(w, "  %14s", "∂"+r.objectiveLabel()+"/∂log")
	}
	w.WriteByte('\n')
	shown := map[string]bool{}
	for _, name := range r.Names {
		shown[name] = true
		fmt.Fprintf(w, "%-*s  %14.6g", width, name, r.Parameters[name])
		fmt.Fprintf(w, "  %14s", r.originalText(name))
		if source, ok := r.Tied[name]; ok {
			fmt.Fprintf(w, "  tied to %s", source)
		} else if slices.Contains(r.Constants, name) {
			w.WriteString("  constant")
		} else if g, ok := r.GradientLog[name]; ok {
			fmt.Fprintf(w, "  %14.3g", g)
		}
		w.WriteByte('\n')
		for _, part := range r.NamesOriginal {
			if strings.HasPrefix(part, name+"[") && !shown[part] {
				if _, own := r.Parameters[part]; !own {
					shown[part] = true
					fmt.Fprintf(w, "%-*s  %14s  %14.6g\n", width, "  "+part, "", r.ParametersOriginalUnits[part])
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
func (r *Report) writeMean(w *writer) {
	if r.MeanFit != problem.MeanGLS || len(r.MeanCoefficients) == 0 {
		return
	}
	w.fit(20)
	for _, c := range r.MeanCoefficients {
		w.width = max(w.width, utf8.RuneCountInString(c.Name))
	}
	w.WriteByte('\n')
	w.head(meanColumns)
	for _, i := range counting(len(r.MeanCoefficients)) {
		w.row(meanColumns, i)
		w.row(bumpColumns, i)
		w.WriteByte('\n')
	}
}

func (r *Report) objectiveLabel() string { return problem.ObjectiveLabel(r.ObjectiveName) }

// minimises reports whether the objective was a criterion, with priors or without.
func (r *Report) minimises(criteria ...problem.Criterion) bool {
	return slices.Contains(criteria, problem.Criterion(strings.TrimSuffix(r.ObjectiveName, problem.WithPrior)))
}

// estimate returns a note for the status line if the parameters are not maximum
// likelihood estimates.
func (r *Report) estimate() string {
	how, priors := "", r.NegLogPrior != nil
	switch {
	case r.Type != "fit":
		return ""
	case r.minimises(problem.LOO, problem.LOORMSE):
		how = "leave-one-out"
	case r.minimises(problem.CV, problem.CVRMSE):
		how = "cross-validation"
	case priors:
		return " (MAP)"
	default:
		return ""
	}
	if priors {
		how += " with priors"
	}
	return " (" + how + ")"
}

// writeObjective prints the objective if it is not the NLML alone, the leave-one-out
// score and the priors.
func (r *Report) writeObjective(w *writer) {
	if l := r.Scores.LeaveOneOut; l != nil {
		r.writePredictive(w, "LOO", l, "")
	}
	if f := r.Scores.Objective; f != nil {
		r.writePredictive(w, "CV", &f.LeaveOneOutScore, fmt.Sprintf(", %d folds, %s", f.Folds, drawn(f.Seed, f.Group, f.Blocks)))
	}
	base := problem.ObjectiveLabel(strings.TrimSuffix(r.ObjectiveName, problem.WithPrior))
	if r.minimises(problem.LOORMSE, problem.CVRMSE) {
		value := r.Objective
		if r.NegLogPrior != nil {
			value -= *r.NegLogPrior
		}
		fmt.Fprintf(w, "%-22s %14.6f   of the scaled problem\n", base, value)
	}
	if r.NegLogPrior == nil {
		return
	}
	fmt.Fprintf(w, "%-22s %14.6f   = %s + negative log prior %.6f\n", "objective", r.Objective, base, *r.NegLogPrior)
	w.WriteString("\npriors are densities over the parameters of the scaled problem, without a Jacobian; a fit finds the mode (MAP)\n")
	width := 20
	for name := range r.Priors {
		width = max(width, utf8.RuneCountInString(name))
	}
	for _, name := range r.Names {
		if p, ok := r.Priors[name]; ok {
			fmt.Fprintf(w, "%-*s  %s\n", width, name, p)
		}
	}
}

// writePredictive prints scores of predictions; of says of which rows.
func (r *Report) writePredictive(w *writer, name string, l *LeaveOneOutScore, of string) {
	fmt.Fprintf(w, "%-22s %14.6f   per row: %.6f in original units%s\n", name, l.Sum, l.NLPD, of)
	if len(r.Targets) == 0 {
		fmt.Fprintf(w, "%-22s %14.6g   in original units\n", name+", RMSE", l.RMSE)
	}
}

// writeScores prints the predictive scores side by side.
func (r *Report) writeScores(w *writer) {
	cv := r.Scores.CrossValidation
	if cv == nil {
		return
	}
	what := "at these parameters"
	if cv.Refit {
		what = "refitted in each fold"
	}
	fmt.Fprintf(w, "\n%-22s original units  standardized   (%s, %s)\n", fmt.Sprintf("%d-fold validation", len(cv.Folds)), drawn(cv.Seed, cv.Group, cv.Blocks), what)
	for _, p := range cv.Targets {
		fmt.Fprintf(w, "  target %q\n", p.Name)
		fmt.Fprintf(w, "%-20s %14.6g %13.4f\n", "    RMSE", p.RMSE, p.RMSEStandardized)
		fmt.Fprintf(w, "%-20s %14.6g %13.4f   ± %.2g\n", "    NLPD", p.NLPD, p.NLPDStandardized, p.NLPDStdError)
		fmt.Fprintf(w, "%-20s %13.1f %%\n", "    95 % interval", 100*p.Coverage95)
	}
	if cv.Targets != nil {
		w.WriteString("  all targets\n")
	} else {
		fmt.Fprintf(w, "%-20s %14.6g %13.4f\n", "  RMSE", cv.RMSE, cv.RMSEStandardized)
	}
	fmt.Fprintf(w, "%-20s %14.6g %13.4f   ± %.2g\n", "  NLPD", cv.NLPD, cv.NLPDStandardized, cv.NLPDStdError)
	if l := r.Scores.LeaveOneOut; l != nil {
		fmt.Fprintf(w, "%-20s %14.6g %13.4f\n", "  NLPD, leave-one-out", l.NLPD, l.NLPDStandardized)
	}
	fmt.Fprintf(w, "%-20s %13.1f %%\n", "  in the 95 % interval", 100*cv.Coverage95)
	writeVerdict(w, "", cv.Verdict)
}

// writeVerdict prints a verdict on the scores above it, if there is one.
func writeVerdict(w *writer, indent, verdict string) {
	if verdict != "" {
		fmt.Fprintf(w, "%s%s\n", indent, verdict)
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
func (r *Report) writeTargets(w *writer) {
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
		fmt.Fprintf(w, "\ntarget %q: NLML %.6f, in original units %.6f, data fit %.6f\n", p.Name, p.NLML, p.NLMLOriginalUnits, p.DataFit)
		for _, name := range p.Names {
			fmt.Fprintf(w, "  %-*s %14.6g in original units\n", width, name, p.ParametersOriginalUnits[name])
		}
		for _, c := range p.MeanCoefficients {
			fmt.Fprintf(w, "  %-*s %14.6g, std. error %.3g, in original units\n", width, c.Name, c.OriginalUnits, *c.StandardErrorOriginalUnits)
		}
		if s := p.Test; s != nil {
			fmt.Fprintf(w, "  held-out rows (%d): RMSE %.6g (standardized %.4f), NLPD %.6g (%.4f), %.1f %% in the 95 %% interval\n",
				s.N, s.RMSE, s.RMSEStandardized, s.NLPD, s.NLPDStandardized, 100*s.Coverage95)
			writeVerdict(w, "  ", s.Verdict)
		}
	}
}

// writeStdErrors prints standard errors and intervals, or why there are none.
func (r *Report) writeStdErrors(w *writer) {
	e := r.StdErrors
	if e == nil {
		return
	}
	if e.Failure != "" {
		fmt.Fprintf(w, "\nno standard errors: %s\n", e.Failure)
		return
	}
	w.WriteByte('\n')
	w.fit(20, r.Names...).head(append(stdErrorColumns[:3:3], entry{label: "95 % interval, scaled", format: "  %31s"}))
	for _, name := range r.Names {
		if _, ok := e.Scaled[name]; !ok {
			fmt.Fprintf(w, "%-*s  %14s\n", w.width, name, "left out")
			continue
		}
		w.row(stdErrorColumns, name)
		w.row(intervalColumns, name)
		w.WriteByte('\n')
	}
}

// MostColumns is the number of columns that the text lists.
const MostColumns = 10

// WriteRelevance prints the most relevant columns of several.
func (r *Report) WriteRelevance(w *strings.Builder) {
	if len(r.Relevance) < 2 {
		return
	}
	shown := r.Relevance[:min(len(r.Relevance), MostColumns)]
	width := 20
	for _, c := range shown {
		width = max(width, utf8.RuneCountInString(c.Name()))
	}
	fmt.Fprintf(w, "\n%-*s  %14s  %s\n", width, "column", "relevance", "lengthscale in units of the column")
	for _, c := range shown {
		words := make([]string, len(c.Lengthscales))
		for i, v := range c.Lengthscales {
			words[i] = fmt.Sprintf("%.6g", v)
		}
		fmt.Fprintf(w, "%s\n", strings.TrimRight(fmt.Sprintf("%-*s  %14.2f  %s", width, c.Name(), c.Relevance, strings.Join(words, ", ")), " "))
	}
	if rest := r.Relevance[len(shown):]; len(rest) > 0 {
		fmt.Fprintf(w, "and %d more, each with a relevance of at most %.2f\n", len(rest), rest[0].Relevance)
	}
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
func (c *CoarseReport) write(w *strings.Builder) {
	switch {
	case c == nil:
	case c.Objective == nil || c.PlainObjective == nil:
		w.WriteString("subsets of the rows led here: a descent from the start values over all rows may end lower (coarse check compares)\n")
	default:
		fmt.Fprintf(w, "coarse to fine ended at %.4f, the descent from the start values over all rows at %.4f\n", *c.Objective, *c.PlainObjective)
	}
}
