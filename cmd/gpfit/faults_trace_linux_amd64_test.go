package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"gpfit/internal/testcheck"
)

// This file runs gpfit under ptrace and stops it at each system call that uses a file of one folder. A test
// looks at the call and lets it pass, fails or shortens it, or kills the process.

// fileCall is a system call that uses a file or folder below the root of a trace.
type fileCall struct {
	name string
	nr   uint64
	// path and target are the files; target is the second one of a rename.
	path, target string
	// flags are the flags of an open.
	flags uint64
	// created means that the call makes path.
	created bool
	// result is the value that the system returned.
	result int64
	args   [6]uint64
	pid    int
}

// fileCalls are the calls that a trace stops at. at says where the file is: its descriptor, its
// path, or its path after the descriptor of a folder.
var fileCalls = map[uint64]struct{ name, at string }{
	unix.SYS_READ: {"read", "fd"}, unix.SYS_PREAD64: {"read", "fd"}, unix.SYS_READV: {"readv", "fd"},
	unix.SYS_WRITE: {"write", "fd"}, unix.SYS_PWRITE64: {"write", "fd"}, unix.SYS_WRITEV: {"writev", "fd"},
	unix.SYS_FTRUNCATE: {"ftruncate", "fd"}, unix.SYS_COPY_FILE_RANGE: {"copy", "fd"}, unix.SYS_SENDFILE: {"copy", "fd"},
	unix.SYS_FSYNC: {"fsync", "fd"}, unix.SYS_FDATASYNC: {"fsync", "fd"}, unix.SYS_CLOSE: {"close", "fd"},
	unix.SYS_FCHMOD: {"fchmod", "fd"}, unix.SYS_FLOCK: {"flock", "fd"}, unix.SYS_GETDENTS64: {"getdents", "fd"},
	unix.SYS_FSTAT: {"stat", "fd"}, unix.SYS_LSEEK: {"lseek", "fd"},
	unix.SYS_OPENAT: {"open", "at"}, unix.SYS_MKDIRAT: {"mkdir", "at"}, unix.SYS_UNLINKAT: {"unlink", "at"},
	unix.SYS_NEWFSTATAT: {"stat", "at"}, unix.SYS_RENAMEAT: {"rename", "at"}, unix.SYS_RENAMEAT2: {"rename", "at"},
	unix.SYS_RENAME: {"rename", "path"}, unix.SYS_MKDIR: {"mkdir", "path"}, unix.SYS_UNLINK: {"unlink", "path"}, unix.SYS_RMDIR: {"unlink", "path"},
}

// verdict says what happens to a call.
type verdict struct {
	// errno is the error that the call returns. The system does not carry it out, except a close.
	errno unix.Errno
	// short makes a read or write take half of its bytes.
	short bool
	// kill ends the process before the call.
	kill bool
}

// tracer observes the calls of one process.
type tracer struct {
	root string
	// before decides on each call. after sees each call that was carried out.
	before func(c *fileCall) verdict
	after  func(c *fileCall)
	open   map[int]*pendingCall
}

// pendingCall is a call that a thread has entered.
type pendingCall struct {
	*fileCall
	verdict
}

// ended is the end of a traced process.
type ended struct {
	code           int // -1 if it was killed
	stdout, stderr string
}

// runTraced runs gpfit in the folder root until it ends.
func (r *tracer) runTraced(t *testing.T, args ...string) ended {
	t.Helper()
	gpfit := testcheck.Get(exec.LookPath("gpfit"))(t)
	streams := [2]*os.File{}
	for i := range streams {
		streams[i] = testcheck.Get(os.CreateTemp(t.TempDir(), "stream"))(t)
		defer streams[i].Close()
	}
	r.open = map[int]*pendingCall{}
	var failure error
	code := 0
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		// ptrace belongs to one thread. The thread ends with the goroutine.
		runtime.LockOSThread()
		p, err := os.StartProcess(gpfit, append([]string{"gpfit"}, args...), &os.ProcAttr{
			Dir: r.root, Env: append(os.Environ(), "GOMAXPROCS=2"), Files: []*os.File{nil, streams[0], streams[1]}, Sys: &unix.SysProcAttr{Ptrace: true, Setpgid: true},
		})
		if err != nil {
			failure = err
			return
		}
		// A command that waits forever ends with the stacks of its goroutines.
		watch := time.AfterFunc(3*time.Minute, func() { _ = unix.Kill(p.Pid, unix.SIGQUIT) })
		code, failure = r.loop(p.Pid)
		watch.Stop()
		_ = p.Release()
	}()
	<-finished
	if errors.Is(failure, unix.EPERM) || errors.Is(failure, unix.ENOSYS) {
		t.Skip("THE FAULTS ARE NOT TESTED: this system does not allow ptrace: ", failure)
	}
	testcheck.Do(t, failure)
	out := ended{code: code}
	out.stdout = string(testcheck.Get(os.ReadFile(streams[0].Name()))(t))
	out.stderr = string(testcheck.Get(os.ReadFile(streams[1].Name()))(t))
	return out
}

