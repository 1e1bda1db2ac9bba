package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pack is an archive that was read, with its program.
type pack struct {
	target
	version string
	program []byte
}

// needed are files that each archive has in addition to its program.
var needed = []string{
	"LICENSE", "README.md", "THIRD_PARTY_LICENSES", "man/man1/gpfit.1", "man/man1/gpfit-fit.1",
	"completions/bash/gpfit", "completions/zsh/_gpfit", "completions/fish/gpfit.fish", "completions/powershell/gpfit.ps1",
}

// readPackage reads an archive and checks everything but what its program does.
func readPackage(out, name string) (*pack, error) {
	p, err := newPack(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		return nil, err
	}
	entries, err := readArchive(name, p.file(p.version), text)
	if err != nil {
		return nil, err
	}
	for _, n := range append(slices.Clone(needed), p.target.program()) {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == n })
		if i < 0 || len(entries[i].text) == 0 || entries[i].executable != (n == p.target.program()) {
			return nil, fmt.Errorf("%s is missing, empty, or has the wrong mode", n)
		}
		p.program = entries[i].text
	}
	bill, err := os.ReadFile(filepath.Join(out, p.file(p.version)+".cdx.json"))
	if err != nil {
		return nil, err
	}
	for _, check := range []func() error{p.checkBuild, p.checkLinks, func() error { return p.checkBill(bill) }} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// newPack takes target and version from an archive's name.
func newPack(name string) (*pack, error) {
	for _, t := range targets {
		// The version is what stands between two parts that the target gives.
		before, after, _ := strings.Cut(t.archive("|"), "|")
		if strings.HasPrefix(name, before) && strings.HasSuffix(name, after) {
			return &pack{target: t, version: name[len(before) : len(name)-len(after)]}, nil
		}
	}
	return nil, fmt.Errorf("the name is of no target")
}

// checkBuild checks what the go command stored in the program.
func (p *pack) checkBuild() error {
	info, err := buildinfo.Read(bytes.NewReader(p.program))
	if err != nil {
		return err
	}
	is := map[string]string{}
	for _, s := range info.Settings {
		is[s.Key] = s.Value
	}
	want := map[string]string{"GOOS": p.os, "GOARCH": p.arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.modified": "false", "-tags": ""}
	if p.static {
		want["-tags"] = "nogpu"
	}
	for key, value := range want {
		if is[key] != value {
			return fmt.Errorf("the program was built with %s=%q, not %q", key, is[key], value)
		}
	}
	return nil
}

// systemLibraries are the parts of the C library that a Linux program with GPU code needs.
var systemLibraries = []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}

// checkLinks checks for Linux that the program has no symbols, no libraries but the C
// library, which a static program does not need either, and GPU code unless it is static.
func (p *pack) checkLinks() error {
	if p.os != "linux" {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(p.program))
	if err != nil {
		return err
	}
	if f.Section(".symtab") != nil {
		return fmt.Errorf("the program is not stripped")
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, l := range libraries {
		if p.static || !slices.Contains(systemLibraries, l) {
			return fmt.Errorf("the program needs %s", l)
		}
	}
	if hasGPU := bytes.Contains(p.program, []byte("libcuda.so.1")); hasGPU == p.static {
		return fmt.Errorf("the program has GPU code: %v", hasGPU)
	}
	return nil
}

// checkBill checks that a bill of materials is the one of the program.
func (p *pack) checkBill(text []byte) error {
	var bill struct {
		Metadata struct {
			Component struct {
				Hashes []struct{ Content string }
			}
		}
		Components []any
	}
	if err := json.Unmarshal(text, &bill); err != nil {
		return err
	}
	hashes := bill.Metadata.Component.Hashes
	if len(hashes) != 1 || hashes[0].Content != fmt.Sprintf("%x", sha256.Sum256(p.program)) || len(bill.Components) < 10 {
		return fmt.Errorf("the bill of materials is of another program")
	}
	return nil
}
