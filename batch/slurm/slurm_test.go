package slurm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/internal/testcheck"
	"gpfit/option"
)

func jobs(threads ...int) []rundir.PlannedJob {
	var out []rundir.PlannedJob
	for _, n := range threads {
		var j rundir.PlannedJob
		j.Options.Threads = &n
		out = append(out, j)
	}
	return out
}

func TestScript(t *testing.T) {
	s := Array{Program: "/opt/it's/gpfit", Run: "/work/a b.run", Resume: []string{"--retry-failed"}}
	s.Slurm = Merge(option.Slurm{Partition: "gpu", Wait: true}, option.Slurm{Partition: "main", Gres: "gpu:1", Time: "1:00", Options: []string{"--exclude=n7"}})
	text, err := Script(s, jobs(1, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		"#SBATCH --array=0-2", "#SBATCH --cpus-per-task=3", "#SBATCH --partition=gpu", "#SBATCH --gres=gpu:1", "#SBATCH --time=1:00",
		"#SBATCH --exclude=n7", "#SBATCH --requeue", `#SBATCH --output="/work/a b.run/slurm/%A_%a.log"`, "#SBATCH --job-name=gpfit-a_b.run",
		`exec '/opt/it'\''s/gpfit' resume '/work/a b.run' --worker --cores "${SLURM_CPUS_PER_TASK:-3}" --wait '--retry-failed'`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if text, err = Script(Array{Run: "/r", Slurm: option.Slurm{Tasks: 4, CPUs: 2}}, jobs(make([]int, 20)...)); err != nil || !strings.Contains(string(text), "--array=0-3\n") || strings.Contains(string(text), "--mem") {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err = Script(Array{Run: "/r"}, jobs(make([]int, 20)...)); err != nil || !strings.Contains(string(text), "--array=0-7\n") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := Script(Array{Run: "/r", Slurm: option.Slurm{Options: []string{"a\nrm -rf /"}}}, jobs(1)); err == nil {
		t.Error("a line break got into the script")
	}
}

// TestRanks checks the script of jobs that several processes compute together.
func TestRanks(t *testing.T) {
	own, other := jobs(4), jobs(1)
	method := distributed
	own[0].Options.Method = &method
	text, err := Script(Array{Run: "/r", Program: "/g", Slurm: option.Slurm{Ranks: 8, Nodes: 2}}, own)
	testcheck.Do(t, err)
	lines := strings.Split(string(text), "\n")
	for _, want := range []string{
		"#SBATCH --ntasks=8", "#SBATCH --nodes=2", "#SBATCH --cpus-per-task=4", "#SBATCH --signal=USR1@60",
		`export GPFIT_METHOD=mpi OPENBLAS_NUM_THREADS="${SLURM_CPUS_PER_TASK:-4}"`,
		`exec srun --kill-on-bad-exit=1 --mpi="${GPFIT_MPI_PLUGIN:-pmix}" '/g' resume '/r' --worker --cores "${SLURM_CPUS_PER_TASK:-4}"`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	// On cards each of four ranks on a node has the points, and half a GiB besides.
	if got := Memory(Array{Slurm: option.Slurm{Ranks: 8, Nodes: 2, Gres: "gpu:4"}}, own, []int64{1 << 30}); got != "7168M" {
		t.Errorf("memory of four ranks with cards on a node: %s", got)
	}
	if got := Memory(Array{Slurm: option.Slurm{Ranks: 8, Nodes: 2}}, own, []int64{16 << 30}); got != "10752M" {
		t.Errorf("memory %s of a node with half of a matrix of 16 GiB", got)
	}
	if _, err := Script(Array{Run: "/r", Slurm: option.Slurm{Ranks: 2}}, other); err == nil || !strings.Contains(err.Error(), "method: mpi") {
		t.Errorf("ranks of another method: %v", err)
	}
	if _, err := Script(Array{Run: "/r", Slurm: option.Slurm{Nodes: 2}}, own); err == nil {
		t.Error("two nodes for one rank")
	}
}

// TestSubmit checks that nothing is written without sbatch, and that the error of sbatch
// has its message.
func TestSubmit(t *testing.T) {
	bin, run := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	s := Array{Program: "gpfit", Run: run}
	if _, err := Submit(context.Background(), s, jobs(1)); err == nil || !strings.Contains(err.Error(), "sbatch is not installed on this machine") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(run, "*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	put := func(text string) {
		testcheck.Do(t, os.WriteFile(filepath.Join(bin, "sbatch"), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	put("echo invalid partition >&2; exit 1")
	if _, err := Submit(context.Background(), s, jobs(1)); err == nil || !strings.Contains(err.Error(), "invalid partition") {
		t.Errorf("%v", err)
	}
	put("echo '42;cluster'")
	if sub, err := Submit(context.Background(), s, jobs(1)); err != nil || sub.ID != "42" {
		t.Errorf("%v, %v", sub, err)
	}
	if text, _ := os.ReadFile(filepath.Join(run, "slurm", "submissions.jsonl")); strings.Count(string(text), `"slurm_job":"42"`) != 1 {
		t.Errorf("%s", text)
	}
}

// TestKubernetes checks that the example is an Indexed Job with one shard for each completion.
func TestKubernetes(t *testing.T) {
	text := testcheck.Get(os.ReadFile("../../examples/batch/kubernetes.yaml"))(t)
	var job struct {
		Kind string
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct{ Args []string }
				}
			}
		}
	}
	testcheck.Do(t, yaml.Unmarshal(text, &job))
	args := job.Spec.Template.Spec.Containers[0].Args
	i := slices.Index(args, "--shard")
	if job.Kind != "Job" || job.Spec.CompletionMode != "Indexed" || job.Spec.Completions != 8 || args[i+1] != "auto/8" || job.Spec.Template.Spec.RestartPolicy != "OnFailure" {
		t.Errorf("%+v", job)
	}
}

// TestMemory checks the memory of a task: the largest job, or what its CPUs run side by side, no more than all jobs,
// with the margin.
func TestMemory(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		cpus    int
		gres    string
		threads []int
		bytes   []int64
		want    string
	}{
		"one job":                {0, "", []int{2}, []int64{4 * gib}, "5632M"}, // 4 + 1 + ½ GiB
		"two side by side":       {4, "", []int{2, 2, 1}, []int64{4 * gib, 4 * gib, gib}, "10752M"},
		"fewer jobs than CPUs":   {64, "", []int{1, 1}, []int64{gib, gib}, "3072M"},
		"the largest alone":      {2, "", []int{2, 1}, []int64{8 * gib, gib}, "10752M"},
		"more threads than CPUs": {1, "", []int{8}, []int64{gib}, "1792M"},
		"a card beside":          {2, "gpu:1", []int{2, 2, 2}, []int64{2 * gib, 2 * gib, 2 * gib}, "5632M"},
		"nothing":                {1, "", []int{1}, []int64{0}, "512M"},
	} {
		if got := Memory(Array{Slurm: option.Slurm{CPUs: c.cpus, Gres: c.gres}}, jobs(c.threads...), c.bytes); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	parts := jobs(1, 1) // of a table of 2²² rows and two columns, 32 bytes for each number: ½ GiB
	for i := range parts {
		parts[i].ID, parts[i].D, parts[i].Each = fmt.Sprint("a.part-", i), 2, &spec.Each{Rows: []int{1 << 20, 1 << 20}}
	}
	if got := Memory(Array{Slurm: option.Slurm{CPUs: 2}}, parts, []int64{0, 0}); got != "1152M" {
		t.Errorf("parts of a table: %s", got)
	}
}
