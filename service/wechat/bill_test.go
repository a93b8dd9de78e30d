package wechat_test

import (
	"testing"
	"time"

	"github.com/tidemall/tidemall/service/wechat"
)

func TestTradeBill(t *testing.T) {
	w := newWorld(t)
	today := time.Now().In(time.FixedZone("", 8*3600))
	_, err := w.client.TradeBill(t.Context(), today)
	wantKind(t, err, wechat.KindBusy)
	w.settings(m{"bill_today": true, "payer_discount_fen": 20})
	// B02: a day without trade
	rows, err := w.client.TradeBill(t.Context(), today.AddDate(0, -1, 0))
	if err != nil || len(rows) != 0 {
		t.Fatalf("%v, %v", rows, err)
	}
	req := prepayRequest("T00000001")
	req.Description = "tea, 茶,`quoted`"
	id, err := w.client.Prepay(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	w.control("POST", "/sandbox/pay", m{"prepay_id": id, "notify": m{"times": 0}}, nil)
	w.payNow("T00000002")
	if _, err := w.client.Refund(t.Context(), wechat.RefundRequest{OutTradeNo: "T00000002", OutRefundNo: "R1", RefundFen: 7, TotalFen: 100}); err != nil {
		t.Fatal(err)
	}
	tx, err := w.client.Query(t.Context(), "T00000001")
	if err != nil {
		t.Fatal(err)
	}
	day := tx.SuccessTime.In(time.FixedZone("", 8*3600))
	if rows, err = w.client.TradeBill(t.Context(), day); err != nil || len(rows) != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if r := rows[0]; r.OutTradeNo != "T00000001" || r.TransactionID != tx.TransactionID || r.AmountFen != 100 || r.State != "SUCCESS" ||
		!r.At.Equal(tx.SuccessTime) || r.OutRefundNo != "" || r.OpenID != req.OpenID || r.AppID != w.config.AppID || r.MchID != w.config.MchID {
		t.Errorf("%+v", r)
	}
	if r := rows[2]; r.OutTradeNo != "T00000002" || r.State != "REFUND" || r.OutRefundNo != "R1" || r.RefundFen != 7 || r.AmountFen != 0 {
		t.Errorf("%+v", r)
	}
	w.fault(m{"path": "/v3/billdownload/file", "mode": "html", "status": 200})
	_, err = w.client.TradeBill(t.Context(), day)
	wantKind(t, err, wechat.KindUnknown)
}
