package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/compare"
	"gpfit/fit/summary"
)

// modelFolder is the folder of --models, which holds a model of each method.
type modelFolder struct {
	*cli.Command
	files  []compare.ModelFile
	failed []error
}

// openModels checks that the command can write the files of --models, and makes the folder. Without the
// option it returns nil.
func openModels(c *cli.Command) (*modelFolder, error) {
	if c.Output.Models == "" {
		return nil, nil
	}
	f := &modelFolder{Command: c}
	methods := c.Compare.Methods
	if methods == nil {
		methods = compare.Methods()
	}
	var all []output.Destination
	for _, method := range methods {
		if method != "gp" {
			all = append(all, cli.Destination("models", f.path(method)))
			continue
		}
		for i := range c.Compare.Kernels {
			all = append(all, cli.Destination("models", f.processPath(i)))
		}
	}
	if info, err := os.Stat(c.Output.Models); err == nil && !info.IsDir() {
		return nil, &output.WriteError{Err: fmt.Errorf("--models %s: is not a folder", c.Output.Models)}
	}
	if err := os.MkdirAll(c.Output.Models, 0o777); err != nil {
		return nil, &output.WriteError{Err: fmt.Errorf("--models %s: cannot make the folder: %w", c.Output.Models, err)}
	}
	return f, output.Check(c.Output.Force, all, c.Inputs(c.Args[0])...)
}

// path is the file of a regression.
func (f *modelFolder) path(method string) string {
	return filepath.Join(f.Output.Models, method+".json")
}

// processPath is the file of the Gaussian process with a kernel of --kernels, counted from 0.
func (f *modelFolder) processPath(i int) string {
	if len(f.Compare.Kernels) == 1 {
		return filepath.Join(f.Output.Models, "gp.gpfit")
	}
	return filepath.Join(f.Output.Models, fmt.Sprintf("gp-%d.gpfit", i+1))
}

// add writes a model. A failure ends the command after its result is printed.
func (f *modelFolder) add(m *compare.Fitted) error {
	path := f.path(m.Method)
	write := func(w io.Writer) error {
		m.Regression.Program, m.Regression.Data = programName(), f.Args[0]
		return m.Regression.Write(w)
	}
	if m.Process != nil {
		path = f.processPath(m.Kernel)
		write = func(w io.Writer) error {
			m.Process.Record = summary.ModelRecord{Program: programName(), Data: f.Args[0], Options: f.Texts("out", "force", "json", "quiet", "models", "plot", "plot-sizes")}
			return m.Process.WriteModel(w, false)
		}
	}
	if err := f.Write(path, write); err != nil {
		f.failed = append(f.failed, &output.WriteError{Err: fmt.Errorf("%s: cannot write the model: %w", path, err)})
		return nil
	}
	f.files = append(f.files, compare.ModelFile{Method: m.Method, File: path})
	return nil
}

// finish adds the files to the result and says where they are.
func (f *modelFolder) finish(r *compare.Result) error {
	if f == nil {
		return nil
	}
	r.Models = f.files
	if len(f.files) > 0 {
		f.Msg.Note("models written to %s", strings.TrimSuffix(f.Output.Models, string(filepath.Separator)))
	}
	return errors.Join(f.failed...)
}
