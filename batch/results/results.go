// Package results makes tables of a run. It writes them as text, JSON, CSV, Parquet or an HTML
// page. [Collect] returns one row for each job, [Rank] ranks the kernels of a data set by their
// scores, and [Compare] compares pairs of kernels over the same data, split and seed.
package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/batch/rundir"
	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/internal/each"
	"gpfit/internal/score"
)

// Row is a job with its result. Pointers are nil if a job has no such result. The
// tags are the names of the columns in every format.
type Row struct {
	Job        string `json:"job" parquet:"job"`
	Data       string `json:"data" parquet:"data,dict"`
	Kernel     string `json:"kernel" parquet:"kernel,dict"`
	Split      string `json:"split" parquet:"split,dict"`
	Seed       uint64 `json:"seed" parquet:"seed"`
	State      string `json:"state" parquet:"state,dict"`
	Attempts   int    `json:"attempts" parquet:"attempts"`
	Expression string `json:"expression" parquet:"expression,dict"`
	N          int    `json:"n" parquet:"n"`
	D          int    `json:"d" parquet:"d"`
	Device     string `json:"device" parquet:"device,dict"`
	Threads    int    `json:"threads" parquet:"threads"`

	NLML              *float64 `json:"nlml" parquet:"nlml,optional"`
	NLMLOriginalUnits *float64 `json:"nlml_original_units" parquet:"nlml_original_units,optional"`
	DataFit           *float64 `json:"data_fit" parquet:"data_fit,optional"`
	Complexity        *float64 `json:"complexity" parquet:"complexity,optional"`
	RMSE              *float64 `json:"rmse" parquet:"rmse,optional"`
	RMSEStandardized  *float64 `json:"rmse_standardized" parquet:"rmse_standardized,optional"`
	NLPD              *float64 `json:"nlpd" parquet:"nlpd,optional"`
	NLPDStandardized  *float64 `json:"nlpd_standardized" parquet:"nlpd_standardized,optional"`
	Coverage95        *float64 `json:"coverage95" parquet:"coverage95,optional"`
	Values            *int     `json:"value_evaluations" parquet:"value_evaluations,optional"`
	Gradients         *int     `json:"gradient_evaluations" parquet:"gradient_evaluations,optional"`
	Seconds           *float64 `json:"seconds" parquet:"seconds,optional"`
	Status            string   `json:"status" parquet:"status,dict"`
	Warnings          int      `json:"warnings" parquet:"warnings"`
	Kind              string   `json:"kind" parquet:"kind,dict"`
	Error             string   `json:"error" parquet:"error"`
	Host              string   `json:"host" parquet:"host,dict"`
	PID               int      `json:"pid" parquet:"pid"`
	Model             string   `json:"model" parquet:"model"`
	// Parameters is a JSON object that maps names to values in scaled units.
	Parameters string `json:"parameters" parquet:"parameters"`
	// Calibration is overconfident or underconfident if the share of rows in their 95 %
	// interval is not compatible with 95 %. Verdict is the headline of the verdict on the model.
	Calibration string `json:"calibration" parquet:"calibration,dict"`
	Verdict     string `json:"verdict" parquet:"verdict"`
	// Relevance is a JSON list of the columns with their relevance and lengthscales,
	// most relevant first.
	Relevance string `json:"relevance" parquet:"relevance"`
	// ParametersOriginalUnits is like Parameters, in the units of the table.
	ParametersOriginalUnits string `json:"parameters_original_units" parquet:"parameters_original_units"`
	// Level is the level of the verdict, Next says what to do next, and WarningTexts is a JSON list of
	// the warnings of the verdict and of the fit.
	Level        string `json:"level" parquet:"level,dict"`
	Next         string `json:"next" parquet:"next"`
	WarningTexts string `json:"warning_texts" parquet:"warning_texts"`
	// Choice says how a fit chose kernel and mean; Expression is then the chosen kernel.
	Choice string `json:"choice" parquet:"choice"`
	// Began and Ended are when the last attempt of a job that is done did.
	Began string `json:"began" parquet:"began"`
	Ended string `json:"ended" parquet:"ended"`
	// Each is the value of the column each of a data set; "" without one.
	Each string `json:"each" parquet:"each"`
}

