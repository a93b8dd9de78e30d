package sandbox

import "net/http"

// balance is what WeChat's books say of a shopper, or of a number that was paid.
type balance struct {
	OpenID       string `json:"openid"`
	OutTradeNo   string `json:"out_trade_no,omitempty"`
	PaidFen      int64  `json:"paid_fen"`
	RefundedFen  int64  `json:"refunded_fen"`  // got back
	RefundingFen int64  `json:"refunding_fen"` // on its way back
	Payments     int    `json:"payments"`
	Refunds      int    `json:"refunds"` // that succeeded
}

func (b *balance) add(other balance) {
	b.PaidFen += other.PaidFen
	b.RefundedFen += other.RefundedFen
	b.RefundingFen += other.RefundingFen
	b.Payments += other.Payments
	b.Refunds += other.Refunds
}

// balance sums up a number that was paid.
func (b *books) balance(o *order) balance {
	sum := balance{OpenID: o.OpenID, OutTradeNo: o.OutTradeNo, PaidFen: o.TotalFen, Payments: 1}
	for _, r := range b.refundsOf(o) {
		switch r.Status {
		case "SUCCESS":
			sum.RefundedFen += r.RefundFen
			sum.Refunds++
		case "PROCESSING", "ABNORMAL":
			sum.RefundingFen += r.RefundFen
		}
	}
	return sum
}

// controlBooks tells what every shopper paid and got back, and the same for every number that was paid: one instant of the books.
func (s *Server) controlBooks(w http.ResponseWriter, _ *http.Request) {
	shoppers, numbers := []*balance{}, []balance{}
	byOpenID := map[string]*balance{}
	s.books.view(func() {
		for _, o := range s.books.orderList {
			if !o.paid() {
				continue
			}
			of := s.books.balance(o)
			numbers = append(numbers, of)
			sum := byOpenID[o.OpenID]
			if sum == nil {
				sum = &balance{OpenID: o.OpenID}
				byOpenID[o.OpenID] = sum
				shoppers = append(shoppers, sum)
			}
			sum.add(of)
		}
	})
	controlReply(w, http.StatusOK, map[string]any{"list": shoppers, "numbers": numbers})
}
