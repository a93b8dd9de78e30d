// Package shop has the mini-program's operations: each decodes, calls one service for the shopper who calls, and encodes. A file
// is a noun; its struct names the methods that it needs.
package shop
