package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// entry is one line of the journal: the whole state of one thing. The last line of a
// thing counts.
type entry struct {
	Kind  string          `json:"k"`
	ID    string          `json:"id"`
	Value json.RawMessage `json:"v"`
}

// journal is an append-only file of entries. What append returned from and sync
// confirmed survives a crash of the machine; a line torn by one is dropped when read.
type journal struct {
	file    journalFile
	path    string
	size    int64        // of the batches in the file; append's callers are serialised
	torn    bool         // a part of a batch follows them
	written atomic.Int64 // batches in the file

	mu     sync.Mutex
	synced int64 // batches known to be on the disk
}

// journalFile is what a journal needs of an *os.File.
type journalFile interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// readJournal calls each for every entry of the file, which may not exist.
func readJournal(path string, each func(entry) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // without its newline the last line was never confirmed to anybody
		}
		if err != nil {
			return err
		}
		var e entry
		if json.Unmarshal(line, &e) != nil {
			return fmt.Errorf("%s is damaged; remove the directory to start anew", path)
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

// rewriteJournal replaces the file by the given entries and opens it for more.
func rewriteJournal(path string, entries []entry) (*journal, error) {
	var b bytes.Buffer
	if err := encodeEntries(&b, entries); err != nil {
		return nil, err
	}
	if err := writeFile(path, b.Bytes()); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: f, path: path, size: int64(b.Len())}, nil
}

func encodeEntries(b *bytes.Buffer, entries []entry) error {
	enc := json.NewEncoder(b)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// append writes entries in one piece and returns the number to sync to. Callers must
// be serialised. What a full disk took of a batch is cut off again: the next batch
// would go on in the middle of its line. While that cannot be done nothing is written.
func (j *journal) append(entries []entry) (int64, error) {
	var b bytes.Buffer
	if err := encodeEntries(&b, entries); err != nil {
		return 0, err
	}
	if j.torn {
		if err := j.cut(); err != nil {
			return 0, err
		}
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return 0, errors.Join(err, j.cut())
	}
	j.size += int64(b.Len())
	return j.written.Add(1), nil
}

// cut cuts the file off behind its last whole batch.
func (j *journal) cut() error {
	err := j.file.Truncate(j.size)
	j.torn = err != nil
	return err
}

// sync returns when batch n is on the disk. Callers that come together share one fsync.
func (j *journal) sync(n int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.synced >= n {
		return nil
	}
	upTo := j.written.Load()
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.synced = upTo
	return nil
}
