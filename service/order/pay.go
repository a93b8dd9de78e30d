package order

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// payRounds bounds how often Pay begins anew: an old number to end, a number that WeChat turns out to have closed.
const payRounds = 4

// callMargin is added to the limit of a prepay call: after both WeChat has the call or never will.
const callMargin = time.Second

// Pay opens the shopper's order for payment at WeChat, or opens it again, and returns what the phone needs. The number of an
// attempt is used again as long as its parameters are the same; otherwise the old number is ended at WeChat first.
// order_closed, order_closing, order_busy, order_already_paid (also if WeChat says so; the order is then settled),
// wechat_unavailable (nothing is lost: the same call can be made again), wechat_refused.
func (s *Service) Pay(ctx context.Context, shopperID int64, no string) (params wechat.RequestPayment, err error) {
	o, err := s.byNo(ctx, no, 0, shopperID)
	if err != nil {
		return wechat.RequestPayment{}, err
	}
	// A phone that hangs up must not leave a call at WeChat whose answer nobody stores.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimPatience+3*wechat.CallLimit)
	defer cancel()
	ctx, span := s.follow(ctx, "order.pay", o)
	defer func() { ended(span, err) }()
	for range payRounds {
		a, stale, err := s.beginPay(ctx, o)
		if err != nil {
			return wechat.RequestPayment{}, err
		}
		if a == nil {
			if err := s.endStale(ctx, stale); err != nil {
				return wechat.RequestPayment{}, err
			}
			continue
		}
		failpoint.Hit("pay.begun")
		prepayID, err := s.prepay(ctx, a)
		failpoint.Hit("pay.called")
		switch wechat.KindOf(err) {
		case "":
			return s.opened(ctx, a, prepayID)
		case wechat.KindClosed:
			err = s.endAttempt(ctx, a)
		case wechat.KindNumberUsed: // what we sent differs from what we stored: the number is of no more use
			err = s.retire(ctx, a)
		case wechat.KindPaid:
			err = s.settleNumber(ctx, a)
		default:
			err = unanswered(err)
		}
		if err != nil {
			return wechat.RequestPayment{}, err
		}
	}
	return wechat.RequestPayment{}, fault.New(fault.WeChatUnavailable).After(time.Second)
}

// beginPay commits what must be known before the call: the attempt with its exact parameters, that one was made, and how long
// the call may take. It returns either the attempt to call with, or attempts of other parameters that must be ended first.
func (s *Service) beginPay(ctx context.Context, seen *model.Order) (a *model.PaymentAttempt, stale []*model.PaymentAttempt, err error) {
	id, err := s.Store.NextIDs(ctx, "payment_attempts", 1)
	if err != nil {
		return nil, nil, err
	}
	err = patiently(ctx, func() error {
		return s.Store.Tx(ctx, func(tx *store.Tx) error {
			a, stale = nil, nil
			o, err := s.lock(tx, seen.ID)
			if err != nil {
				return err
			}
			now := s.Now()
			if err := payableNow(o, now); err != nil {
				return err
			}
			fresh, err := s.newAttempt(tx, o, id, now)
			if err != nil {
				return err
			}
			attempts, err := payment.Attempts(tx.DB, o.ID)
			if err != nil {
				return err
			}
			a, stale = choose(attempts, fresh)
			for _, old := range stale {
				if _, err := payment.MoveAttempt(tx, old, model.AttemptClosing, now); err != nil {
					return err
				}
			}
			if a == nil {
				return nil
			}
			return s.beginCall(tx, o, a, a == fresh, now)
		})
	})
	return a, stale, err
}

// payableNow is payable, and neither past its deadline nor claimed.
func payableNow(o *model.Order, now model.Time) error {
	if err := payable(o); err != nil {
		return err
	}
	if o.PayDeadline <= now {
		return fault.New(fault.OrderClosing).Say("付款时间已过，订单即将关闭", "The time to pay is over; the order is about to be closed")
	}
	return free(o, now)
}

