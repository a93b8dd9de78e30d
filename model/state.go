package model

import "slices"

// The states of things. The text is what the database and the API hold; docs/glossary.md has the words shown to people.
type (
	// OrderState is where an order stands.
	OrderState string
	// CloseReason says why an order is closed.
	CloseReason string
	// AttemptState is where a payment attempt (one out_trade_no at WeChat) stands.
	AttemptState string
	// RefundState is where a refund stands.
	RefundState string
	// CouponState is where a shopper's coupon stands.
	CouponState string
	// AftersaleState is where an after-sale stands.
	AftersaleState string
	// ParcelState is where the upload of a parcel's shipping information stands.
	ParcelState string
	// MessageState is where a row of the message table stands.
	MessageState string
	// AnomalyState is open until a person resolved it.
	AnomalyState string
)

// Order states and close reasons (DESIGN of the state machine: pending_payment → paid → shipped → completed, or closed).
const (
	OrderPending   OrderState = "pending_payment"
	OrderPaid      OrderState = "paid"
	OrderShipped   OrderState = "shipped"
	OrderCompleted OrderState = "completed"
	OrderClosed    OrderState = "closed"

	CloseTimeout  CloseReason = "timeout"
	CloseShopper  CloseReason = "shopper"
	CloseMerchant CloseReason = "merchant"
	CloseRefunded CloseReason = "refunded"
)

// States of the smaller things.
const (
	AttemptOpen    AttemptState = "open"
	AttemptClosing AttemptState = "closing"
	AttemptClosed  AttemptState = "closed"
	AttemptPaid    AttemptState = "paid"

	RefundPending    RefundState = "pending"
	RefundProcessing RefundState = "processing"
	RefundSuccess    RefundState = "success"
	RefundAbnormal   RefundState = "abnormal"
	RefundFailed     RefundState = "failed"

	CouponAvailable CouponState = "available"
	CouponLocked    CouponState = "locked"
	CouponUsed      CouponState = "used"
	CouponExpired   CouponState = "expired"

	AftersaleRequested AftersaleState = "requested"
	AftersaleApproved  AftersaleState = "approved"
	AftersaleReturning AftersaleState = "returning"
	AftersaleRefunding AftersaleState = "refunding"
	AftersaleRefunded  AftersaleState = "refunded"
	AftersaleRejected  AftersaleState = "rejected"
	AftersaleWithdrawn AftersaleState = "withdrawn"

	ParcelWaiting  ParcelState = "waiting"
	ParcelUploaded ParcelState = "uploaded"
	ParcelRefused  ParcelState = "refused"
	ParcelSkipped  ParcelState = "skipped"

	MessagePending MessageState = "pending"
	MessageSent    MessageState = "sent"
	MessageDead    MessageState = "dead"
	MessageSkipped MessageState = "skipped"

	AnomalyOpen     AnomalyState = "open"
	AnomalyResolved AnomalyState = "resolved"
)

// Transitions is a table of allowed changes: from each state, the states that may follow.
type Transitions[S ~string] map[S][]S

// The tables. Every change of a state goes through one function of the owning service, which asks From for the states that
// its UPDATE may start from.
var (
	OrderTransitions = Transitions[OrderState]{
		OrderPending: {OrderPaid, OrderClosed},
		OrderPaid:    {OrderShipped, OrderClosed},
		OrderShipped: {OrderCompleted},
	}
	AttemptTransitions = Transitions[AttemptState]{
		AttemptOpen:    {AttemptClosing, AttemptClosed, AttemptPaid},
		AttemptClosing: {AttemptClosed, AttemptPaid},
		// A number that was closed locally may still turn out paid; the money is then recorded and refunded.
		AttemptClosed: {AttemptPaid},
	}
	RefundTransitions = Transitions[RefundState]{
		RefundPending:    {RefundProcessing, RefundSuccess, RefundAbnormal, RefundFailed},
		RefundProcessing: {RefundSuccess, RefundAbnormal, RefundFailed},
		// WeChat may still complete a refund that it called abnormal.
		RefundAbnormal: {RefundSuccess, RefundFailed},
	}
	CouponTransitions = Transitions[CouponState]{
		CouponAvailable: {CouponLocked, CouponExpired},
		CouponLocked:    {CouponUsed, CouponAvailable, CouponExpired},
		CouponUsed:      {CouponAvailable, CouponExpired},
	}
	AftersaleTransitions = Transitions[AftersaleState]{
		AftersaleRequested: {AftersaleApproved, AftersaleRefunding, AftersaleRejected, AftersaleWithdrawn},
		AftersaleApproved:  {AftersaleReturning, AftersaleWithdrawn},
		AftersaleReturning: {AftersaleRefunding, AftersaleRejected},
		AftersaleRefunding: {AftersaleRefunded},
	}
	ParcelTransitions = Transitions[ParcelState]{
		ParcelWaiting: {ParcelUploaded, ParcelRefused, ParcelSkipped},
	}
	MessageTransitions = Transitions[MessageState]{
		MessagePending: {MessageSent, MessageDead},
		MessageDead:    {MessagePending, MessageSkipped},
	}
	AnomalyTransitions = Transitions[AnomalyState]{AnomalyOpen: {AnomalyResolved}}
)

// From returns the states from which to may be reached, sorted; empty if none.
func (t Transitions[S]) From(to S) []S {
	var from []S
	for s, next := range t {
		if slices.Contains(next, to) {
			from = append(from, s)
		}
	}
	slices.Sort(from)
	return from
}

// Allowed reports whether a thing in state from may become to.
func (t Transitions[S]) Allowed(from, to S) bool { return slices.Contains(t[from], to) }
