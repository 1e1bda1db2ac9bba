//go:build !unix

package batch

import "syscall"

const errQuota = syscall.ENOSPC
