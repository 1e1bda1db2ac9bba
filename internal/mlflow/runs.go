package mlflow

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gpfit/gp"
	"gpfit/internal/journal"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
)

// FromModel returns the run of the model in the file path. Its times are the file's.
func FromModel(m *gp.Model, path string) (TrackedRun, error) {
	r, err := fileRun("model", path)
	if err != nil {
		return TrackedRun{}, err
	}
	r.Status = Finished
	r.Params = map[string]string{
		"kernel": m.Kernel, "mean": m.Mean.Text, "features": strings.Join(m.FeatureNames, ","), "target": strings.Join(m.TargetNames(), ","),
		"n": strconv.Itoa(m.N()), "d": strconv.Itoa(len(m.Columns)),
	}
	r.Metrics = map[string][]float64{"objective": {m.NLML}}
	addParameters(r.Metrics, "parameters", m.Parameters())
	r.Tags["gpfit.status"] = m.Status
	r.Artifacts = []string{path}
	return r, nil
}

// FromCheckpoint returns the run of an unfinished fit. Its metrics are the values of the
// objective in every descent, in order; a descent has the name of its stream in the
// checkpoint, ROWS-START.
func FromCheckpoint(path string) (TrackedRun, error) {
	streams, err := journal.Read(path)
	if err != nil {
		return TrackedRun{}, err
	}
	r, err := fileRun("checkpoint", path)
	if err != nil {
		return TrackedRun{}, err
	}
	r.Status = Killed
	r.Metrics = streamMetrics(streams)
	return r, nil
}

func streamMetrics(streams map[string][]float64) map[string][]float64 {
	metrics := map[string][]float64{}
	for name, values := range streams {
		metrics["objective/"+name] = values
	}
	return metrics
}

// fileRun returns a run of one file, with its name and time.
func fileRun(kind, path string) (TrackedRun, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return TrackedRun{}, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return TrackedRun{}, err
	}
	name := filepath.Base(path)
	return TrackedRun{
		ID: RunID(kind, full), Name: strings.TrimSuffix(name, filepath.Ext(name)), Start: info.ModTime(), End: info.ModTime(),
		Tags: map[string]string{"mlflow.source.name": full, "gpfit.kind": kind},
	}, nil
}

// FromBatch returns a run for every job of a batch. Errors: [*rundir.Error] for a damaged
// record, those of the system.
func FromBatch(b *rundir.Run) ([]TrackedRun, error) {
	rows, err := results.Collect(b)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return nil, err
	}
	var runs []TrackedRun
	for i, job := range b.Jobs {
		status, err := b.Status(job)
		if err != nil {
			return nil, err
		}
		r := TrackedRun{
			ID: RunID("job", dir, job.ID), Name: job.ID, Status: statusOf(status.State),
			Params: map[string]string{}, Metrics: map[string][]float64{},
			Tags: map[string]string{"mlflow.source.name": dir, "gpfit.kind": "job", "gpfit.fingerprint": job.Fingerprint, "gpfit.program": b.Program},
		}
		if err := r.addOptions(job); err != nil {
			return nil, err
		}
		r.addEvents(status.Record)
		r.addScores(rows[i])
		r.addFiles(b, job.ID, status.State)
		runs = append(runs, r)
	}
	return runs, nil
}

func statusOf(s rundir.State) RunStatus {
	switch s {
	case rundir.StateRunning:
		return Running
	case rundir.StateDone:
		return Finished
	case rundir.StateFailed:
		return Failed
	case rundir.StateInterrupted:
		return Killed
	}
	return Scheduled
}

// addOptions adds all resolved options of the job as parameters.
func (r *TrackedRun) addOptions(job rundir.PlannedJob) error {
	text, err := json.Marshal(job.Options)
	if err != nil {
		return err
	}
	var options map[string]any
	if err := json.Unmarshal(text, &options); err != nil {
		return err
	}
	for key, value := range options {
		r.addParam(key, value)
	}
	for key, value := range map[string]any{
		"data": job.Data, "path": job.Path, "kernel": job.Expression, "kernel_name": job.Kernel, "split": job.Split, "seed": job.Seed, "n": job.N, "d": job.D,
	} {
		r.addParam(key, value)
	}
	return nil
}

// addParam adds a parameter; a map becomes one parameter for each of its keys.
func (r *TrackedRun) addParam(key string, value any) {
	if m, ok := value.(map[string]any); ok {
		for name, v := range m {
			r.addParam(key+"/"+inName(name), v)
		}
		return
	}
	r.Params[key] = fmt.Sprint(value)
}

// addEvents adds times, errors and the report of the last attempt.
func (r *TrackedRun) addEvents(record rundir.Record) {
	for _, e := range record {
		if e.Type == rundir.Started {
			r.Start, r.End = e.Time, time.Time{}
		} else {
			r.End = e.Time
		}
	}
	last := record.Last()
	if last.Error != "" {
		r.Tags["gpfit.error"] = last.Error
	}
	report := last.Report
	if report == nil || last.Type != rundir.Done {
		return
	}
	addParameters(r.Metrics, "parameters", report.Parameters)
	addParameters(r.Metrics, "parameters_original_units", report.ParametersOriginalUnits)
	r.Metrics["objective"] = []float64{report.Objective}
	r.Tags["gpfit.status"], r.Tags["gpfit.device"], r.Tags["gpfit.host"] = report.Status, report.Device, last.Host
	if len(report.Warnings) > 0 {
		r.Tags["gpfit.warnings"] = strings.Join(report.Warnings, "\n")
	}
}

func addParameters(metrics map[string][]float64, prefix string, parameters map[string]float64) {
	for name, v := range parameters {
		metrics[prefix+"/"+inName(name)] = []float64{v}
	}
}

// inName returns a part of a name without slashes, which would make folders of it. Labels
// in names of parameters come from tables.
func inName(part string) string { return strings.ReplaceAll(part, "/", "_") }

// addScores adds the columns of the results that have a number.
func (r *TrackedRun) addScores(row results.Row) {
	for name, v := range map[string]*float64{
		"nlml": row.NLML, "nlml_original_units": row.NLMLOriginalUnits, "data_fit": row.DataFit, "complexity": row.Complexity,
		"rmse": row.RMSE, "rmse_standardized": row.RMSEStandardized, "nlpd": row.NLPD, "nlpd_standardized": row.NLPDStandardized,
		"coverage95": row.Coverage95, "seconds": row.Seconds, "value_evaluations": number(row.Values), "gradient_evaluations": number(row.Gradients),
	} {
		if v != nil {
			r.Metrics[name] = []float64{*v}
		}
	}
}

func number(count *int) *float64 {
	if count == nil {
		return nil
	}
	v := float64(*count)
	return &v
}

// addFiles adds the model and the log, and of an unfinished job the evaluations so far.
func (r *TrackedRun) addFiles(b *rundir.Run, id string, state rundir.State) {
	kinds := []string{"logs"}
	if state == rundir.StateDone {
		kinds = append(kinds, "models")
	}
	for _, kind := range kinds {
		if path := b.Path(kind, id); fileExists(path) {
			r.Artifacts = append(r.Artifacts, path)
		}
	}
	if state == rundir.StateDone {
		return
	}
	// A job that has not begun, or is beginning, has no checkpoint.
	if streams, err := journal.Read(b.Path("checkpoints", id)); err == nil {
		for name, values := range streamMetrics(streams) {
			r.Metrics[name] = values
		}
	}
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
