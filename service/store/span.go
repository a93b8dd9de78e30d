package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/glebarez/go-sqlite"
	mysqldriver "github.com/go-sql-driver/mysql"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"
)

// spanText is how much of a statement a span tells.
const spanText = 1000

// Trace makes a span of every statement that runs within a recorded trace, by gorm or past it, and of begin and commit; there are
// none outside one. A span tells the statement with its placeholders and never a value. To be called before the first statement.
//
// gorm's own plugin would see neither the statements that pass gorm by nor the commits, writes the texts of errors into its spans,
// in which MySQL quotes values, and links in the drivers of two more databases.
func (s *Store) Trace(tracer trace.Tracer) { s.tracer = tracer }

// spanning wraps what runs statements where the context's trace is recorded.
func (s *Store) spanning(ctx context.Context, pool gorm.ConnPool) gorm.ConnPool {
	if s.tracer == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return pool
	}
	return spanPool{pool, s}
}

// span begins the span of a statement; the function that it returns ends it.
func (s *Store) span(ctx context.Context, query string, statements int) (context.Context, func(error)) {
	if s.tracer == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, func(error) {}
	}
	system := semconv.DBSystemNameMySQL
	if s.dialect == SQLite {
		system = semconv.DBSystemNameSQLite
	}
	ctx, span := s.tracer.Start(ctx, summary(query), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(system, semconv.DBQueryText(cut(query))))
	if statements > 1 {
		span.SetAttributes(semconv.DBOperationBatchSize(statements))
	}
	return ctx, func(err error) {
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			span.SetAttributes(semconv.ErrorTypeKey.String(errorType(err)))
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// spanPool makes the spans of one transaction, or of reads outside one.
type spanPool struct {
	gorm.ConnPool
	store *Store
}

func (p spanPool) ExecContext(ctx context.Context, query string, args ...any) (res sql.Result, err error) {
	ctx, end := p.store.span(ctx, query, 1)
	res, err = p.ConnPool.ExecContext(ctx, query, args...)
	end(err)
	return res, err
}

func (p spanPool) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	ctx, end := p.store.span(ctx, query, 1)
	rows, err = p.ConnPool.QueryContext(ctx, query, args...)
	end(err)
	return rows, err
}

func (p spanPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	ctx, end := p.store.span(ctx, query, 1)
	row := p.ConnPool.QueryRowContext(ctx, query, args...)
	end(row.Err())
	return row
}

// errorType names an error without its text.
func errorType(err error) string {
	var my *mysqldriver.MySQLError
	var lite *sqlite.Error
	switch {
	case errors.As(err, &my):
		return fmt.Sprintf("mysql %d", my.Number)
	case errors.As(err, &lite):
		return fmt.Sprintf("sqlite %d", lite.Code())
	}
	return fmt.Sprintf("%T", err)
}

// summary names a statement by what it does to which table, such as "UPDATE orders".
func summary(query string) string {
	words := strings.Fields(cut(query))
	if len(words) == 0 {
		return "statement"
	}
	verb := strings.ToUpper(words[0])
	before := map[string]string{"SELECT": "FROM", "DELETE": "FROM", "INSERT": "INTO", "UPDATE": "UPDATE"}[verb]
	for i, w := range words[:len(words)-1] {
		if before != "" && strings.EqualFold(w, before) {
			if table := strings.Trim(words[i+1], "`\"(),;"); table != "" && !strings.EqualFold(table, "SELECT") {
				return verb + " " + table
			}
		}
	}
	return verb
}

// cut never ends within a character, which no collector would take.
func cut(query string) string { return strings.ToValidUTF8(query[:min(len(query), spanText)], "") }
