// Package slurm submits a run to Slurm as a job array. The tasks share the run directory and claim
// jobs in it. A task that is killed loses its claims with its process. Its jobs then continue from
// their checkpoints in another task, in the same task after a requeue, or with "gpfit resume".
package slurm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"gpfit/batch/rundir"
	"gpfit/internal/atomicfile"
	"gpfit/internal/textform"
	"gpfit/internal/userfile"
	"gpfit/option"
)

// defaultTasks is the number of tasks if neither the user nor the spec sets it.
const defaultTasks = 8

// distributed is the name of the method of package mpi, which divides a job over ranks.
const distributed = "mpi"

// Array describes a job array.
type Array struct {
	option.Slurm
	// Program is the path of gpfit on the nodes. Run is the path of the run directory.
	Program, Run string
	// Resume holds additional flags of gpfit resume.
	Resume []string
}

// Merge returns s with its unset fields taken from the spec. It puts the spec's
// Options before the Options of s.
func Merge(s, from option.Slurm) option.Slurm {
	s.Partition, s.Gres, s.Time = cmp.Or(s.Partition, from.Partition), cmp.Or(s.Gres, from.Gres), cmp.Or(s.Time, from.Time)
	s.Memory, s.Account, s.QOS = cmp.Or(s.Memory, from.Memory), cmp.Or(s.Account, from.Account), cmp.Or(s.QOS, from.QOS)
	s.Tasks, s.CPUs = cmp.Or(s.Tasks, from.Tasks), cmp.Or(s.CPUs, from.CPUs)
	s.Ranks, s.Nodes = cmp.Or(s.Ranks, from.Ranks), cmp.Or(s.Nodes, from.Nodes)
	s.Wait = s.Wait || from.Wait
	s.Options = append(append([]string{}, from.Options...), s.Options...)
	return s
}

var script = template.Must(template.New("slurm").Funcs(template.FuncMap{"quote": textform.ShellQuote}).Parse(`#!/bin/bash
#SBATCH --job-name={{.Name}}
#SBATCH --array=0-{{.Last}}
#SBATCH --cpus-per-task={{.CPUs}}
#SBATCH --output={{.Logs}}
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal={{if gt .Ranks 1}}USR1{{else}}B:TERM{{end}}@60
{{- if gt .Ranks 1}}
#SBATCH --ntasks={{.Ranks}}
#SBATCH --nodes={{.NodeCount}}{{end}}
{{- with .Partition}}
#SBATCH --partition={{.}}{{end}}
{{- with .Gres}}
#SBATCH --gres={{.}}{{end}}
{{- with .Time}}
#SBATCH --time={{.}}{{end}}
{{- with .Memory}}
#SBATCH --mem={{.}}{{end}}
{{- with .Account}}
#SBATCH --account={{.}}{{end}}
{{- with .QOS}}
#SBATCH --qos={{.}}{{end}}
{{- range .Options}}
#SBATCH {{.}}{{end}}

{{if gt .Ranks 1 -}}
# This is one of many tasks on the run, with several processes for each job. Slurm sends SIGUSR1 to them one
# minute before the time limit, and gpfit then stops and keeps its checkpoints. A process that dies ends the others.
export GPFIT_METHOD=mpi OPENBLAS_NUM_THREADS="${SLURM_CPUS_PER_TASK:-{{.CPUs}}}"
exec srun --kill-on-bad-exit=1 --mpi="${GPFIT_MPI_PLUGIN:-pmix}" {{quote .Program}} resume {{quote .Run}} --worker --cores "${SLURM_CPUS_PER_TASK:-{{.CPUs}}}"
{{- else -}}
# This is one of many tasks on the run. Slurm sends SIGTERM one minute before the
# time limit, and gpfit then stops and keeps its checkpoints. Because of exec, gpfit
# is the process that receives the signal.
exec {{quote .Program}} resume {{quote .Run}} --worker --cores "${SLURM_CPUS_PER_TASK:-{{.CPUs}}}"
{{- end}}
{{- if .Wait}} --wait{{end}}{{range .Resume}} {{quote .}}{{end}}
`))

// Script returns the batch script for the jobs of a run. The array has at most one
// task per job. If s.CPUs is 0, a task has as many CPUs as the largest job has
// threads. An error means that a field of s contains a line break, or that jobs cannot use several ranks.
func Script(s Array, jobs []rundir.PlannedJob) ([]byte, error) {
	if err := s.check(jobs); err != nil {
		return nil, err
	}
	tasks := min(cmp.Or(s.Tasks, defaultTasks), len(jobs))
	s.CPUs = s.cpus(jobs)
	for _, v := range append([]string{s.Run, s.Partition, s.Gres, s.Time, s.Memory, s.Account, s.QOS}, s.Options...) {
		if strings.ContainsAny(v, "\r\n") {
			return nil, fmt.Errorf("slurm: %q contains a line break", v)
		}
	}
	logs := filepath.Join(s.Run, "slurm", "%A_%a.log")
	if strings.ContainsAny(logs, " \t\"'\\") {
		logs = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(logs) + `"`
	}
	var b bytes.Buffer
	err := script.Execute(&b, struct {
		Array
		Name, Logs string
		Last       int
	}{s, "gpfit-" + jobName(filepath.Base(s.Run)), logs, tasks - 1})
	return b.Bytes(), err
}

// NodeCount returns the number of nodes of a task.
func (s Array) NodeCount() int { return max(s.Nodes, 1) }

