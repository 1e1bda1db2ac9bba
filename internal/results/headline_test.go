package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gpfit/internal/must"
	"gpfit/internal/rundir"
)

// scored returns a row for each score, whose NLPD it is; a name is data.kernel.split.
func scored(scores map[string]float64) []Row {
	var out []Row
	for _, data := range []string{"a", "b", "c"} {
		for _, kernel := range []string{"rbf", "matern52", "linear"} {
			for split := range 9 {
				split := fmt.Sprint(split)
				v, ok := scores[data+"."+kernel+"."+split]
				if !ok {
					continue
				}
				nlml, seconds := v, 1.0
				out = append(out, Row{Data: data, Kernel: kernel, Split: split, State: string(rundir.StateDone), N: 1, NLML: &nlml, NLPDStandardized: &v, Seconds: &seconds})
			}
		}
	}
	return out
}

// grid returns scores of two kernels on tables, with a number of splits each; gap is
// added to rbf, and in the first flips pairs subtracted from it.
func grid(tables string, splits, flips int, gap float64) map[string]float64 {
	out := map[string]float64{}
	for _, data := range tables {
		for split := range splits {
			d := gap
			if flips > 0 {
				d, flips = -gap/10, flips-1
			}
			out[fmt.Sprintf("%c.matern52.%d", data, split)] = float64(split)
			out[fmt.Sprintf("%c.rbf.%d", data, split)] = float64(split) + d
		}
	}
	return out
}

// TestHeadline checks that the headline names the best kernel, and that it says so where
// nothing is best or where little is known.
func TestHeadline(t *testing.T) {
	mixed := grid("ab", 3, 0, 1)
	for split := range 3 {
		mixed[fmt.Sprintf("b.rbf.%d", split)] = -1
	}
	for name, c := range map[string]struct {
		scores map[string]float64
		want   string
	}{
		"clear":     {grid("abc", 3, 0, 1), "matern52 is best on all three tables, 9 of 9 pairs (NLPD)."},
		"one table": {grid("a", 9, 1, 1), "matern52 is best on the only table, 8 of 9 pairs (NLPD)."},
		"few":       {grid("a", 3, 0, 1), "matern52 is best on the only table, 3 of 3 pairs (NLPD), but so few pairs prove little (sign test against rbf: p = 0.25)."},
		"one pair":  {grid("a", 1, 0, 1), "matern52 has the lowest NLPD, but each comparison has one pair of jobs, which is no result: more splits or seeds would tell."},
		"tie":       {grid("a", 1, 0, 0), "rbf and matern52 score the same in the only pair of jobs."},
		"unclear":   {grid("ab", 4, 3, 1), "No kernel is clearly best: matern52 has the lowest mean NLPD on both tables, but against rbf it wins 5 of 8 pairs (sign test p = 0.73)."},
		"different": {mixed, "No kernel is best on both tables: by NLPD, matern52 is on a, rbf is on b."},
		"alone":     {map[string]float64{"a.rbf.0": 1, "b.rbf.0": 1}, "All jobs have the kernel rbf: there is nothing to compare."},
		"apart":     {map[string]float64{"a.rbf.0": 1, "a.matern52.1": 2}, "rbf has the only results on the only table: there are no pairs to compare."},
	} {
		if got := Headline(scored(c.scores))[0]; got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	// A seed that changes nothing is no further evidence, and a data set without held-out
	// rows does not count.
	again := scored(grid("a", 1, 0, 1))
	for _, r := range again {
		r.Seed = 2
		again = append(again, r)
	}
	nlml, seconds := 1.0, 1.0
	again = append(again, Row{Data: "b", Kernel: "rbf", State: "done", N: 1, NLML: &nlml, Seconds: &seconds})
	if got := Headline(again)[0]; !strings.Contains(got, "has one pair of jobs, which is no result") {
		t.Error(got)
	}
	again = append(scored(grid("a", 9, 0, 1)), again[len(again)-1])
	if got := Headline(again)[0]; got != "matern52 is best on the only table with this score, 9 of 9 pairs (NLPD)." {
		t.Error(got)
	}
	if got := Headline([]Row{{State: "pending", Kernel: "rbf"}}); len(got) != 1 || got[0] != "No job has a result yet: 1 pending." {
		t.Error(got)
	}
	all := Headline(rows())
	if len(all) != 3 || all[1] != "The 95 % intervals are too narrow in 8 of 8 jobs with held-out rows." || !strings.HasPrefix(all[2], "2 of 10 jobs have no result (8 done, 1 failed, 1 pending)") {
		t.Errorf("%q", all)
	}
}

// TestPageNamesNoFolders checks that the page has no path of the machine.
func TestPageNamesNoFolders(t *testing.T) {
	all, r := rows(), run()
	r.Dir, r.SpecPath, r.Inputs[0].Path = "/home/me/x.run", "/home/me/spec.yaml", "/home/me/my data/a.csv"
	all[8].Error = "/home/me/my data/a.csv:3: bad"
	all[0].ParametersOriginalUnits = `{"lengthscale[wind <b>]":2.5}`
	var b bytes.Buffer
	must.Do(t, WriteHTML(&b, r, all))
	for _, not := range []string{"/home", "me/", "my data"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("the page has %q", not)
		}
	}
	for _, want := range []string{"a.csv:3: bad", "x.run", "lengthscale[wind &lt;b&gt;]", "2.5", "<td>95.0 %</td>", "Calibration"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
