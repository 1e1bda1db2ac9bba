package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gpfit/batch/rundir"
	"gpfit/device/cuda/emulator"
	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// lanesTable writes a table of some rows.
func lanesTable(t *testing.T, dir string, rows int) {
	t.Helper()
	var table strings.Builder
	table.WriteString("x,y\n")
	for i := range rows {
		fmt.Fprintf(&table, "%v,%v\n", 0.1*float64(i), math.Sin(float64(i*i)))
	}
	write(t, dir, "t.csv", table.String())
}

// TestBatchLanes runs a batch whose jobs share an emulated GPU that works late and in random order, and one job at a time on
// a GPU that works at once. The results have the same bits.
func TestBatchLanes(t *testing.T) {
	g, dir := newGPU(t), t.TempDir()
	t.Chdir(dir)
	lanesTable(t, dir, 20)
	spec := write(t, dir, "s.yaml", "data: [t.csv]\nkernels: [rbf, matern32]\nseeds: [1, 2]\ndefaults: {device: cuda, threads: 1, objective: loo, restarts: 0, max_evals: 3}\n") // of loo there are no draws
	results := func(machine emulator.Config, args ...string) (all []float64) {
		stdout, _ := g.outputs(t, machine, append([]string{"batch", spec, "--json"}, args...)...)
		for line := range strings.Lines(stdout) {
			var job struct {
				Device     string
				NLML       float64
				Parameters map[string]float64
			}
			if testcheck.Do(t, json.Unmarshal([]byte(line), &job)); job.Device == "cuda:0" {
				all = append(all, job.NLML)
				all = slices.AppendSeq(all, maps.Values(job.Parameters))
			}
		}
		slices.Sort(all) // the jobs end in any order
		return all
	}
	want := results(emulator.Config{}, "--gpu-jobs", "1", "--out", "alone")
	if got := results(emulator.Config{Order: 5}, "--out", "lanes"); len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("in lanes %v, alone %v", got, want)
	}
}

// TestOneQueue runs a batch on an emulated GPU and the cores, which take the jobs from one queue, kills it and resumes it. Each
// job has the bits that it has alone on the device on which it began.
func TestOneQueue(t *testing.T) {
	g, dir, jobs := newGPU(t), t.TempDir(), 12
	if testcheck.Long() {
		jobs = 64
	}
	t.Chdir(dir)
	lanesTable(t, dir, 20)
	g.knowCrossover(t, 10)
	spec := func(seeds []uint64) string {
		list := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(seeds), "[]")), ", ")
		return write(t, dir, "s.yaml", "data: [t.csv]\nkernels: [rbf + linear]\nseeds: ["+list+"]\ndefaults: {threads: 1, objective: loo, restarts: 0, holdout: 0.2, max_evals: 3}\n")
	}
	var seeds []uint64
	for i := range jobs {
		seeds = append(seeds, uint64(i))
	}
	machine := emulator.Config{Order: 3}
	if testcheck.Long() {
		if stdout := g.output(t, "batch", spec(seeds), "--dry-run"); !strings.Contains(stdout, "auto: c") || !strings.Contains(stdout, "jobs are expected on accelerators and ") {
			t.Errorf("the plan:\n%s", stdout)
		}
	}
	cmd := exec.Command(g.binary, "batch", spec(seeds), "--cores", "1", "--gpu-jobs", "2", "--out", "q.run")
	cmd.Env = append(emulator.Env(t, machine), "XDG_CACHE_HOME="+g.cache)
	testcheck.Do(t, cmd.Start())
	for !slices.ContainsFunc(testcheck.Get(filepath.Glob("q.run/jobs/*.jsonl"))(t), func(record string) bool {
		text, _ := os.ReadFile(record)
		return strings.Contains(string(text), `"type":"done"`)
	}) {
		time.Sleep(time.Millisecond)
	}
	kill(t, cmd)
	g.outputs(t, machine, "resume", "q.run", "--cores", "1", "--gpu-jobs", "2", "--json")
	run, ran := testcheck.Get(rundir.Open("q.run"))(t), map[string][]uint64{}
	reports := map[uint64]*summary.Report{}
	for _, j := range run.Jobs {
		record, done := testcheck.Get(run.Status(j))(t).Record, 0
		report := record.Last().Report
		for _, e := range record {
			if e.Type == rundir.Started && e.Device != report.Device {
				t.Errorf("%s began on %s and ended on %s", j.ID, e.Device, report.Device)
			}
			if e.Type == rundir.Done {
				done++
			}
		}
		if done != 1 {
			t.Errorf("%s was done %d times", j.ID, done)
		}
		reports[j.Seed], ran[report.Device] = report, append(ran[report.Device], j.Seed)
	}
	if len(reports) != jobs || len(ran["cpu"]) == 0 || len(ran["cuda:0"]) == 0 {
		t.Errorf("%d jobs, on %v", len(reports), ran)
	}
	for name, seeds := range ran {
		out := strings.ReplaceAll(name, ":", "") + ".run"
		g.output(t, "batch", spec(seeds), "--device", name, "--gpu-jobs", "1", "--cores", "1", "--out", out)
		alone := testcheck.Get(rundir.Open(out))(t)
		for _, j := range alone.Jobs {
			want, got := testcheck.Get(alone.Status(j))(t).Record.Last().Report, reports[j.Seed]
			if want.NLML != got.NLML || !maps.Equal(want.Parameters, got.Parameters) || !reflect.DeepEqual(want.Test, got.Test) {
				t.Errorf("%s on %s: NLML %v, %v alone; parameters %v, %v alone", j.ID, name, got.NLML, want.NLML, got.Parameters, want.Parameters)
			}
		}
	}
	if show := g.output(t, "show", "q.run"); !strings.Contains(show, "jobs that are done, by device") {
		t.Errorf("show:\n%s", show)
	}
}