// check returns an error if the tasks have several ranks and a job another method than mpi, or if there are more nodes than
// ranks.
func (s Array) check(jobs []rundir.PlannedJob) error {
	if s.NodeCount() > max(s.Ranks, 1) {
		return fmt.Errorf("slurm: %d nodes for %d ranks: a node needs a rank (options slurm-nodes and slurm-ranks)", s.Nodes, max(s.Ranks, 1))
	}
	if s.Ranks < 2 {
		return nil
	}
	for _, j := range jobs {
		if j.Options.Method == nil || *j.Options.Method != distributed {
			return fmt.Errorf("slurm: option slurm-ranks %d, but job %s has another method: set method: %s in the spec", s.Ranks, j.ID, distributed)
		}
	}
	return nil
}

// cpus is the number of CPUs of a task: if it is not given, the threads of the largest job.
func (s Array) cpus(jobs []rundir.PlannedJob) int {
	cpus := s.CPUs
	for _, j := range jobs {
		if s.CPUs == 0 {
			cpus = max(cpus, threads(j))
		}
	}
	return max(cpus, 1)
}

func threads(j rundir.PlannedJob) int {
	if j.Options.Threads == nil {
		return 1
	}
	return max(1, *j.Options.Threads)
}

// The memory of a task beyond the plans of its jobs: a share of them, and what the program and a table take.
const (
	marginShare = 4 // the reciprocal
	marginBytes = 512 << 20
)

// Memory returns the memory of a task, as sbatch takes it, for jobs whose plans need the given bytes on the host. A
// task runs jobs side by side on its CPUs, so that it never holds more than the CPUs times the most bytes
// for each thread of a job, nor more than all jobs, nor less than the largest one. It has a
// quarter more than this, and 512 MiB. Several ranks hold the parts of one job: each node has its share, and 512 MiB for each rank that has
// a card.
func Memory(s Array, jobs []rundir.PlannedJob, bytes []int64) string {
	cpus := s.cpus(jobs)
	var all, largest int64
	dense, table, tables := 0.0, int64(0), map[string]int64{}
	for i, j := range jobs {
		if j.Each != nil { // a task holds the rows of all parts
			for _, rows := range j.Each.Rows {
				tables[j.Whole()] += 32 * int64(rows) * int64(j.D+2)
			}
			table = max(table, tables[j.Whole()])
		}
		all, largest = all+bytes[i], max(largest, bytes[i])
		dense = max(dense, float64(bytes[i])/float64(min(threads(j), cpus)))
	}
	need := max(largest, min(all, int64(dense*float64(cpus)))) + table
	margin := int64(marginBytes)
	switch {
	case s.Ranks > 1 && Accelerated(s.Slurm): // each rank has the points of one job at a time
		near := int64(s.Ranks+s.NodeCount()-1) / int64(s.NodeCount())
		need, margin = largest*near, marginBytes*near
	case s.Ranks > 1: // one job at a time, in parts
		need = largest / int64(s.NodeCount())
	case Accelerated(s.Slurm): // the card runs jobs beside the CPUs
		need = min(all, need+largest)
	}
	const mebi = 1 << 20
	return fmt.Sprintf("%dM", (need+need/marginShare+margin+mebi-1)/mebi)
}

// jobName keeps the characters that every Slurm version accepts in a name, which are
// ASCII letters, digits, '-', '.' and '_', and replaces all others by '_'.
func jobName(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, text)
}

// Submission is a job array that sbatch accepted, and a line of slurm/submissions.jsonl.
type Submission struct {
	ID   string    `json:"slurm_job"`
	Time time.Time `json:"time"`
}

// Check returns an error if sbatch is not installed on this machine.
func Check() error {
	if _, err := exec.LookPath("sbatch"); err != nil {
		return errors.New("sbatch is not installed on this machine: submit from a login node of the cluster; --dry-run shows the script and the command")
	}
	return nil
}

// Accelerated reports whether the options ask for GPUs.
func Accelerated(s option.Slurm) bool {
	return strings.Contains(s.Gres, "gpu") || slices.ContainsFunc(s.Options, func(o string) bool {
		return strings.HasPrefix(o, "--gpus") || strings.HasPrefix(o, "-G") || strings.HasPrefix(o, "--gres") && strings.Contains(o, "gpu")
	})
}

// Command returns the command that submits the script of a run.
func Command(run string) []string {
	return []string{"sbatch", "--parsable", filepath.Join(run, "slurm", "array.sh")}
}

// Submit writes the script to RUN/slurm/array.sh and submits it with sbatch. An error
// of sbatch contains its standard error.
func Submit(ctx context.Context, s Array, jobs []rundir.PlannedJob) (Submission, error) {
	text, err := Script(s, jobs)
	if err == nil {
		err = Check()
	}
	if err != nil {
		return Submission{}, err
	}
	dir := filepath.Join(s.Run, "slurm")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Submission{}, err
	}
	command := Command(s.Run)
	path := command[len(command)-1]
	for _, path := range []string{path, filepath.Join(dir, submissions)} {
		if err := rundir.CheckFile(path); err != nil {
			return Submission{}, err
		}
	}
	if err := atomicfile.WriteBytes(path, text); err != nil {
		return Submission{}, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return Submission{}, fmt.Errorf("sbatch: %w: %s; the script is %s", err, strings.TrimSpace(stderr.String()), path)
	}
	// "--parsable" prints ID or ID;cluster.
	id, _, _ := strings.Cut(strings.TrimSpace(stdout.String()), ";")
	sub := Submission{ID: id, Time: time.Now().UTC().Truncate(time.Second)}
	return sub, record(filepath.Join(dir, submissions), sub)
}

// submissions is the name of the file of the submissions of a run.
const submissions = "submissions.jsonl"

func record(path string, s Submission) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := userfile.Open(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}
