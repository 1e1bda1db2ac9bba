//go:build unix

package batch

import "syscall"

// errQuota reports that the user has no disk quota left.
const errQuota = syscall.EDQUOT
