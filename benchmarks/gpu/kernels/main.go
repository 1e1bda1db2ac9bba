// Command kernels writes the PTX of covariance functions to a folder and prints the
// number of float64 instructions that each needs for a pair of points. The script
// tools/bindings/assemble.sh compiles the PTX.
//
//	go run -C benchmarks ./gpu/kernels -out folder -d 8 'rbf(ard)' periodic
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
)

func main() {
	out := flag.String("out", "", "folder for the PTX; without it, no PTX is written")
	d := flag.Int("d", 8, "columns of X")
	target := flag.String("target", "sm_80", "architecture")
	flag.Parse()
	if err := write(*out, *target, *d, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder, target string, d int, texts []string) error {
	fmt.Printf("%-60s %-16s %5s %9s %8s\n", "kernel, d = "+fmt.Sprint(d), "entry", "pairs", "per pair", "bytes")
	for i, text := range texts {
		prog, err := kernel.CompileText(text, d)
		if err != nil {
			return err
		}
		for _, e := range ptx.Entries() {
			k, err := ptx.For(prog, e)
			if err != nil {
				return err
			}
			code := k.Text(e, target)
			count := float64(ptx.CountFloat64(code)) / float64(k.Pairs(e))
			fmt.Printf("%-60s %-16s %5d %9.1f %8d\n", text, e.Name, k.Pairs(e), count, len(code))
			if folder == "" {
				continue
			}
			name := fmt.Sprintf("%02d-%s.ptx", i, strings.TrimPrefix(e.Name, "gpfit_"))
			if err := os.WriteFile(filepath.Join(folder, name), code, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}
