package admin

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/store"
)

// LatePayments has the operation about confirmed payments that are not their order's.
type LatePayments struct {
	Service interface {
		List(ctx context.Context, merchantID int64, after store.Cursor, limit int) ([]payment.LatePayment, *store.Cursor, error)
	}
}

// PaymentRefund is a refund as it stands.
type PaymentRefund struct {
	ID          int64             `json:"id"`
	OutRefundNo string            `json:"out_refund_no"`
	AmountFen   model.Fen         `json:"amount_fen"`
	Status      model.RefundState `json:"status" enum:"pending,processing,success,abnormal,failed"`
	Error       string            `json:"error,omitempty" doc:"What WeChat said last, if it refused"`
	NextAt      model.Time        `json:"next_at,omitempty" format:"date-time" doc:"When WeChat is called or asked next"`
	CreatedAt   model.Time        `json:"created_at" format:"date-time"`
	EndedAt     model.Time        `json:"ended_at,omitempty" format:"date-time"`
}

func paymentRefundOf(r *model.Refund) *PaymentRefund {
	if r == nil {
		return nil
	}
	out := &PaymentRefund{
		ID: r.ID, OutRefundNo: r.OutRefundNo, AmountFen: r.AmountFen, Status: r.State, Error: r.Error, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
	}
	if r.NextAt != nil {
		out.NextAt = *r.NextAt
	}
	return out
}

// LatePayment is a confirmed payment that is not its order's.
type LatePayment struct {
	ID            int64             `json:"id"`
	OrderNo       string            `json:"order_no"`
	OrderStatus   model.OrderState  `json:"order_status" enum:"pending_payment,paid,shipped,completed,closed"`
	CloseReason   model.CloseReason `json:"close_reason,omitempty"`
	OutTradeNo    string            `json:"out_trade_no"`
	TransactionID string            `json:"transaction_id"`
	AmountFen     model.Fen         `json:"amount_fen"`
	PaidAt        model.Time        `json:"paid_at" format:"date-time" doc:"By WeChat's word"`
	CreatedAt     model.Time        `json:"created_at" format:"date-time" doc:"When the shop heard of it"`
	Refund        *PaymentRefund    `json:"refund,omitempty" doc:"The refund in full that the shop made for it; absent where somebody refunded it at WeChat"`
	AnomalyID     int64             `json:"anomaly_id,omitempty"`
}

// LatePaymentListInput asks for a page of late payments.
type LatePaymentListInput struct{ api.AfterInput }

// LatePaymentList is a page of a list that is read by cursor.
type LatePaymentList struct {
	List []LatePayment `json:"list"`
	Next string        `json:"next,omitempty" doc:"Give it as after to read on; absent at the end"`
}

// All returns late payments, newest first.
func (l *LatePayments) All(ctx context.Context, in *LatePaymentListInput) (*api.Reply[LatePaymentList], error) {
	rows, next, err := l.Service.List(ctx, api.Admin(ctx).MerchantID, in.Cursor(), in.Limit)
	if err != nil {
		return nil, err
	}
	out := LatePaymentList{List: make([]LatePayment, len(rows))}
	for i, r := range rows {
		out.List[i] = LatePayment{
			ID: r.ID, OrderNo: r.Order.No, OrderStatus: r.Order.State, CloseReason: r.Order.CloseReason, OutTradeNo: r.OutTradeNo,
			TransactionID: r.TransactionID, AmountFen: r.AmountFen, PaidAt: r.PaidAt, CreatedAt: r.CreatedAt,
			Refund: paymentRefundOf(r.Refund), AnomalyID: r.AnomalyID,
		}
	}
	if next != nil {
		out.Next = next.String()
	}
	return api.Body(out), nil
}
