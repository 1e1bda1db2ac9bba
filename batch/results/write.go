package results

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"gpfit/batch/rundir"
	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/internal/textform"
)

// SchemaVersion is the schema version of the JSON lines.
const SchemaVersion = 1

// Formats lists the formats of [Write].
var Formats = []string{"table", "json", "csv", "parquet"}

// Write writes a run in one of the [Formats]: tables for people, JSON lines of the
// types "job", "ranking", "comparison" and "run", or CSV or Parquet with one row for
// each job. An unknown format is an error.
func Write(w io.Writer, format string, r *rundir.Run, rows []Row) error {
	switch format {
	case "table":
		_, err := io.WriteString(w, textform.Printable(overview(r, shortened(rows)), math.MaxInt))
		return err
	case "json":
		return writeJSON(w, r, rows)
	case "csv":
		return writeCSV(w, rows)
	case "parquet": // one row for each job
		p := parquet.NewGenericWriter[Row](w, parquet.Compression(&parquet.Snappy))
		if _, err := p.Write(rows); err != nil {
			return err
		}
		return p.Close()
	}
	return fmt.Errorf("format %q: must be one of %s", format, strings.Join(Formats, ", "))
}

// line is the start of every JSON object: its type and schema version.
type line struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
}

// shortened returns the rows with names of jobs on one line: the values of a column can be any texts.
func shortened(rows []Row) []Row {
	const most = 80
	copied := false
	for i, row := range rows {
		short := textform.Printable(strings.ReplaceAll(row.Job, "\n", `\n`), most)
		if row.Each == "" || short == row.Job {
			continue
		}
		if !copied {
			rows, copied = slices.Clone(rows), true
		}
		rows[i].Job = short
	}
	return rows
}

// writeJSON writes a run as JSON lines.
func writeJSON(w io.Writer, r *rundir.Run, rows []Row) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, row := range rows {
		v := struct {
			line
			Row
			// These replace the text fields of the same names in Row.
			Parameters              json.RawMessage `json:"parameters,omitempty"`
			Relevance               json.RawMessage `json:"relevance,omitempty"`
			WarningTexts            json.RawMessage `json:"warning_texts,omitempty"`
			ParametersOriginalUnits json.RawMessage `json:"parameters_original_units,omitempty"`
		}{line{"job", SchemaVersion}, row, json.RawMessage(row.Parameters), json.RawMessage(row.Relevance), json.RawMessage(row.WarningTexts), json.RawMessage(row.ParametersOriginalUnits)}
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	if metrics := Metrics(rows); len(metrics) > 0 {
		for _, s := range Rank(rows, metrics) {
			if err := e.Encode(struct {
				line
				Standing
			}{line{"ranking", SchemaVersion}, s}); err != nil {
				return err
			}
		}
		for _, p := range Compare(rows, metrics) {
			if err := e.Encode(struct {
				line
				PairedComparison
			}{line{"comparison", SchemaVersion}, p}); err != nil {
				return err
			}
		}
	}
	return e.Encode(struct {
		line
		Run    string         `json:"run"`
		Name   string         `json:"name,omitempty"`
		Jobs   int            `json:"jobs"`
		States map[string]int `json:"states"`
		// Devices has what each device did.
		Devices []DeviceUse `json:"devices,omitempty"`
	}{line{"run", SchemaVersion}, r.Dir, r.Name, len(rows), States(rows), Uses(rows)})
}