// Collect returns the row of every job, in the order of the run.
func Collect(r *rundir.Run) ([]Row, error) {
	rows, verdicts := make([]Row, 0, len(r.Jobs)), []*summary.Verdict(nil)
	for _, j := range r.Jobs {
		status, err := r.Status(j)
		if err != nil {
			return nil, err
		}
		if j.Each != nil {
			at := true // the part is at the first value without a result
			for i, label := range j.Each.Labels {
				row, verdict := partRow(j, status, i, at)
				rows, verdicts = append(rows, row), append(verdicts, verdict)
				at = at && status.Each[label].Type != ""
			}
			continue
		}
		last := status.Record.Last()
		row := Row{
			Job: j.ID, Data: j.Data, Kernel: j.Kernel, Split: j.Split, Seed: j.Seed, State: string(status.State), Expression: j.Expression,
			Attempts: last.Attempt, N: j.N, D: j.D, Kind: last.Kind, Error: last.Error, Host: last.Host, PID: last.PID, Model: last.Model,
		}
		row.Device, row.Threads = cmp.Or(status.Record.Device(), value(j.Options.Device)), value(j.Options.Threads)
		if status.About != "" {
			row.Error = status.About
		}
		verdict := row.addReport(last)
		if n := len(status.Record); last.Type == rundir.Done && n > 1 {
			row.Began, row.Ended = status.Record[n-2].Time.Format(time.RFC3339Nano), last.Time.Format(time.RFC3339Nano)
		}
		rows, verdicts = append(rows, row), append(verdicts, verdict)
	}
	compareVerdicts(rows, verdicts)
	return rows, nil
}

// partRow returns the row of a value of a part. The part is at the value if it has no result and those before it have.
func partRow(j rundir.PlannedJob, status rundir.JobStatus, i int, at bool) (Row, *summary.Verdict) {
	label := j.Each.Labels[i]
	e, last := status.Each[label], status.Record.Last()
	row := Row{
		Job: j.Name(label), Data: j.Data, Kernel: j.Kernel, Split: j.Split, Each: label, Seed: j.Seed, State: e.Type, Expression: j.Expression,
		Attempts: e.Attempt, N: j.Each.Rows[i], D: j.D, Kind: e.Kind, Error: e.Error, Host: e.Host, PID: e.PID, Device: value(j.Options.Device), Threads: value(j.Options.Threads),
	}
	switch {
	case e.Type != "":
	case !at && status.State != rundir.StateDamaged && status.State != rundir.StateFailed:
		row.State = string(rundir.StatePending)
	default:
		row.State, row.Kind, row.Error = string(status.State), last.Kind, cmp.Or(status.About, last.Error)
	}
	verdict := row.addReport(e)
	if row.Seconds != nil {
		began := e.Time.Add(-time.Duration(*row.Seconds * float64(time.Second)))
		row.N, row.Began, row.Ended = e.Report.N, began.Format(time.RFC3339Nano), e.Time.Format(time.RFC3339Nano)
	}
	return row, verdict
}

// value returns the value that p points to, or the zero value for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// addReport adds the report of a job that is done, and returns its verdict; nil without.
func (row *Row) addReport(e rundir.JobEvent) *summary.Verdict {
	r := e.Report
	if r == nil || e.Type != rundir.Done {
		return nil
	}
	row.Device, row.Status = r.Device, r.Status
	// Copies, so that the reports of many jobs do not stay in memory.
	row.NLML, row.NLMLOriginalUnits, row.DataFit, row.Complexity = new(r.NLML), new(r.NLMLOriginalUnits), new(r.DataFit), new(r.Complexity)
	row.Values, row.Gradients, row.Seconds = new(r.Evaluations.Value), new(r.Evaluations.Gradient), new(r.Seconds)
	if r.Choice != nil {
		row.Expression, row.Choice = r.Kernel, r.Choice.Text()
	}
	if r.Test != nil {
		t, fit := r.Test, cmp.Or(r.Test.Fitting, r.Test) // as the verdict
		row.RMSE, row.RMSEStandardized = new(fit.RMSE), new(fit.RMSEStandardized)
		row.NLPD, row.NLPDStandardized, row.Coverage95 = summary.Finite(float64(t.NLPD)), summary.Finite(float64(t.NLPDStandardized)), new(t.Coverage95)
	}
	if r.Verdict == nil { // from an earlier version
		r.Judge()
	}
	if v := r.Verdict; v != nil {
		row.Level, row.Verdict, row.Calibration = string(v.Level), v.Headline, string(v.Calibration)
		if v.Next != nil {
			row.Next = v.Next.String()
		}
		warnings := append(slices.Clone(v.Warnings), r.Warnings...)
		row.Warnings, row.WarningTexts = len(warnings), jsonText(warnings)
	}
	row.Parameters = jsonText(r.Parameters)
	if r.Relevance != nil {
		row.Relevance = jsonText(r.Relevance)
	}
	if r.ParametersOriginalUnits != nil {
		row.ParametersOriginalUnits = jsonText(r.ParametersOriginalUnits)
	}
	return r.Verdict
}

