package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// everyWay runs statements in every way that there is, with a phone number as the value, once with an error that quotes it.
func everyWay(ctx context.Context, t *testing.T, s *store.Store) {
	t.Helper()
	const phone = "13800138000"
	err := s.Tx(ctx, func(tx *store.Tx) error {
		if _, err := tx.Run("DELETE FROM settings WHERE name = ?", phone); err != nil {
			return err
		}
		var b store.Batch
		for i := range 2 {
			b.Add("INSERT INTO settings (name, value, updated_at) VALUES (?, ?, ?)", fmt.Sprint(phone, i), phone, 1)
		}
		if err := tx.Send(&b); err != nil {
			return err
		}
		if _, err := tx.Affected("UPDATE settings SET value = ? WHERE name IN ?", phone, []string{phone + "0", "x"}); err != nil {
			return err
		}
		return tx.Create(&model.Setting{Name: phone, Value: phone, UpdatedAt: 1}).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []model.Setting
	if err := s.Read(ctx).Where("name = ?", phone).Order("name").Find(&rows).Error; err != nil || len(rows) != 1 {
		t.Fatal(len(rows), err)
	}
	if err := s.Read(ctx).Create(&rows[0]).Error; !store.IsDuplicate(err) {
		t.Fatal(err)
	}
	if err := s.Read(ctx).Exec("DELETE FROM settings").Error; err != nil {
		t.Fatal(err)
	}
}

func TestStatementsAreSpansInsideRecordedTracesOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		kept := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
		s.Trace(provider.Tracer("test"))
		everyWay(t.Context(), t, s)
		if spans := kept.GetSpans(); len(spans) != 0 {
			t.Errorf("%d spans outside a trace, the first %s", len(spans), spans[0].Name)
		}
		ctx, request := provider.Tracer("test").Start(t.Context(), "request")
		everyWay(ctx, t, s)
		var got []string
		for _, span := range kept.GetSpans() {
			got = append(got, span.Name+" "+span.Status.Code.String())
			if span.Parent.SpanID() != request.SpanContext().SpanID() {
				t.Errorf("%s is no child of the request", span.Name)
			}
			if text := fmt.Sprint(span.Name, span.Attributes, span.Status, span.Events); strings.Contains(text, "13800138000") {
				t.Errorf("%s tells a value: %s", span.Name, text)
			}
		}
		want := []string{
			"BEGIN Unset", "DELETE settings Unset", "INSERT settings Unset", "UPDATE settings Unset", "INSERT settings Unset", "COMMIT Unset",
			"SELECT settings Unset", "INSERT settings Error", "DELETE settings Unset",
		}
		if s.Dialect() == store.SQLite { // which sends a batch one by one
			want = slices.Insert(want, 2, "INSERT settings Unset")
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
	})
}
