package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"gpfit/cmd/gpfit/internal/cli"
)

// version is the release that this source becomes. CHANGELOG.md lists its changes. The
// release's tag is v and this text. A program has the version of [thisBuild].
const version = "0.1.0"

// released is the version that make release gives the program, by -ldflags '-X
// main.released=0.1.0'.
var released string

// programName names this program in the files of a run.
func programName() string { return "gpfit " + thisBuild().Version }

func runVersion(c *cli.Command) error {
	if !c.Output.JSON {
		return printVersion(c.Out)
	}
	b := thisBuild()
	return json.NewEncoder(c.Out).Encode(map[string]any{
		"type": "version", "schema_version": 1, "version": b.Version, "revision": b.Revision, "modified": b.Modified,
		"time": b.Time, "go": runtime.Version(), "platform": platform(), "tags": b.Tags,
	})
}

// printVersion prints the version in one line.
func printVersion(w io.Writer) error {
	b := thisBuild()
	parts := []string{b.Revision, runtime.Version(), platform()}
	if len(b.Tags) > 0 {
		parts = append(parts, "tags "+strings.Join(b.Tags, ","))
	}
	_, err := fmt.Fprintf(w, "gpfit %s (%s)\n", b.Version, strings.Join(parts, ", "))
	return err
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// build says which source a program was built from, and how.
type build struct {
	// Version is a release such as 0.1.0. It ends in -dev if the source is not a release's.
	Version string
	// Revision is the commit, with +changes if the source had others; Modified says so,
	// too. Time is the commit's time, nil if it is unknown.
	Revision string
	Modified bool
	Time     *time.Time
	// Tags are the build tags, not nil.
	Tags []string
}

// thisBuild describes this program.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return newBuild(info, released)
}

// newBuild describes a program by what the go command stored in it and by the version that
// a release's build gave it, if any.
func newBuild(info *debug.BuildInfo, released string) build {
	b := build{Tags: []string{}}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Time = &at
			}
		case "-tags":
			b.Tags = slices.Sorted(strings.SplitSeq(s.Value, ","))
		}
	}
	b.Version = cmp.Or(released, moduleVersion(info.Main.Version), version+"-dev")
	if b.Revision == "" { // go install MODULE@COMMIT stores it here
		b.Revision, _ = module.PseudoVersionRev(info.Main.Version)
	}
	b.Revision = cmp.Or(b.Revision, "unknown revision")
	if b.Modified {
		b.Revision += "+changes"
	}
	return b
}

// moduleVersion returns the release of a module's version. It returns "" for (devel), for
// the version of a commit without a tag, and if the source had changes.
func moduleVersion(v string) string {
	release, ok := strings.CutPrefix(v, "v")
	if !ok || module.IsPseudoVersion(v) || strings.Contains(v, "+dirty") {
		return ""
	}
	return release
}
