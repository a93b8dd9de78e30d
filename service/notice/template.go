package notice

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"gorm.io/gorm"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/changelog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/store"
)

// MaxFields is how many fields a template may have; WeChat's have five at most.
const MaxFields = 10

// Template is the template of an event; one that was never set has version 0.
type Template struct {
	Event Event
	model.SubscribeTemplate
}

// Draft is what is to become of an event's template. Version is the one that was read.
type Draft struct {
	TemplateID string
	Page       string
	Fields     map[string]string
	Enabled    bool
	Version    int64
}

var (
	templateRule = regexp.MustCompile(`^[0-9A-Za-z_-]{20,64}$`)
	pageRule     = regexp.MustCompile(`^[0-9A-Za-z_-][0-9A-Za-z_/-]*(\?[0-9A-Za-z_=&{}.%-]*)?$`)
)

// orderPlace stands for the order's number in a template's page.
const orderPlace = "{order_no}"

// Templates returns the template of every event.
func (s *Service) Templates(ctx context.Context) ([]Template, error) {
	var rows []model.SubscribeTemplate
	if err := s.Store.Read(ctx).Find(&rows).Error; err != nil {
		return nil, store.Classify(err)
	}
	out := make([]Template, len(events))
	for i, e := range events {
		out[i] = Template{Event: e, SubscribeTemplate: model.SubscribeTemplate{Event: e.Name, Fields: map[string]string{}}}
		if at := slices.IndexFunc(rows, func(r model.SubscribeTemplate) bool { return r.Event == e.Name }); at >= 0 {
			out[i].SubscribeTemplate = rows[at]
		}
	}
	return out, nil
}

// Offered returns the templates that are on: the ids that the mini-program asks shoppers to agree to.
func (s *Service) Offered(ctx context.Context) ([]Template, error) {
	all, err := s.Templates(ctx)
	return slices.DeleteFunc(all, func(t Template) bool { return !t.Enabled }), err
}

// SetTemplate sets the template of an event; what is sent from then on goes by it, on all replicas. It fails with not_found for
// an event that is none, with stale_version, and with validation_failed.
func (s *Service) SetTemplate(ctx context.Context, event string, d Draft) (Template, error) {
	e, ok := eventOf(event)
	if !ok {
		return Template{}, fault.New(fault.NotFoundError)
	}
	if err := d.check(e); err != nil {
		return Template{}, err
	}
	now := s.Now()
	row := model.SubscribeTemplate{
		Event: event, TemplateID: d.TemplateID, Page: d.Page, Fields: d.Fields, Enabled: d.Enabled, Version: d.Version + 1, CreatedAt: now, ChangedAt: now,
	}
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		row.ID = 0 // the transaction may be repeated
		if d.Version == 0 {
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
			return changelog.Record(tx, changelog.SubscribeTemplate, event, nil, row)
		}
		var was model.SubscribeTemplate
		if err := tx.Where("event = ?", event).Limit(1).Find(&was).Error; err != nil {
			return err
		}
		res := tx.Model(&model.SubscribeTemplate{}).Where("event = ? AND version = ?", event, d.Version).
			Select("template_id", "page", "fields", "enabled", "version", "changed_at").Updates(&row)
		if res.Error == nil && res.RowsAffected == 0 {
			return fault.New(fault.StaleVersion)
		}
		if res.Error != nil {
			return res.Error
		}
		return changelog.Record(tx, changelog.SubscribeTemplate, event, was, row)
	})
	if store.IsDuplicate(err) {
		err = fault.New(fault.StaleVersion)
	}
	return Template{Event: e, SubscribeTemplate: row}, err
}

func (d *Draft) check(e Event) error {
	wrong := fault.New(fault.ValidationFailed)
	if !templateRule.MatchString(d.TemplateID) {
		wrong.With("template_id", fault.FieldFormat, "须为公众平台「订阅消息」中的模板 ID", "must be the template's id as WeChat's console shows it")
	}
	if d.Page != "" && (!pageRule.MatchString(d.Page) || len(d.Page) > 255) {
		wrong.With("page", fault.FieldFormat, "须为小程序页面路径，不以 / 开头，可含 "+orderPlace, "must be a page of the mini-program without a leading slash; "+orderPlace+" stands for the order's number")
	}
	if len(d.Fields) == 0 || len(d.Fields) > MaxFields {
		wrong.With("fields", fault.FieldLength, fmt.Sprintf("须有 1–%d 个字段", MaxFields), fmt.Sprintf("must have 1 to %d fields", MaxFields))
	}
	for _, field := range slices.Sorted(maps.Keys(d.Fields)) {
		checkField(wrong, e, field, d.Fields[field])
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

// template reads the template of an event that is on; nil where there is none.
func template(db *gorm.DB, event string) (*model.SubscribeTemplate, error) {
	var rows []model.SubscribeTemplate
	err := db.Where("event = ? AND enabled = ?", event, true).Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, store.Classify(err)
	}
	return &rows[0], nil
}
