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
	// ParcelState is whether WeChat knows of a parcel; it follows the upload of its order.
	ParcelState string
	// UploadState is where the upload of an order's shipping information to WeChat stands.
	UploadState string
	// MessageState is where a row of the message table stands.
	MessageState string
	// NoticeState is where a subscribe message to a shopper stands.
	NoticeState string
	// AnomalyState is open until a person resolved it.
	AnomalyState string
	// HoldState is where a held text or picture stands.
	HoldState string
	// RemarkState says whether the merchant may read an order's remark; empty where it may.
	RemarkState string
	// ReviewState is where a review stands.
	ReviewState string
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

	UploadWaiting UploadState = "waiting"
	UploadDone    UploadState = "uploaded"
	UploadRefused UploadState = "refused"
	UploadSkipped UploadState = "skipped"

	MessagePending MessageState = "pending"
	MessageSent    MessageState = "sent"
	MessageDead    MessageState = "dead"
	MessageSkipped MessageState = "skipped"

	NoticeWaiting NoticeState = "waiting"
	NoticeSent    NoticeState = "sent"
	NoticeRefused NoticeState = "refused"
	NoticeSkipped NoticeState = "skipped" // WeChat was not asked: it would have been of no use
	NoticeUnsure  NoticeState = "unsure"  // WeChat gave no certain answer: it may have arrived

	AnomalyOpen     AnomalyState = "open"
	AnomalyResolved AnomalyState = "resolved"

	HoldHeld       HoldState = "held"
	HoldPassed     HoldState = "passed"
	HoldRefused    HoldState = "refused"
	HoldSuperseded HoldState = "superseded" // something newer came, or its review was refused

	RemarkClear   RemarkState = ""
	RemarkHeld    RemarkState = "held"
	RemarkRefused RemarkState = "refused"

	ReviewHeld    ReviewState = "held"
	ReviewVisible ReviewState = "visible"
	ReviewHidden  ReviewState = "hidden"
	ReviewRefused ReviewState = "refused"
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
		// Goods may be brought back without a parcel, or never: neither may keep the order open for ever.
		AftersaleApproved:  {AftersaleReturning, AftersaleRefunding, AftersaleRejected, AftersaleWithdrawn},
		AftersaleReturning: {AftersaleRefunding, AftersaleRejected},
		// A refund that fails for good leaves it to the merchant again, as before the answer that made it.
		AftersaleRefunding: {AftersaleRefunded, AftersaleRequested, AftersaleReturning},
	}
	ParcelTransitions = Transitions[ParcelState]{
		ParcelWaiting: {ParcelUploaded, ParcelRefused, ParcelSkipped},
		// A parcel that was changed, or whose upload is tried again.
		ParcelUploaded: {ParcelWaiting},
		ParcelRefused:  {ParcelWaiting, ParcelUploaded},
	}
	UploadTransitions = Transitions[UploadState]{
		UploadWaiting: {UploadDone, UploadRefused},
		// More was shipped, or a parcel was corrected.
		UploadDone:    {UploadWaiting},
		UploadRefused: {UploadWaiting},
	}
	MessageTransitions = Transitions[MessageState]{
		MessagePending: {MessageSent, MessageDead},
		MessageDead:    {MessagePending, MessageSkipped},
	}
	NoticeTransitions = Transitions[NoticeState]{
		NoticeWaiting: {NoticeSent, NoticeRefused, NoticeSkipped, NoticeUnsure},
	}
	AnomalyTransitions = Transitions[AnomalyState]{
		AnomalyOpen: {AnomalyResolved},
		// The shop had resolved it by itself, and met it again.
		AnomalyResolved: {AnomalyOpen},
	}
	HoldTransitions   = Transitions[HoldState]{HoldHeld: {HoldPassed, HoldRefused, HoldSuperseded}}
	RemarkTransitions = Transitions[RemarkState]{RemarkHeld: {RemarkClear, RemarkRefused}}
	ReviewTransitions = Transitions[ReviewState]{
		ReviewHeld:    {ReviewVisible, ReviewRefused},
		ReviewVisible: {ReviewHidden},
		ReviewHidden:  {ReviewVisible},
	}
)

// AftersalesOpen are the states in which an after-sale has not ended.
var AftersalesOpen = []AftersaleState{AftersaleRequested, AftersaleApproved, AftersaleReturning, AftersaleRefunding}

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
