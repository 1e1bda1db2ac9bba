package results

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/summary"
	"gpfit/internal/each"
	"gpfit/internal/textform"
)

// clearTail is the largest p-value of the sign test with which the page calls a difference clear.
const clearTail = 0.05

// Headline says in words which kernel is best, how sure that is, and how good the models are.
func Headline(rows []Row) []string {
	metrics := Metrics(rows)
	if len(metrics) == 0 {
		return []string{"No job has a result yet: " + StateText(rows) + "."}
	}
	out := []string{bestKernel(rows, metrics[0])}
	if text := verdictText(rows); text != "" {
		out = append(out, text)
	}
	left := 0
	for _, r := range rows {
		if r.NLML == nil {
			left++
		}
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("%d of %d jobs have no result (%s); this page compares the others.", left, len(rows), StateText(rows)))
	}
	return out
}

// bestKernel says which kernel has the lowest mean of a metric, and by how many pairs.
func bestKernel(rows []Row, m Measure) string {
	known := measured(rows, m)
	remark := ""
	if dataSets := func(r Row) string { return r.Data }; len(names(known, dataSets)) < len(names(rows, dataSets)) {
		remark = " with this score"
	}
	rows = known
	standings := Rank(rows, []Measure{m})
	winners := map[string][]string{} // data sets by kernel
	var order []string
	sets := 0
	for _, s := range standings {
		if s.Rank > 1 {
			continue
		}
		sets++
		if winners[s.Kernel] == nil {
			order = append(order, s.Kernel)
		}
		winners[s.Kernel] = append(winners[s.Kernel], s.Data)
	}
	if len(names(rows, func(r Row) string { return r.Kernel })) == 1 {
		return fmt.Sprintf("All jobs have the kernel %s: there is nothing to compare.", order[0])
	}
	if len(order) > 1 {
		parts := each.Of(order, func(k string) string { return fmt.Sprintf("%s is on %s", k, textform.And(winners[k])) })
		return fmt.Sprintf("No kernel is best on %s: by %s, %s.", tables(sets)+remark, m.short(), strings.Join(parts, ", "))
	}
	return verdictOn(order[0], tables(sets)+remark, against(rows, m, order[0]), m)
}

// measured returns the rows that have a metric, without repetitions: where the seed changes
// nothing, further seeds are no further evidence.
func measured(rows []Row, m Measure) []Row {
	type key struct {
		data, kernel, split, each string
		value                     float64
	}
	seen := map[key]bool{}
	var out []Row
	for _, r := range rows {
		v := m.Of(r)
		if v == nil {
			continue
		}
		k := key{r.Data, r.Kernel, r.Split, r.Each, *v}
		if seen[k] {
			continue
		}
		seen[k] = true
		out = append(out, r)
	}
	return out
}

// duel counts the pairs of jobs in which a kernel beats another one.
type duel struct {
	other      string
	wins, ties int
	pairs      int
	p          float64
}

// against returns the duels of a kernel with the others, over all data sets.
func against(rows []Row, m Measure, kernel string) []duel {
	byOther := map[string]*duel{}
	var out []duel
	for _, p := range Compare(rows, []Measure{m}) {
		if p.Data == "" || p.A != kernel && p.B != kernel {
			continue
		}
		other, wins := p.B, p.WinsA
		if p.B == kernel {
			other, wins = p.A, p.WinsB
		}
		if byOther[other] == nil {
			byOther[other] = &duel{other: other}
		}
		d := byOther[other]
		d.wins, d.ties, d.pairs = d.wins+wins, d.ties+p.Ties, d.pairs+p.Pairs
	}
	for _, name := range names(rows, func(r Row) string { return r.Kernel }) {
		if d := byOther[name]; d != nil {
			d.p = signTest(d.wins, d.pairs-d.ties-d.wins)
			out = append(out, *d)
		}
	}
	return out
}

// verdictOn says how clearly the kernel that is first on all data sets is better than the others.
func verdictOn(kernel, where string, duels []duel, m Measure) string {
	wins, pairs := 0, 0
	var unclear *duel // the least clear
	for _, d := range duels {
		wins, pairs = wins+d.wins, pairs+d.pairs
		if (d.p > clearTail || 2*d.wins < d.pairs-d.ties) && (unclear == nil || d.p > unclear.p) {
			unclear = &d
		}
	}
	best := fmt.Sprintf("%s is best on %s", kernel, where)
	switch {
	case len(duels) == 0:
		return fmt.Sprintf("%s has the only results on %s: there are no pairs to compare.", kernel, where)
	case len(duels) == 1 && pairs == 1 && duels[0].ties == 1:
		return fmt.Sprintf("%s and %s score the same in the only pair of jobs.", kernel, duels[0].other)
	case pairs == len(duels):
		return fmt.Sprintf("%s has the lowest %s, but each comparison has one pair of jobs, which is no result: more splits or seeds would tell.", kernel, m.short())
	case unclear == nil:
		return fmt.Sprintf("%s, %d of %d pairs (%s).", best, wins, pairs, m.short())
	case wins == pairs:
		return fmt.Sprintf("%s, %d of %d pairs (%s), but so few pairs prove little (sign test against %s: p = %.2g).", best, wins, pairs, m.short(), unclear.other, unclear.p)
	}
	return fmt.Sprintf("No kernel is clearly best: %s has the lowest mean %s on %s, but against %s it wins %d of %d pairs (sign test p = %.2g).", kernel, m.short(), where, unclear.other, unclear.wins, unclear.pairs, unclear.p)
}

// verdictText says how many jobs have which verdict.
func verdictText(rows []Row) string {
	counts, judged := map[string]int{}, 0
	for _, r := range rows {
		if r.Level != "" {
			judged++
			counts[r.Level]++
			counts[r.Calibration]++
		}
	}
	if judged == 0 {
		return ""
	}
	var parts []string
	for _, level := range []summary.Level{summary.Good, summary.Fair, summary.Poor, summary.Unknown} {
		if n := counts[string(level)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s for %d", level, n))
		}
	}
	text := fmt.Sprintf("Of %s, the verdict is %s", textform.Counted(judged, "job"), textform.And(parts))
	var wrong []string
	for c, words := range map[summary.Calibration]string{summary.Overconfident: "too narrow", summary.Underconfident: "too wide"} {
		if n := counts[string(c)]; n > 0 {
			wrong = append(wrong, fmt.Sprintf("%s for %d", words, n))
		}
	}
	slices.Sort(wrong)
	if wrong != nil {
		text += "; the 95 % intervals are " + textform.And(wrong)
	}
	return text + "."
}

// short returns the name of a metric without a remark in brackets.
func (m Measure) short() string {
	name, _, _ := strings.Cut(m.Title(), " (")
	return name
}

// tables returns a number of tables in words.
func tables(n int) string {
	words := []string{"", "the only table", "both tables", "all three tables", "all four tables", "all five tables", "all six tables"}
	if n < len(words) {
		return words[n]
	}
	return fmt.Sprintf("all %d tables", n)
}
