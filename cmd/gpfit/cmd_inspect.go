package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/compare/companion"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt/journal"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
)

func runInspect(c *cli.Command) error {
	inspect := inspectModel
	switch path := c.Args[0]; {
	case journal.IsJournal(path):
		inspect = inspectCheckpoint
	case companion.Is(path):
		inspect = inspectRegression
	}
	r, err := inspect(c.Args[0])
	if err != nil {
		return err
	}
	return c.Report(r)
}

// fileView describes a file that can predict.
type fileView struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"`
	Bytes         int64  `json:"bytes"`
	SHA256        string `json:"sha256"`
	FileVersion   int    `json:"file_version"`
}

// modelView describes a model file.
type modelView struct {
	fileView
	Factor bool `json:"factor"`
	// N counts training rows, Features all feature columns, Used the columns that the kernel uses.
	N          int                  `json:"n"`
	Features   []string             `json:"features"`
	Used       []string             `json:"used"`
	Target     string               `json:"target,omitempty"`  // the only one
	Targets    []gp.Target          `json:"targets,omitempty"` // several
	Kernel     string               `json:"kernel"`
	Mean       string               `json:"mean"`
	Noise      gp.Noise             `json:"noise,omitzero"`
	Scaling    gp.Scaling           `json:"scaling"`
	Parameters map[string]float64   `json:"parameters"`
	NLML       float64              `json:"nlml"`
	Status     string               `json:"status"`
	Fit        *summary.ModelRecord `json:"fit,omitempty"`
	// Approximation says how far a method may be off that is not exact.
	Approximation *gp.Approximation `json:"approximation,omitempty"`

	// Names are the names of the parameters in order.
	Names, TargetNames []string `json:"-"`
}

func inspectModel(path string) (cli.Reported, error) {
	m, info, err := gp.Inspect(path)
	if err != nil {
		return nil, err
	}
	record, err := recordOf(m, path)
	if err != nil {
		return nil, err
	}
	if record != nil && record.Report != nil {
		messages.AllFlags(record.Report.Warnings)
	}
	v := &modelView{
		fileView: fileView{"model", 1, path, info.Bytes, info.SHA256, info.SchemaVersion}, Factor: info.Factor,
		N: m.N(), Features: m.FeatureNames, Used: matrixrows.Values(m.FeatureNames, m.Columns), Targets: m.Targets, TargetNames: m.TargetNames(), Kernel: m.Kernel, Mean: m.Mean.Text, Noise: m.Noise, Scaling: m.Scaling,
		Parameters: m.Parameters(), NLML: m.NLML, Status: m.Status, Fit: record, Approximation: m.Approximation,
	}
	if len(m.Targets) == 0 {
		v.Target = m.TargetName
	}
	v.Names = slices.Clone(m.ParameterNames)
	for _, name := range slices.Sorted(maps.Keys(v.Parameters)) {
		if !slices.Contains(m.ParameterNames, name) {
			v.Names = append(v.Names, name)
		}
	}
	return v, nil
}

// Text implements [cli.Reported].
func (v *modelView) Text() string { return view("model", v) }

// Options returns the options of the fit as flags, in the order of their names.
func (v *modelView) Options() string {
	if len(v.Fit.Options) == 0 {
		return "none: all have their defaults"
	}
	var words []string
	for name, text := range v.Fit.Options {
		words = append(words, "--"+name+" "+textform.Quote(text))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// regressionView describes a file of a regression.
type regressionView struct {
	fileView
	Program    string             `json:"program"`
	Data       string             `json:"data"`
	Method     string             `json:"method"`
	Function   string             `json:"function"`
	Density    bool               `json:"density"`
	N          int                `json:"n"`
	Features   []string           `json:"features"`
	Used       []string           `json:"used"`
	Target     string             `json:"target"`
	Scaling    gp.Scaling         `json:"scaling"`
	Parameters map[string]float64 `json:"parameters"`
	Intercept  *float64           `json:"intercept,omitempty"`
	Weights    map[string]float64 `json:"weights,omitempty"`
}

func inspectRegression(path string) (cli.Reported, error) {
	f, info, err := companion.Load(path)
	if err != nil {
		return nil, err
	}
	return &regressionView{
		fileView: fileView{"regression", 1, path, info.Bytes, info.SHA256, f.SchemaVersion}, Program: f.Program, Data: f.Data,
		Method: f.Method, Function: f.Model.Describe(), Density: f.HasDensity(), N: f.N, Features: f.FeatureNames, Target: f.TargetName, Scaling: f.Scaling,
		Used: matrixrows.Values(f.FeatureNames, f.Columns), Parameters: f.Parameters, Intercept: f.Intercept, Weights: f.Weights,
	}, nil
}

// Text implements [cli.Reported].
func (v *regressionView) Text() string { return view("regression", v) }

// checkpointView describes a checkpoint.
type checkpointView struct {
	Type          string    `json:"type"`
	SchemaVersion int       `json:"schema_version"`
	File          string    `json:"file"`
	Bytes         int64     `json:"bytes"`
	Changed       time.Time `json:"changed"`
	*journal.Contents
}

func inspectCheckpoint(path string) (cli.Reported, error) {
	s, err := journal.Inspect(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &checkpointView{"checkpoint", 1, path, info.Size(), info.ModTime().UTC(), s}, nil
}

// Text implements [cli.Reported].
func (v *checkpointView) Text() string { return view("checkpoint", v) }

// recordOf reads the record of the fit in a model file. Errors are [*gp.FileError].
func recordOf(m *gp.Model, path string) (*summary.ModelRecord, error) {
	record, err := summary.ReadRecord(m.Record)
	if err != nil {
		return nil, &gp.FileError{Path: path, Msg: "the report of the fit cannot be read", Err: err}
	}
	return record, nil
}
