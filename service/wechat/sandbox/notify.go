package sandbox

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// resendAfter is WeChat's schedule: the waits between a failed delivery and the next.
var resendAfter = []time.Duration{
	15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute, 20 * time.Minute,
	30 * time.Minute, 30 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 3 * time.Hour, 3 * time.Hour, 6 * time.Hour, 6 * time.Hour,
}

const notifyPatience = 5 * time.Second // WeChat's own limit for the answer

// event is what a notification says before it is encrypted.
type event struct {
	Type         string         `json:"type"`
	OriginalType string         `json:"original_type"`
	Summary      string         `json:"summary"`
	Content      map[string]any `json:"content"`
}

// notice is a notification under delivery. It keeps its id on every resend, and what
// it says stays what it said first, however late it arrives.
type notice struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Event     event     `json:"event"`
	CreatedAt time.Time `json:"created_at"`
	Copies    int       `json:"copies"`   // sent at once each time
	Attempts  int       `json:"attempts"` // made so far
	NextAt    time.Time `json:"next_at"`
	DoneAt    time.Time `json:"done_at,omitzero"`
	GaveUp    bool      `json:"gave_up,omitempty"`
	Status    int       `json:"last_status,omitempty"`
}

func (n *notice) open() bool { return n.DoneAt.IsZero() && !n.GaveUp }

