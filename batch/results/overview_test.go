package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// TestUses checks the time in which devices were busy, with jobs side by side, one after the other, and without an end.
func TestUses(t *testing.T) {
	job := func(device, from, to string) Row {
		return Row{Device: device, Host: "h", Began: "2026-01-02T03:04:" + from + "Z", Ended: "2026-01-02T03:04:" + to + "Z"}
	}
	jobs := []Row{
		job("cuda:0", "01", "03"), job("cuda:0", "09", "10.5"), job("cuda:0", "02", "04"), job("cuda:0", "02.5", "03"), job("cpu", "00", "20"),
		{Device: "cpu", State: "running", Host: "h"},
	}
	got := Uses(jobs)
	want := []DeviceUse{{"cpu", "h", 1, 20, 0.05}, {"cuda:0", "h", 4, 4.5, 4 / 4.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := overview(run(), jobs[4:5]); strings.Contains(text, "by device") {
		t.Errorf("one device: %q", text)
	}
	testcheck.Words(t, overview(run(), jobs), "jobs that are done, by device\n  device  host  jobs  busy seconds  jobs per second\n     cpu     h     1         20.00             0.05\n  cuda:0     h     4          4.50            0.889\n")
}

// TestManyJobs checks that the tables for people show the worst of many jobs, in little space, with a remark. Pairs and verdicts
// compare jobs of the same value of a column only.
func TestManyJobs(t *testing.T) {
	all, verdicts := []Row{}, []*summary.Verdict{}
	for i := range 5000 {
		for _, kernel := range []string{"p", "q"} {
			label := fmt.Sprintf("%d-%s", i, strings.Repeat("long", 50*(i%2)))
			rmse, nlml := float64(i)/1e4, float64(i%7)
			row := Row{Job: "shops." + kernel + "/" + label, Data: "shops", Each: label, Kernel: kernel, Seed: 1, State: "done", N: 10, NLML: &nlml, RMSEStandardized: &rmse, Level: "good", WarningTexts: `["a warning"]`}
			v := &summary.Verdict{Level: summary.Good, RMSEStandardized: summary.Number(rmse), NLPDStandardized: summary.Number(rmse)}
			if i == 17 {
				row.Level, v.Level, v.RMSEStandardized, v.NLPDStandardized = "poor", summary.Poor, -1, -1
			}
			if i == 19 {
				row.State, row.Level, row.Error = "failed", "", "no rows"
			}
			all, verdicts = append(all, row), append(verdicts, v)
		}
	}
	compareVerdicts(all, verdicts)
	text := overview(run(), shortened(all))
	testcheck.Words(t, text, "10000 jobs: 9998 done, 2 failed", "the 1000 worst of 10000 jobs", "shops.p/19-long", "shops.q/17-long", "shops.q/4510-", "and 9", "shops     1       p  5000")
	if first, poor, good := strings.Index(text, "shops.p/19-"), strings.Index(text, "shops.p/17-"), strings.Index(text, "shops.p/4999-"); first > poor || poor > good || strings.Contains(text, "shops.p/4400-") || len(text) > 200_000 {
		t.Errorf("%d, %d, %d of %d", first, poor, good, len(text))
	}
	if n := strings.Count(text, " is poor, and has a lower error"); n > 0 {
		t.Errorf("%d values are compared with others", n)
	}
	for _, p := range Compare(all, Metrics(all)) {
		if p.Pairs != 5000 || p.Ties != 5000 {
			t.Errorf("%+v", p)
		}
	}
	var page, table bytes.Buffer
	testcheck.Do(t, WriteHTML(&page, run(), all))
	if n := page.Len(); n > 3_000_000 || !strings.Contains(page.String(), "Tables of jobs list the 1000 worst of 10000 jobs") {
		t.Errorf("a page of %d bytes", n)
	}
	testcheck.Do(t, Write(&table, "csv", run(), all))
	if n := strings.Count(table.String(), "\n"); n != 10001 || !strings.Contains(table.String(), all[1].Job) {
		t.Errorf("%d lines", n)
	}
}