// writeCSV writes a header and one row for each job. Numbers that are read back have the same bits.
func writeCSV(w io.Writer, rows []Row) error {
	c := csv.NewWriter(w)
	t := reflect.TypeFor[Row]()
	cells := make([]string, t.NumField())
	for i := range cells {
		cells[i] = t.Field(i).Tag.Get("json")
	}
	if err := c.Write(cells); err != nil {
		return err
	}
	for _, r := range rows {
		v := reflect.ValueOf(r)
		for i := range cells {
			cells[i] = cell(v.Field(i))
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// overview returns the tables for people.
func overview(r *rundir.Run, rows []Row) string {
	var b strings.Builder
	name := r.Name
	if name != "" {
		name = " (" + name + ")"
	}
	fmt.Fprintf(&b, "run %s%s: %d jobs: %s%s\n\n", r.Dir, name, len(rows), StateText(rows), workerText(r, rows))
	writeJobs(&b, rows)
	if uses := Uses(rows); len(uses) > 1 {
		t := fields.Of(uses, "device", "host", "jobs", "busy_seconds", "jobs_per_second")
		b.WriteString("\njobs that are done, by device\n" + t.Text())
	}
	if metrics := Metrics(rows); len(metrics) > 0 {
		ranks := standingTable(Rank(rows, metrics), metrics, true)
		b.WriteString("\nkernels by data set, means over splits and seeds\n" + ranks.Text())
		if pairs := pairTable(Compare(rows, metrics[:1])); len(pairs.Rows) > 0 {
			fmt.Fprintf(&b, "\npaired comparisons by %s, same data, split and seed; negative: a is better\n%s", metrics[0].Title(), pairs.Text())
		}
	}
	inState := func(state rundir.State, text func(*Row) string) func(*Row) string {
		return func(row *Row) string {
			if row.State != string(state) {
				return ""
			}
			return text(row)
		}
	}
	writeNotes(&b, "failed", rows, mostJobs, inState(rundir.StateFailed, func(row *Row) string {
		return fmt.Sprintf("%s (%s): %s", row.Job, row.Kind, textform.FirstLine(row.Error))
	}))
	writeNotes(&b, "damaged; 'gpfit resume "+r.Dir+"' does these jobs again", rows, mostJobs, inState(rundir.StateDamaged, func(row *Row) string { return row.Job + ": " + row.Error }))
	for _, state := range []rundir.State{rundir.StateDied, rundir.StateUnknown} { // what is known of jobs whose processes died or may have died
		title := fmt.Sprintf("%s; 'gpfit resume %s' continues jobs whose process has died", state, r.Dir)
		writeNotes(&b, title, rows, mostJobs, inState(state, func(row *Row) string { return row.Job + ": " + row.Error }))
	}
	return b.String()
}

// workerText says whether a process works on a run that is not finished.
func workerText(r *rundir.Run, rows []Row) string {
	states := States(rows)
	if states[string(rundir.StateDone)]+states[string(rundir.StateFailed)] == len(rows) {
		return ""
	}
	if who := r.Worker(); who != "" {
		return "; at work: " + who
	}
	return "; no process is seen at work: 'gpfit resume " + r.Dir + "' continues"
}

// StateText returns the number of jobs in each state as text: "8 done, 1 failed".
func StateText(rows []Row) string {
	states := States(rows)
	var parts []string
	for _, s := range rundir.States() {
		if n := states[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// mostJobs is the number of jobs that the tables for people list.
const mostJobs = 1000

// listed returns the jobs that a table lists, and a remark: all in their order, or of more than [mostJobs] the worst.
func listed(rows []Row) ([]Row, string) {
	if len(rows) <= mostJobs {
		return rows, ""
	}
	order := map[string]int{string(summary.Poor): 1, string(summary.Unknown): 2, string(summary.Fair): 3, string(summary.Good): 4}
	rank := func(r *Row) int {
		if r.State == string(rundir.StatePending) {
			return 5
		}
		return order[r.Level]
	}
	score := func(r *Row) float64 { return cmp.Or(value(r.RMSEStandardized), value(r.NLML)) }
	worst := make([]*Row, len(rows))
	for i := range rows {
		worst[i] = &rows[i]
	}
	slices.SortStableFunc(worst, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(score(b), score(a)))
	})
	out := make([]Row, mostJobs)
	for i := range out {
		out[i] = *worst[i]
	}
	return out, fmt.Sprintf("the %d worst of %d jobs, without a result first; 'gpfit show' has all as CSV and JSON", mostJobs, len(rows))
}

func writeJobs(b *strings.Builder, all []Row) {
	rows, remark := listed(all)
	if remark != "" {
		b.WriteString(remark + "\n")
	}
	t := fields.Of(rows, slices.Concat([]string{"job", "state", "n", "d", "device", "nlml"}, fields.Scores, []string{"value_evaluations", "seconds"})...)
	b.WriteString(t.Text())
	writeNotes(b, "chosen kernels", rows, mostNotes, func(r *Row) string {
		if r.Choice == "" {
			return ""
		}
		return r.note(r.Expression + ": " + r.Choice)
	})
	writeNotes(b, "most relevant columns", rows, mostNotes, func(r *Row) string { return r.note(r.mostRelevant()) })
	writeNotes(b, "verdicts that are not good", rows, mostNotes, func(r *Row) string {
		if r.Level == string(summary.Good) {
			return ""
		}
		return r.note(r.Verdict)
	})
	writeNotes(b, "warnings", rows, mostNotes, func(r *Row) string { return r.note(strings.Join(warnings(r), "; ")) })
}

// note returns a text with the job in front, "" without a text.
func (row *Row) note(text string) string {
	if text == "" {
		return ""
	}
	return row.Job + ": " + text
}

// mostNotes is the number of jobs of which a list says something.
const mostNotes = 20

// writeNotes lists the texts of jobs that have one, at most a number of them.
func writeNotes(b *strings.Builder, title string, rows []Row, most int, of func(*Row) string) {
	count := 0
	for i := range rows {
		text := of(&rows[i])
		if text == "" {
			continue
		}
		if count++; count == 1 {
			fmt.Fprintf(b, "\n%s\n", title)
		}
		if count <= most {
			fmt.Fprintf(b, "  %s\n", text)
		}
	}
	if count > most {
		fmt.Fprintf(b, "  and %d more\n", count-most)
	}
}

// standingTable returns the table of standings, with the data sets if whole is true.
func standingTable(standings []Standing, metrics []Measure, whole bool) fields.Table {
	paths := []string{"rank", "kernel", "jobs"}
	if whole {
		paths = slices.Insert(paths, 0, "data")
	}
	for _, m := range metrics {
		paths = append(paths, "means."+m.Name)
	}
	t := fields.Of(standings, append(paths, "standard_error", "coverage95", "seconds")...)
	t.Rename("standard_error", "± (first)")
	unknownError(t, len(paths), func(i int) bool { return standings[i].Jobs < 2 })
	return t
}

// unknownError takes away standard errors of one number each.
func unknownError(t fields.Table, column int, one func(row int) bool) {
	for i, r := range t.Rows {
		if one(i) {
			r.Cells[column].Text = "-"
		}
	}
}

// pairTable returns the table of comparisons with the columns of the paths in front.
func pairTable(pairs []PairedComparison, paths ...string) fields.Table {
	pairs = slices.Clone(pairs)
	for i := range pairs {
		pairs[i].Data, pairs[i].Metric = cmp.Or(pairs[i].Data, "(all)"), Measure{Name: pairs[i].Metric}.Title()
	}
	t := fields.Of(pairs, append(paths, "data", "kernel_a", "kernel_b", "pairs", "mean_difference", "standard_error", "wins_a", "wins_b", "ties", "sign_test_p")...)
	unknownError(t, len(paths)+5, func(i int) bool { return pairs[i].Pairs < 2 })
	return t
}