func newNotifier() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	return &http.Client{
		Timeout: notifyPatience, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// addDelivery writes a notification into the books; inside change. deliver sends it.
func (b *books) addDelivery(url string, e event, copies int, delay time.Duration) *notice {
	now := time.Now()
	n := &notice{ID: newNoticeID(), URL: url, Event: e, CreatedAt: now, Copies: copies, NextAt: now.Add(delay)}
	b.addNotice(n)
	b.save("notice", n.ID, n)
	return n
}

// newNoticeID looks like a UUID, as WeChat's do.
func newNoticeID() string {
	b := make([]byte, 16)
	rand.Read(b)
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// deliver sends a notification until it is taken, on WeChat's schedule.
func (s *Server) deliver(n *notice) {
	h := s.decide(n)
	if h.copies == 0 {
		return
	}
	s.work.Go(func() {
		if !s.held(h.late, h.early, h.passed) {
			return
		}
		for {
			var due time.Time
			s.books.view(func() { due = n.NextAt })
			if !s.pause(time.Until(due)) {
				return
			}
			again := s.attempt(n)
			s.chaos.sent(n.URL, h.seq)
			if !again {
				return
			}
		}
	})
}

// attempt sends the copies once and says whether another attempt is to follow.
func (s *Server) attempt(n *notice) (again bool) {
	body := s.envelope(n.ID, n.CreatedAt, n.Event, craft{})
	taken, last := false, 0
	for range n.Copies {
		last, _ = s.post(n.URL, s.noticeHeader(body, craft{}), body)
		taken = taken || last == http.StatusOK || last == http.StatusNoContent
	}
	if s.ctx.Err() != nil {
		return false // stopping: the next run sends it again
	}
	err := s.books.change(func() {
		n.Attempts++
		n.Status = last
		switch {
		case taken:
			n.DoneAt = time.Now()
		case n.Attempts > len(resendAfter):
			n.GaveUp = true
		default:
			wait := time.Duration(float64(resendAfter[n.Attempts-1]) * s.books.settings.ResendScale)
			n.NextAt = time.Now().Add(wait)
		}
		s.books.save("notice", n.ID, n)
		again = n.open()
	})
	if err != nil {
		s.log.Error("the sandbox cannot write its books", "err", err)
	}
	return again
}

// post sends a notification; status 0 means that there was no answer.
func (s *Server) post(url string, header http.Header, body []byte) (int, string) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header = header
	resp, err := s.out.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	reply, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return resp.StatusCode, string(reply)
}

// pause waits; false when the sandbox stops meanwhile.
func (s *Server) pause(d time.Duration) bool {
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// resume takes up what a former run left open.
func (s *Server) resume() {
	var open []*notice
	var due, decided []*refund
	var orders []*order
	var pushes []*posting
	s.books.view(func() {
		orders, pushes = slices.Clone(s.books.orderList), slices.Collect(maps.Values(s.books.postings))
		for _, n := range s.books.noticeList {
			if n.open() {
				open = append(open, n)
			}
		}
		for _, r := range s.books.refundList {
			switch {
			case len(r.Coming) > 0:
				decided = append(decided, r)
			case r.Status == "PROCESSING":
				due = append(due, r)
			}
		}
	})
	for _, n := range open {
		s.deliver(n)
	}
	for _, r := range due {
		s.finishLater(r)
	}
	for _, r := range decided {
		s.bringAbout(r, nil)
	}
	for _, n := range pushes {
		s.send(n)
	}
	for _, o := range orders {
		s.remindLater(o)
	}
}

// craft says what about a notification is to be wrong; the zero value is a good one.
type craft struct {
	tamper string
	header string        // for missing_header: which
	offset time.Duration // of the timestamp
}

// envelope is the notification's body, encrypted with the merchant's APIv3 key.
func (s *Server) envelope(id string, created time.Time, e event, c craft) []byte {
	nonce := randomHex(6) // 12 characters are the 12 bytes that GCM wants
	resource := map[string]any{
		"original_type": e.OriginalType, "algorithm": "AEAD_AES_256_GCM", "associated_data": e.OriginalType, "nonce": nonce,
		"ciphertext": base64.StdEncoding.EncodeToString(s.seal(nonce, e.OriginalType, encode(e.Content))),
	}
	body := map[string]any{
		"id": id, "create_time": wechatTime(created), "resource_type": "encrypt-resource",
		"event_type": e.Type, "summary": e.Summary, "resource": resource,
	}
	switch c.tamper {
	case "no_resource":
		delete(body, "resource")
	case "bad_nonce":
		resource["nonce"] = nonce[:7]
	}
	return encode(body)
}

func (s *Server) seal(nonce, associated string, plain []byte) []byte {
	block, err := aes.NewCipher([]byte(s.keys.APIv3Key))
	if err != nil {
		panic("sandbox: " + err.Error()) // 32 bytes by construction
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic("sandbox: " + err.Error())
	}
	return gcm.Seal(nil, []byte(nonce), plain, []byte(associated))
}

// noticeHeader signs a notification, or spoils the signature as asked.
func (s *Server) noticeHeader(body []byte, c craft) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}, "User-Agent": {"Mozilla/4.0"}}
	key, serial := s.signer("")
	if c.tamper == "wrong_key" {
		key = s.keys.stranger
	}
	if c.tamper == "serial" {
		serial = "PUB_KEY_ID_9"
		if s.settings().Platform == platformCertificate {
			serial = strings.ToUpper(randomHex(20))
		}
	}
	signHeader(h, key, serial, time.Now().Add(c.offset), body)
	switch c.tamper {
	case "signature":
		h.Set("Wechatpay-Signature", corrupted(h.Get("Wechatpay-Signature")))
	case "signtest":
		h.Set("Wechatpay-Signature", "WECHATPAY/SIGNTEST/"+h.Get("Wechatpay-Signature"))
	case "missing_header":
		name := c.header
		if name == "" {
			name = "Wechatpay-Signature"
		}
		h.Del(name)
	}
	return h
}

// corrupted changes one bit of a base64 signature and keeps it base64.
func corrupted(signature string) string {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) == 0 {
		return signature
	}
	raw[len(raw)/2] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}

// flipped changes one byte of a body in its middle.
func flipped(body []byte) []byte {
	out := bytes.Clone(body)
	out[len(out)/2] ^= 1
	return out
}

// payEvent is the notification of a payment.
func (s *Server) payEvent(o *order) event {
	return event{Type: "TRANSACTION.SUCCESS", OriginalType: "transaction", Summary: "支付成功", Content: s.transaction(o)}
}