// beginCall writes the attempt if it is new, and in any case how long the call may take.
func (s *Service) beginCall(tx *store.Tx, o *model.Order, a *model.PaymentAttempt, isNew bool, now model.Time) error {
	until := now.Add(wechat.CallLimit + callMargin)
	if !isNew {
		return payment.BeginCall(tx, a, until)
	}
	a.CallUntil = until
	if err := tx.Create(a).Error; err != nil {
		return err
	}
	if o.FirstAttemptAt != nil {
		return nil
	}
	n, err := tx.Affected("UPDATE orders SET first_attempt_at = ?, updated_at = ? WHERE id = ? AND state = ? AND closing_reason IS NULL AND first_attempt_at IS NULL",
		now, now, o.ID, model.OrderPending)
	if err == nil && n == 0 {
		return errMoved
	}
	return err
}

// newAttempt makes the attempt that the order would be paid with as it is now. Its number is made last, see choose.
func (s *Service) newAttempt(tx *store.Tx, o *model.Order, id int64, now model.Time) (*model.PaymentAttempt, error) {
	var openID string
	if err := tx.Raw("SELECT openid FROM shoppers WHERE id = ?", o.ShopperID).Scan(&openID).Error; err != nil {
		return nil, err
	}
	goods, err := lines(tx.DB, o.ID)
	if err != nil {
		return nil, err
	}
	return &model.PaymentAttempt{
		ID: id, OrderID: o.ID, MerchantID: o.MerchantID, OutTradeNo: o.No, State: model.AttemptOpen, AmountFen: o.PayableFen,
		AppID: s.WeChat.AppID(), MchID: s.WeChat.MchID(), OpenID: openID, Description: description(goods), NotifyURL: s.WeChat.PayNotifyURL(),
		TimeExpire: model.At(o.PayDeadline.Std().Truncate(time.Second)), // WeChat takes whole seconds
		CreatedAt:  now,
	}, nil
}

// choose returns the live attempt with the parameters of fresh, or fresh with the next number if none is live, or else the
// live ones that must be ended first.
func choose(attempts []*model.PaymentAttempt, fresh *model.PaymentAttempt) (a *model.PaymentAttempt, stale []*model.PaymentAttempt) {
	for _, old := range attempts {
		switch {
		case !payment.Live(old):
		case old.State == model.AttemptOpen && sameParameters(old, fresh):
			a = old
		default:
			stale = append(stale, old)
		}
	}
	if len(stale) > 0 {
		return nil, stale
	}
	if a == nil {
		a = fresh
		a.OutTradeNo = fmt.Sprintf("%s-%d", fresh.OutTradeNo, len(attempts)+1)
	}
	return a, nil
}

func sameParameters(a, b *model.PaymentAttempt) bool {
	return a.AmountFen == b.AmountFen && a.AppID == b.AppID && a.MchID == b.MchID && a.OpenID == b.OpenID &&
		a.Description == b.Description && a.NotifyURL == b.NotifyURL && a.TimeExpire == b.TimeExpire
}

// description is what WeChat's order centre shows: the goods' name, and how many kinds more.
func description(goods []model.OrderLine) string {
	suffix := ""
	if len(goods) > 1 {
		suffix = fmt.Sprintf(" 等%d种商品", len(goods))
	}
	name := goods[0].Name
	for limit := wechat.MaxDescription - len(suffix); len(name) > limit; {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name + suffix
}

func (s *Service) prepay(ctx context.Context, a *model.PaymentAttempt) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wechat.CallLimit) // call_until counts on it
	defer cancel()
	return s.WeChat.Prepay(ctx, wechat.PrepayRequest{
		OutTradeNo: a.OutTradeNo, Description: a.Description, AmountFen: int64(a.AmountFen), OpenID: a.OpenID,
		TimeExpire: a.TimeExpire.Std(), NotifyURL: a.NotifyURL,
	})
}

