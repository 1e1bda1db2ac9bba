// Command gpfit fits exact Gaussian processes to tables and predicts with them.
//
//	gpfit fit examples/co2.csv --split-mask examples/co2_mask.csv:1
//	gpfit predict co2.gpfit examples/co2_new.csv
//
// Run "gpfit help" for the commands and "gpfit help fit" for the flags. Results go to standard
// output, progress and messages to standard error. Exit codes: 0 success, 1 failure, 2 usage, 3
// some jobs of a batch failed, 10 bad input data, 11 run directory in use, 12 device unavailable or
// too small, 130 interrupted by Ctrl-C, SIGTERM, SIGHUP or SIGUSR1.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/parentwatch"
	"gpfit/cmd/gpfit/internal/ranks"
	"gpfit/cmd/gpfit/internal/serve"
	"gpfit/cmd/gpfit/internal/supervise"
	"gpfit/internal/hostmem"
	"gpfit/option"
)

func main() {
	refuseClosed()
	watched := supervise.Watched()
	if !watched {
		if code, done := supervise.Run(signals()); done {
			os.Exit(code)
		}
	}
	ignoreFileLimit()
	hostmem.Ballast()
	ctx, stop := signal.NotifyContext(context.Background(), signals()...)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, func() {
		if watched { // a terminal sends the same signal to the process above, which passes it on
			time.Sleep(time.Second)
		}
		stop()
	})
	_, owned := os.LookupEnv(parentwatch.Variable)
	ctx, err := parentwatch.Follow(ctx, func() { os.Exit(exit.Interrupted) })
	if err != nil {
		messages.Error(os.Stderr, err, false)
		os.Exit(exit.Usage)
	}
	args := os.Args[1:]
	os.Exit(ranks.Main(args, owned, os.Stderr, func() int { return run(ctx, args, os.Stdin, os.Stdout, os.Stderr) }))
}

// signals returns the signals that stop the work cleanly. SIGHUP, which a closing
// terminal sends, is one of them unless nohup made the program ignore it.
func signals() []os.Signal {
	all := append(ranks.Signals(), os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// run runs the whole program and returns its exit code. main and tests call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &screen{}
	if f, ok := stdout.(*os.File); ok {
		out.File, stdout = f, out
	}
	only := "" // all
	if len(args) > 0 && actions[args[0]] != nil {
		only = args[0] // to define the others takes longer than a short command
	}
	root := newRoot(only, stdin, stdout, stderr)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		flags.Complete(root)
	}
	root.SetArgs(args)
	called, err := root, hostmem.CheckLimit()
	if err == nil {
		called, err = root.ExecuteContextC(ctx)
	}
	if err = cmp.Or(err, out.failure); err == nil {
		return 0
	}
	code := exit.Code(ctx, err)
	if advice := exit.Advice(err); advice != "" {
		err = fmt.Errorf("%w\n%s", err, advice)
	}
	messages.Error(stderr, err, code != exit.Usage && code != exit.Data)
	if code == exit.Usage {
		_, name, _ := strings.Cut(strings.TrimSuffix(called.CommandPath(), " help"), " ")
		fmt.Fprintf(stderr, "Run 'gpfit help' for the commands and 'gpfit help %s' for the flags.\n", cmp.Or(name, "COMMAND"))
	}
	return code
}

// screen is standard output. It remembers the first failure to write, so that no command loses results in silence.
type screen struct {
	*os.File
	failure error
}

// Write implements [io.Writer].
func (r *screen) Write(p []byte) (n int, err error) {
	n, err = r.File.Write(p)
	if r.failure == nil {
		r.failure = err
	}
	return n, err
}

// WriteString implements [io.StringWriter].
func (r *screen) WriteString(s string) (n int, err error) { return r.Write([]byte(s)) }

// actions are the commands with what they do, except kernel, help and completion.
var actions map[string]func(*cli.Command) error

func init() { // serve refers to the map
	actions = map[string]func(*cli.Command) error{
		"fit": runFit, "select": runSelect, "compare": runCompare, "path": runPath, "nlml": runNLML, "profile": runProfile, "update": runUpdate, "predict": runPredict,
		"sample": runSample, "loo": runLOO, "weights": runWeights, "export": runExport, "inspect": runInspect, "check": runCheck, "kernel show": runKernelShow,
		"kernel check": runKernelCheck, "batch": runBatch, "resume": runResume, "show": runShow, "report": runReport, "bench": runBench,
		"devices": runDevices, "version": runVersion,
		"serve": runServe,
	}
}

func runServe(c *cli.Command) error {
	if out, ok := c.Out.(*screen); ok && c.In == os.Stdin {
		in, own, err := serve.Own(os.Stdin, out.File)
		if err != nil {
			return err
		}
		c.In, c.Out = in, own
	}
	return serve.Serve(c.Ctx, c.In, c.Out, version, run)
}

// newRoot returns the program with one command, or with all for "".
func newRoot(only string, stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var o flags.Set
	root := define("gpfit")
	root.SilenceErrors, root.SilenceUsage, root.Args = true, true, cobra.ArbitraryArgs
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Version && len(args) == 0 {
			return printVersion(cmd.OutOrStdout())
		}
		return noCommand(cmd, args)
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return flags.Read(cmd) }
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flags.Error)
	root.SetHelpFunc(flags.Help)
	root.SetUsageFunc(func(cmd *cobra.Command) error { flags.Help(cmd, nil); return nil })
	root.SetHelpCommand(newHelp())
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.heading, Title: g.heading})
	}
	root.SetCompletionCommandGroupID(groupOf("completion"))
	o.Add(root, option.Program)
	kernels := define("kernel")
	kernels.Args, kernels.RunE = cobra.ArbitraryArgs, noCommand
	root.AddCommand(kernels, newReference())
	for name, run := range actions {
		if only != "" && name != only {
			continue
		}
		cmd, above := define(name), root
		if name == "sample" || name == "kernel check" {
			cmd.Args = cobra.ArbitraryArgs // their options decide
		}
		if strings.HasPrefix(name, "kernel ") {
			above = kernels
		}
		above.AddCommand(cli.New(name, cmd, run))
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}
