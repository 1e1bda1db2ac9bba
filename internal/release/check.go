package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkRelease checks the files in out: checksums, contents of the archives, how the
// programs were built, and their bills of materials. It runs the programs that this
// machine can run.
func checkRelease(ctx context.Context, w io.Writer, out string) error {
	if err := checkSums(out); err != nil {
		return err
	}
	names, err := releaseFiles(out)
	if err != nil {
		return err
	}
	var results []trial
	archives := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".cdx.json") {
			continue
		}
		archives++
		p, err := readPackage(out, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		result, err := tryProgram(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(w, "%s: %s\n", name, result.text())
		results = append(results, result)
	}
	if archives == 0 {
		return fmt.Errorf("no archives in %s: run release build first", out)
	}
	return compareTrials(results)
}

// checkSums compares the files in out with their checksums.
func checkSums(out string) error {
	list, err := os.ReadFile(filepath.Join(out, sumsFile))
	if err != nil {
		return err
	}
	var listed []string
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		if fmt.Sprintf("%x", sha256.Sum256(text)) != sum {
			return fmt.Errorf("%s does not have the checksum in %s", name, sumsFile)
		}
		listed = append(listed, name)
	}
	names, err := releaseFiles(out)
	if err == nil && !slices.Equal(names, listed) {
		err = fmt.Errorf("%s lists %v, the folder has %v", sumsFile, listed, names)
	}
	return err
}
