package summary

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gpfit/fit/problem"
)

// mostOptima is the number of optima whose parameters the text lists.
const mostOptima = 4

// writeOptima prints the optima that starts reached, their parameters, and what the starts
// say about others.
func (r *Report) writeOptima(b *strings.Builder) {
	if len(r.Optima) == 0 {
		return
	}
	held := r.Optima[0].Test != nil
	fmt.Fprintf(b, "\noptimum  %10s  starts  values  gradients  %10s  %10s", problem.ObjectiveLabel(r.ObjectiveName), "LOO NLPD", "LOO RMSE")
	if held {
		fmt.Fprintf(b, "  %13s  %13s", "held-out NLPD", "held-out RMSE")
	}
	b.WriteByte('\n')
	for i, o := range r.Optima {
		fmt.Fprintf(b, "%7d  %10.4f  %6d  %6d  %9d", i, o.Objective, o.Starts, o.Value, o.Gradient)
		switch {
		case o.Rows > 0:
			fmt.Fprintf(b, "  (dropped on %d rows)", o.Rows)
		case o.Dropped:
			b.WriteString("  (stopped early)")
		default:
			o.writeScores(b, held)
		}
		b.WriteByte('\n')
	}
	r.writeOptimaParameters(b)
	r.Search.Write(b, len(r.Starts) == 0)
}

// writeScores prints the scores of an optimum in original units; several targets share
// only the leave-one-out NLPD.
func (o *OptimumReport) writeScores(b *strings.Builder, held bool) {
	loo, rmse := "-", "-"
	if l := o.LeaveOneOut; l != nil {
		loo = fmt.Sprintf("%.4f", l.NLPD)
		if l.RMSE != 0 {
			rmse = fmt.Sprintf("%.5g", l.RMSE)
		}
	}
	fmt.Fprintf(b, "  %10s  %10s", loo, rmse)
	switch {
	case held && o.Test != nil:
		fmt.Fprintf(b, "  %13.4f  %13.5g", o.Test.NLPD, o.Test.RMSE)
	case held:
		fmt.Fprintf(b, "  %13s  %13s", "-", "-")
	}
}

// writeOptimaParameters prints the parameters of the best optima side by side.
func (r *Report) writeOptimaParameters(b *strings.Builder) {
	var shown []int
	for i, o := range r.Optima {
		if !o.Dropped && len(shown) < mostOptima {
			shown = append(shown, i)
		}
	}
	if len(shown) < 2 {
		return
	}
	width := 20
	for _, name := range r.Names {
		width = max(width, utf8.RuneCountInString(name))
	}
	fmt.Fprintf(b, "\n%-*s", width, "parameter, scaled")
	for _, i := range shown {
		fmt.Fprintf(b, "  %14s", fmt.Sprintf("optimum %d", i))
	}
	b.WriteByte('\n')
	for _, name := range r.Names {
		if _, ok := r.Optima[0].Parameters[name]; !ok {
			continue // tied
		}
		fmt.Fprintf(b, "%-*s", width, name)
		for _, i := range shown {
			fmt.Fprintf(b, "  %14.6g", r.Optima[i].Parameters[name])
		}
		b.WriteByte('\n')
	}
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
