package sandbox

import (
	"net/http"
	"time"
)

// push is a message that WeChat sends by itself; nil is none.
type push map[string]any

const (
	pushAttempts = 3               // WeChat's own
	pushPause    = 5 * time.Second // between them, shortened by resend_scale
)

// push sends a message about an order to the shop in safe mode. One that is not taken is
// sent again, as WeChat does, three times in all.
func (s *Server) push(p push) {
	if p == nil {
		return
	}
	b := notifyOrder{Message: p}
	var pause time.Duration
	s.books.view(func() {
		pause = time.Duration(float64(pushPause) * s.books.settings.ResendScale)
		b.URL = s.books.settings.PushURL
	})
	b.OutTradeNo, _ = p["merchant_trade_no"].(string)
	send, refused := s.forgePush(b)
	if refused != nil {
		return // nothing tells where the shop is
	}
	s.work.Go(func() {
		for attempt := 1; ; attempt++ {
			if send().Status == http.StatusOK || attempt == pushAttempts || !s.pause(pause) {
				return
			}
		}
	})
}
