//go:build !amd64

package vec

func hasAVX512() bool { return false }

func hasAVX2() bool { return false }