// jsonText returns a value as JSON, "" if JSON has no such value.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// warnings returns the warnings of a row.
func warnings(row *Row) []string {
	var out []string
	_ = json.Unmarshal([]byte(row.WarningTexts), &out) // a row without a result has none
	return out
}

// mostRelevant returns the first columns of a row's relevance for people: "year 0.98, season 0.11".
func (row *Row) mostRelevant() string {
	const most = 3
	var columns []summary.ColumnRelevance
	if json.Unmarshal([]byte(row.Relevance), &columns) != nil {
		return "" // no fit wrote it
	}
	parts := each.Of(columns[:min(most, len(columns))], func(c summary.ColumnRelevance) string { return fmt.Sprintf("%s %.2f", c.Name(), c.Relevance) })
	if len(columns) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// States returns the number of jobs in each state.
func States(rows []Row) map[string]int {
	out := map[string]int{}
	for _, r := range rows {
		out[r.State]++
	}
	return out
}

// Measure is a score by which kernels are compared; less is better.
type Measure struct {
	// Name is the name of the column.
	Name string
	Of   func(Row) *float64
}

// Title returns the name for people.
func (m Measure) Title() string { return fields.Named("means." + m.Name).Label }

// Metrics returns the scores that at least one row has. Scores on held-out rows are first. The NLML
// is divided by the number of training rows, so that it can be averaged over data sets.
func Metrics(rows []Row) []Measure {
	all := []Measure{
		{"nlpd_standardized", func(r Row) *float64 { return r.NLPDStandardized }},
		{"rmse_standardized", func(r Row) *float64 { return r.RMSEStandardized }},
		{"nlml_per_row", func(r Row) *float64 {
			if r.NLML == nil || r.N == 0 {
				return nil
			}
			v := *r.NLML / float64(r.N)
			return &v
		}},
	}
	return slices.DeleteFunc(all, func(m Measure) bool { return !slices.ContainsFunc(rows, func(r Row) bool { return m.Of(r) != nil }) })
}

// group holds the jobs of a kernel on a data set.
type group struct {
	data, kernel string
	rows         []*Row
}

// groups returns the jobs by data set and kernel.
func groups(rows []Row) (out []group) {
	at := map[[2]string]int{}
	for _, data := range names(rows, func(r Row) string { return r.Data }) {
		for _, kernel := range names(rows, func(r Row) string { return r.Kernel }) {
			at[[2]string{data, kernel}] = len(out)
			out = append(out, group{data: data, kernel: kernel})
		}
	}
	for i := range rows {
		g := &out[at[[2]string{rows[i].Data, rows[i].Kernel}]]
		g.rows = append(g.rows, &rows[i])
	}
	return out
}

// values returns a number of each job that has it.
func (g group) values(of func(Row) *float64) (values []float64) {
	for _, r := range g.rows {
		if v := of(*r); v != nil {
			values = append(values, *v)
		}
	}
	return values
}

// Numbers of jobs.
func coverageOf(r Row) *float64 { return r.Coverage95 }
func secondsOf(r Row) *float64  { return r.Seconds }

// Standing holds the scores of a kernel on a data set, as means over splits and seeds.
type Standing struct {
	Data   string `json:"data"`
	Kernel string `json:"kernel"`
	// Rank is the rank within the data set, from 1, by the first metric that it has. Kernels
	// with fewer finished jobs rank after the others.
	Rank int `json:"rank"`
	Jobs int `json:"jobs"`
	// Means maps the names of the metrics to their means. StdErr is the standard
	// error of the mean of the first metric.
	Means      map[string]float64 `json:"means"`
	StdErr     float64            `json:"standard_error"`
	Coverage95 *float64           `json:"coverage95,omitempty"`
	Seconds    float64            `json:"seconds"`
}

// Rank returns the kernels of every data set, ordered by the first metric that the data set has.
func Rank(rows []Row, metrics []Measure) []Standing {
	byData := map[string][]Standing{}
	for _, g := range groups(rows) {
		if s := g.standing(metrics); s.Jobs > 0 {
			byData[g.data] = append(byData[g.data], s)
		}
	}
	var out []Standing
	for _, data := range names(rows, func(r Row) string { return r.Data }) {
		set := byData[data]
		first := metrics[0].Name
		for _, m := range slices.Backward(metrics) {
			if slices.ContainsFunc(set, func(s Standing) bool { _, has := s.Means[m.Name]; return has }) {
				first = m.Name
			}
		}
		slices.SortStableFunc(set, func(a, b Standing) int {
			return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Means[first], b.Means[first]))
		})
		for i := range set {
			set[i].Rank = i + 1
		}
		out = append(out, set...)
	}
	return out
}

