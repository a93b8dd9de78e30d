package job

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// Result is a job's file as it is downloaded.
type Result struct {
	Name string // for the file, in ASCII
	Size int64  // in bytes; -1 where it is not known beforehand
	// Write writes it, a part at a time.
	Write func(ctx context.Context, to io.Writer) error
}

// resultRows is how many rows of a result are read at once.
const resultRows = 1000

var resultColumns = []column{
	{"line", "行号", false}, {"subject", "对象", false}, {"status", "结果", false}, {"outcome", "代码", false}, {"text", "说明", false},
}

// Result returns the results of a job's rows so far as CSV, those that failed first, or the file of an export. It fails as Get, and with
// state_conflict for an export that is not done.
func (s *Service) Result(ctx context.Context, by Caller, id int64) (*Result, error) {
	j, err := s.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d.csv", j.Kind, j.ID)
	if !j.Kind.Exports() {
		return &Result{name, -1, func(ctx context.Context, to io.Writer) error { return s.writeRows(ctx, j.ID, by.English, to) }}, nil
	}
	if j.State != model.JobDone {
		return nil, fault.New(fault.StateConflict).Say("导出尚未完成", "The export is not done")
	}
	var size int64
	if err := s.Store.Read(ctx).Raw("SELECT COALESCE(SUM(bytes), 0) FROM job_rows WHERE job_id = ?", id).Scan(&size).Error; err != nil {
		return nil, store.Classify(err)
	}
	return &Result{name, size, func(ctx context.Context, to io.Writer) error { return s.writeParts(ctx, j.ID, to) }}, nil
}

// writeParts strings the parts of an export together.
func (s *Service) writeParts(ctx context.Context, id int64, to io.Writer) error {
	for last := int64(0); ; {
		parts, err := s.rowsAfter(ctx, id, "", last)
		if err != nil || len(parts) == 0 {
			return err
		}
		for _, p := range parts {
			last = p.RowNo
			if p.Bytes == 0 {
				continue
			}
			if err := s.writePart(ctx, p.Subject, to); err != nil {
				return err
			}
		}
	}
}

func (s *Service) writePart(ctx context.Context, key string, to io.Writer) error {
	r, err := s.Files.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // was only read
	_, err = io.Copy(to, r)
	return err
}

func (s *Service) writeRows(ctx context.Context, id int64, english bool, to io.Writer) error {
	head := newWriter()
	head.head(resultColumns, english)
	if _, err := to.Write(head.bytes()); err != nil {
		return err
	}
	for _, state := range []model.JobRowState{model.JobRowFailed, model.JobRowOK} {
		for last := int64(0); ; {
			rows, err := s.rowsAfter(ctx, id, state, last)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			out := newWriter()
			for _, r := range rows {
				status, text := map[model.JobRowState]string{model.JobRowOK: "成功", model.JobRowFailed: "失败"}[r.State], r.TextZH
				if english {
					status, text = string(r.State), r.TextEN
				}
				out.line(count(r.Line), r.Subject, status, r.Outcome, text)
				last = r.RowNo
			}
			if _, err := to.Write(out.bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) rowsAfter(ctx context.Context, id int64, state model.JobRowState, last int64) ([]model.JobRow, error) {
	q := s.Store.Read(ctx).Where("job_id = ? AND row_no > ?", id, last)
	if state != "" {
		q = q.Where("state = ?", state)
	}
	var rows []model.JobRow
	err := q.Order("row_no").Limit(resultRows).Find(&rows).Error
	return slices.Clip(rows), store.Classify(err)
}
