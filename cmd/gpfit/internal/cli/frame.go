// Package cli is the common part of the commands: a [Command] has the options of a command
// and its input and output. It reads tables and models, opens devices, and writes results,
// plots and files. Start at [New].
package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gpfit"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/modelcache"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/ranks"
	"gpfit/device"
	"gpfit/internal/textform"
	"gpfit/option"
	"gpfit/show/plotting"
)

// Command is a run of a command.
type Command struct {
	flags.Set
	// Jobs are options of every job of a batch, which override the spec.
	Jobs flags.Set
	// Ctx ends when the user interrupts the command.
	Ctx  context.Context
	Args []string
	In   io.Reader
	Out  io.Writer
	// Cmd is the command, and Msg prints its messages.
	Cmd *cobra.Command
	Msg *messages.Writer
	// kept has the models that the command shares with others of the same process.
	kept keeping
}

// New completes the definition of a command. It takes the options of a place of the
// table, and the arguments that its usage names, unless cmd has another check.
func New(place string, cmd *cobra.Command, run func(*Command) error) *cobra.Command {
	var c Command
	c.Add(cmd, place)
	if place == "batch" {
		c.Jobs.Add(cmd, option.Every)
	}
	if cmd.Args == nil {
		cmd.Args = flags.CheckArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.Ctx, c.Args, c.In, c.Out, c.Cmd = cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd
		c.Msg = messages.New(cmd.ErrOrStderr(), c.Output.Quiet)
		if _, err := device.FindMethod(c.Compute.Method, gpfit.Methods()); err != nil {
			return exit.Usagef("--method %s: %w", textform.Quote(c.Compute.Method), err)
		}
		if c.Compute.Method != "" {
			if err := ranks.Check(c.Compute.Method); err != nil {
				return err
			}
		}
		if err := c.kept.begin(c.Ctx, place); err != nil {
			return err
		}
		return c.kept.end(run(&c))
	}
	return cmd
}

// Destination returns the file that a flag names.
func Destination(flag, path string) output.Destination {
	return output.Destination{Flag: flag, Path: path}
}

// CheckOutputs checks that the command can write the file of --out, the plot and more files,
// and that they replace no input.
func (c *Command) CheckOutputs(inputs []string, more ...output.Destination) error {
	all := append([]output.Destination{Destination("out", c.Output.Out), Destination("plot", c.Plot.Path)}, more...)
	return output.Check(c.Output.Force, all, inputs...)
}

// Reported is a result that has a text for people besides its form in JSON.
type Reported interface{ Text() string }

// Report prints a result as JSON or text.
func (c *Command) Report(r Reported) error {
	return output.Report(c.Out, c.Output.JSON, r)
}

// Write writes a file, or for "" to standard output.
func (c *Command) Write(path string, write func(io.Writer) error) error {
	return output.Write(c.Ctx, c.Out, path, c.Output.Force, write)
}

// File returns the file of --out for the result, in one of the formats: of its name, of --format or of
// --json.
func (c *Command) File(formats ...output.FileFormat) (*output.File, error) {
	return output.Choose(c.Output.Out, c.Output.Format, c.Output.JSON, formats...)
}

// WriteFile writes a file, compressed if its name says so.
func (c *Command) WriteFile(f *output.File, write func(io.Writer) error) error {
	return c.Write(f.Path, f.Compressed(write))
}

// WritePlot draws the figure with the title and the size of the options, if there is --plot.
func (c *Command) WritePlot(f *plotting.Figure) error {
	if c.Plot.Path == "" {
		return nil
	}
	titled := *f
	titled.Title = cmp.Or(c.Plot.Title, f.Title)
	titled.Size = cmp.Or(c.Plot.Size, f.Size)
	if err := titled.Write(c.Ctx, c.Plot.Path, c.Output.Force); err != nil {
		return fmt.Errorf("--plot %s: %w", c.Plot.Path, err)
	}
	return nil
}

// keeping holds the models that a command of a server leaves for the next ones. Its store is nil in a
// process that runs one command.
type keeping struct {
	store *modelcache.Store
	// model is the number of the model that the command has loaded, 0 without one.
	model uint64
	using []inUse
}

// inUse is a predictor that the command uses.
type inUse struct {
	key   string
	value io.Closer
	bytes int64
}

// small is how much memory predictors may hold while other work runs, in bytes.
const small = 64 << 20

// begin finds the store of the process.
func (k *keeping) begin(ctx context.Context, place string) error {
	*k = keeping{store: modelcache.Of(ctx)}
	if slices.Contains([]string{"predict", "sample", "loo", "weights", "inspect", "export", "version"}, place) {
		return nil
	}
	return k.store.Trim(small)
}

// end returns the error of a command, or of closing. After an error, what the command used may not be
// fit for use.
func (k *keeping) end(err error) error {
	for _, u := range k.using {
		if err != nil {
			_ = u.value.Close()
		} else {
			err = k.store.Put(u.key, u.value, u.bytes)
		}
	}
	k.using = nil
	return err
}
