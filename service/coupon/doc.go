// Package coupon issues coupons, says what they save, and keeps each of them to one order.
package coupon
