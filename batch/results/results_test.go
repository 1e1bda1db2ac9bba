package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

// rows returns results of kernels p and q on data a (three splits) and b (one split),
// with one failed job and one pending job.
func rows() []Row {
	done := func(data, kernel, split string, nlpd, rmse float64) Row {
		nlml, seconds, coverage, values := 10*nlpd+0.1, 0.5, 0.95, 7
		return Row{
			Job: data + "." + kernel + "." + split, Data: data, Kernel: kernel, Split: split, Seed: 1, State: "done", N: 10, D: 2, NLML: &nlml,
			NLPDStandardized: &nlpd, RMSEStandardized: &rmse, Seconds: &seconds, Coverage95: &coverage, Values: &values, Parameters: `{"lengthscale":0.1}`,
			Level: "poor", Calibration: "overconfident", Verdict: "poor: overconfident", WarningTexts: `["too narrow <b>","at a bound"]`,
			Relevance: `[{"column":"wind <b>","index":2,"relevance":0.75,"lengthscales":[0.5]},{"column":"","index":0,"relevance":0.25}]`,
		}
	}
	return []Row{
		done("a", "p", "0", 1, 0.5), done("a", "p", "1", 2, 0.6), done("a", "p", "2", 4, 0.7),
		done("a", "q", "0", 0.5, 0.5), done("a", "q", "1", 1, 0.8), done("a", "q", "2", 4.25, 0.9),
		done("b", "p", "0", 1, 1), done("b", "q", "0", 0, 1),
		{Job: "b.p.1", Data: "b", Kernel: "p", Split: "1", Seed: 1, State: "failed", Kind: "data", Error: "b.csv:3: <bad>\nmore"},
		{Job: "b.q.1", Data: "b", Kernel: "q", Split: "1", Seed: 1, State: "pending"},
	}
}

func run() *rundir.Run {
	return &rundir.Run{Dir: "x.run", Manifest: rundir.Manifest{Name: "a <test>", Created: time.Unix(0, 0), Inputs: []rundir.Input{{Path: "a.csv", SHA256: "abc"}}}}
}

// TestCompare compares the pairs with values computed by hand.
func TestCompare(t *testing.T) {
	all := rows()
	metrics := Metrics(all)
	if len(metrics) != 3 || metrics[0].Name != "nlpd_standardized" {
		t.Fatalf("%v", metrics)
	}
	byData := map[string]PairedComparison{}
	for _, p := range Compare(all, metrics[:1]) {
		byData[p.Data] = p
	}
	// Differences p − q on a: ½, 1, −¼, mean 5/12, variance 19/48; on b: 1.
	a := PairedComparison{Data: "a", Metric: "nlpd_standardized", A: "p", B: "q", Pairs: 3, MeanDifference: 1.25 / 3, WinsA: 1, WinsB: 2, SignP: 1}
	a.StdErr = math.Sqrt((0.25 + 1 + 0.0625 - 3*a.MeanDifference*a.MeanDifference) / 2 / 3)
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-14 })
	if d := cmp.Diff(a, byData["a"], near); d != "" {
		t.Error(d)
	}
	// 1 of 4: 2·(1 + 4)/16.
	if p := byData[""]; p.Pairs != 4 || p.WinsA != 1 || p.WinsB != 3 || math.Abs(p.SignP-0.625) > 1e-14 || math.Abs(p.MeanDifference-2.25/4) > 1e-14 {
		t.Errorf("%+v", p)
	}
	if p := byData["b"]; p.Pairs != 1 || p.StdErr != 0 {
		t.Errorf("%+v", p)
	}
	if got := signTest(0, 6); math.Abs(got-2.0/64) > 1e-14 {
		t.Error(got)
	}
	if signTest(0, 0) != 1 || signTest(2, 2) != 1 {
		t.Error("a p above 1")
	}
}

// TestRank checks that the best kernel is first and that kernels with fewer finished jobs are last.
func TestRank(t *testing.T) {
	all := rows()
	metrics := Metrics(all)
	order := func(rows []Row) string {
		var out []string
		for _, s := range Rank(rows, metrics) {
			out = append(out, s.Data+strconv.Itoa(s.Rank)+s.Kernel)
		}
		return strings.Join(out, " ")
	}
	if got := order(all); got != "a1q a2p b1q b2p" {
		t.Error(got)
	}
	if got := order(all[:5]); got != "a1p a2q" {
		t.Errorf("with a job of q missing: %s", got)
	}
	s := Rank(all, metrics)[1]
	if math.Abs(s.Means["nlpd_standardized"]-7.0/3) > 1e-14 || math.Abs(s.Means["rmse_standardized"]-0.6) > 1e-14 || math.Abs(*s.Coverage95-0.95) > 1e-14 || s.Jobs != 3 {
		t.Errorf("%+v", s)
	}
	if len(Metrics(all[8:])) != 0 {
		t.Error("metrics without results")
	}
}

