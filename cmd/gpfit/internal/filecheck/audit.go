// Package filecheck checks whether files of gpfit are whole: models, checkpoints, and run
// directories. Start at [Path].
package filecheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gpfit/batch/rundir"
	"gpfit/compare/companion"
	"gpfit/gp"
	"gpfit/hyperopt/journal"
	"gpfit/internal/userfile"
	"gpfit/method/experts"
)

// Statement says of a file, or of a run directory as a whole, what was checked or what is wrong.
type Statement struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"`
	// Kind is model, checkpoint, run, spec, input, record or log.
	Kind string `json:"kind"`
	// Job is the job of a run to which the file belongs, or "".
	Job string `json:"job,omitempty"`
	OK  bool   `json:"ok"`
	// Checked says what was compared, if nothing is wrong. Otherwise Fault says what is wrong, and Cure what to do.
	Checked string `json:"checked,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Cure    string `json:"cure,omitempty"`
}

// Finished returns the statement for JSON.
func (s Statement) Finished() Statement {
	s.Type, s.SchemaVersion, s.OK = "check", 1, s.Fault == ""
	return s
}

// Path checks the model, the checkpoint or the run directory at path. The first result belongs to path, the others to
// files of a run that are not right. tell, if not nil, receives the progress. The error is ctx's.
func Path(ctx context.Context, path string, tell func(text string)) ([]Statement, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		return run(ctx, path, tell)
	case !info.Mode().IsRegular(): // reading a pipe could wait for ever
		return []Statement{{File: path, Kind: "model", Fault: "is no file", Cure: "give the file of a model, or the folder of a batch"}}, ctx.Err()
	}
	check := model
	switch {
	case journal.IsJournal(path):
		check = checkpoint
	case companion.Is(path):
		check = regression
	}
	r := check(ctx, path)
	return []Statement{r}, ctx.Err()
}

// model checks a model file.
func model(ctx context.Context, path string) Statement {
	out := Statement{File: path, Kind: "model"}
	c, err := gp.Check(ctx, path, experts.Blocks)
	if err != nil {
		out.Fault, out.Cure = without(err, path), "take another copy of the file, or fit again"
		if strings.HasSuffix(out.Fault, out.Cure) {
			out.Fault = strings.TrimSuffix(out.Fault, ": "+out.Cure)
		}
		return out
	}
	rows := fmt.Sprintf("%d of %d rows", c.Equations, c.N)
	if c.Equations == c.N {
		rows = fmt.Sprintf("all %d rows", c.N)
	}
	out.Checked = fmt.Sprintf("checksum, shapes, numbers, (K + σ²I)·α = y − m in %s", rows)
	if c.FactorRows > 0 {
		out.Checked += fmt.Sprintf(", %d rows of the factor", c.FactorRows)
	}
	if c.Sealed {
		out.Checked += ", names, units, categories, draws, numbers of rows"
	} else {
		out.Checked += "; not names, units, categories, draws and numbers of rows: an older gpfit wrote the file"
	}
	return out
}

// regression checks the file of a simpler regression.
func regression(_ context.Context, path string) Statement {
	out := Statement{File: path, Kind: "model"}
	if _, _, err := companion.Load(path); err != nil {
		out.Fault, out.Cure = without(err, path), "take another copy of the file, or fit again"
		out.Fault = strings.TrimSuffix(out.Fault, "; "+out.Cure)
		return out
	}
	out.Checked = "checksum, shapes, numbers"
	return out
}

// checkpoint checks a checkpoint file.
func checkpoint(_ context.Context, path string) Statement {
	out := Statement{File: path, Kind: "checkpoint"}
	c, err := journal.Inspect(path)
	if err != nil {
		out.Fault, out.Cure = without(err, path), "delete it to start the fit over"
		out.Fault = strings.TrimSuffix(out.Fault, "; delete it to start over")
		return out
	}
	out.Checked = fmt.Sprintf("checksums of %d evaluations", c.Values+c.Gradients+c.Undefined)
	if c.Incomplete {
		out.Checked += "; the last line is incomplete, as after a kill, and does not count"
	}
	return out
}

// without returns an error without the path.
func without(err error, path string) string {
	if e, ok := err.(*os.PathError); ok {
		return e.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), path+": ")
}

// auditor checks a run.
type auditor struct {
	*rundir.Run
	faults []Statement
	// records, models, logs and checkpoints count what was checked.
	records, models, logs, checkpoints int
}

// run checks the directory of a batch.
func run(ctx context.Context, dir string, tell func(text string)) ([]Statement, error) {
	out := Statement{File: dir, Kind: "run"}
	r, err := rundir.Open(dir)
	if err != nil {
		out.Fault, out.Cure = without(err, dir), "take another copy of run.json, or start the batch again in a new directory"
		return []Statement{out}, nil
	}
	a := &auditor{Run: r}
	again := "'gpfit resume " + dir + "' "
	if r.Damage != "" {
		a.add("spec", "", filepath.Join(dir, "run.json"), r.Damage, again+"writes the other one again")
	}
	a.inputs()
	for i, j := range r.Jobs {
		if tell != nil {
			tell(fmt.Sprintf("checking job %d of %d of %s", i+1, len(r.Jobs), dir))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.job(ctx, j, again)
	}
	if len(a.faults) > 0 {
		out.Fault, out.Cure = fmt.Sprintf("%d of its files are not right", len(a.faults)), "see these files"
		return append([]Statement{out}, a.faults...), ctx.Err()
	}
	out.Checked = fmt.Sprintf("%d jobs: spec, %d inputs, %d records, %d models, %d logs, %d checkpoints", r.Fits(), len(r.Inputs), a.records, a.models, a.logs, a.checkpoints)
	return []Statement{out}, ctx.Err()
}

func (a *auditor) add(kind, job, file, fault, cure string) {
	a.faults = append(a.faults, Statement{File: file, Kind: kind, Job: job, Fault: fault, Cure: cure})
}

// inputs checks the copy of the spec and the inputs.
func (a *auditor) inputs() {
	spec := filepath.Join(a.Dir, "spec.yaml")
	if text, err := read(spec); err != nil || rundir.SHA256(text) != a.SpecSHA256 {
		cure := "no job needs it: run.json has all options"
		if text, err := userfile.Read(a.SpecPath, mostText); err == nil && rundir.SHA256(text) == a.SpecSHA256 {
			cure = "copy it from " + a.SpecPath + ", which is as it was"
		}
		a.add("spec", "", spec, "is missing, or is not the spec of the run", cure)
	}
	for _, in := range a.Inputs {
		now, err := rundir.HashInput(in.Path)
		cure := "put back the file as it was, or accept it: 'gpfit resume " + a.Dir + " --allow-changed' repeats its jobs"
		switch {
		case err != nil:
			a.add("input", "", in.Path, "cannot be read: "+without(err, in.Path), cure)
		case now.SHA256 != in.SHA256:
			a.add("input", "", in.Path, "has changed since the run was made", cure)
		}
	}
}

// job checks the files of a job that nobody works on.
func (a *auditor) job(ctx context.Context, j rundir.PlannedJob, again string) {
	status, err := a.Status(j)
	record := a.Path("jobs", j.ID)
	switch {
	case err != nil:
		a.add("record", j.ID, record, "cannot be read: "+without(err, record), "see the rights of the file")
		return
	case status.State == rundir.StateRunning:
		return
	case status.State == rundir.StateDamaged:
		name, fault, _ := strings.Cut(status.About, " ")
		kind := "record"
		if strings.HasPrefix(name, "models/") {
			kind = "model"
		}
		a.add(kind, j.ID, filepath.Join(a.Dir, strings.TrimSuffix(name, ":")), fault, again+"does the job again")
	case len(status.Record) > 0:
		a.records++
	}
	if status.State == rundir.StateDone && j.Each == nil {
		a.models++
		if r := model(ctx, a.Path("models", j.ID)); r.Fault != "" {
			a.add(r.Kind, j.ID, r.File, r.Fault, "delete this file: "+again+"then does the job again")
		}
	}
	if path := a.Path("checkpoints", j.ID); there(path) {
		a.checkpoints++
		if err := rundir.CheckFile(path); err != nil {
			a.add("checkpoint", j.ID, path, without(err, path), "delete it: the job has its result, or starts over")
		} else if r := checkpoint(ctx, path); r.Fault != "" {
			a.add(r.Kind, j.ID, path, r.Fault, again+"sets it aside and starts the fit over")
		}
	}
	if path := a.Path("logs", j.ID); there(path) {
		a.logs++
		if err := checkLog(path); err != nil {
			a.add("log", j.ID, path, err.Error(), "no job needs it: delete it, or keep what is left")
		}
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// mostText bounds a file that is read as a whole, in bytes.
const mostText = 1 << 30

// read reads a file of a run, and nothing else at its place.
func read(path string) ([]byte, error) {
	if err := rundir.CheckFile(path); err != nil {
		return nil, err
	}
	return userfile.Read(path, mostText)
}

// checkLog returns an error for the first line that no log has.
func checkLog(path string) error {
	text, err := read(path)
	if err != nil {
		return errors.New("cannot be read: " + without(err, path))
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !bytes.HasPrefix(line, []byte("time=")) || !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return fmt.Errorf("line %d is damaged", number)
		}
	}
	if number == 0 {
		return errors.New("is empty")
	}
	return nil
}
