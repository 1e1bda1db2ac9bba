// Package emulate compiles the CUDA kernels as C++, to run them on a machine
// without a GPU in tests. [Library] is for whoever can call C; [Driver] is a
// program that takes launches on standard input (src/driver.cpp has its format).
//
// They need a C++17 compiler: $CXX, or c++, g++ or clang++ on the path. Outputs
// are kept in the user's cache directory, under a hash of sources and compiler.
package emulate

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"gpfit/device/cuda/kernels/source"
)

//go:embed src
var emulator embed.FS

// ErrNoCompiler says that there is no C++ compiler, or a system that the emulator
// does not run on. Tests skip then, and say so.
var ErrNoCompiler = errors.New("kernels: no C++ compiler for the emulator (set CXX)")

// Library returns the path of a shared library that exports
//
//	int gpfit_emu_launch(const char *name, unsigned gx, unsigned gy, unsigned gz,
//		unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, void **params);
//
// params[i] points to the i-th 8-byte parameter. It returns when the kernel is
// done: 0, or 1 for an unknown name, 2 for a grid or block that no kernel has.
func Library() (string, error) {
	return build("libgpfitemu.so", "-shared", "src/emulator.cpp")
}

// Driver returns the path of the driver program.
func Driver() (string, error) {
	return build("gpfitemu", "", "src/emulator.cpp", "src/driver.cpp")
}

func compiler() (string, error) {
	if runtime.GOOS != "linux" {
		return "", ErrNoCompiler
	}
	for _, name := range []string{os.Getenv("CXX"), "c++", "g++", "clang++", "clang++-16"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

// flags: no contraction to fused multiply-add beyond what the sources ask for,
// on any processor; longjmp between fibres must not be "fortified".
var flags = []string{"-std=c++17", "-O2", "-fPIC", "-pthread", "-ffp-contract=off", "-U_FORTIFY_SOURCE",
	"-Wall", "-Wno-unused-function", "-DGPFIT_EMULATOR"}

func build(name, mode string, units ...string) (string, error) {
	cxx, err := compiler()
	if err != nil {
		return "", err
	}
	version, err := exec.Command(cxx, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("kernels: %s --version: %w", cxx, err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, string(version), runtime.GOARCH, flags, mode, units)
	files := map[string][]byte{}
	for _, from := range []embed.FS{source.Files, emulator} {
		err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := from.ReadFile(path)
			files[path] = text
			fmt.Fprintln(hash, path, len(text))
			hash.Write(text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "gpfit", "emulator-"+hex.EncodeToString(hash.Sum(nil))[:16])
	out := filepath.Join(cache, name)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	return out, compile(cxx, out, mode, files, units)
}

// compile builds beside out and renames: processes that build the same at once
// do not see each other's half-written files.
func compile(cxx, out, mode string, files map[string][]byte, units []string) error {
	work, err := os.MkdirTemp(filepath.Dir(out), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for path, text := range files {
		to := filepath.Join(work, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	args := append([]string{}, flags...)
	if mode != "" {
		args = append(args, mode)
	}
	args = append(args, "-I.", "-Isrc", "-o", "built")
	args = append(args, units...)
	cmd := exec.Command(cxx, args...)
	cmd.Dir = work
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kernels: %s %s: %w\n%s", cxx, strings.Join(args, " "), err, stderr.Bytes())
	}
	return os.Rename(filepath.Join(work, "built"), out)
}
