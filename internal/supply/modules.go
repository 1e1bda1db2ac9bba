// Package supply lists the modules that a program of this module is built from and
// their licences, and writes both as a bill of materials in CycloneDX's JSON. Start at
// [Modules] and [BOM].
package supply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dependency is a module that our packages import, including their tests.
type Dependency struct {
	Path, Version string
	// Text is the text of its licence, and License the SPDX identifier.
	Text, License string
	// TestOnly says that only tests use the module, not our programs.
	TestOnly bool
}

// Modules returns the modules that the packages of the module in dir import, sorted
// by path. The modules must have been downloaded.
func Modules(dir string) ([]Dependency, error) {
	built, err := list(dir)
	if err != nil {
		return nil, err
	}
	all, err := list(dir, "-test")
	if err != nil {
		return nil, err
	}
	var out []Dependency
	for path, m := range all {
		text, err := licenceText(m.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		_, inProgram := built[path]
		out = append(out, Dependency{Path: path, Version: m.Version, Text: text, License: Identify(text), TestOnly: !inProgram})
	}
	slices.SortFunc(out, func(a, b Dependency) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

type listed struct {
	Path, Version, Dir string
	Main               bool
}

// list asks the go command for the modules of all packages, with every build tag.
func list(dir string, more ...string) (map[string]listed, error) {
	out := map[string]listed{}
	for _, tags := range []string{"", "cu", "nogpu"} {
		args := append([]string{"list", "-e", "-deps", "-tags", tags, "-json=Module"}, more...)
		cmd := exec.Command("go", append(args, "./...")...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for d := json.NewDecoder(strings.NewReader(string(text))); ; {
			var p struct{ Module *listed }
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module != nil && !p.Module.Main {
				out[p.Module.Path] = *p.Module
			}
		}
	}
	return out, nil
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([.-].*)?$`)

// licenceText returns the text of the first file of a module with the name of a
// licence.
func licenceText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if licenceName.MatchString(e.Name()) && !e.IsDir() {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			return strings.ReplaceAll(string(text), "\r\n", "\n"), err
		}
	}
	return "", errors.New("no licence")
}

// phrases identify licences by text that only they contain. The first match counts.
var phrases = []struct{ license, phrase string }{
	{"FTL OR GPL-2.0-or-later", "your choice of exactly one of the following two licenses: * The FreeType License"},
	{"AGPL-3.0", "GNU AFFERO GENERAL PUBLIC LICENSE"},
	{"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE"},
	{"GPL", "GNU GENERAL PUBLIC LICENSE"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0 International Public License"},
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
}

// Identify returns the SPDX identifier of a licence's text, or "" if it is unknown.
func Identify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, p := range phrases {
		if strings.Contains(text, p.phrase) {
			return p.license
		}
	}
	return ""
}

// permissive lists the licences that a program under Apache-2.0, our licence, may
// include.
var permissive = []string{"MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "CC-BY-4.0", "FTL OR GPL-2.0-or-later"}

// Check returns an error for each module without a licence or with one that our
// programs may not include. It allows MPL-2.0 for modules that only tests use,
// because we do not distribute them.
func Check(modules []Dependency) error {
	var errs []error
	for _, m := range modules {
		if !slices.Contains(permissive, m.License) && !(m.TestOnly && m.License == "MPL-2.0") {
			errs = append(errs, fmt.Errorf("%s %s: licence %q", m.Path, m.Version, m.License))
		}
	}
	return errors.Join(errs...)
}

// WriteLicences writes the list of the modules with their licences, then each text
// once.
func WriteLicences(w io.Writer, modules []Dependency) error {
	var b strings.Builder
	b.WriteString("gpfit is built from the modules below and tested with those marked (tests). Each\nis under its own licence, whose text follows the list. Made by\n\n\tgo run ./internal/supply/report licences > THIRD_PARTY_LICENSES\n\n")
	users := map[string][]string{}
	for _, m := range modules {
		tests := ""
		if m.TestOnly {
			tests = " (tests)"
		}
		fmt.Fprintf(&b, "%s %s: %s%s\n", m.Path, m.Version, m.License, tests)
		users[m.Text] = append(users[m.Text], m.Path)
	}
	for _, m := range modules {
		if users[m.Text] == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[m.Text], "\n"), strings.TrimRight(m.Text, "\n"))
		users[m.Text] = nil
	}
	_, err := io.WriteString(w, b.String())
	return err
}
