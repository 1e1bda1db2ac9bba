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
	"slices"
	"strings"
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

// target is a platform with its build tags.
type target struct {
	os, arch string
	// static has no GPU code and needs no C library: the loader of CUDA's driver is a part
	// of the C library.
	static bool
}

// targets are the platforms of a release.
var targets = []target{
	{os: "linux", arch: "amd64"},
	{os: "linux", arch: "arm64"},
	{os: "linux", arch: "amd64", static: true},
	{os: "linux", arch: "arm64", static: true},
	{os: "darwin", arch: "arm64"},
	{os: "darwin", arch: "amd64"},
	{os: "windows", arch: "amd64"},
}

// name returns the name by which option targets chooses the target.
func (t target) name() string {
	name := t.os + "/" + t.arch
	if t.static {
		name += "/static"
	}
	return name
}

// file returns the beginning of the names of the target's files.
func (t target) file(version string) string {
	return "gpfit_" + version + "_" + strings.ReplaceAll(t.name(), "/", "_")
}

// archive returns the name of the target's archive.
func (t target) archive(version string) string {
	if t.os == "windows" {
		return t.file(version) + ".zip"
	}
	return t.file(version) + ".tar.gz"
}

// program returns the name of the program.
func (t target) program() string {
	if t.os == "windows" {
		return "gpfit.exe"
	}
	return "gpfit"
}

func allNames() string {
	var names []string
	for _, t := range targets {
		names = append(names, t.name())
	}
	return strings.Join(names, ", ")
}

// chooseTargets returns the targets of a list of names, or all for an empty list.
func chooseTargets(names string) ([]target, error) {
	if names == "" {
		return targets, nil
	}
	var chosen []target
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.name() == name })
		if i < 0 {
			return nil, fmt.Errorf("no target %q: the targets are %s", name, allNames())
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}
