// Package account is about who calls: shoppers who log in with WeChat, their addresses and phone number; admins with passwords,
// their roles and merchants; the tokens of both and their revocation.
package account
