package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/journal"
	"gpfit/internal/textform"
)

func newInspect() *cobra.Command {
	return frame.New("inspect", &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show what a model is and how it was fitted",
		Long: `Show what a model file holds: the data, the kernel, the parameters in both units, and
the report of its fit with scores, device, evaluations, seconds and options. Models
that an earlier gpfit wrote have no such report; the parameters are then in scaled
units alone. gpfit verifies the file's checksum.

Of a checkpoint of "gpfit fit --checkpoint" it shows the evaluations so far, the best
value of each descent, and whether a fit is writing it. Reading it changes nothing.`,
		Example: `  gpfit inspect co2.gpfit
  gpfit inspect co2.gpfit --json | jq .fit.report.test`,
	}, runInspect)
}

func runInspect(c *frame.Command) error {
	inspect := inspectModel
	if journal.IsJournal(c.Args[0]) {
		inspect = inspectCheckpoint
	}
	r, err := inspect(c.Args[0])
	if err != nil {
		return err
	}
	return c.Report(r)
}

// inspection is what the command shows of a file.
type inspection interface{ Text() string }

// modelView describes a model file.
type modelView struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"`
	Bytes         int64  `json:"bytes"`
	SHA256        string `json:"sha256"`
	FileVersion   int    `json:"file_version"`
	Factor        bool   `json:"factor"`
	// N counts training rows, Features all feature columns, Used those that the kernel
	// uses.
	N          int                  `json:"n"`
	Features   []string             `json:"features"`
	Used       []string             `json:"used"`
	Targets    []string             `json:"targets"`
	Kernel     string               `json:"kernel"`
	Mean       string               `json:"mean"`
	Noise      gp.Noise             `json:"noise,omitzero"`
	Scaling    gp.Scaling           `json:"scaling"`
	Parameters map[string]float64   `json:"parameters"`
	NLML       float64              `json:"nlml"`
	Status     string               `json:"status"`
	Fit        *summary.ModelRecord `json:"fit,omitempty"`

	names []string // of the parameters, in order
}

func inspectModel(path string) (inspection, error) {
	m, info, err := gp.Inspect(path)
	if err != nil {
		return nil, err
	}
	record, err := summary.ReadRecord(m.Record)
	if err != nil {
		return nil, &gp.FileError{Path: path, Msg: "the report of the fit cannot be read", Err: err}
	}
	v := &modelView{
		Type: "model", SchemaVersion: 1, File: path, Bytes: info.Bytes, SHA256: info.SHA256, FileVersion: info.SchemaVersion, Factor: info.Factor,
		N: m.N(), Features: m.FeatureNames, Targets: m.TargetNames(), Kernel: m.Kernel, Mean: m.Mean.Text, Noise: m.Noise, Scaling: m.Scaling,
		Parameters: m.Parameters(), NLML: m.NLML, Status: m.Status, Fit: record,
	}
	for _, c := range m.Columns {
		v.Used = append(v.Used, m.FeatureNames[c])
	}
	v.names = slices.Clone(m.ParameterNames)
	var others []string
	for name := range v.Parameters {
		if !slices.Contains(v.names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	v.names = append(v.names, others...)
	return v, nil
}

// Text implements [inspection].
func (v *modelView) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	factor := ""
	if v.Factor {
		factor = ", with the Cholesky factor"
	}
	line("model", "%s, %s, version %d of the form%s", v.File, device.FormatBytes(v.Bytes), v.FileVersion, factor)
	line("checksum", "SHA-256 %s, verified", v.SHA256)
	if f := v.Fit; f != nil && f.Program != "" {
		line("written by", "%s", f.Program)
		line("table", "%s", f.Data)
		line("options", "%s", optionsText(f.Options))
	}
	line("training rows", "%d", v.N)
	line("features", "%s", strings.Join(v.Features, ", "))
	if len(v.Used) < len(v.Features) {
		line("features in use", "%s", strings.Join(v.Used, ", "))
	}
	line("target", "%s", strings.Join(v.Targets, ", "))
	if v.Noise.Column != "" {
		line("known noise", "column %s", v.Noise.Column)
	}
	if v.Noise.GroupColumn != "" {
		line("noise groups", "column %s: %s", v.Noise.GroupColumn, strings.Join(v.Noise.Labels, ", "))
	}
	if v.Fit != nil {
		b.WriteString("\n" + v.Fit.Text)
		return b.String()
	}
	line("kernel", "%s", v.Kernel)
	line("mean", "%s", v.Mean)
	line("NLML", "%.6f", v.NLML)
	line("status", "%s", v.Status)
	fmt.Fprintf(&b, "\n%-22s %14s\n", "parameter", "scaled")
	for _, name := range v.names {
		fmt.Fprintf(&b, "%-22s %14.6g\n", name, v.Parameters[name])
	}
	return b.String()
}

// optionsText returns options as flags, in the order of their names.
func optionsText(options map[string]string) string {
	if len(options) == 0 {
		return "none: all have their defaults"
	}
	var words []string
	for name, text := range options {
		words = append(words, "--"+name+" "+textform.Quote(text))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// checkpointView describes a checkpoint.
type checkpointView struct {
	Type          string    `json:"type"`
	SchemaVersion int       `json:"schema_version"`
	File          string    `json:"file"`
	Bytes         int64     `json:"bytes"`
	Changed       time.Time `json:"changed"`
	// Job identifies data and options.
	Job        string        `json:"job"`
	InUse      bool          `json:"in_use"`
	Incomplete bool          `json:"incomplete_line"`
	Values     int           `json:"values"`
	Gradients  int           `json:"gradients"`
	Undefined  int           `json:"undefined"`
	Descents   []descentView `json:"descents"`
}

// descentView describes a descent. Those of a stage with few rows have another scale.
type descentView struct {
	Name        string   `json:"name"`
	Evaluations int      `json:"evaluations"`
	Best        *float64 `json:"best"`
}

func inspectCheckpoint(path string) (inspection, error) {
	s, err := journal.Inspect(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	v := &checkpointView{
		Type: "checkpoint", SchemaVersion: 1, File: path, Bytes: info.Size(), Changed: info.ModTime().UTC(), Job: s.Job, InUse: s.InUse,
		Incomplete: s.Incomplete, Values: s.Values, Gradients: s.Gradients, Undefined: s.Undefined, Descents: []descentView{},
	}
	for _, d := range s.Streams {
		v.Descents = append(v.Descents, descentView{d.Name, d.Evaluations, summary.Finite(d.Best)})
	}
	return v, nil
}

// Text implements [inspection].
func (v *checkpointView) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("checkpoint", "%s, %s, changed %s", v.File, device.FormatBytes(v.Bytes), v.Changed.Format(time.RFC3339))
	line("job", "%s (a hash of data and options)", v.Job)
	state := "no fit uses it; the same gpfit fit command continues from here"
	if v.InUse {
		state = "a fit is writing it"
	}
	line("state", "%s", state)
	line("evaluations", "%d values, %d gradients, %d points without a value", v.Values, v.Gradients, v.Undefined)
	if v.Incomplete {
		line("last line", "incomplete; it does not count")
	}
	fmt.Fprintf(&b, "\n%-22s %12s  %16s\n", "descent", "evaluations", "lowest objective")
	for _, d := range v.Descents {
		best := "-"
		if d.Best != nil {
			best = fmt.Sprintf("%.6f", *d.Best)
		}
		fmt.Fprintf(&b, "%-22s %12d  %16s\n", d.Name, d.Evaluations, best)
	}
	return b.String()
}
