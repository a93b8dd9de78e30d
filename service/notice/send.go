package notice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/deadline"
	"github.com/tidemall/tidemall/service/store"
	"github.com/tidemall/tidemall/service/wechat"
	"github.com/tidemall/tidemall/timeout"
	"github.com/tidemall/tidemall/timeout/failpoint"
)

// Kind is the timeout kind that sends messages (subscribe_messages.next_at). Its key is the message's id.
const Kind = "notice"

const (
	// senders are the calls at once.
	senders = 8
	// callLimit covers one call: it may be made twice, with another access token, and each ends by its own limit.
	callLimit = 2*wechat.CallLimit + time.Second
	// breakerPause is when a message is tried again that WeChat was not called for, because it has not been answering.
	breakerPause = 30 * time.Second
	// setupPause is when a message is tried again that WeChat takes from nobody here, until the merchant has set things right: the
	// address is not on its list, say, or the secret was changed. Messages wait for that as long as they are of use.
	setupPause = 10 * time.Minute
	// useful is how long after its event a message still tells anybody anything.
	useful = 24 * time.Hour
)

// pauses follow the calls that WeChat asked to repeat or did not answer for certain; after the last there is no further call.
var pauses = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// errMoved says that the message is not as it was read: somebody else works on it.
var errMoved = errors.New("the message was taken by somebody else")

// TimeoutKind is the deadline of messages that wait, for the timeout module.
func (s *Service) TimeoutKind() timeout.Kind {
	return timeout.Kind{
		Name: Kind, Handler: deadline.Each(s.due), Batch: 1, Workers: senders,
		Source: deadline.NewColumn(s.Store, Kind, "subscribe_messages", "next_at", "next_at IS NOT NULL"),
	}
}

// due sends a message. It is claimed before the call, whose result is recorded after it: a kill in between leaves it to be sent
// again when the claim has ended (see the package's comment).
func (s *Service) due(ctx context.Context, id int64, due model.Time) timeout.Outcome {
	m, err := s.byID(ctx, id)
	switch {
	case err != nil:
		return deadline.Failed(err)
	case m == nil || m.NextAt == nil:
		return timeout.Done()
	case *m.NextAt > due:
		return timeout.Reschedule(int64(*m.NextAt))
	}
	out, useless, err := s.compose(ctx, m)
	if err != nil {
		return deadline.Failed(err)
	}
	if useless != "" {
		return s.end(ctx, m, ending{state: model.NoticeSkipped, said: useless})
	}
	claim := deadline.Claim{Table: "subscribe_messages", Column: "next_at", ID: id, Due: *m.NextAt, Until: s.Now().Add(callLimit)}
	mine, err := s.claim(ctx, m, claim.Until)
	if err != nil {
		return deadline.Failed(err)
	}
	if !mine {
		return timeout.Again(errMoved)
	}
	failpoint.Hit("notice.claimed")
	err = s.WeChat.SendSubscribeMessage(ctx, out)
	failpoint.Hit("notice.called")
	then := claim.Ended(ctx, s.Store, s.record(ctx, m, err))
	failpoint.Hit("notice.recorded")
	return then
}

func (s *Service) byID(ctx context.Context, id int64) (*model.SubscribeMessage, error) {
	var rows []model.SubscribeMessage
	if err := s.Store.Read(ctx).Where("id = ?", id).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, store.Classify(err)
	}
	return &rows[0], nil
}

// claim takes the message for one call: it is due again at until, which covers the call. m is as the database holds it then.
func (s *Service) claim(ctx context.Context, m *model.SubscribeMessage, until model.Time) (mine bool, err error) {
	err = s.Store.Tx(ctx, func(tx *store.Tx) error {
		n, err := tx.Affected("UPDATE subscribe_messages SET calls = calls + 1, next_at = ? WHERE id = ? AND state = ? AND next_at = ? AND calls = ?",
			until, m.ID, model.NoticeWaiting, *m.NextAt, m.Calls)
		mine = n == 1
		return err
	})
	if mine {
		m.NextAt = &until
		m.Calls++
	}
	return mine, err
}

// record stores what WeChat said of a call.
func (s *Service) record(ctx context.Context, m *model.SubscribeMessage, err error) timeout.Outcome {
	if err == nil {
		return s.end(ctx, m, ending{state: model.NoticeSent, at: s.Now()})
	}
	var e *wechat.Error
	if !errors.As(err, &e) {
		e = &wechat.Error{Kind: wechat.KindUnknown, Message: "no answer"}
	}
	said := cut(e.Error(), 200)
	switch {
	case e.Kind == wechat.KindUnavailable:
		return s.later(ctx, m, breakerPause, m.Calls-1, m.Code, said)
	case e.Kind == wechat.KindSetup:
		return s.later(ctx, m, setupPause, m.Calls-1, m.Code, said)
	case wechat.SubscribeRefused(e.Code):
		// An earlier call whose answer was lost may be what used the consent up.
		if m.Calls > 1 && m.Code == "" {
			return s.end(ctx, m, ending{model.NoticeUnsure, e.Code, fmt.Sprintf("an earlier call may have arrived; then: %s", said), 0})
		}
		return s.end(ctx, m, ending{model.NoticeRefused, e.Code, said, 0})
	case m.Calls <= len(pauses):
		return s.later(ctx, m, pauses[m.Calls-1], m.Calls, e.Code, said)
	case e.Kind == wechat.KindUnknown:
		return s.end(ctx, m, ending{model.NoticeUnsure, "", said, 0})
	}
	return s.end(ctx, m, ending{model.NoticeRefused, e.Code, said, 0})
}

// ending is how a message ended.
type ending struct {
	state      model.NoticeState
	code, said string
	at         model.Time // when it was sent
}

// end ends a message that is as it was read or claimed.
func (s *Service) end(ctx context.Context, m *model.SubscribeMessage, e ending) timeout.Outcome {
	return s.change(ctx, m, timeout.Done(), "UPDATE subscribe_messages SET state = ?, next_at = NULL, code = ?, error = ?, sent_at = ? WHERE state IN ?",
		e.state, e.code, e.said, e.at, model.NoticeTransitions.From(e.state))
}

// later puts a message's next call off.
func (s *Service) later(ctx context.Context, m *model.SubscribeMessage, pause time.Duration, calls int, code, said string) timeout.Outcome {
	next := s.Now().Add(pause)
	return s.change(ctx, m, timeout.Reschedule(int64(next)), "UPDATE subscribe_messages SET next_at = ?, calls = ?, code = ?, error = ? WHERE state = ?",
		next, calls, code, said, model.NoticeWaiting)
}

func (s *Service) change(ctx context.Context, m *model.SubscribeMessage, then timeout.Outcome, update string, args ...any) timeout.Outcome {
	var n int64
	err := s.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Affected(update+" AND id = ? AND next_at = ?", append(args, m.ID, *m.NextAt)...)
		return err
	})
	switch {
	case err != nil:
		return deadline.Failed(err)
	case n == 0:
		return timeout.Again(errMoved)
	}
	return then
}
