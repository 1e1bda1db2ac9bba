// Command release makes the files of a release in the folder dist, and checks them. Run it
// in the module's folder:
//
//	go run ./internal/release build                          the programs of all targets
//	go run ./internal/release build -targets linux/amd64     of some targets
//	go run ./internal/release check                          what build made
//
// The same commit gives the same bytes with the same version of Go, on every machine.
// docs/releasing.md describes the files.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const usage = "usage: release build [-out DIRECTORY] [-targets LIST], or release check [-out DIRECTORY]"

func run(ctx context.Context, args []string, w io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	out := set.String("out", "dist", "folder of the files")
	names := set.String("targets", "", "targets such as linux/amd64,windows/amd64; without them all of "+allNames())
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s", usage)
	}
	switch args[0] {
	case "build":
		chosen, err := chooseTargets(*names)
		if err != nil {
			return err
		}
		return buildRelease(ctx, w, *out, chosen)
	case "check":
		return checkRelease(ctx, w, *out)
	}
	return fmt.Errorf("%s", usage)
}