// TestLanesOfFit checks that the starts and the folds of one fit on lanes of an emulated GPU have the numbers of one lane but for
// rounding, which lock step changes, and one result in every order of late work.
func TestLanesOfFit(t *testing.T) {
	g, dir := newGPU(t), t.TempDir()
	t.Chdir(dir)
	lanesTable(t, dir, 40)
	const small, large = 800 << 20, 16 << 30 // of memory: for one lane, for as many as there are parts
	for name, args := range map[string][]string{
		"starts": {"--kernel", "rbf", "--restarts", "1", "--max-evals", "4"},
		"folds":  {"--kernel", "rbf", "--scores", "cv", "--folds", "4", "--refit", "--max-evals", "3"},
	} {
		args = append([]string{"fit", "t.csv", "--device", "cuda:0", "--posterior", "none", "--out", "m.gpfit"}, args...)
		want, stderr := g.report(t, emulator.Config{Memory: small}, args...)
		if strings.Contains(stderr, " lanes") {
			t.Errorf("%s with little memory: %s", name, stderr)
		}
		seeds := 2
		if testcheck.Long() {
			seeds = 4
		}
		first := want
		for seed := range seeds {
			got, stderr := g.report(t, emulator.Config{Memory: large, Order: 1 + seed}, args...)
			if !strings.Contains(stderr, " lanes") || got.Device != "cuda:0" {
				t.Errorf("%s on %s: %s", name, got.Device, stderr)
			}
			testcheck.Within(t, got.NLML, want.NLML, 1e-10*math.Abs(want.NLML), "%s: NLML, and on one lane", name)
			for parameter, v := range want.Parameters {
				testcheck.Within(t, got.Parameters[parameter], v, 1e-7, "%s: %s, and on one lane", name, parameter)
			}
			if seed == 0 {
				first = got
			}
			if got.NLML != first.NLML || !maps.Equal(got.Parameters, first.Parameters) || !reflect.DeepEqual(got.Scores, first.Scores) {
				t.Errorf("%s: NLML %v, %v in another order; parameters %v, %v", name, got.NLML, first.NLML, got.Parameters, first.Parameters)
			}
		}
	}
}
