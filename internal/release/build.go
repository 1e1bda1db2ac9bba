package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpfit/internal/supply"
)

// release is a release under construction.
type release struct {
	source
	// dir is a clone of the repository at the commit.
	dir     string
	modules []supply.Dependency
	// common are the files of all archives.
	common []entry
}

// source says what a release is built from.
type source struct {
	version, commit string
	at              time.Time
}

// sumsFile lists the SHA-256 of the other files.
const sumsFile = "SHA256SUMS"

// buildRelease writes the archives of the chosen targets, their bills of materials and the
// checksums to the folder out. It builds from a clone of the commit, so that files which
// git does not know have no influence.
func buildRelease(ctx context.Context, w io.Writer, out string, chosen []target) error {
	work, err := os.MkdirTemp("", "gpfit-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r, err := newRelease(ctx, w, filepath.Join(work, "source"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "gpfit %s from commit %s of %s, with %s\n", r.version, r.commit, r.at.Format(time.DateOnly), runtime.Version())
	if err := r.makeCommon(ctx, filepath.Join(work, "host")); err != nil {
		return err
	}
	if err := clear(out); err != nil {
		return err
	}
	for _, t := range chosen {
		if err := r.makeTarget(ctx, w, t, work, out); err != nil {
			return fmt.Errorf("%s: %w", t.name(), err)
		}
	}
	return writeSums(out)
}

// newRelease clones the commit that is checked out into dir.
func newRelease(ctx context.Context, w io.Writer, dir string) (*release, error) {
	changed, err := output(ctx, ".", "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return nil, err
	}
	if changed != "" {
		fmt.Fprintf(w, "The release does not have these changes, which are not committed:\n%s\n", changed)
	}
	r := &release{dir: dir}
	if r.source, err = newSource(ctx); err != nil {
		return nil, err
	}
	if _, err := output(ctx, ".", "git", "clone", "--quiet", ".", dir); err != nil {
		return nil, err
	}
	if _, err := output(ctx, dir, "git", "checkout", "--quiet", "--detach", r.commit); err != nil {
		return nil, err
	}
	r.modules, err = supply.Modules(dir)
	return r, err
}

var sourceVersion = regexp.MustCompile(`(?m)^const version = "(.*)"$`)

// newSource reads the commit, its time and the version. A commit without the tag of a
// release has a version such as 0.1.0-dev.965db3562a6f.
func newSource(ctx context.Context) (source, error) {
	text, err := output(ctx, ".", "git", "show", "HEAD:cmd/gpfit/cmd_version.go")
	if err != nil {
		return source{}, err
	}
	m := sourceVersion.FindStringSubmatch(text)
	if m == nil {
		return source{}, fmt.Errorf("cmd/gpfit/cmd_version.go has no version")
	}
	head, err := output(ctx, ".", "git", "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, err
	}
	tags, err := output(ctx, ".", "git", "tag", "--points-at", "HEAD", "v*")
	if err != nil {
		return source{}, err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, err
	}
	s := source{commit: commit, at: time.Unix(at, 0).UTC()}
	s.version, err = versionOf(m[1], commit, strings.Fields(tags))
	return s, err
}

// versionOf returns the version of a commit with tags. next is the release that the source
// becomes. A tag must be v and next, or a candidate for it such as v0.1.0-rc.1.
func versionOf(next, commit string, tags []string) (string, error) {
	switch len(tags) {
	case 0:
		return next + "-dev." + commit[:12], nil
	case 1:
		if tag := tags[0]; tag == "v"+next || strings.HasPrefix(tag, "v"+next+"-") {
			return tag[1:], nil
		}
		return "", fmt.Errorf("the tag is %s, but cmd/gpfit/cmd_version.go has the version %s: correct one of the two", tags[0], next)
	}
	return "", fmt.Errorf("the commit has several tags: %s", strings.Join(tags, ", "))
}

// makeCommon makes the files that all archives have: licences, manual pages, completions.
func (r *release) makeCommon(ctx context.Context, program string) error {
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md", "THIRD_PARTY_LICENSES"} {
		text, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		r.common = append(r.common, entry{name: name, text: text})
	}
	host := target{os: runtime.GOOS, arch: runtime.GOARCH}
	if err := r.compile(ctx, host, program); err != nil {
		return err
	}
	for _, c := range []struct{ shell, file string }{
		{"bash", "completions/bash/gpfit"}, {"fish", "completions/fish/gpfit.fish"},
		{"powershell", "completions/powershell/gpfit.ps1"}, {"zsh", "completions/zsh/_gpfit"},
	} {
		text, err := r.ask(ctx, program, "completion", c.shell)
		if err != nil {
			return err
		}
		r.common = append(r.common, entry{name: c.file, text: []byte(text + "\n")})
	}
	man := filepath.Join(filepath.Dir(program), "man1")
	if _, err := r.ask(ctx, program, "reference", "man", man); err != nil {
		return err
	}
	pages, err := os.ReadDir(man)
	for _, p := range pages {
		text, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return err
		}
		r.common = append(r.common, entry{name: "man/man1/" + p.Name(), text: text})
	}
	return err
}

// ask runs the program and returns what it prints.
func (r *release) ask(ctx context.Context, program string, args ...string) (string, error) {
	return output(ctx, r.dir, "env", append([]string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()), program}, args...)...)
}

// makeTarget writes the archive of a target and its bill of materials.
func (r *release) makeTarget(ctx context.Context, w io.Writer, t target, work, out string) error {
	begun := time.Now()
	program := filepath.Join(work, strings.ReplaceAll(t.name(), "/", "-"), t.program())
	if err := r.compile(ctx, t, program); err != nil {
		return err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var bill, archive bytes.Buffer
	if err := supply.BOM(&bill, program, r.modules); err != nil {
		return err
	}
	entries := append([]entry{{name: t.program(), text: text, executable: true}}, r.common...)
	if err := writeArchive(&archive, t.archive(r.version), t.file(r.version), r.at, entries); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, t.archive(r.version)), archive.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, %.1f MB, %.0f s\n", t.archive(r.version), float64(archive.Len())/1e6, time.Since(begun).Seconds())
	return os.WriteFile(filepath.Join(out, t.file(r.version)+".cdx.json"), bill.Bytes(), 0o644)
}

// compile builds the program of a target. The environment has no influence on the result.
func (r *release) compile(ctx context.Context, t target, program string) error {
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -X main.released=" + r.version}
	if t.static {
		args = append(args, "-tags=nogpu")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", program, "./cmd/gpfit")...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOTOOLCHAIN=local")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, text)
	}
	return nil
}

// clear makes the folder out and removes the files of an earlier release in it.
func clear(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	old, err := releaseFiles(out)
	if err != nil {
		return err
	}
	for _, name := range append(old, sumsFile) {
		if err := os.RemoveAll(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

// releaseFiles returns the names of the archives and bills of materials in out, sorted.
func releaseFiles(out string) ([]string, error) {
	files, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "gpfit_") {
			names = append(names, f.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// writeSums writes the checksums of the files in out, in the form that sha256sum reads.
func writeSums(out string) error {
	names, err := releaseFiles(out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), name)
	}
	return os.WriteFile(filepath.Join(out, sumsFile), []byte(b.String()), 0o644)
}

// output runs a program in a folder and returns what it prints, without the last line end.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var text, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &errors
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, errors.String())
	}
	return strings.TrimRight(text.String(), "\n"), nil
}
