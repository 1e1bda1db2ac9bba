//go:build unix

package batch

import "syscall"

// errQuota is the error of a user who may write no more.
const errQuota = syscall.EDQUOT
