package testserver

import (
	"os"
	"syscall"
)

// memoryNeeded is what has to be free in the file system in memory: a server in use holds a few hundred MiB, and several run at a time.
const memoryNeeded = 4 << 30

// roomInMemory returns a directory whose files live in memory, where Linux has one with room; else "", for the usual temporary
// directory. Making and dropping the tables of a test takes a third of the time there, and a server that is killed loses nothing by
// it. TMPDIR, where set, is obeyed.
func roomInMemory() string {
	const dir = "/dev/shm"
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(dir, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < memoryNeeded { //nolint:gosec // a block's size is positive
		return ""
	}
	return dir
}
