package model

// All lists one value of every row type, for the test that compares the rows with the migrated schemas.
func All() []any {
	return []any{
		Setting{}, IDBlock{}, Merchant{}, Shopper{}, Address{}, Admin{}, Role{}, RevokedToken{}, IdempotencyKey{}, PushMessage{},
		Category{}, Product{}, SKU{}, LedgerEntry{}, CartItem{}, FreightRule{}, CouponTemplate{}, Coupon{},
		Order{}, OrderLine{}, OrderEvent{}, PaymentAttempt{}, Payment{}, Refund{}, RefundLine{}, Anomaly{},
		Parcel{}, ParcelLine{}, Aftersale{}, AftersaleLine{},
		Message{}, SubscriberReceipt{}, TimeoutPolicy{}, TimeoutPolicyVersion{},
	}
}
