package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpfit/fit/problem"
)

// mostOptima is the number of optima whose parameters the text lists.
const mostOptima = 4

// The columns of the table of optima. Scores are in original units; several targets share only
// the leave-one-out NLPD.
var (
	optimumColumns = []entry{
		{path: rowName, label: "optimum", format: "%7s"}, {path: "optima.*.objective", format: "  %10.4f"}, {path: "optima.*.starts", label: "starts", format: "  %6d"},
		{path: "optima.*.value", label: "values", format: "  %6d"}, {path: "optima.*.gradient", label: "gradients", format: "  %9d"},
	}
	leftOutColumns = []entry{{path: "optima.*.loo.nlpd", label: "LOO NLPD", format: "  %10.4f", none: "-"}, {path: "optima.*.loo.rmse", label: "LOO RMSE", format: "  %10.5g", none: "-"}}
	heldOutColumns = []entry{{path: "optima.*.test.nlpd", label: "held-out NLPD", format: "  %13.4f", none: "-"}, {path: "optima.*.test.rmse", label: "held-out RMSE", format: "  %13.5g", none: "-"}}
)

// writeOptima prints the optima that starts reached, their parameters, and what the starts
// say about others.
func (r *Report) writeOptima(w *writer) {
	if len(r.Optima) == 0 {
		return
	}
	scores := leftOutColumns
	if r.Optima[0].Test != nil {
		scores = append(scores[:2:2], heldOutColumns...)
	}
	w.WriteByte('\n')
	w.head(append(labelled(optimumColumns, 1, problem.ObjectiveLabel(r.ObjectiveName)), scores...))
	for i, o := range r.Optima {
		w.row(optimumColumns, strconv.Itoa(i))
		switch {
		case o.Rows > 0:
			fmt.Fprintf(w, "  (dropped on %d rows)", o.Rows)
		case o.Dropped:
			w.WriteString("  (stopped early)")
		default:
			w.row(scores, strconv.Itoa(i))
		}
		w.WriteByte('\n')
	}
	r.writeOptimaParameters(w)
	r.Search.Write(&w.Builder, len(r.Starts) == 0)
}

// writeOptimaParameters prints the parameters of the best optima side by side.
func (r *Report) writeOptimaParameters(w *writer) {
	columns := []entry{{path: rowName, label: "parameter, scaled", format: "%-*s"}}
	for i, o := range r.Optima {
		if !o.Dropped && len(columns) <= mostOptima {
			columns = append(columns, entry{path: fmt.Sprintf("optima.%d.parameters.*", i), label: fmt.Sprintf("optimum %d", i), format: "  %14.6g"})
		}
	}
	if len(columns) < 3 {
		return
	}
	// The others are tied.
	free := slices.DeleteFunc(slices.Clone(r.Names), func(name string) bool { _, ok := r.Optima[0].Parameters[name]; return !ok })
	w.WriteByte('\n')
	w.fit(20, r.Names...).table(columns, columns, free)
}

// Undrawn says why the starts give no estimate.
func (s *SearchReport) Undrawn() string {
	if s.Drawn == 0 {
		return "the starts that reached an optimum were chosen from the data, not drawn at random"
	}
	return fmt.Sprintf("%s drawn at random that found %s are too few", counted(s.Drawn, "start"), counted(s.Distinct, "optimum", "optima"))
}

// Remedy names the options that can give an estimate. raced says that starts were stopped
// early, or would have been.
func (s *SearchReport) Remedy(raced bool) string {
	text := fmt.Sprintf("restarts %d or more", s.LeastRestarts)
	if s.LeastRestarts == 0 { // the model of an earlier version
		text = "more restarts"
	}
	if raced {
		text += ", and coarse off, so that each start runs to its end"
	}
	return text
}

// Write prints how often the best optimum was found and what that means.
func (s *SearchReport) Write(b *strings.Builder, raced bool) {
	if s == nil {
		return
	}
	fmt.Fprintf(b, "\nthe best optimum was reached by %d of %s", s.Best, counted(s.Starts+s.Stopped, "start"))
	if s.Stopped > 0 {
		fmt.Fprintf(b, "; gpfit stopped %d early, which seemed unable to become the best", s.Stopped)
	}
	if s.Unseen == nil {
		fmt.Fprintf(b, "\n%s: no estimate of the chance\nof a better optimum follows; it takes %s\n", s.Undrawn(), s.Remedy(raced))
		return
	}
	fmt.Fprintf(b, "\n%s drawn at random found %s: by estimate another start leads with probability %.2g to an\n", counted(s.Drawn, "start"), counted(s.Distinct, "optimum", "optima"), *s.Unseen)
	b.WriteString("optimum not seen yet, and so to a better one with at most that")
	if s.Expected != nil {
		fmt.Fprintf(b, "; about %.2g are expected in all", *s.Expected)
	}
	b.WriteString("\n(Boender and Rinnooy Kan 1987; it assumes independent starts and nothing about the basins)\n")
}

// counted returns a number with its noun: the first word for 1, and otherwise the second,
// or the first with an s.
func counted(n int, words ...string) string {
	switch {
	case n == 1:
		return "1 " + words[0]
	case len(words) > 1:
		return fmt.Sprintf("%d %s", n, words[1])
	}
	return fmt.Sprintf("%d %ss", n, words[0])
}
