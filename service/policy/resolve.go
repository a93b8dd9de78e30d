package policy

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"github.com/tidemall/tidemall/model"
)

// Query is what a policy is chosen by.
type Query struct {
	MerchantID int64
	OrderType  string
	BizLine    string
	// OrderNo decides whether the order is in the share that a policy is rolled out to.
	OrderNo string
}

// Decision is how long the stage may take and which policy said so; PolicyID 0 is the built-in one. Duration 0 is a stage without
// a deadline, which StagePay never is.
type Decision struct {
	Duration time.Duration
	PolicyID int64
	Version  int64
}

// Resolve chooses the policy for a stage of an order that begins. Of the enabled policies of the stage that apply to the query and whose share of
// orders it falls in, the most specific one wins: one for the merchant before one for all, then one for the order type, then
// one for the business line; of two alike the newer. Where none is left the stage's built-in duration counts, so the pay
// deadline can never be off. It reads memory only and never fails; an unknown stage gives the zero Decision.
func (p *Policies) Resolve(stage string, q Query) Decision {
	for _, row := range (*p.table.Load())[stage] {
		if row.Enabled && applies(row, q) && inShare(row.ID, row.RolloutPercent, q.OrderNo) {
			return Decision{
				Duration: time.Duration(row.DurationMS) * time.Millisecond,
				PolicyID: row.ID,
				Version:  row.Version,
			}
		}
	}
	return Decision{Duration: stages[stage].builtIn}
}

func applies(p model.TimeoutPolicy, q Query) bool {
	return (p.MerchantID == 0 || p.MerchantID == q.MerchantID) &&
		(p.OrderType == "" || p.OrderType == q.OrderType) &&
		(p.BizLine == "" || p.BizLine == q.BizLine)
}

// inShare reports whether an order is among the percent of orders that a policy is rolled out to. The order's place is FNV-1a
// (64 bit) of the policy's id (8 bytes, big endian) and the order number, modulo 100: the same on every replica and for every
// version of the policy, so raising the percentage only adds orders, and different policies pick different orders.
func inShare(policyID int64, percent int, orderNo string) bool {
	h := fnv.New64a()
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(policyID))
	h.Write(id[:])
	h.Write([]byte(orderNo))
	return h.Sum64()%100 < uint64(percent)
}

// bySpecificity sorts the most specific policy first.
func bySpecificity(rows []model.TimeoutPolicy) {
	rank := func(p model.TimeoutPolicy) int {
		r := 0
		if p.MerchantID != 0 {
			r += 4
		}
		if p.OrderType != "" {
			r += 2
		}
		if p.BizLine != "" {
			r++
		}
		return r
	}
	slices.SortFunc(rows, func(a, b model.TimeoutPolicy) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.ID, a.ID))
	})
}
