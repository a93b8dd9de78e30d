package order

import (
	"crypto/rand"
	"time"
)

// crockford is Crockford's base 32: digits and capitals without I, L, O, U, so that a number can be read out on the phone.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// NumberPattern matches every order number: T, the date in the shop's zone, 60 random bits.
const NumberPattern = `^T[0-9]{8}[0-9A-HJKMNP-TV-Z]{12}$`

// newNumber makes an order number: not guessable, and unique across replicas without asking anybody (60 random bits a day;
// the unique key settles the rest).
func newNumber(at time.Time) string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	for i, b := range random {
		random[i] = crockford[b&31]
	}
	return "T" + at.Format("20060102") + string(random[:])
}