// loop follows all threads of the process until it ends, and returns its exit code.
func (r *tracer) loop(pid int) (int, error) {
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_EXITKILL
	first, threads := true, map[int]bool{pid: true}
	for {
		var status unix.WaitStatus
		// Other threads of this program have children of their own, and this one may have children of
		// goroutines that ran on it before. The program has a process group of its own.
		tid, err := unix.Wait4(-pid, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case status.Exited() && tid == pid:
			return status.ExitStatus(), nil
		case status.Signaled() && tid == pid:
			return -1, nil
		case !status.Stopped():
			continue
		}
		sig := status.StopSignal()
		switch {
		case first:
			first, sig = false, 0
			if err := unix.PtraceSetOptions(pid, options); err != nil {
				return 0, err
			}
		case sig == unix.SIGTRAP|0x80:
			sig = 0
			r.atCall(pid, tid)
		case sig == unix.SIGTRAP, sig == unix.SIGSTOP && !threads[tid]:
			sig = 0
		}
		threads[tid] = true
		_ = unix.PtraceSyscall(tid, int(sig)) // the thread may have been killed
	}
}

// callInfo is the struct ptrace_syscall_info of the system.
type callInfo struct {
	Op     uint8
	_      [3]uint8
	_      uint32
	_, _   uint64
	Number uint64 // the result when a call ends
	Args   [6]uint64
	_      [8]byte
}

// atCall handles a thread that enters or leaves a call.
func (r *tracer) atCall(pid, tid int) {
	const getInfo, entry, exit = 0x420e, 1, 2
	var info callInfo
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, getInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
		return
	}
	switch info.Op {
	case entry:
		if c := r.identify(tid, info.Number, info.Args); c != nil {
			p := &pendingCall{c, r.before(c)}
			r.open[tid] = p
			p.enter(pid, tid)
		}
	case exit:
		if p := r.open[tid]; p != nil {
			delete(r.open, tid)
			p.leave(tid)
			if p.result = int64(info.Number); r.after != nil && (p.errno == 0 || p.name == "close") {
				r.after(p.fileCall)
			}
		}
	}
}

// enter changes a call before the system sees it.
func (p *pendingCall) enter(pid, tid int) {
	var regs unix.PtraceRegs
	switch {
	case p.kill:
		_ = unix.Kill(pid, unix.SIGKILL)
		return
	case p.errno == 0 && !p.short || unix.PtraceGetRegs(tid, &regs) != nil:
		return
	case p.short:
		regs.Rdx = (p.args[2] + 1) / 2
	case p.name != "close":
		regs.Orig_rax = ^uint64(0) // no such call
	}
	_ = unix.PtraceSetRegs(tid, &regs)
}

// leave changes what the program sees of a call.
func (p *pendingCall) leave(tid int) {
	var regs unix.PtraceRegs
	if p.errno == 0 && !p.short || unix.PtraceGetRegs(tid, &regs) != nil {
		return
	}
	if p.short {
		regs.Rdx = p.args[2]
	} else {
		regs.Rax = -uint64(p.errno)
	}
	_ = unix.PtraceSetRegs(tid, &regs)
}

// identify returns the call if it uses a file below the root, and nil otherwise.
func (r *tracer) identify(tid int, nr uint64, args [6]uint64) *fileCall {
	kind, ok := fileCalls[nr]
	if !ok {
		return nil
	}
	c := &fileCall{name: kind.name, nr: nr, args: args, pid: tid}
	switch kind.at {
	case "fd":
		c.path = openPath(tid, args[0])
	case "at":
		c.path = pathArgument(tid, args[0], args[1])
		c.flags = args[2]
		if c.name == "rename" {
			c.target = pathArgument(tid, args[2], args[3])
		}
	case "path":
		c.path = pathArgument(tid, currentFolder, args[0])
		if c.name == "rename" {
			c.target = pathArgument(tid, currentFolder, args[1])
		}
	}
	if nr == unix.SYS_COPY_FILE_RANGE {
		c.path = openPath(tid, args[2])
	}
	if c.path != r.root && !strings.HasPrefix(c.path, r.root+"/") {
		return nil
	}
	if c.name == "open" && c.flags&unix.O_CREAT != 0 {
		_, err := os.Lstat(c.path)
		c.created = err != nil
	}
	return c
}

// currentFolder is the descriptor that stands for the current folder.
const currentFolder = 1<<64 + unix.AT_FDCWD

// openPath returns the name of an open file, "" if it has none.
func openPath(tid int, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(fd)))
	return strings.TrimSuffix(path, " (deleted)")
}

// pathArgument returns the path at an address of the process, which begins at an open folder.
func pathArgument(tid int, folder, address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return ""
	}
	defer memory.Close()
	text := make([]byte, unix.PathMax)
	n, _ := memory.ReadAt(text, int64(address)) // the page after the path may not exist
	path, _, _ := strings.Cut(string(text[:n]), "\x00")
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case int32(folder) == unix.AT_FDCWD:
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", tid))
		return filepath.Join(cwd, path)
	}
	return filepath.Join(openPath(tid, folder), path)
}
