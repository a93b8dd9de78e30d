// Package admin has the merchant panel's operations: each decodes, calls one service for the merchant that the admin acts for,
// and encodes. A file is a noun; its struct names the methods that it needs.
package admin