// opened stores WeChat's reply and reads the order again: while the call was under way it may have been paid, or set on its
// way to closed. Then the number is closed here and the phone gets nothing to pay with.
func (s *Service) opened(ctx context.Context, a *model.PaymentAttempt, prepayID string) (wechat.RequestPayment, error) {
	var o *model.Order
	err := s.Store.Tx(ctx, func(tx *store.Tx) error {
		if err := payment.StorePrepay(tx, a, prepayID, s.Now()); err != nil {
			return err
		}
		found, err := one(tx.Where("id = ?", a.OrderID))
		o = found
		return err
	})
	if err != nil {
		return wechat.RequestPayment{}, err
	}
	failpoint.Hit("pay.stored")
	if err := payable(o); err != nil {
		if closeErr := s.WeChat.Close(ctx, a.OutTradeNo); closeErr != nil && wechat.KindOf(closeErr) != wechat.KindPaid {
			s.Log.WarnContext(ctx, "a number that nobody can pay any more could not be closed", "out_trade_no", a.OutTradeNo, "error", closeErr)
		}
		return wechat.RequestPayment{}, err
	}
	s.schedule(ctx, timeout.Task{Kind: KindQuery, Key: strconv.FormatInt(a.ID, 10), Due: int64(*a.NextQueryAt)})
	return s.WeChat.PayParams(prepayID)
}

// endStale ends attempts at WeChat whose parameters are not the order's any more.
func (s *Service) endStale(ctx context.Context, stale []*model.PaymentAttempt) error {
	for _, a := range stale {
		end, err := s.endAtWeChat(ctx, a)
		if err != nil {
			return err
		}
		switch {
		case end.paid != nil:
			return s.settledMeanwhile(ctx, *end.paid)
		case end.silence != nil:
			return unanswered(end.silence)
		case end.wait != 0:
			return fault.New(fault.OrderBusy).After(max(end.wait.Sub(s.Now()), time.Second))
		}
		if err := s.endAttempt(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// endAttempt records that WeChat takes no more money for the number.
func (s *Service) endAttempt(ctx context.Context, a *model.PaymentAttempt) error {
	return s.moveAttempt(ctx, a, model.AttemptClosed)
}

// retire keeps the number from being used again; it is ended at WeChat before another one opens.
func (s *Service) retire(ctx context.Context, a *model.PaymentAttempt) error {
	s.Log.ErrorContext(ctx, "WeChat says that a number was used with other parameters", "out_trade_no", a.OutTradeNo)
	return s.moveAttempt(ctx, a, model.AttemptClosing)
}

func (s *Service) moveAttempt(ctx context.Context, a *model.PaymentAttempt, to model.AttemptState) error {
	return s.Store.Tx(ctx, func(tx *store.Tx) error {
		if _, err := s.lock(tx, a.OrderID); err != nil {
			return err
		}
		_, err := payment.MoveAttempt(tx, a, to, s.Now())
		return err
	})
}

// settleNumber settles a number that WeChat says is paid, see settledMeanwhile.
func (s *Service) settleNumber(ctx context.Context, a *model.PaymentAttempt) error {
	t, err := s.WeChat.Query(ctx, a.OutTradeNo)
	if err != nil {
		return unanswered(err)
	}
	if !t.TradeState.Paid() {
		return fault.New(fault.WeChatUnavailable).After(time.Second)
	}
	return s.settledMeanwhile(ctx, t)
}

// settledMeanwhile settles a payment that was found where none was expected. The error says that nothing is left to pay; nil
// means that the payment was not the order's, which is still to be paid.
func (s *Service) settledMeanwhile(ctx context.Context, t wechat.Transaction) error {
	got, err := s.Settle(ctx, t)
	if isMisfit(err) { // a person must look at it
		return fault.Wrap(fault.WeChatRefused, err)
	}
	if err != nil {
		return err
	}
	return payable(got.Order)
}

// unanswered turns a failed call into what the caller is told: only a definite refusal is more than "try again".
func unanswered(err error) error {
	switch wechat.KindOf(err) {
	case wechat.KindRejected, wechat.KindSetup:
		return fault.Wrap(fault.WeChatRefused, err)
	}
	return fault.Wrap(fault.WeChatUnavailable, err).After(time.Second)
}
