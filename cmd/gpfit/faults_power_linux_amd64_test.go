package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gpfit/internal/testcheck"
)

// This file keeps account of what is on the disk while a process runs, and makes the folder that a failure of
// the machine may leave: without a sync, contents and names are lost, or some of them are.

// node is a file or folder with what a failure of the machine leaves of it for certain.
type node struct {
	synced []byte           // contents of a file at its last fsync
	names  map[string]*node // entries of a folder at its last fsync; nil for a file
}

// disk knows the nodes below a root by the numbers of their inodes.
type disk struct {
	root  string
	nodes map[uint64]*node
}

// newDisk takes everything below root as synced.
func newDisk(t *testing.T, root string) *disk {
	d := &disk{root, map[uint64]*node{}}
	d.settle(t, root)
	return d
}

// settle makes what is at path and below it durable.
func (d *disk) settle(t *testing.T, path string) *node {
	info := testcheck.Get(os.Lstat(path))(t)
	n := d.at(info)
	if !info.IsDir() {
		n.synced = testcheck.Get(os.ReadFile(path))(t)
		return n
	}
	for _, e := range testcheck.Get(os.ReadDir(path))(t) {
		n.names[e.Name()] = d.settle(t, filepath.Join(path, e.Name()))
	}
	return n
}

// at returns the node of a file that exists.
func (d *disk) at(info fs.FileInfo) *node {
	number := info.Sys().(*syscall.Stat_t).Ino
	if d.nodes[number] == nil {
		d.nodes[number] = &node{}
		if info.IsDir() {
			d.nodes[number].names = map[string]*node{}
		}
	}
	return d.nodes[number]
}

// observe takes note of a call that the system has carried out.
func (d *disk) observe(c *fileCall) {
	if c.result < 0 {
		return
	}
	switch c.name {
	case "open", "mkdir":
		if info, err := os.Lstat(c.path); err == nil && (c.created || c.name == "mkdir") {
			delete(d.nodes, info.Sys().(*syscall.Stat_t).Ino) // the number may have belonged to a file that was removed
			d.at(info)
		}
	case "fsync":
		d.sync(fmt.Sprintf("/proc/%d/fd/%d", c.pid, c.args[0]))
	}
}

// sync makes the contents of an open file or the names in an open folder durable.
func (d *disk) sync(open string) {
	info, err := os.Stat(open)
	if err != nil {
		return
	}
	n := d.at(info)
	if !info.IsDir() {
		n.synced, _ = os.ReadFile(open)
		return
	}
	clear(n.names)
	entries, _ := os.ReadDir(open)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n.names[e.Name()] = d.at(info)
		}
	}
}

// survival is a way in which unsynced data survive.
type survival string

// With nothing, no unsynced name or byte survives. With names all names do, with half of the
// unsynced bytes of a file if torn, and zeros in their place if zeros. With some, each folder and each file fares in its own way.
const (
	nothing survival = "nothing"
	names   survival = "names"
	torn    survival = "torn"
	zeros   survival = "zeros"
	some    survival = "some"
)

// cut writes to the folder to what survives of a failure of the machine now.
func (d *disk) cut(t *testing.T, to string, how survival, rng *rand.Rand) {
	d.leave(t, d.root, d.at(testcheck.Get(os.Lstat(d.root))(t)), to, how, rng)
}

// leave writes what survives of n, which is at path now or was there at the last sync.
func (d *disk) leave(t *testing.T, path string, n *node, to string, how survival, rng *rand.Rand) {
	mine := how
	if how == some {
		mine = []survival{nothing, names, torn, zeros}[rng.IntN(4)]
	}
	if n.names == nil {
		testcheck.Do(t, os.WriteFile(to, d.contents(path, n, mine), 0o644))
		return
	}
	testcheck.Do(t, os.MkdirAll(to, 0o755))
	inside := n.names
	if mine != nothing {
		inside = map[string]*node{}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				inside[e.Name()] = d.at(info)
			}
		}
	}
	for _, name := range sorted(inside) {
		d.leave(t, filepath.Join(path, name), inside[name], filepath.Join(to, name), how, rng)
	}
}

// contents returns what survives of a file. If another file has its name now, or none, the synced contents survive.
func (d *disk) contents(path string, n *node, how survival) []byte {
	info, err := os.Lstat(path)
	if err != nil || d.at(info) != n || how == nothing || how == names {
		return n.synced
	}
	now, _ := os.ReadFile(path)
	rest, extended := bytes.CutPrefix(now, n.synced)
	switch {
	case !extended:
		return n.synced
	case how == torn:
		return now[:len(n.synced)+len(rest)/2]
	}
	return append(bytes.Clone(n.synced), make([]byte, len(rest))...)
}