// TestFormats checks that every format has the same rows, to the bit.
func TestFormats(t *testing.T) {
	all := rows()
	var b bytes.Buffer
	testcheck.Do(t, Write(&b, "parquet", run(), all))
	back := testcheck.Get(parquet.Read[Row](bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	if d := cmp.Diff(all, back); d != "" {
		t.Errorf("Parquet: %s", d)
	}
	b.Reset()
	testcheck.Do(t, Write(&b, "csv", run(), all))
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(records) != len(all)+1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, record := range records[1:] {
		for c, name := range records[0] {
			if name == "nlml" && all[i].NLML != nil {
				if v, err := strconv.ParseFloat(record[c], 64); err != nil || v != *all[i].NLML {
					t.Errorf("row %d: %s", i, record[c])
				}
			}
			if name == "error" && record[c] != all[i].Error {
				t.Errorf("%q", record[c])
			}
		}
	}
	if got := reflect.TypeFor[Row]().NumField(); len(records[0]) != got {
		t.Errorf("%d columns, want %d", len(records[0]), got)
	}
	b.Reset()
	testcheck.Do(t, Write(&b, "json", run(), all))
	count := map[string]int{}
	for line := range strings.Lines(b.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil || v["schema_version"] != 1.0 {
			t.Fatalf("%v: %s", err, line)
		}
		count[v["type"].(string)]++
		if v["job"] == "a.p.0" {
			if p := v["parameters"].(map[string]any); p["lengthscale"] != 0.1 || v["nlml"] != *all[0].NLML {
				t.Errorf("%s", line)
			}
			if r := v["relevance"].([]any); len(r) != 2 || r[0].(map[string]any)["column"] != "wind <b>" || v["calibration"] != "overconfident" {
				t.Errorf("%s", line)
			}
		}
	}
	if d := cmp.Diff(map[string]int{"job": 10, "ranking": 4, "comparison": 9, "run": 1}, count); d != "" {
		t.Error(d)
	}
	testcheck.Fail[error](t, Write(&b, "xls", run(), all))
	b.Reset()
	testcheck.Do(t, Write(&b, "table", run(), all))
	testcheck.Words(t, b.String(), "8 done, 1 failed, 1 pending", "b.p.1 (data): b.csv:3: <bad>\n", "paired comparisons",
		"most relevant columns\n  a.p.0: wind <b> 0.75, column 0 0.25\n", "verdicts that are not good\n  a.p.0: poor: overconfident\n", "warnings\n  a.p.0: too narrow <b>; at a bound\n")
}

// TestFields checks that each number of a run that is not whole has a field, which says how people see it.
func TestFields(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[Row](), reflect.TypeFor[Standing](), reflect.TypeFor[PairedComparison](), reflect.TypeFor[DeviceUse]()} {
		for _, f := range reflect.VisibleFields(of) {
			path, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if strings.HasSuffix(f.Type.String(), "float64") && f.Type.Kind() != reflect.Map && fields.Named(path).Form == "" {
				t.Errorf("fit/fields has no field %s of %v", path, of)
			}
		}
	}
}

// TestReported checks that a row has the kernel that its fit chose, and the scores of the verdict: the error of the
// rows that fit, if some do not, and other scores of all.
func TestReported(t *testing.T) {
	fitting := &summary.TestScores{N: 97, RMSE: 3, RMSEStandardized: 0.3, NLPD: 2, NLPDStandardized: 0.5, Coverage95: 0.95}
	report := &summary.Report{Type: "fit", Status: "gain-converged", N: 200, Kernel: "rbf(ard)", Mean: "linear",
		Test:   &summary.TestScores{N: 100, RMSE: 9, RMSEStandardized: 0.9, NLPD: 3, NLPDStandardized: 1, Coverage95: 0.9, Fitting: fitting},
		Choice: &summary.ModelChoice{Rows: 200, Models: []summary.ChosenModel{{Kernel: "rbf(ard)", Mean: "linear"}, {Kernel: "matern32(ard)", BIC: 2}}}}
	row := Row{Job: "a.auto.0", Kernel: "auto", Expression: "auto", State: "done"}
	row.addReport(rundir.JobEvent{Type: rundir.Done, Report: report})
	if row.Expression != "rbf(ard)" || *row.RMSE != 3 || *row.RMSEStandardized != 0.3 || *row.NLPD != 3 || *row.NLPDStandardized != 1 || *row.Coverage95 != 0.9 {
		t.Errorf("%+v", row)
	}
	testcheck.Words(t, row.Verdict, "on 97 held-out rows, 3 outlying rows aside, the error (RMSE) is 3,")
	var b bytes.Buffer
	testcheck.Do(t, WriteHTML(&b, run(), []Row{row}))
	chosen := "the lowest BIC of 2 models, tuned on 200 rows, is this kernel with a linear mean; next are matern32(ard) (+2.0)"
	testcheck.Words(t, html.UnescapeString(b.String()), "Chosen kernels", ">rbf(ard)<", chosen)
	b.Reset()
	testcheck.Do(t, Write(&b, "table", run(), []Row{row}))
	testcheck.Words(t, b.String(), "chosen kernels\n  a.auto.0: rbf(ard): "+chosen+"\n")
}

// TestHTML checks that the page is complete and well-formed, escapes all text, and fetches nothing.
func TestHTML(t *testing.T) {
	for _, all := range [][]Row{rows(), rows()[8:], nil} {
		var b bytes.Buffer
		testcheck.Do(t, WriteHTML(&b, run(), all))
		page := b.String()
		if strings.Contains(page, "<test>") || strings.Contains(page, "<bad>") {
			t.Error("text is not escaped")
		}
		if n := strings.Count(page, "<script"); n != 1 {
			t.Errorf("%d scripts, want the page's own", n)
		}
		for _, word := range []string{"<link", "src=", "@import", "url("} {
			if strings.Contains(page, word) {
				t.Errorf("the page has %q, which may load another file", word)
			}
		}
		// Except for void elements, the page is also XML.
		if n := elements(t, page)["svg"]; len(all) == 10 && n != 8 {
			t.Errorf("%d plots, want 4 for each of 2 data sets", n)
		}
	}
}

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
	testcheck.Words(t, Headline(again)[0], "has one pair of jobs, which is no result")
	again = append(scored(grid("a", 9, 0, 1)), again[len(again)-1])
	if got := Headline(again)[0]; got != "matern52 is best on the only table with this score, 9 of 9 pairs (NLPD)." {
		t.Error(got)
	}
	if got := Headline([]Row{{State: "pending", Kernel: "rbf"}}); len(got) != 1 || got[0] != "No job has a result yet: 1 pending." {
		t.Error(got)
	}
	all := Headline(rows())
	if len(all) != 3 || all[1] != "Of 8 jobs, the verdict is poor for 8; the 95 % intervals are too narrow for 8." || !strings.HasPrefix(all[2], "2 of 10 jobs have no result (8 done, 1 failed, 1 pending)") {
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
	testcheck.Do(t, WriteHTML(&b, r, all))
	for _, not := range []string{"/home", "me/", "my data"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("the page has %q", not)
		}
	}
	testcheck.Words(t, b.String(), "a.csv:3: bad", "x.run", "lengthscale[wind &lt;b&gt;]", "2.5", "<td>95.0 %</td>", "Calibration", "a.p.0: poor: overconfident.", ">too narrow &lt;b&gt;<")
}

