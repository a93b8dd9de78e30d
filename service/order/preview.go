package order

import (
	"context"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/policy"
	"github.com/tidemall/tidemall/service/store"
)

const (
	// previewDays is how far back a preview looks, previewRecent at how many orders at most, the newest.
	previewDays   = 30
	previewRecent = 2000
	// previewWaiting is at how many unpaid orders a preview looks at most.
	previewWaiting = 10_000
)

// Preview is what a draft of a policy would do.
type Preview struct {
	// Orders counts those of the last days, Applies the ones of them about which the draft would have decided. Complete says that all
	// orders since Since were looked at, else the newest.
	Orders, Applies int64
	Since           model.Time
	Complete        bool
	// Waiting counts unpaid orders, Retimes those whose deadline a re-timing by the draft would move; both are of the stage pay only.
	// WaitingComplete says that all were looked at; else there are more.
	Waiting, Retimes int64
	WaitingComplete  bool
}

// Preview looks at the newest orders of one merchant (0: of all), and at the unpaid ones of a second, as many as are read at once: a
// re-timing by a policy for everybody moves everybody's, whoever's orders are looked at.
func (s *Service) Preview(ctx context.Context, t *policy.Trial, recentOf, waitingOf int64) (Preview, error) {
	p := Preview{Since: s.Now().Add(-previewDays * 24 * time.Hour), WaitingComplete: true}
	if err := s.previewRecent(ctx, &p, t, recentOf); err != nil {
		return p, err
	}
	if t.Draft.Stage != policy.StagePay {
		return p, nil
	}
	return p, s.previewWaiting(ctx, &p, t, waitingOf)
}

const previewColumns = "id, no, merchant_id, order_type, biz_line, state, closing_reason, policy_id, policy_version, pay_deadline, created_at"

// previewRecent reads the newest orders: a merchant's by their index, everybody's by id, which follows the time closely enough.
func (s *Service) previewRecent(ctx context.Context, p *Preview, t *policy.Trial, merchantID int64) error {
	q := s.Store.Read(ctx).Model(&model.Order{}).Select(previewColumns)
	if merchantID != 0 {
		q = q.Where("merchant_id = ?", merchantID)
		q = s.Store.After(q, "orders", "ix_orders_merchant", store.Cursor{}).Where("created_at >= ?", p.Since)
	} else {
		q = q.Order("id DESC")
	}
	var orders []*model.Order
	if err := q.Limit(previewRecent).Find(&orders).Error; err != nil {
		return store.Classify(err)
	}
	p.Complete = len(orders) < previewRecent
	var percent int64
	for _, o := range orders {
		if o.CreatedAt < p.Since {
			p.Complete = true
			continue
		}
		p.Orders++
		percent += int64(t.Share(queryOf(o)))
	}
	p.Applies = (percent + 50) / 100
	return nil
}

// previewWaiting reads the unpaid orders: a merchant's by their placing, everybody's by their deadline.
func (s *Service) previewWaiting(ctx context.Context, p *Preview, t *policy.Trial, merchantID int64) error {
	q := s.Store.Read(ctx).Model(&model.Order{}).Select(previewColumns).Where("state = ?", model.OrderPending)
	if merchantID != 0 {
		q = q.Where("merchant_id = ?", merchantID).Order("created_at, id")
	} else {
		q = q.Order("pay_deadline, id")
	}
	var orders []*model.Order
	if err := q.Limit(previewWaiting + 1).Find(&orders).Error; err != nil {
		return store.Classify(err)
	}
	p.WaitingComplete = len(orders) <= previewWaiting
	now := s.Now()
	var percent int64
	for _, o := range orders[:min(len(orders), previewWaiting)] {
		p.Waiting++
		if _, moves := retimed(o, t.Decision().Duration, now); moves && retimable(o, now) == nil {
			percent += int64(t.Share(queryOf(o)))
		}
	}
	p.Retimes = (percent + 50) / 100
	return nil
}

func queryOf(o *model.Order) policy.Query {
	return policy.Query{MerchantID: o.MerchantID, OrderType: o.OrderType, BizLine: o.BizLine, OrderNo: o.No}
}
