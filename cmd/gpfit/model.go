package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

// modelResultFlags are those of commands that compute something from one target
// of a MODEL alone.
type modelResultFlags struct {
	target, out string
	deviceFlags
}

func (f *modelResultFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.SortFlags = false
	s.StringVar(&f.target, "target", "", "`NAME` of the target, if the model has several")
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	commandLineOnly(s, "target", "out")
	f.deviceFlags.add(s)
	completeValues(cmd)
}

// load reads the model of --target.
func (f *modelResultFlags) load(path string) (*gp.Model, error) {
	if err := keepInput("--out", f.out, path); err != nil {
		return nil, err
	}
	return loadTarget(path, f.target)
}

// writeOut writes the file out, whole or not at all; "" is standard output.
func writeOut(cmd *cobra.Command, out string, write func(io.Writer) error) error {
	if out == "" {
		return write(cmd.OutOrStdout())
	}
	return atomicfile.Write(out, write)
}

// keepInput refuses a file to write that is one of those to be read.
func keepInput(flag, out string, inputs ...string) error {
	info, err := os.Stat(out)
	if out == "" || err != nil {
		return nil
	}
	for _, path := range inputs {
		if in, err := os.Stat(path); err == nil && in.Mode().IsRegular() && os.SameFile(info, in) {
			return usagef("%s %s: is a file that is read here; choose another name", flag, out)
		}
	}
	return nil
}

// loadTarget reads the model of the named target, or of the only one.
func loadTarget(path, target string) (*gp.Model, error) {
	m, err := gp.Load(path)
	if err != nil {
		return nil, err
	}
	return targetOf(m, target)
}

// condition puts a model on a device. The caller calls the function returned when
// it is done with the posterior.
func (f *deviceFlags) condition(ctx context.Context, out *messages, m *gp.Model) (*gp.Posterior, func(), error) {
	prog, err := m.Program()
	if err != nil {
		return nil, nil, err
	}
	b, err := f.openOne(ctx, out, m.N(), prog)
	if err != nil {
		return nil, nil, err
	}
	notePlan(out, b.Plan(m.N(), len(m.Columns)))
	p, err := m.Condition(ctx, b)
	if err != nil {
		_ = b.Close()
		return nil, nil, err
	}
	p.Workspace().OnProgress(out.progress)
	return p, func() {
		_ = p.Close()
		_ = b.Close()
	}, nil
}