// elements returns the number of elements of a page by name. It fails the test if the
// page is not well-formed or an element has an event handler. It replaces control
// characters first, because HTML allows them and XML does not.
func elements(t *testing.T, page string) map[string]int {
	t.Helper()
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= '\uFFFE' && r <= '\uFFFF' {
			return '?'
		}
		return r
	}, page)
	d := xml.NewDecoder(strings.NewReader(clean))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	count := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		testcheck.Do(t, err)
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
			for _, a := range start.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
					t.Fatalf("<%s> has the attribute %s", start.Name.Local, a.Name.Local)
				}
			}
		}
	}
}

// named returns rows and a run in which every name is text.
func named(text string) ([]Row, *rundir.Run) {
	all, r := rows(), run()
	for i := range all {
		all[i].Job, all[i].Kind, all[i].Error, all[i].Status, all[i].Device, all[i].Model = text, text, text, text, text, text
		if all[i].Data == "a" {
			all[i].Data = text
		}
		if all[i].Kernel == "p" {
			all[i].Kernel = text
		}
		if parameters, err := json.Marshal(map[string]float64{text: 1}); err == nil {
			all[i].Parameters = string(parameters)
		}
		if relevance, err := json.Marshal([]summary.ColumnRelevance{{Column: text, Relevance: 0.5}}); err == nil {
			all[i].Relevance, all[i].Verdict, all[i].Next = string(relevance), text, text
		}
	}
	r.Name, r.Program, r.Dir, r.Inputs[0].Path = text, text, text, text
	return all, r
}