// standing returns the scores of the jobs that are done.
func (g group) standing(metrics []Measure) Standing {
	s := Standing{Data: g.data, Kernel: g.kernel, Jobs: len(g.values(func(r Row) *float64 { return r.NLML })), Means: map[string]float64{}}
	for _, m := range metrics {
		if v := g.values(m.Of); v != nil {
			s.Means[m.Name] = score.Mean(v)
		}
	}
	s.StdErr, s.Seconds = score.StdError(g.values(metrics[0].Of)), score.Mean(g.values(secondsOf))
	if shares := g.values(coverageOf); shares != nil {
		c := score.Mean(shares)
		s.Coverage95 = &c
	}
	return s
}

// PairedComparison compares two kernels by one metric, over pairs of jobs that differ only
// in the kernel.
type PairedComparison struct {
	// Data is the data set, empty for all data sets together.
	Data   string `json:"data"`
	Metric string `json:"metric"`
	A      string `json:"kernel_a"`
	B      string `json:"kernel_b"`
	// Pairs is the number of pairs. MeanDifference is the mean of A − B (negative
	// if A is better), and StdErr is its standard error.
	Pairs          int     `json:"pairs"`
	MeanDifference float64 `json:"mean_difference"`
	StdErr         float64 `json:"standard_error"`
	// WinsA, WinsB and Ties count the pairs. SignP is the two-sided p-value of the exact sign test.
	// Interpret it with care: splits of one table are not independent.
	WinsA int     `json:"wins_a"`
	WinsB int     `json:"wins_b"`
	Ties  int     `json:"ties"`
	SignP float64 `json:"sign_test_p"`
}

// Compare compares all pairs of kernels over each data set. With several data sets it
// also compares them over all data sets together.
func Compare(rows []Row, metrics []Measure) []PairedComparison {
	kernels := names(rows, func(r Row) string { return r.Kernel })
	sets := names(rows, func(r Row) string { return r.Data })
	if len(sets) > 1 {
		sets = append(sets, "")
	}
	type key struct {
		data, kernel, split, each string
		seed                      uint64
	}
	byKey := map[key]Row{}
	for _, r := range rows {
		byKey[key{r.Data, r.Kernel, r.Split, r.Each, r.Seed}] = r
	}
	var out []PairedComparison
	for _, m := range metrics {
		for _, data := range sets {
			for i, a := range kernels {
				for _, b := range kernels[i+1:] {
					p := PairedComparison{Data: data, Metric: m.Name, A: a, B: b}
					var diff []float64
					for _, r := range rows {
						if r.Kernel != a || data != "" && r.Data != data {
							continue
						}
						other, ok := byKey[key{r.Data, b, r.Split, r.Each, r.Seed}]
						if va, vb := m.Of(r), m.Of(other); ok && va != nil && vb != nil {
							diff = append(diff, difference(*va, *vb))
						}
					}
					if p.fill(diff) {
						out = append(out, p)
					}
				}
			}
		}
	}
	return out
}

// difference returns a − b, or 0 for a difference of rounding, of which methods and machines have others.
func difference(a, b float64) float64 {
	if math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) {
		return 0
	}
	return a - b
}

func (p *PairedComparison) fill(diff []float64) bool {
	for _, d := range diff {
		switch {
		case d < 0:
			p.WinsA++
		case d > 0:
			p.WinsB++
		default:
			p.Ties++
		}
	}
	p.Pairs, p.MeanDifference, p.StdErr = len(diff), score.Mean(diff), score.StdError(diff)
	p.SignP = signTest(p.WinsA, p.WinsB)
	return len(diff) > 0
}

// signTest returns the two-sided p-value of the exact sign test for a and b wins: the
// probability of a split at least as uneven if both kernels are equally good. It is
// twice the tail of the binomial distribution with probability ½, at most 1.
func signTest(a, b int) float64 {
	n := float64(a + b)
	if n == 0 {
		return 1
	}
	return min(1, 2*distuv.Binomial{N: n, P: 0.5}.CDF(float64(min(a, b))))
}

func names(rows []Row, of func(Row) string) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range rows {
		if name := of(r); !seen[name] {
			seen[name], out = true, append(out, name)
		}
	}
	return out
}
