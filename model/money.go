package model

import (
	"cmp"
	"math/big"
	"slices"
)

// Fen is an amount of money in fen, a hundredth of a yuan. Money is never a float.
type Fen int64

// MaxFen bounds every amount the shop accepts (100 million yuan), so that sums of lines cannot overflow an int64.
const MaxFen Fen = 10_000_000_000

// Share splits total over weights in proportion, by the largest remainder, so that the shares add up to total to the fen. Equal
// remainders go to the earlier position. total and all weights must be ≥ 0; where all weights are 0 the first position
// receives everything. An empty weights returns nil.
func Share(total Fen, weights []Fen) []Fen {
	if len(weights) == 0 {
		return nil
	}
	shares := make([]Fen, len(weights))
	var sum Fen
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		shares[0] = total
		return shares
	}
	type rest struct {
		at  int
		rem *big.Int
	}
	rests := make([]rest, len(weights))
	left := total
	for i, w := range weights {
		q, r := new(big.Int).QuoRem(
			new(big.Int).Mul(big.NewInt(int64(total)), big.NewInt(int64(w))), big.NewInt(int64(sum)), new(big.Int))
		shares[i] = Fen(q.Int64())
		rests[i] = rest{i, r}
		left -= shares[i]
	}
	slices.SortStableFunc(rests, func(a, b rest) int {
		return cmp.Or(b.rem.Cmp(a.rem), cmp.Compare(a.at, b.at))
	})
	for i := range int(left) {
		shares[rests[i].at]++
	}
	return shares
}

// PartOf returns the part of a line's amount that belongs to quantity of its pieces, after done pieces were already taken:
// parts of successive calls add up to the whole, the last one takes the remainder. 0 ≤ done, done + quantity ≤ total.
func PartOf(amount Fen, done, quantity, total int64) Fen {
	upTo := func(n int64) Fen {
		return Fen(new(big.Int).Quo(
			new(big.Int).Mul(big.NewInt(int64(amount)), big.NewInt(n)), big.NewInt(total)).Int64())
	}
	return upTo(done+quantity) - upTo(done)
}