// FuzzNames checks output with arbitrary names of columns, files and jobs: a page has
// the same elements as with plain names, JSON lines and CSV contain the name
// unchanged, and no format costs much time or memory.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onload='x", "</svg><b>", "<!--", "]]>", "&lt;&", "a\nb,\"c\"", "=1+1", "\u202e", "{{.}}", "\\frac{1}{2}", "é", "\x00", "x\u200b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text == "b" || text == "q" || len(text) > 200 || !utf8.ValidString(text) {
			return // the page must have as many data sets and kernels as with plain names
		}
		fuzzguard.Run(t, func() { checkNames(t, text) })
	})
}

func checkNames(t *testing.T, text string) {
	all, r := named(text)
	plainRows, plainRun := named("plain")
	var b, plain bytes.Buffer
	testcheck.Do(t, errors.Join(WriteHTML(&b, r, all), WriteHTML(&plain, plainRun, plainRows)))
	got, want := elements(t, b.String()), elements(t, plain.String())
	// A plot draws a name as glyphs, one for each letter.
	for _, drawn := range []string{"path", "text", "tspan", "g", "use"} {
		delete(got, drawn)
		delete(want, drawn)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%q: elements %v, with plain names %v", text, got, want)
	}
	b.Reset()
	testcheck.Do(t, Write(&b, "json", r, all))
	var first struct{ Job, Error string }
	if err := json.NewDecoder(&b).Decode(&first); err != nil || first.Job != text || first.Error != text {
		t.Fatalf("%q: JSON gives %+v, %v", text, first, err)
	}
	b.Reset()
	testcheck.Do(t, Write(&b, "csv", r, all))
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) != len(all)+1 || lines[1][0] != strings.ReplaceAll(text, "\r\n", "\n") {
		t.Fatalf("%q: CSV gives %q, %v", text, lines, err)
	}
	testcheck.Do(t, errors.Join(Write(io.Discard, "table", r, all), Write(io.Discard, "parquet", r, all)))
}

// FuzzCollect checks that Collect either refuses arbitrary records as damaged or returns
// rows that every format can write, and that the JSON lines are valid.
func FuzzCollect(f *testing.F) {
	event := `{"type":"done","fingerprint":"f","report":{"nlml":1.5,"status":"x","parameters":{"a":1},"test":{"rmse":1,"nlpd":null}}}` + "\n"
	for _, text := range []string{"", event, strings.Replace(event, "1.5", "1e308", 1), strings.Replace(event, "null", "\"inf\"", 1), `{"type":"done","fingerprint":"f"}` + "\n", `{"type":"failed","fingerprint":"f","error":"<b>"}` + "\n"} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	testcheck.Do(f, os.MkdirAll(filepath.Join(dir, "jobs"), 0o700))
	r := &rundir.Run{Dir: dir}
	for _, id := range []string{"a.k", "a.l"} {
		j := rundir.PlannedJob{Fingerprint: "f"}
		j.ID, j.Data, j.Kernel = id, "a", id
		r.Jobs = append(r.Jobs, j)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, j := range r.Jobs {
			testcheck.Do(t, os.WriteFile(r.Path("jobs", j.ID), text, 0o600))
		}
		fuzzguard.Run(t, func() { checkCollect(t, r) })
	})
}

func checkCollect(t *testing.T, r *rundir.Run) {
	all, err := Collect(r)
	if err != nil {
		if !errors.As(err, new(*rundir.Error)) {
			t.Fatalf("%#v", err)
		}
		return
	}
	var page, lines bytes.Buffer
	err = errors.Join(WriteHTML(&page, r, all), Write(&lines, "json", r, all), Write(io.Discard, "csv", r, all), Write(io.Discard, "table", r, all), Write(io.Discard, "parquet", r, all))
	testcheck.Do(t, err)
	for line := range bytes.Lines(lines.Bytes()) {
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
	}
	elements(t, page.String())
}

// TestPartRows checks the states of the values of a part without results: the part is at the first of them.
func TestPartRows(t *testing.T) {
	j := rundir.PlannedJob{JobSpec: spec.JobSpec{ID: "a.rbf.seed-1.part-12", Each: &spec.Each{Labels: []string{"p", "q", "r"}, Rows: []int{5, 6, 7}}}}
	for state, want := range map[rundir.State]string{
		rundir.StateRunning: "done running pending", rundir.StateDied: "done died pending", rundir.StateInterrupted: "done interrupted pending",
		rundir.StateFailed: "done failed failed", rundir.StateDamaged: "done damaged damaged", rundir.StatePending: "done pending pending",
	} {
		status := rundir.JobStatus{State: state, About: "why", Each: map[string]rundir.JobEvent{"p": {Type: rundir.Done, Attempt: 2}}}
		var got []string
		for i := range 3 {
			row, _ := partRow(j, status, i, i == 1)
			got = append(got, row.State)
			if row.Job != "a.rbf.seed-1/"+row.Each || row.N != 5+i {
				t.Errorf("%+v", row)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", state, got, want)
		}
	}
}
