// Command proxy packs this module, as it is in the working tree, into a folder that is a module proxy:
//
//	go run -C tools ./moduleproxy VERSION FOLDER
//
// With GOPROXY=file://FOLDER, go get then finds the module under its path.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: proxy VERSION FOLDER")
		os.Exit(2)
	}
	path, err := packAbove(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// packAbove packs the module of the folder above tools, in which the command runs.
func packAbove(version, folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if err := os.Chdir(".."); err != nil {
		return "", err
	}
	return pack(version, folder)
}

// pack writes the files of a version below folder, and returns the path of the module.
func pack(version, folder string) (string, error) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	m := module.Version{Path: modfile.ModulePath(text), Version: version}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return "", fmt.Errorf("the module %s cannot be fetched: %w", m.Path, err)
	}
	at := filepath.Join(folder, escaped, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return "", err
	}
	for name, text := range map[string][]byte{version + ".mod": text, version + ".info": info, "list": []byte(version + "\n")} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			return "", err
		}
	}
	archive, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		return "", err
	}
	defer archive.Close()
	files, err := tracked()
	if err != nil {
		return "", err
	}
	if err := zip.Create(archive, m, files); err != nil {
		return "", err
	}
	return m.Path, archive.Close()
}

// tracked lists the files of the working tree that git knows, without other modules within it.
func tracked() ([]zip.File, error) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var others []string
	for _, name := range names {
		if dir, base := filepath.Split(name); base == "go.mod" && dir != "" {
			others = append(others, dir)
		}
	}
	var files []zip.File
next:
	for _, name := range names {
		for _, dir := range others {
			if strings.HasPrefix(name, dir) {
				continue next
			}
		}
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, packed(name))
		}
	}
	return files, nil
}

// packed is a file of the archive, by its path.
type packed string

func (f packed) Path() string                 { return string(f) }
func (f packed) Lstat() (os.FileInfo, error)  { return os.Lstat(string(f)) }
func (f packed) Open() (io.ReadCloser, error) { return os.Open(string(f)) }
