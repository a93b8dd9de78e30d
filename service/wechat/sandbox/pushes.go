package sandbox

import (
	"maps"
	"net/http"
	"time"
)

// push is a message that WeChat sends by itself; nil is none.
type push map[string]any

const (
	pushAttempts = 3               // WeChat's own
	pushPause    = 5 * time.Second // between them, shortened by resend_scale
)

// posting is a push under way. It goes to the shop in safe mode; one that is not taken is sent again, as WeChat does.
type posting struct {
	ID         string        `json:"id"`
	Message    push          `json:"message"`
	URL        string        `json:"url,omitempty"` // empty: beside the payment's callback, or as the settings say when it is sent
	OutTradeNo string        `json:"out_trade_no,omitempty"`
	Left       int           `json:"left"`  // attempts that it has yet
	Pause      time.Duration `json:"pause"` // between them
}

// addPush writes a push into the books; inside change. send sends it.
func (b *books) addPush(n posting) *posting {
	n.ID = newNoticeID()
	b.postings[n.ID] = &n
	b.save("push", n.ID, n)
	return &n
}

// addOrderPush is addPush for what concerns an order.
func (b *books) addOrderPush(p push) *posting {
	if p == nil {
		return nil
	}
	no, _ := p["merchant_trade_no"].(string)
	return b.addPush(posting{
		Message: maps.Clone(p), URL: b.settings.PushURL, OutTradeNo: no,
		Left: pushAttempts, Pause: time.Duration(float64(pushPause) * b.settings.ResendScale),
	})
}

// send sends a push until it is taken or has no attempts left; nil is none.
func (s *Server) send(n *posting) {
	if n == nil {
		return
	}
	s.work.Go(func() {
		for s.sendOnce(n) && s.pause(n.Pause) {
		}
	})
}

// sendOnce says whether another attempt is to follow.
func (s *Server) sendOnce(n *posting) (again bool) {
	taken := false
	if send, refused := s.forgePush(notifyOrder{Message: n.Message, URL: n.URL, OutTradeNo: n.OutTradeNo}); refused == nil {
		answer := send()
		if answer.Status == 0 && s.ctx.Err() != nil {
			return false // stopping: the next run sends it again
		}
		taken = answer.Status == http.StatusOK
	}
	err := s.books.change(func() {
		if n.Left--; taken {
			n.Left = 0
		}
		if again = n.Left > 0; !again {
			delete(s.books.postings, n.ID)
		}
		s.books.save("push", n.ID, n)
	})
	if err != nil {
		s.log.Error("the sandbox cannot write its books", "err", err)
	}
	return again
}
