package app

import (
	"testing"

	"github.com/tidemall/tidemall/config"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/store/storetest"
)

// A rule for a table or a column that is not there would only be a line in the log.
func TestRulesOfRetentionFitTheTables(t *testing.T) {
	a := &App{Config: &config.Config{}}
	a.Config.Admin.ChangeLogDays = 1
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, r := range a.retention() {
			var keys []string
			if err := s.Read(t.Context()).Table(r.Table).Where(r.Since+" < 0").Pluck(r.Key, &keys).Error; err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
}
