package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

func (s *Server) mountChaos(mux *http.ServeMux) {
	mux.HandleFunc("POST /sandbox/chaos", s.controlBeginChaos)
	mux.HandleFunc("GET /sandbox/chaos", func(w http.ResponseWriter, _ *http.Request) { s.replyChaos(w, http.StatusOK) })
	mux.HandleFunc("DELETE /sandbox/chaos", func(w http.ResponseWriter, _ *http.Request) {
		s.chaos.begin(nil)
		s.replyChaos(w, http.StatusOK)
	})
}

func (s *Server) controlBeginChaos(w http.ResponseWriter, r *http.Request) {
	p := chaosPlan{DelayMS: 1000, LateMS: 5000, RefundMS: 5000}
	if !read(w, r, &p) {
		return
	}
	if why := p.problem(); why != "" {
		controlError(w, http.StatusBadRequest, "OUT_OF_RANGE", why)
		return
	}
	p.fits = s.pathMatch(p.Path)
	s.chaos.begin(&p)
	s.replyChaos(w, http.StatusCreated)
}

func (s *Server) replyChaos(w http.ResponseWriter, status int) {
	plan, did := s.chaos.report()
	controlReply(w, status, map[string]any{"on": plan != nil, "plan": plan, "did": did})
}

// problem says what is wrong with a plan, or nothing.
func (p *chaosPlan) problem() string {
	for group, rates := range map[string]map[string]float64{"calls": p.Calls, "callbacks": p.Callbacks, "refunds": p.Refunds, "tokens": p.Tokens} {
		sum := 0.0
		for mode, rate := range rates {
			if chaosModes[group][mode] == "" {
				return fmt.Sprintf("%s knows no %q, only %v", group, mode, slices.Sorted(maps.Keys(chaosModes[group])))
			}
			if rate < 0 || rate > 1 {
				return group + "." + mode + " is a share from 0 to 1"
			}
			sum += rate
		}
		if sum > 1 {
			return "the shares of " + group + " add up to more than 1"
		}
	}
	for _, ms := range []int64{p.DelayMS, p.LateMS, p.RefundMS} {
		if ms < 1 || ms > 60_000 {
			return "delay_ms, late_ms and refund_ms are 1 to 60000"
		}
	}
	return ""
}

// about is what a call or a callback is about.
type about struct {
	owner          string // an openid or a login code; empty: nobody
	number, refund string // out_trade_no and out_refund_no
}

// aboutCall reads what a call is about from its path, its query and its body.
func (s *Server) aboutCall(r *http.Request, body []byte) about {
	var b struct {
		OutTradeNo    string `json:"out_trade_no"`
		OutRefundNo   string `json:"out_refund_no"`
		MerchantNo    string `json:"merchant_trade_no"`
		TransactionID string `json:"transaction_id"`
		OpenID        string `json:"openid"`
		ToUser        string `json:"touser"`
		Code          string `json:"code"`
		Payer         struct {
			OpenID string `json:"openid"`
		} `json:"payer"`
		OrderKey struct {
			OutTradeNo    string `json:"out_trade_no"`
			TransactionID string `json:"transaction_id"`
		} `json:"order_key"`
	}
	_ = json.Unmarshal(body, &b) // what it does not hold is empty
	a := about{
		owner:  cmp.Or(b.Payer.OpenID, b.OpenID, b.ToUser, b.Code, r.URL.Query().Get("js_code")),
		number: cmp.Or(r.PathValue("out_trade_no"), b.OutTradeNo, b.MerchantNo, b.OrderKey.OutTradeNo),
		refund: cmp.Or(r.PathValue("out_refund_no"), b.OutRefundNo),
	}
	return s.known(a, cmp.Or(r.PathValue("transaction_id"), b.TransactionID, b.OrderKey.TransactionID))
}

// aboutNotice reads what a callback is about.
func (s *Server) aboutNotice(n *notice) about {
	number, _ := n.Event.Content["out_trade_no"].(string)
	refund, _ := n.Event.Content["out_refund_no"].(string)
	return s.known(about{number: number, refund: refund}, "")
}

// known adds what the books say of it.
func (s *Server) known(a about, transaction string) about {
	s.books.view(func() {
		if r := s.books.refunds[a.refund]; r != nil {
			a.number = r.OutTradeNo
		}
		a.number = cmp.Or(a.number, s.books.transactions[transaction])
		if o := s.books.orders[a.number]; o != nil {
			a.owner = o.OpenID
		}
	})
	return a
}
