package main

import (
	"fmt"
	"slices"
	"strings"
)

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
